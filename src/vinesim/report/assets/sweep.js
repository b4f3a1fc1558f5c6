// Curves of a sweep: any number over any axis, one line a position of another, the rest held fixed.

(() => {
  const place = section("curves");
  if (!place) return;
  const { axes, numbers, n_runs: nRuns, confidence } = data.sweep;
  const stalled = new Map(data.sweep.stalled); // runs that stalled, by point
  const length = axes.map((axis) => axis.labels[0].length);
  const stride = axes.map((_, i) => length.slice(i + 1).reduce((a, b) => a * b, 1));
  const columns = axes.flatMap((axis, a) => axis.columns.map((name, c) => ({ name, title: axis.titles[c], named: axisName(axis.titles[c], axis.units[c]), axis: a, labels: axis.labels[c], numeric: axis.labels[c].every((v) => typeof v === "number") })));
  const textOf = labelText;
  /** A label of an axis; a number alone would not say what it is. */
  const titleOf = (axis, position) => axes[axis].labels.map((labels, c) => (typeof labels[position] === "number" ? `${axes[axis].titles[c]}: ${number(labels[position])} ${axes[axis].units[c]}`.trim() : textOf(labels[position]))).join(", ");

  let shown = numbers[0];
  let x = columns.reduce((best, column) => (!best || (column.numeric && (!best.numeric || column.labels.length > best.labels.length)) ? column : best), null);
  let lines = bestLines();
  const fixed = axes.map(() => 0);
  let xLog = x !== null && isLogSpaced(x), yLog = false;

  const picks = el("div", { class: "picks" });
  const note = el("p", { class: "note" });
  const graph = el("div");
  const values = tableOf("Values of the curves", curveTable);
  const scaleX = radios("Horizontal axis", [["linear", "Linear"], ["log", "Log"]], (v) => { xLog = v === "log"; show(); }, xLog ? "log" : "linear");
  const scaleY = radios("Vertical axis", [["linear", "Linear"], ["log", "Log"]], (v) => { yLog = v === "log"; show(); });
  place.append(picks, el("div", { class: "controls" }, x?.numeric ? scaleX.node : null, scaleY.node), note, graph, values.node);
  const plotted = chart(graph, spec, 380);

  function bestLines() {
    const others = axes.map((_, i) => i).filter((i) => i !== x?.axis && length[i] > 1);
    return others.find((i) => length[i] <= 9) ?? -1;
  }

  function isLogSpaced({ labels, numeric }) {
    if (!numeric || labels.length < 3 || labels.some((v) => v <= 0)) return false;
    const sorted = [...labels].sort((a, b) => a - b);
    return sorted[sorted.length - 1] / sorted[0] >= 50;
  }

  function pick() {
    const again = (focus) => { pick(); show(); picks.querySelectorAll("select")[focus]?.focus(); };
    const nodes = [choice("Number", numbers.map((n, i) => [i, n.title]), (i) => { shown = numbers[i]; show(); }, numbers.indexOf(shown)).node];
    if (columns.length > 1) {
      nodes.push(choice("Across", columns.map((c, i) => [i, c.title]), (i) => {
        x = columns[i];
        if (lines === x.axis) lines = bestLines();
        xLog = isLogSpaced(x);
        scaleX.set(xLog ? "log" : "linear");
        scaleX.node.hidden = !x.numeric;
        again(1);
      }, columns.indexOf(x)).node);
      const others = axes.map((axis, i) => [i, axis.titles.join(", ")]).filter(([i]) => i !== x.axis);
      nodes.push(choice("One line for each", [[-1, "nothing"], ...others], (i) => { lines = Number(i); again(2); }, lines).node);
      others.filter(([i]) => i !== lines && length[i] > 1).forEach(([i, name]) =>
        nodes.push(choice(name, axes[i].labels[0].map((_, p) => [p, titleOf(i, p)]), (p) => { fixed[i] = Number(p); show(); }, fixed[i]).node));
    }
    picks.replaceChildren(...nodes);
  }

  /** Positions across in the order of their labels; of names as they stand. */
  function across() {
    if (!x) return [0];
    const places = x.labels.map((_, i) => i);
    return x.numeric ? places.sort((a, b) => x.labels[a] - x.labels[b]) : places;
  }

  function pointAt(position, line) {
    return axes.reduce((sum, _, i) => sum + stride[i] * (i === x?.axis ? position : i === lines ? line : fixed[i]), 0);
  }

  function curves() {
    const names = lines < 0 ? [shown.title] : axes[lines].labels[0].map((_, p) => titleOf(lines, p));
    return names.map((name, line) => ({ name, points: across().map((position) => pointAt(position, line)) }));
  }

  function spec() {
    const found = curves();
    const format = formatOf(shown);
    const means = found.flatMap((c) => c.points.map((p) => shown.mean[p])).filter((v) => v != null);
    const [unitText, size] = scaleOf(shown, means);
    const scaled = (v) => (v == null || (yLog && v <= 0) ? null : v / size);
    const places = across();
    const isNumeric = x?.numeric ?? false;
    const isLog = isNumeric && xLog && x.labels.every((v) => v > 0);
    const xs = places.map((p, i) => (isNumeric ? x.labels[p] : i));
    const ticks = isNumeric ? undefined : {
      splits: () => xs, values: (u, splits) => splits.map((i) => (x ? String(x.labels[places[i]]) : "")), rotate: xs.length > 8 ? -40 : 0, size: xs.length > 8 ? 90 : 34 };
    return {
      label: `${shown.title} over ${x?.title ?? "the only point"}`,
      x: { title: x ? x.named : "", log: isLog, ticks, range: isNumeric ? undefined : [-0.5, xs.length - 0.5], format: (v) => (x ? `${x.title} ${isNumeric ? number(v) : x.labels[places[v]]}` : "") },
      y: { title: shown.title + unitText, log: yLog, format: (v) => format(v == null ? null : v * size), tick: number },
      xs,
      series: found.flatMap(({ name, points }, i) => [{
        name, style: i + 1, points: true, solid: true,
        values: points.map((p) => scaled(shown.mean[p])),
        low: points.map((p) => (shown.half[p] == null ? null : scaled(shown.mean[p] - shown.half[p]))),
        high: points.map((p) => (shown.half[p] == null ? null : scaled(shown.mean[p] + shown.half[p]))),
      }, ...(points.some((p) => stalled.has(p)) ? [{
        name: `${name}, stalled`, style: i + 1, points: true, scattered: true,
        values: points.map((p) => (stalled.has(p) ? scaled(shown.mean[p]) : null)),
      }] : [])]),
    };
  }

  function curveTable() {
    const found = curves();
    const cell = (p) => meanText(shown, p) + (stalled.has(p) ? " (stalled)" : "");
    return [[x?.named ?? "point", ...found.map((c) => c.name)],
      across().map((position, i) => [x ? textOf(x.labels[position]) : "all", ...found.map((c) => cell(c.points[i]))])];
  }

  function show() {
    const runs = curves().flatMap((c) => c.points.map((p) => nRuns[p]));
    const [few, many] = [Math.min(...runs), Math.max(...runs)];
    const each = few === many ? `${few}` : `${few} to ${many}`;
    const band = many > 1 ? ` Bands: ${number(100 * confidence)}% confidence intervals of the mean over them (Student's t).` : "";
    const what = lines < 0 ? "" : `One line for each value of ${axes[lines].titles.join(", ")}. `;
    note.textContent = `${what}${many === 1 ? "One run" : `Means of ${each} runs`} per point.${band}${curves().some((c) => c.points.some((p) => stalled.has(p))) ? " Hollow dots are stalled points: their numbers cover only a part of their jobs." : ""}`;
    plotted.draw();
    values.refresh();
  }

  pick();
  show();
})();
