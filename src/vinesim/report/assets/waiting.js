// Why jobs waited: the queue over time, and what they waited for.

(() => {
  const place = document.getElementById("waiting-charts");
  if (!place || !data.waiting.queue) return;
  const { edges_us: edges, queue, marks, cause_edges_us: causeEdges, causes } = data.waiting;
  const [unit, size] = unitOf(edges[edges.length - 1]);
  const tasks = (v) => (v == null ? "-" : number(v));

  function over(title, at, series, what, lines) {
    const graph = el("div");
    const n = at.length - 1;
    const values = tableOf(title, () => [["from", "to", ...series.map((s) => s.name)],
      Array.from({ length: n }, (_, i) => [time(at[i]), time(at[i + 1]), ...series.map((s) => tasks(s.values[i]))])]);
    place.append(el("h3", {}, title), graph, values.node);
    chart(graph, () => ({
      label: title,
      x: { title: `time, ${unit}`, format: (v) => time(v * size) },
      y: { title: what, format: tasks, range: (u, low, high) => [0, (high || 1) * 1.12] },
      xs: at.map((t) => t / size),
      series: series.map((s, i) => ({ name: s.name, style: i, values: [...s.values, s.values[n - 1]], stepped: true, filled: i === 0 })),
      marks: lines.map(([t, text]) => [t / size, text]),
    }), 240).draw();
  }

  over("Queue over time", edges, queue, "waiting tasks, mean", marks);
  if (causes.length) over("What jobs waited for, over time", causeEdges, causes, "waiting jobs, mean", marks);
})();
