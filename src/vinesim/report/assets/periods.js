// What a batch policy did, period by period.

(() => {
  const place = section("periods");
  if (!place) return;
  const found = data.periods;
  const kinds = [["active", "Units with a task"], ["energy_j", "Energy, J"], ["slav", "Demand beyond capacity (SLAV)"]]
    .filter(([key]) => found[key].some((value) => value != null));
  if (!kinds.length) {
    place.append(el("p", { class: "note" }, "The run ended before its first period."));
    return;
  }
  let [key, title] = kinds[0];
  const graph = el("div");
  const values = tableOf("Periods", () => [["period", ...kinds.map(([, text]) => text)],
    found.period.map((p, i) => [String(p), ...kinds.map(([k]) => number(found[k][i]))])]);
  const shown = choice("Shown", kinds, (value) => { [key, title] = kinds.find(([k]) => k === value); plotted.draw(); });
  place.append(el("div", { class: "controls" }, shown.node));
  if (found.stride > 1) place.append(el("p", { class: "note" }, `A point is the mean of ${found.stride} periods.`));
  place.append(graph, values.node);
  const plotted = chart(graph, () => ({
    label: `${title} in each period`,
    x: { title: "period", format: (v) => `period ${v}` },
    y: { title, format: number },
    xs: found.period,
    series: [{ name: title, values: found[key], stepped: true, style: 1 }],
  }), 240);
  plotted.draw();
})();
