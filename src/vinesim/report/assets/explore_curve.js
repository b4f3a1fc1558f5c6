// A number along one control: points that arrive one by one, from runs in the background.

function curveView(place, numbers, call) {
  let controls = [], points = [], run = null, of = numbers.find((n) => n.name === "jobs.latency_us.p99");
  const knob = el("select", { id: "curve-key" });
  const field = (id, label, value) => [el("input", { id, type: "text", inputmode: "decimal", value, class: "exact" }), label];
  const [from] = field("curve-from", "From", ""), [to] = field("curve-to", "To", "");
  const n = el("input", { id: "curve-n", type: "number", min: 2, max: 100, value: 9 });
  const runs = el("input", { id: "curve-runs", type: "number", min: 1, max: 200, value: 3 });
  const labelled = (text, node) => el("div", { class: "choice" }, el("label", { for: node.id }, text), node);
  const go = el("button", { type: "button", id: "draw-curve" }, "Draw the curve");
  const halt = el("button", { type: "button", hidden: true }, "Stop");
  const progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Points done" });
  const status = el("p", { class: "note", role: "status" }, "The control is varied in the background; the other controls stay as they are now.");
  const graph = el("div");
  const what = choice("Number", numbers.map((one, i) => [i, one.title]), (i) => { of = numbers[i]; draw(); }, numbers.indexOf(of));
  const values = tableOf("Along one control", () => [
    [run?.title ?? "", of.title, "low", "high", ...(isAnyStalled() ? ["stalled runs"] : [])],
    points.map((p) => { const [low, mean, high] = p.point[of.name]; return [String(p.value), ...[mean, low, high].map(formatOf(of)), ...(isAnyStalled() ? [p.stalled] : [])]; }),
  ]);
  place.append(el("div", { class: "controls" }, labelled("Control", knob), labelled("From", from), labelled("To", to), labelled("Values", n), labelled("Runs of each", runs), what.node, go, halt, progress), status, graph, values.node);
  let plotted = null;
  knob.addEventListener("change", ends);
  halt.addEventListener("click", () => stopJob("curve"));
  go.addEventListener("click", start);

  function ends() {
    const control = controls.find((one) => one.key === knob.value);
    from.disabled = to.disabled = n.disabled = control?.kind !== "number";
    [from.value, to.value] = control?.kind === "number" ? [control.low, control.high].map((v) => (control.is_whole ? v : Number(v.toPrecision(3)))) : ["", ""];
  }

  function set(next) {
    if (next.map((c) => c.key).join() === controls.map((c) => c.key).join()) return;
    controls = next;
    const chosen = knob.value;
    knob.replaceChildren(...controls.map((control) => el("option", { value: control.key }, control.title)));
    if (controls.some((control) => control.key === chosen)) knob.value = chosen; else ends();
  }

  function valuesOf(control) {
    if (control.kind !== "number") return control.kind === "choice" ? control.words : [false, true];
    const [low, high, count] = [Number(from.value), Number(to.value), Number(n.value)];
    const isLog = control.is_log && low > 0;
    const spaced = Array.from({ length: count }, (_, i) => (isLog ? low * (high / low) ** (i / (count - 1)) : low + ((high - low) * i) / (count - 1)));
    const numbersOf = [...new Set(spaced.map((v) => (control.is_whole ? Math.round(v) : Number(v.toPrecision(6)))))];
    return control.unit ? numbersOf.map((v) => `${v} ${control.unit}`) : numbersOf;
  }

  async function start() {
    const control = controls.find((one) => one.key === knob.value);
    const mine = { title: control.title + (control.unit ? `, ${control.unit}` : ""), control };
    run = mine;
    points = [];
    progress.hidden = halt.hidden = false;
    progress.value = 0;
    status.textContent = "Running in the background.";
    draw();
    try {
      await ask("/curve", { changes: copied(explored.changes), key: control.key, values: valuesOf(control), replications: Number(runs.value) }, (kind, data) => {
        if (run !== mine) return;
        if (kind === "progress") { points.push(data); progress.max = data.of; progress.value = data.done; draw(); }
        if (kind === "failed") status.textContent = data;
        if (kind === "stopped") status.textContent = `Stopped after ${points.length} points.`;
        if (kind === "done") status.textContent = `${points.length} points, ${data.n} runs of each; bands are 95% intervals of the mean.`;
      });
    } catch (wrong) { status.textContent = wrong.message; }
    if (run === mine) progress.hidden = halt.hidden = true;
  }

  function isAnyStalled() { return points.some((p) => p.stalled); }

  function draw() {
    if (points.length) (plotted ??= chart(graph, spec)).draw();
    values.refresh();
  }

  function spec() {
    const isNumber = run.control.kind === "number";
    const at = points.map((p, i) => (isNumber ? parseFloat(p.value) : i));
    const log = isNumber && run.control.is_log && at.every((v) => v > 0);
    const column = (i) => points.map((p) => p.point[of.name][i]);
    const [unit, size] = scaleOf(of, column(1));
    const scaled = (i, isStalled = false) => column(i).map((v, k) => ((v ?? column(1)[k]) == null || !!points[k].stalled !== isStalled ? null : (v ?? column(1)[k]) / size));
    return {
      label: `${of.title} over ${run.title}`,
      x: { title: run.title, log, format: (v, i) => `${run.title} ${i == null ? number(v) : points[i].value}`,
        ...(isNumber ? {} : { ticks: { splits: () => at, values: () => points.map((p) => String(p.value)) } }),
        range: (u, low, high) => (log ? [low / 1.08, high * 1.08] : [low - 0.05 * (high - low || 1), high + 0.05 * (high - low || 1)]) },
      y: { title: of.title + unit, format: (v) => formatOf(of)(v == null ? null : v * size), tick: number },
      xs: at,
      series: [
        { name: of.title, style: 1, points: true, solid: isAnyStalled(), values: scaled(1), low: scaled(0), high: scaled(2) },
        ...(isAnyStalled() ? [{ name: "stalled: a part of the jobs", style: 1, points: true, scattered: true, values: scaled(1, true) }] : []),
      ],
    };
  }

  return { set };
}
