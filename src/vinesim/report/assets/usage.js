// Utilisation over time, of all units and by type.

/** Draw in a place; returns what draws other data there, or says false if it cannot. ``pins``: {name, usage}. */
function usageView(place, { edges_us: edges, groups, is_sampled: isSampled }) {
  let pins = [];
  if (edges.length < 2 || edges[edges.length - 1] <= 0) {
    place.append(el("p", { class: "note" }, "The run has no length."));
    return () => false;
  }
  const areTwo = groups[0].active !== undefined; // allocated and active, where units hold several tasks
  const MEANING = {
    allocated: areTwo ? "Share of the units' capacity that tasks held" : "Share of the time for which units had a task",
    active: "Share of the time for which units had a task",
  };
  let measure = "allocated";
  let n = edges.length - 1;
  const graph = el("div");
  const values = tableOf("Utilisation over time", () => [
    ["from", "to", ...groups.flatMap((g) => (areTwo ? [`${g.name}, allocated`, `${g.name}, active`] : [g.name]))],
    Array.from({ length: n }, (_, i) => [when(edges[i]), when(edges[i + 1]),
      ...groups.flatMap((g) => (areTwo ? [percent(g.allocated[i]), percent(g.active[i])] : [percent(g.allocated[i])]))]),
  ]);
  const MOST = 8; // lines, with that of all units
  /** The groups that are drawn: all units, and the busiest types if there are many. */
  function drawn() {
    if (groups.length <= MOST) return groups;
    const sum = (g) => g[measure].reduce((a, b) => a + (b ?? 0), 0);
    const busiest = new Set(groups.slice(1).sort((a, b) => sum(b) - sum(a)).slice(0, MOST - 1));
    return groups.filter((g, i) => i === 0 || busiest.has(g));
  }
  const source = isSampled ? "as sampled in the run" : "from the tasks, as the run was not sampled";
  const note = el("p", { class: "note" });
  const shown = areTwo ? radios("Measure", [["allocated", "Allocated"], ["active", "Active"]], (value) => { measure = value; show(); }) : null;
  if (shown) place.append(el("div", { class: "controls" }, shown.node));
  place.append(note, graph, values.node);
  const highest = (of) => Math.max(1, ...groups.flatMap((g) => g[of].filter((v) => v != null)));
  const plotted = chart(graph, () => {
    const runs = [{ edges, series: drawn().map((g) => ({ name: g.name, values: g[measure] })) },
      ...pins.map((pin) => ({ edges: pin.usage.edges_us, series: [{ name: pin.name, values: (pin.usage.groups[0][measure] ?? pin.usage.groups[0].allocated) }] }))];
    return {
      label: `Utilisation over time by type${areTwo ? `, ${measure}` : ""}`,
      y: { title: areTwo ? measure : "utilisation", format: percent, tick: (v) => `${Math.round(100 * v)}%`, range: [0, 1.02 * highest(measure)] },
      ...steppedOverTime(runs),
    };
  });

  const few = () => (groups.length > MOST ? `Drawn: the ${MOST - 1} busiest of ${groups.length - 1} types; the table has all. ` : "");

  function show() {
    note.textContent = `${MEANING[measure]}, in ${n.toLocaleString("en")} intervals, ${source}. ${few()}Drag to zoom, double-click to go back.`;
    plotted.draw();
  }

  function update(next, others = []) {
    if ((next.groups[0].active !== undefined) !== areTwo || next.is_sampled !== isSampled) return false;
    edges = next.edges_us;
    groups = next.groups;
    n = edges.length - 1;
    pins = others;
    show();
    values.refresh();
    return true;
  }

  show();
  return update;
}

if (data.usage) usageView(section("usage"), data.usage);
