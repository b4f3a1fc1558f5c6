// Utilisation over time, of all units and by type.

(() => {
  const place = section("usage");
  if (!place) return;
  const { edges_us: edges, groups, is_sampled: isSampled } = data.usage;
  if (edges.length < 2 || edges[edges.length - 1] <= 0) {
    place.append(el("p", { class: "note" }, "The run has no length."));
    return;
  }
  const [unit, size] = unitOf(edges[edges.length - 1]);
  const n = edges.length - 1;
  const graph = el("div");
  const values = tableOf("Utilisation over time", () => [
    ["from", "to", ...groups.map((g) => g.name)],
    Array.from({ length: n }, (_, i) => [time(edges[i]), time(edges[i + 1]), ...groups.map((g) => percent(g.share[i]))]),
  ]);
  const source = isSampled ? "as sampled in the run" : "from the tasks, as the run was not sampled";
  place.append(
    el("p", { class: "note" }, `Share of the time for which units had a task, in ${n.toLocaleString("en")} intervals, ${source}. Drag to zoom, double-click to go back.`),
    graph, values.node);
  chart(graph, () => ({
    label: "Utilisation over time by type",
    x: { title: `time, ${unit}`, format: (v) => time(v * size) },
    y: { title: "utilisation", format: percent, tick: (v) => `${Math.round(100 * v)}%`, range: [0, 1.02] },
    xs: edges.map((t) => t / size),
    series: groups.map((g) => ({ name: g.name, values: [...g.share, g.share[n - 1]], stepped: true })),
  })).draw();
})();
