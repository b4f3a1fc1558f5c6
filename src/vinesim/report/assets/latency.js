// Latency distributions: histogram, cumulative, or tail, on a linear or logarithmic axis.

/** Draw in a place; returns what draws other data there, with the same choices, or says false if it cannot. ``pins``
 * are other runs: {name, latency}. With ``of_runs`` the groups are runs: they differ in their tails. */
function latencyView(place, { probabilities, measures, of_runs: ofRuns }, shape = ofRuns ? "tail" : "histogram") {
  if (!measures.length) {
    place.append(el("p", { class: "note" }, "No task was started."));
    return () => false;
  }
  let measure = measures[0];
  let pins = [];
  let axis = "linear";

  const meaning = el("p", { class: "note" });
  const graph = el("div");
  const values = tableOf("Quantiles", quantileTable);
  const of = choice("Time", measures.map((m, i) => [i, m.title]), (i) => { measure = measures[i]; show(); });
  const how = radios("Shown as", [["histogram", "Histogram"], ["cumulative", "Cumulative"], ["tail", "Tail"]], (v) => { shape = v; show(); }, shape);
  const scale = radios("Time axis", [["linear", "Linear"], ["log", "Log"]], (v) => { axis = v; show(); });
  place.append(el("div", { class: "controls" }, of.node, how.node, scale.node), meaning, graph, values.node);

  const plotted = chart(graph, () => (shape === "histogram" ? histogram() : curves()));

  function show() {
    meaning.textContent = `${measure.title}: ${measure.meaning}.`;
    plotted.draw();
    values.refresh();
  }

  /** The groups of this run, then all jobs or tasks of each pinned one. */
  function allGroups() {
    const others = pins.map((pin) => [pin.name, pin.latency.measures.find((m) => m.title === measure.title)]);
    return [...measure.groups, ...others.filter(([, m]) => m).map(([name, m]) => ({ ...m.groups[0], name, lowest: m.linear[0] }))];
  }

  function timeAxis(highest) {
    const [unit, size] = unitOf(highest);
    return { size, x: { title: `${measure.title}, ${unit}`, log: axis === "log" && !!measure.log, range: (u, min, max) => [min, max], format: (v) => time(v * size) } };
  }

  function marks(size) {
    if (ofRuns) return [];
    const q = measure.groups[0].quantiles;
    return [["p50", 0.5], ["p90", 0.9], ["p99", 0.99]].map(([name, p]) => [q[probabilities.findIndex((have) => Math.abs(have - p) < 1e-9)] / size, name]);
  }

  function histogram() {
    const log = axis === "log" && measure.log;
    const [low, high] = log || measure.linear;
    const n = measure.groups[0].linear.length;
    const { size, x } = timeAxis(high);
    const edge = (i) => (log ? low * (high / low) ** (i / n) : low + ((high - low) * i) / n) / size;
    const xs = Array.from({ length: n + 1 }, (_, i) => edge(i));
    return {
      label: `${measure.title}, histogram`,
      x: { ...x, format: (v) => `from ${time(v * size)}` },
      y: { title: `${measure.of} in each of ${n} bins`, format: (v) => v.toLocaleString("en"), range: (u, min, max) => [0, (max || 1) * 1.12] },
      xs,
      series: measure.groups.map((g) => {
        const counts = log ? g.log : g.linear;
        return { name: g.name, values: [...counts, counts[n - 1]], stepped: true, filled: g.name === "all" };
      }),
      marks: marks(size),
    };
  }

  function curves() {
    const tail = shape === "tail";
    const { size, x } = timeAxis(measure.linear[1]);
    const groups = allGroups();
    const starts = []; // of each curve, at its left end: what takes no time has no place on a logarithmic axis, and counts
    const tables = groups.map((g) => {
      const n = g.linear.reduce((a, b) => a + b, 0);
      const lowest = (g.lowest ?? measure.linear[0]) / size;
      const points = new Map(tail || (x.log && lowest <= 0) ? [] : [[lowest, 0]]);
      let start = tail ? 1 : 0;
      g.quantiles.forEach((q, i) => {
        const share = tail ? 1 - probabilities[i] : probabilities[i];
        if (x.log && q <= 0) start = share;
        else if (!(tail && share * n < 0.999)) points.set(q / size, share);
      });
      starts.push(start);
      const keys = [...points.keys()].sort((a, b) => a - b);
      return [keys, keys.map((key) => points.get(key))];
    });
    const [xs, ...ys] = uPlot.join(tables);
    ys.forEach((y, i) => carry(y, starts[i], tail));
    return {
      label: `${measure.title}, ${tail ? "share that takes longer" : "share that takes no longer"}`,
      x,
      y: {
        title: tail ? "share that takes longer" : "share that takes no longer", log: tail,
        format: (v) => (tail && v < 0.01 ? v.toExponential(0) : `${(100 * v).toFixed(v > 0.99 && v < 1 ? 2 : 0)}%`),
        range: tail ? undefined : [0, 1.02],
      },
      xs,
      series: groups.map((g, i) => ({ name: g.name, values: ys[i], stepped: true })),
      marks: marks(size),
    };
  }

  /** Between its own quantiles a curve keeps its value, so that the pointer finds one everywhere. */
  function carry(values, start, tail) {
    let last = start;
    const end = values.findLastIndex((value) => value != null);
    for (let i = 0; i < values.length; i++) {
      if (values[i] != null) last = values[i];
      else values[i] = i < end ? last : tail ? null : 1;
    }
  }

  function quantileTable() {
    const wanted = [0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];
    const at = wanted.map((p) => probabilities.findIndex((have) => Math.abs(have - p) < 1e-9));
    const rows = allGroups().map((g) => [g.name, ...at.map((i) => time(g.quantiles[i]))]);
    return [[ofRuns ? "run" : "type of task", ...wanted.map((p) => ({ 0: "min", 1: "max" })[p] ?? `p${100 * p}`)], rows];
  }

  function update(next, others = []) {
    if (next.measures.map((m) => m.title).join() !== measures.map((m) => m.title).join()) return false;
    measures = next.measures;
    measure = measures.find((m) => m.title === measure.title);
    pins = others;
    show();
    return true;
  }

  show();
  return update;
}

if (data.latency) latencyView(section("latency"), data.latency);
