// Utilisation over time, of all units and by type.

(() => {
  const place = section("usage");
  if (!place) return;
  const { edges_us: edges, groups, is_sampled: isSampled } = data.usage;
  if (edges.length < 2 || edges[edges.length - 1] <= 0) {
    place.append(el("p", { class: "note" }, "The run has no length."));
    return;
  }
  const areTwo = groups[0].active !== undefined; // allocated and active, where units hold several tasks
  const MEANING = {
    allocated: areTwo ? "Share of the units' capacity that tasks held" : "Share of the time for which units had a task",
    active: "Share of the time for which units had a task",
  };
  let measure = "allocated";
  const [unit, size] = unitOf(edges[edges.length - 1]);
  const n = edges.length - 1;
  const graph = el("div");
  const values = tableOf("Utilisation over time", () => [
    ["from", "to", ...groups.flatMap((g) => (areTwo ? [`${g.name}, allocated`, `${g.name}, active`] : [g.name]))],
    Array.from({ length: n }, (_, i) => [time(edges[i]), time(edges[i + 1]),
      ...groups.flatMap((g) => (areTwo ? [percent(g.allocated[i]), percent(g.active[i])] : [percent(g.allocated[i])]))]),
  ]);
  const source = isSampled ? "as sampled in the run" : "from the tasks, as the run was not sampled";
  const note = el("p", { class: "note" });
  const shown = areTwo ? radios("Measure", [["allocated", "Allocated"], ["active", "Active"]], (value) => { measure = value; show(); }) : null;
  if (shown) place.append(el("div", { class: "controls" }, shown.node));
  place.append(note, graph, values.node);
  const highest = (of) => Math.max(1, ...groups.flatMap((g) => g[of].filter((v) => v != null)));
  const plotted = chart(graph, () => ({
    label: `Utilisation over time by type${areTwo ? `, ${measure}` : ""}`,
    x: { title: `time, ${unit}`, format: (v) => time(v * size) },
    y: { title: areTwo ? measure : "utilisation", format: percent, tick: (v) => `${Math.round(100 * v)}%`, range: [0, 1.02 * highest(measure)] },
    xs: edges.map((t) => t / size),
    series: groups.map((g) => ({ name: g.name, values: [...g[measure], g[measure][n - 1]], stepped: true })),
  }));

  function show() {
    note.textContent = `${MEANING[measure]}, in ${n.toLocaleString("en")} intervals, ${source}. Drag to zoom, double-click to go back.`;
    plotted.draw();
  }

  show();
})();
