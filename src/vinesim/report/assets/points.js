// The points of a sweep: any two numbers against each other with the Pareto front, verdicts by pairs, and a table.

(() => {
  const place = section("points");
  if (!place) return;
  const { axes, numbers, n_runs: nRuns, confidence, folder, reports, verdicts } = data.sweep;
  const stalled = new Map(data.sweep.stalled); // runs that stalled, by point
  const nPoints = nRuns.length;
  const labels = labelsOfPoints(axes, nPoints); // [point][column]
  const titles = axes.flatMap((axis) => axis.titles.map((title, c) => axisName(title, axis.units[c])));
  const done = Array.from({ length: nPoints }, (_, p) => p).filter((p) => nRuns[p] > 0);

  scatter();
  pairs();
  points();

  function scatter() {
    let y = numbers.find((n) => n.name === "jobs.latency_us.p99") ?? numbers[0];
    const costs = numbers.filter((n) => n !== y && /^(cost\.|energy)/.test(n.name) && new Set(n.mean).size > 1);
    let x = costs[0] ?? numbers.find((n) => n !== y && n.better) ?? numbers.find((n) => n !== y) ?? y;
    const options = numbers.map((n, i) => [i, n.title]);
    const note = el("p", { class: "note" });
    const graph = el("div");
    const pick = (label, get, set) => choice(label, options, (i) => { set(numbers[i]); draw(); }, numbers.indexOf(get())).node;
    const values = tableOf("Points", () => [["point", ...titles, x.title, y.title, "on the front"],
      shown().map((p) => [String(p), ...labels[p], formatOf(x)(x.mean[p]), formatOf(y)(y.mean[p]), stalled.has(p) ? "stalled" : front().includes(p) ? "yes" : ""])]);
    place.append(el("h3", {}, "Two numbers against each other"),
      el("div", { class: "picks" }, pick("Across", () => x, (n) => { x = n; }), pick("Up", () => y, (n) => { y = n; })), note, graph, values.node);
    const plotted = chart(graph, spec, 380);
    draw();

    function shown() {
      return done.filter((p) => x.mean[p] != null && y.mean[p] != null).sort((a, b) => x.mean[a] - x.mean[b]);
    }

    /** The points than which none is at least as good in both numbers and better in one, in the order of x. A stalled point
     * is no member: its numbers cover only a part of its jobs. */
    function front() {
      if (!x.better || !y.better || x === y) return [];
      const cost = (n, p) => (n.better === "lower" ? n.mean[p] : -n.mean[p]);
      const all = shown().filter((p) => !stalled.has(p));
      return all.filter((p) => !all.some((q) => cost(x, q) <= cost(x, p) && cost(y, q) <= cost(y, p) && (cost(x, q) < cost(x, p) || cost(y, q) < cost(y, p))));
    }

    function draw() {
      const best = front();
      note.textContent = best.length
        ? `Each dot is the mean of a point's runs. The line is the Pareto front (${x.better} ${x.title} and ${y.better} ${y.title} are better): ${best.length} of ${shown().length} points.${shown().some((p) => stalled.has(p)) ? " Hollow dots are stalled points, which are not compared." : ""}`
        : x.better && y.better && x !== y ? "Each dot is the mean of a point's runs. There is no Pareto front: every point stalled."
          : "Each dot is the mean of a point's runs. There is no Pareto front: which direction is better is not declared for both.";
      plotted.draw();
      values.refresh();
    }

    function spec() {
      const all = shown();
      const [xUnit, xSize] = scaleOf(x, all.map((p) => x.mean[p])), [yUnit, ySize] = scaleOf(y, all.map((p) => y.mean[p]));
      const best = new Set(front());
      return {
        label: `${y.title} over ${x.title}`,
        x: { title: x.title + xUnit, format: (v, at) => `${at == null ? "" : `${labels[all[at]].join(", ")}: `}${x.title} ${formatOf(x)(v * xSize)}`, range: (u, low, high) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)] },
        y: { title: y.title + yUnit, format: (v) => formatOf(y)(v == null ? null : v * ySize), tick: number },
        xs: all.map((p) => x.mean[p] / xSize),
        series: [
          { name: "points", style: 1, points: true, solid: true, scattered: true, values: all.map((p) => (stalled.has(p) ? undefined : y.mean[p] / ySize)) },
          ...(all.some((p) => stalled.has(p)) ? [{ name: "stalled", style: 1, points: true, scattered: true, values: all.map((p) => (stalled.has(p) ? y.mean[p] / ySize : undefined)) }] : []),
          ...(best.size ? [{ name: "Pareto front", style: 2, points: true, solid: true, joined: true, values: all.map((p) => (best.has(p) ? y.mean[p] / ySize : undefined)) }] : []),
        ],
      };
    }
  }

  function pairs() {
    if (!verdicts.length) return;
    const bys = [...new Set(verdicts.map((v) => v.by))];
    let by = bys[0], of = verdicts.find((v) => v.by === by).of;
    const picks = el("div", { class: "picks" }), note = el("p", { class: "note" }), table = el("div");
    place.append(el("h3", {}, "Which is better, by pairs"), picks, note, table);
    const columns = axes.flatMap((axis) => axis.columns);
    const axisTitle = (name) => titles[columns.indexOf(name)];
    const titleOf = (name) => numbers.find((n) => n.name === name)?.title ?? name;

    function draw() {
      const ofs = verdicts.filter((v) => v.by === by).map((v) => v.of);
      if (!ofs.includes(of)) of = ofs[0];
      picks.replaceChildren(
        choice("Compare the labels of", bys.map((name) => [name, axisTitle(name)]), (name) => { by = name; draw(); }, by).node,
        choice("In", ofs.map((name) => [name, titleOf(name)]), (name) => { of = name; draw(); }, of).node);
      const found = verdicts.find((v) => v.by === by && v.of === of);
      const format = formatOf(numbers.find((n) => n.name === of));
      const own = axes.find((axis) => axis.columns.includes(by)).columns;
      const others = columns.filter((name) => !own.includes(name));
      const rule = found.n > 1 ? `corrected for ${found.n} comparisons (Bonferroni): all hold together at ${number(100 * confidence)}%` : "of one comparison";
      const judged = found.pairs.some((pair) => pair.difference[0] != null);
      note.textContent = judged ? `Runs are paired by their seeds. Intervals and p are ${rule}.`
        : "Each point has one run, so the differences have no intervals. Set replications in the study to get them.";
      table.replaceChildren(plainTable(`${titleOf(of)} by ${axisTitle(by)}`,
        [others.length ? others.map(axisTitle).join(", ") : "at", "first", "second", "second - first", ...(judged ? ["interval", "p", "better"] : [])],
        found.pairs.map((pair) => [
          pair.point.map(labelText).join(", ") || "all", `${labelText(pair.first)} ${format(pair.means[0])}`, `${labelText(pair.second)} ${format(pair.means[1])}`,
          format(pair.difference[1]), ...(judged ? verdict(pair, format) : []),
        ])));
    }

    function verdict(pair, format) {
      if (pair.difference[0] == null) return ["-", "-", "-"];
      return [`${format(pair.difference[0])} to ${format(pair.difference[2])}`,
        pair.p == null ? "-" : pair.p < 0.0001 ? "<0.0001" : pair.p.toFixed(4),
        pair.stalled ? "stalled" : pair.equal ? "equal" : pair.significant ? (pair.better == null ? "they differ" : labelText(pair.better)) : "unclear"];
    }

    draw();
  }

  function points() {
    const MOST = 500;
    const shownNumbers = numbers.slice(0, 6);
    let key = null, up = true, wanted = "";
    const table = el("div"), count = el("p", { class: "note", role: "status" }), command = el("pre", { hidden: true, tabindex: 0 });
    const id = "filter-points";
    const input = el("input", { id, type: "search", placeholder: "words that a row must have" });
    input.addEventListener("input", () => { wanted = input.value.toLowerCase(); draw(); });
    place.append(el("h3", {}, "All points"), el("div", { class: "controls" }, el("div", { class: "choice" }, el("label", { for: id }, "Filter"), input)), count, table, command);
    const head = [["point", (p) => p, String], ...titles.map((title, c) => [title, (p) => rawLabels(p)[c], labelText]),
      ["runs", (p) => nRuns[p], String], ...(stalled.size ? [["stalled", (p) => stalled.get(p) ?? 0, String]] : []), ...shownNumbers.map((n) => [n.title, (p) => n.mean[p], null, n])];

    function rawLabels(p) {
      return axes.flatMap((axis, a) => axis.labels.map((column) => column[positionsOf(axes, p)[a]]));
    }

    function cellOf([, get, text, n], p) {
      if (!n) return text(get(p));
      return meanText(n, p);
    }

    function draw() {
      const rows = done.map((p) => [p, head.map((column) => cellOf(column, p))])
        .filter(([, cells]) => wanted.split(/\s+/).every((word) => cells.join(" ").toLowerCase().includes(word)));
      if (key !== null) {
        const get = head[key][1], sign = up ? 1 : -1;
        rows.sort(([a], [b]) => {
          const [x, y] = [get(a), get(b)];
          if (x == null || y == null) return x == null ? (y == null ? 0 : 1) : -1;
          return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
        });
      }
      count.textContent = `${rows.length.toLocaleString("en")} of ${done.length.toLocaleString("en")} points${rows.length > MOST ? `, the first ${MOST} are shown` : ""}. Choose a title to sort, a number to see how to run that point.`;
      const titlesRow = el("tr", {}, ...head.map(([title], i) => {
        const button = el("button", { type: "button", class: "sort" }, title + (key === i ? (up ? " ↑" : " ↓") : ""));
        button.addEventListener("click", () => { up = key === i ? !up : true; key = i; draw(); table.querySelectorAll("button.sort")[i].focus(); });
        return el("th", { scope: "col", "aria-sort": key === i ? (up ? "ascending" : "descending") : "none" }, button);
      }));
      const lines = rows.slice(0, MOST).map(([p, [, ...cells]]) => {
        const button = el("button", { type: "button", class: "sort", "aria-label": `How to run point ${p}` }, String(p));
        button.addEventListener("click", () => {
          command.hidden = false;
          command.textContent = `vinesim run ${folder} --point ${p} --out ${folder}/points/${p} --explain\nvinesim report ${folder}/points/${p}`;
        });
        const link = reports.includes(p) ? el("a", { class: "to-run", href: `points/${p}/report.html` }, "report") : null;
        return el("tr", {}, el("th", { scope: "row" }, button, link), ...cells.map((cell) => el("td", {}, cell)));
      });
      table.replaceChildren(el("div", { class: "scroll tall", tabindex: 0, role: "group", "aria-label": "All points" },
        el("table", {}, el("caption", { class: "hidden" }, "All points"), el("thead", {}, titlesRow), el("tbody", {}, ...lines))));
    }

    draw();
  }
})();
