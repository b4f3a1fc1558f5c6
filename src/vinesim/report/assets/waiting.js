// Why jobs waited: the queue over time, and what they waited for.

/** A chart of steps over time with a table below; returns what draws other values there. ``pins`` are other runs:
 * {name, edges, values}. */
function stepsView(place, title, what, drawn) {
  let pins = [];
  const tasks = (v) => (v == null ? "-" : number(v));
  const graph = el("div");
  const values = tableOf(title, () => {
    const { edges, series } = drawn;
    return [["from", "to", ...series.map((s) => s.name)],
      Array.from({ length: edges.length - 1 }, (_, i) => [when(edges[i]), when(edges[i + 1]), ...series.map((s) => tasks(s.values[i]))])];
  });
  place.append(el("h3", {}, title), graph, values.node);
  const plotted = chart(graph, () => {
    const { place, series, ...parts } = steppedOverTime([drawn, ...pins.map((pin) => ({ edges: pin.edges, series: [pin] }))]);
    return {
      label: title, ...parts,
      y: { title: what, format: tasks, range: (u, low, high) => [0, (high || 1) * 1.12] },
      series: series.map((s, i) => ({ ...s, style: i, filled: i === 0 })),
      marks: drawn.marks.map(([t, text]) => [place(t), text]),
    };
  }, 240);
  plotted.draw();
  return (next, others = []) => {
    drawn = next;
    pins = others;
    plotted.draw();
    values.refresh();
  };
}

const queueOf = (waiting) => ({ edges: waiting.edges_us, series: waiting.queue, marks: waiting.marks });

(() => {
  const place = document.getElementById("waiting-charts");
  if (!place || !data.waiting?.queue) return;
  const { marks, cause_edges_us: edges, causes } = data.waiting;
  stepsView(place, "Queue over time", "waiting tasks, mean", queueOf(data.waiting));
  if (causes.length) stepsView(place, "What jobs waited for, over time", "waiting jobs, mean", { edges, series: causes, marks });
})();
