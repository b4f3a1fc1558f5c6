// The points of a plan against each other, with intervals and what lies beyond a limit; and the course of the search.

(() => {
  const place = section("points");
  if (!place) return;
  const { names, nGoals, points } = data.plan;
  const SVG = "http://www.w3.org/2000/svg";
  const HEIGHT = 420, LEFT = 74, RIGHT = 16, TOP = 12, BOTTOM = 46;
  const NEAR = 9; // how far from a mark a click picks it, in pixels
  const limits = names.map((_, i) => i).filter((i) => i >= nGoals && names[i].name !== names[0].name);
  const decided = limits.find((i) => names[i].isOfRun), known = limits[0] ?? 0; // by runs, or without one
  // the objective against another, or a limit; what is known without a run, such as a cost, is across
  let [across, up] = nGoals > 1 ? [0, 1] : decided === undefined ? [known, 0] : [0, decided];
  let places = []; // [point, x, y] of the marks, the topmost last
  let chosen = Math.max(0, points.findIndex((point) => point.isBest));

  const options = names.map(({ title, side }, i) => [i, i < nGoals ? title : `${title} (limit: ${side})`]);
  const drawing = el("div", { class: "scatter", tabindex: 0, role: "application", "aria-roledescription": "scatter plot",
    "aria-label": "Points of the plan. Left and right arrow keys go from point to point." });
  const panel = el("div", { class: "panel" });
  const spoken = el("p", { class: "hidden", role: "status" });
  const values = tableOf("Points that were run", () => [
    ["choice", ...names.map(({ name }) => name), "limits", "runs"],
    points.map((point) => [choiceOf(point), ...point.numbers.map((value, k) => formatOf(names[k])(value[1])), point.verdict, String(point.n)]),
  ]);
  const choiceOf = (point) => Object.entries(point.choice).map(([name, label]) => `${name}: ${label}`).join(", ");

  /** The points whose marks are near a place, the nearest and topmost first. */
  function pointsNear(x, y) {
    const distance = ([, px, py]) => Math.round(Math.hypot(px - x, py - y));
    return [...places].reverse().filter((place) => distance(place) <= NEAR).sort((a, b) => distance(a) - distance(b)).map(([i]) => i);
  }

  function svg(tag, attributes, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  /** What the marks mean. */
  function key() {
    const entry = (kind, text) => el("li", {}, svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, mark(kind, 8, 8)), el("span", {}, text));
    const has = (kind) => points.some((point) => kindOf(point) === kind);
    const words = { best: "recommended", front: "Pareto front", holds: "keeps the limits", undecided: "undecided", fails: "breaks a limit" };
    return el("ul", { class: "marks" }, ...Object.entries(words).filter(([kind]) => has(kind)).map(([kind, text]) => entry(kind, text)));
  }

  const kindOf = (point) => (point.isBest ? "best" : point.isFront ? "front" : point.verdict);

  function mark(kind, x, y) {
    if (kind === "fails") return svg("path", { class: `mark ${kind}`, d: `M${x - 4} ${y - 4}l8 8m0-8l-8 8` });
    if (kind === "undecided") return svg("rect", { class: `mark ${kind}`, x: x - 4, y: y - 4, width: 8, height: 8 });
    if (kind === "best") return svg("path", { class: `mark ${kind}`, d: `M${x} ${y - 8}l8 8l-8 8l-8-8z` });
    return svg("circle", { class: `mark ${kind}`, cx: x, cy: y, r: kind === "front" ? 5.5 : 4 });
  }

  /** The range of a number over the points and its limit, with a margin; points far beyond the others are drawn at the edge. */
  function range(i) {
    const ends = points.flatMap((point) => [point.numbers[i][1]]).filter((value) => value != null);
    const near = points.filter((point) => point.verdict !== "fails").flatMap((point) => point.numbers[i]).filter((value) => value != null);
    if (names[i].limit !== null) near.push(names[i].limit);
    const all = near.length ? near : ends;
    const low = Math.min(...all, ...ends), most = Math.max(...all);
    const high = Math.min(Math.max(...ends, most), most + 1.2 * (most - low || Math.abs(most) || 1));
    const margin = 0.06 * (high - low || Math.abs(high) || 1);
    return [low - margin, high + margin];
  }

  /** Where marks of an axis are, and what they say, in a unit of which one is `size`. */
  function ticks([first, last], size, most) {
    const [low, high] = [first / size, last / size];
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return found.map((value) => [value * size, number(value)]);
  }

  function draw() {
    const width = Math.max(280, drawing.clientWidth || 640);
    const [rangeX, rangeY] = [range(across), range(up)];
    const [[unitX, sizeX], [unitY, sizeY]] = [scaleOf(names[across], rangeX), scaleOf(names[up], rangeY)];
    const x = (value) => LEFT + ((value - rangeX[0]) / (rangeX[1] - rangeX[0])) * (width - LEFT - RIGHT);
    const y = (value) => HEIGHT - BOTTOM - ((value - rangeY[0]) / (rangeY[1] - rangeY[0])) * (HEIGHT - TOP - BOTTOM);
    const [right, bottom] = [width - RIGHT, HEIGHT - BOTTOM];
    const clampX = (value) => Math.min(right, Math.max(LEFT, x(value)));
    const clampY = (value) => Math.min(bottom, Math.max(TOP, y(value)));
    const parts = [];
    const beyond = (i, isX) => {
      const { limit, side } = names[i];
      if (limit === null) return;
      const at = isX ? clampX(limit) : clampY(limit);
      const below = side === "below";
      parts.push(isX
        ? svg("rect", { class: "beyond", x: below ? at : LEFT, y: TOP, width: Math.max(0, below ? right - at : at - LEFT), height: bottom - TOP })
        : svg("rect", { class: "beyond", x: LEFT, y: below ? TOP : at, width: right - LEFT, height: Math.max(0, below ? at - TOP : bottom - at) }));
      parts.push(isX ? svg("path", { class: "limit", d: `M${at} ${TOP}V${bottom}` }) : svg("path", { class: "limit", d: `M${LEFT} ${at}H${right}` }));
    };
    beyond(across, true);
    if (up !== across) beyond(up, false);
    for (const [value, text] of ticks(rangeX, sizeX, width / 110)) {
      parts.push(svg("path", { class: "grid", d: `M${x(value)} ${TOP}V${bottom}` }), svg("text", { class: "tick", x: x(value), y: bottom + 16, "text-anchor": "middle" }, text));
    }
    for (const [value, text] of ticks(rangeY, sizeY, 7)) {
      parts.push(svg("path", { class: "grid", d: `M${LEFT} ${y(value)}H${right}` }), svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    parts.push(svg("text", { class: "title", x: (LEFT + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, names[across].title + unitX),
      svg("text", { class: "title", x: 0, y: 0, "text-anchor": "middle", transform: `translate(14 ${(TOP + bottom) / 2}) rotate(-90)` }, names[up].title + unitY));
    const ORDER = ["fails", "undecided", "holds", "front", "best"];
    const inOrder = points.map((point, i) => i).sort((a, b) => ORDER.indexOf(kindOf(points[a])) - ORDER.indexOf(kindOf(points[b])));
    let outside = 0;
    places = [];
    for (const i of inOrder) {
      const point = points[i], [ax, ay] = [point.numbers[across], point.numbers[up]];
      if (ax[1] == null || ay[1] == null) continue;
      if (ax[1] > rangeX[1] || ay[1] > rangeY[1]) outside++;
      const [px, py] = [clampX(ax[1]), clampY(ay[1])];
      const node = svg("g", { class: `point${i === chosen ? " chosen" : ""}` });
      if (kindOf(point) !== "fails" || i === chosen) {
        node.append(svg("path", { class: "interval", d: `M${clampX(ax[0])} ${py}H${clampX(ax[2])}M${px} ${clampY(ay[0])}V${clampY(ay[2])}` }));
      }
      if (i === chosen) node.append(svg("circle", { class: "ring", cx: px, cy: py, r: 12 }));
      node.append(mark(kindOf(point), px, py), svg("circle", { class: "target", cx: px, cy: py, r: NEAR }));
      places.push([i, px, py]);
      parts.push(node);
    }
    if (outside) parts.push(svg("text", { class: "tick", x: right, y: TOP + 18, "text-anchor": "end" }, `${outside.toLocaleString("en")} ${outside === 1 ? "point" : "points"} further out, drawn at the edge`));
    drawing.replaceChildren(svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" }, ...parts));
  }

  function choose(i) {
    chosen = i;
    const point = points[i];
    const rows = Object.entries(point.choice).map(([name, label]) => [name, label]);
    names.forEach((one, k) => {
      const [low, value, high] = point.numbers[k], shown = formatOf(one);
      const interval = low === high || low == null ? "" : ` [${shown(low)}, ${shown(high)}]`;
      const kept = one.limit === null ? "" : ` (${point.verdicts[k - nGoals]}: ${one.side} ${shown(one.limit)})`;
      rows.push([one.name, `${shown(value)}${interval}${kept}`]);
    });
    rows.push(["runs", String(point.n)], ["limits", point.why ? `${point.verdict}: ${point.why}` : point.verdict]);
    const list = el("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
    const link = point.link ? el("p", {}, el("a", { href: point.link }, "The scenario of this point"), ` (vinesim run ${point.link})`) : null;
    panel.replaceChildren(el("h3", {}, choiceOf(point)), list, ...(link ? [link] : []));
    spoken.textContent = choiceOf(point);
    draw();
    showOthers();
  }

  /** Names of the other points on the chosen one's mark: one may cover the others. */
  function showOthers() {
    const own = places.find(([i]) => i === chosen);
    const others = own ? pointsNear(own[1], own[2]).filter((i) => i !== chosen) : [];
    if (!others.length) return;
    const buttons = others.slice(0, 20).map((i) => {
      const button = el("button", { type: "button", class: "sort" }, choiceOf(points[i]));
      button.addEventListener("click", () => choose(i));
      return el("li", {}, button);
    });
    const more = others.length > 20 ? ` The first 20 of ${others.length.toLocaleString("en")}:` : "";
    panel.append(el("p", { class: "note" }, `Also here; click the mark again for the next one.${more}`), el("ul", { class: "others" }, ...buttons));
  }

  /** A click picks the topmost point there, and the next one below it if that is picked already. */
  drawing.addEventListener("click", (event) => {
    const box = drawing.getBoundingClientRect();
    const here = pointsNear(event.clientX - box.left, event.clientY - box.top);
    if (here.length) choose(here[(here.indexOf(chosen) + 1) % here.length]);
  });

  place.append(
    el("div", { class: "controls" },
      choice("Across", options, (i) => { across = Number(i); choose(chosen); }, across).node,
      choice("Up", options, (i) => { up = Number(i); choose(chosen); }, up).node),
    key(),
    drawing,
    panel,
    el("p", { class: "note" }, "Click a point, or use the arrow keys; click again for others on the same mark. Bars are 95 % intervals of objectives, and the bounds by which limits were judged."),
    spoken, values.node);

  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const order = points.map((_, i) => i).sort((a, b) => points[a].numbers[across][1] - points[b].numbers[across][1]);
    choose(order[(order.indexOf(chosen) + step + order.length) % order.length]);
  });
  new ResizeObserver(draw).observe(drawing);
  onTheme.push({ of: drawing, redraw: draw });
  choose(chosen);
})();

(() => {
  const place = section("course");
  if (!place) return;
  const { course, runs, names } = data.plan;
  const steps = [...course, [runs, course[course.length - 1][1], ""]];
  const [unit, size] = scaleOf(names[0], course.map(([, value]) => value));
  const graph = el("div");
  const values = tableOf("Course of the search", () => [["runs", names[0].name, "stage"], course.map(([n, value, stage]) => [n.toLocaleString("en"), formatOf(names[0])(value), stage])]);
  place.append(el("p", { class: "note" }, "The best point that keeps the limits by number of runs."), graph, values.node);
  const plotted = chart(graph, () => ({
    label: "Best objective by number of runs",
    x: { title: "runs", format: (v) => `${number(v)} runs` },
    y: { title: names[0].title + unit, format: (v) => formatOf(names[0])(v == null ? null : v * size), tick: number },
    xs: steps.map(([n]) => n),
    series: [{ name: names[0].title, values: steps.map(([, value]) => value / size), stepped: true, style: 1, points: true }],
  }), 240);
  plotted.draw();
})();
