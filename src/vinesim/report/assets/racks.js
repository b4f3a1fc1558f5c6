// The racks: every cell coloured by what was allocated of it, in the whole run or at a time; or by when it was active.

/** Colour of a share, 0 to 1: lightness falls (or, on dark, rises) evenly from sand over green-blue to navy, in OKLCH. */
function ramp(dark) {
  return Array.from({ length: 256 }, (_, i) => {
    const s = dark ? 1 - i / 255 : i / 255;
    return oklch(0.955 - 0.68 * s, 0.03 + 0.085 * Math.sin(Math.PI * Math.min(1, 0.15 + 0.8 * s)), 95 + 165 * s);
  });
}

function oklch(l, c, degrees) {
  const a = c * Math.cos((degrees * Math.PI) / 180), b = c * Math.sin((degrees * Math.PI) / 180);
  const [x, y, z] = [l + 0.3963377774 * a + 0.2158037573 * b, l - 0.1055613458 * a - 0.0638541728 * b, l - 0.0894841775 * a - 1.291485548 * b].map((v) => v ** 3);
  const linear = [4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z, -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z, -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z];
  return linear.map((v) => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055))));
}

/** Draw in a place; returns what draws other data there, with the same choices, or says false if it cannot. */
function racksView(place, view, allTypes) {
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const areTwo = Boolean(view.active); // where units hold several tasks, or differ in capacity
  let nCells, n, width, shares, units;
  take(view);

  function take(next) {
    view = next;
    nCells = view.shelf.length;
    n = view.n_intervals;
    width = view.end_us / n;
    shares = { allocated: { whole: view.utilization, matrix: bytes(view.matrix), scale: view.scale } };
    if (view.active) shares.active = { whole: view.active, matrix: bytes(view.active_matrix), scale: 1 };
    units = view.n_units ? view.n_units.reduce((a, b) => a + b, 0) : nCells;
  }

  let measure = "allocated", at = 0, whole = true, selected = 0, hovered = null, onlyType = "all", playing = null;
  let layout = null, colors = [], ink = [];

  const atTime = (of, cell, i) => (shares[of].scale * shares[of].matrix[cell * n + i]) / 255;
  const share = (cell, of = measure) => (whole ? shares[of].whole[cell] : atTime(of, cell, at));
  const inWords = (cell) => (areTwo ? `${percent(share(cell, "allocated"))} allocated, ${percent(share(cell, "active"))} active` : percent(share(cell)));
  // How much a cell counts in a mean of several: with its capacity in what is allocated, else with its units. Units of
  // types that run nothing do not count.
  const counted = (cell) => (view.counted ?? view.n_units)?.[cell] ?? 1;
  const weight = (cell, of) => (of === "allocated" && areTwo && counted(cell) ? view.capacity[cell] : counted(cell));
  const interval = (i) => `${when(i * width)} to ${when((i + 1) * width)}`;
  const WHAT = { unit: "unit", shelf: "shelf", rack: "rack", racks: "group of racks" };

  function nameOf(cell) {
    const shelf = view.shelves[view.shelf[cell]];
    if (!view.racks.length) return `${view.level} ${shelf}`;
    const node = view.node && view.node[cell];
    const where = `${node ? `${node}, ` : ""}rack ${view.racks[view.rack[cell]]}, shelf ${shelf}`;
    return view.level === "unit" ? `unit ${cell}, ${allTypes[view.type[cell]]}, ${where}` : where;
  }

  const canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "rack view", "aria-describedby": "racks-keys" });
  const under = el("p", { class: "under" });
  const spoken = el("p", { class: "hidden", role: "status" });
  const slider = el("input", { type: "range", min: 0, max: n - 1, step: 1, value: 0, id: "racks-time" });
  const moment = el("output", { for: "racks-time" });
  const play = el("button", { type: "button", class: "play" }, "Play");
  const period = radios("Shown", [["whole", "Whole run"], ["time", "At a time"]], (value) => { pause(); whole = value === "whole"; refresh(); });
  const shown = areTwo ? radios("Measure", [["allocated", "Allocated"], ["active", "Active"]], (value) => { measure = value; setColors(); refresh(); }) : null;
  const types = view.level === "unit" && allTypes.length > 1
    ? choice("Type", [["all", "all"], ...allTypes.map((name, i) => [i, name])], (value) => { onlyType = value; paint(); }) : null;
  const panel = el("div", { class: "panel" });
  const legend = el("div", { class: "ramp" });
  const drawing = el("div", { class: "racks" }, canvas, under);
  const split = el("div", { class: "split" }, drawing, panel);
  const values = tableOf("Utilisation of the racks", valueTable);
  const note = view.level === "unit" ? "Each cell is a unit." : `Each cell is the mean of a ${WHAT[view.level]}: ${units.toLocaleString("en")} units are too many to draw one by one.`;
  place.append(
    el("div", { class: "controls" }, period.node, shown?.node, types?.node,
      el("div", { class: "timeline" }, play, el("label", { for: "racks-time" }, "Time"), slider, moment)),
    legend,
    split,
    el("p", { class: "note", id: "racks-keys" }, `${note} Arrow keys move from cell to cell; on the time slider they move through the run.`),
    spoken, values.node);

  function layOut() {
    const available = split.clientWidth;
    if (!available) return;
    layout = rackLayout(view, available, Math.min(560, Math.max(280, innerHeight * 0.7)));
    const ratio = devicePixelRatio;
    const room = Math.min(available, Math.ceil(layout.used) + 2);
    split.classList.toggle("narrow", room < 0.5 * available);
    canvas.style.width = `${room}px`;
    canvas.width = room * ratio;
    canvas.height = layout.height * ratio;
    canvas.style.height = `${layout.height}px`;
    paint();
  }

  function setColors() {
    colors = ramp(isDark()).map((rgb) => `rgb(${rgb.join(",")})`);
    ink = ramp(isDark()).map(([r, g, b]) => (0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2 > 0.2 * 255 ** 2.2 ? "#101418" : "#ffffff"));
    const steps = colors.filter((_, i) => i % 15 === 0).concat(colors[255]);
    const bar = el("div", { class: "bar-of-colors", "aria-hidden": "true" });
    bar.style.background = `linear-gradient(to right, ${steps.join(",")})`;
    const ticks = el("div", { class: "ticks", "aria-hidden": "true" }, ...["0%", "25%", "50%", "75%", "100%"].map((text) => el("span", {}, text)));
    const title = !areTwo ? "Utilisation" : measure === "active" ? "Active" : "Allocated";
    legend.replaceChildren(el("span", {}, title), el("div", {}, bar, ticks));
  }

  function paint() {
    if (!layout) return;
    const pen = canvas.getContext("2d");
    const ratio = devicePixelRatio;
    const { x, y, widths, h } = layout;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const gapOf = (w) => (w >= 5 ? 1 : 0), gapY = gapOf(h);
    const muted = cssColor("--line");
    pen.font = "10.5px system-ui, sans-serif";
    for (let cell = 0; cell < nCells; cell++) {
      const value = share(cell), w = widths[cell];
      const level = Math.min(255, Math.round(255 * value)); // beyond its capacity a cell is as dark as when full
      const isMuted = onlyType !== "all" && view.type[cell] !== Number(onlyType);
      pen.globalAlpha = isMuted ? 0.5 : 1;
      pen.fillStyle = isMuted ? muted : colors[level];
      pen.fillRect(x[cell], y[cell], w - gapOf(w), h - gapY);
      if (view.level === "unit" && w >= 96 && h >= 12 && !isMuted) {
        pen.fillStyle = ink[level];
        pen.textAlign = "left";
        pen.fillText(allTypes[view.type[cell]].slice(0, 14), x[cell] + 6, y[cell] + h / 2 + 3, w - 56);
        pen.textAlign = "right";
        pen.fillText(percent(value), x[cell] + w - 7, y[cell] + h / 2 + 3);
      }
    }
    pen.globalAlpha = 1;
    pen.fillStyle = cssColor("--ink-2");
    pen.font = "11px system-ui, sans-serif";
    for (const [left, top, text, align] of layout.labels) { pen.textAlign = align; pen.fillText(text, left, top); }
    for (const cell of [hovered, selected]) {
      if (cell == null) continue;
      for (const [thick, color] of [[5, "--paper"], [2, "--ink"]]) {
        pen.lineWidth = thick;
        pen.strokeStyle = cssColor(color);
        pen.strokeRect(x[cell] - 1, y[cell] - 1, widths[cell] - gapOf(widths[cell]) + 2, h - gapY + 2);
      }
    }
  }

  function refresh() {
    slider.value = at;
    slider.setAttribute("aria-valuetext", `interval ${at + 1} of ${n}: ${interval(at)}`);
    moment.textContent = whole ? "whole run" : interval(at);
    period.set(whole ? "whole" : "time");
    paint();
    describe();
    values.refresh();
    let busy = 0, all = 0;
    for (let cell = 0; cell < nCells; cell++) {
      busy += share(cell) * weight(cell, measure);
      all += weight(cell, measure);
    }
    const many = `${units.toLocaleString("en")} units`;
    const what = !areTwo ? `${many} busy` : measure === "active" ? `${many} active` : `the capacity of ${many} allocated`;
    canvas.setAttribute("aria-label", `Racks, ${whole ? "whole run" : interval(at)}: ${percent(busy / all)} of ${what} on average`);
  }

  function tell() {
    const cell = hovered ?? selected;
    under.textContent = `${nameOf(cell)}: ${inWords(cell)}`;
  }

  let graph = null;
  function describe() {
    tell();
    const { utilization, active = utilization } = view;
    const lines = areTwo
      ? [["Allocated, whole run", percent(utilization[selected])], ["Active, whole run", percent(active[selected])], ["Active for", time(active[selected] * view.end_us)]]
      : [["Whole run", percent(utilization[selected])], ["Active", time(utilization[selected] * view.end_us)]];
    if (!whole) lines.unshift([interval(at), inWords(selected)]);
    if (view.n_units) lines.push(["Units", view.n_units[selected].toLocaleString("en")]);
    const facts = el("dl", { class: "facts" }, ...lines.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
    panel.querySelector(".text")?.remove();
    panel.prepend(el("div", { class: "text" }, el("h3", {}, nameOf(selected)), facts));
    if (!graph) {
      const host = el("div");
      panel.append(host);
      graph = chart(host, cellChart, 170);
    }
    graph.draw();
  }

  function cellChart() {
    const { x, place: placed } = runTime(view.end_us);
    const line = (of) => Array.from({ length: n + 1 }, (_, i) => atTime(of, selected, Math.min(i, n - 1)));
    const series = areTwo
      ? ["allocated", "active"].map((of, i) => ({ name: of, values: line(of), stepped: true, style: i + 1 }))
      : [{ name: `this ${WHAT[view.level]}`, values: line("allocated"), stepped: true, style: 1 }];
    const highest = Math.max(1, ...series[0].values);
    return {
      label: `${nameOf(selected)}, utilisation over time`,
      x,
      y: { title: "", format: percent, tick: (v) => `${Math.round(100 * v)}%`, range: [0, 1.02 * highest] },
      xs: Array.from({ length: n + 1 }, (_, i) => placed(i * width)),
      series,
      marks: whole ? [] : [[placed((at + 0.5) * width), ""]],
    };
  }

  function select(cell, aloud) {
    selected = cell;
    paint();
    describe();
    if (aloud) spoken.textContent = `${nameOf(cell)}: ${inWords(cell)}${whole ? " in the whole run" : `, ${interval(at)}`}`;
  }

  function cellAt(event) {
    const box = canvas.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    const { x, y, widths, h } = layout;
    for (let cell = 0; cell < nCells; cell++) if (px >= x[cell] && px < x[cell] + widths[cell] && py >= y[cell] && py < y[cell] + h) return cell;
    return null;
  }

  /** The nearest cell in a direction: along it first, then across it. */
  function neighbour(dx, dy) {
    const { x, y } = layout;
    let best = selected, least = Infinity;
    for (let cell = 0; cell < nCells; cell++) {
      const along = dx * (x[cell] - x[selected]) + dy * (y[cell] - y[selected]);
      const across = Math.abs(dx ? y[cell] - y[selected] : x[cell] - x[selected]);
      if (along > 0.5 && along + 4 * across < least) { least = along + 4 * across; best = cell; }
    }
    return best;
  }

  canvas.addEventListener("pointermove", (event) => { const cell = cellAt(event); if (cell !== hovered) { hovered = cell; paint(); tell(); } });
  canvas.addEventListener("pointerleave", () => { hovered = null; paint(); tell(); });
  canvas.addEventListener("click", (event) => { const cell = cellAt(event); if (cell != null) select(cell, false); });
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way || !layout) return;
    event.preventDefault();
    select(neighbour(...way), true);
  });

  slider.addEventListener("input", () => { pause(); at = Number(slider.value); whole = false; refresh(); });
  play.addEventListener("click", () => (playing === null ? start() : pause()));

  function start() {
    if (at === n - 1) at = 0;
    whole = false;
    play.textContent = "Pause";
    const step = reducedMotion.matches ? 1000 : Math.max(60, 12000 / n);
    playing = setInterval(() => { if (at === n - 1) { pause(); return; } at += 1; refresh(); }, step);
    refresh();
  }

  function pause() {
    clearInterval(playing);
    playing = null;
    play.textContent = "Play";
  }

  function valueTable() {
    const measures = Object.keys(shares);
    const named = (title) => (areTwo ? measures.map((of) => `${title}, ${of}`) : [title]);
    const titles = [WHAT[view.level], ...named("whole run"), ...(whole ? [] : named(interval(at)))];
    const columns = [
      ...measures.map((of) => ({ of, value: (cell) => shares[of].whole[cell] })),
      ...(whole ? [] : measures.map((of) => ({ of, value: (cell) => atTime(of, cell, at) }))),
    ];
    if (nCells <= 1000) return [titles, Array.from({ length: nCells }, (_, cell) => [nameOf(cell), ...columns.map(({ value }) => percent(value(cell)))])];
    const rows = new Map();
    for (let cell = 0; cell < nCells; cell++) {
      const key = view.racks.length ? view.rack[cell] : Math.floor(cell / 100);
      const row = rows.get(key) ?? { sums: columns.map(() => 0), weights: columns.map(() => 0) };
      columns.forEach(({ of, value }, i) => {
        row.sums[i] += weight(cell, of) * value(cell);
        row.weights[i] += weight(cell, of);
      });
      rows.set(key, row);
    }
    const name = (key) => (view.racks.length ? `rack ${view.racks[key]}` : `racks from ${view.shelves[100 * key]}`);
    return [["rack", ...titles.slice(1)], [...rows].map(([key, row]) => [name(key), ...row.sums.map((sum, i) => percent(sum / (row.weights[i] || 1)))])];
  }

  function update(next, types) {
    if (Boolean(next.active) !== areTwo || next.level !== view.level || types.join() !== allTypes.join()) {
      pause();
      return false;
    }
    const changed = next.shelf.length !== nCells;
    take(next);
    at = Math.min(at, n - 1);
    slider.max = n - 1;
    selected = Math.min(selected, nCells - 1);
    if (changed) hovered = null;
    layOut();
    refresh();
    return true;
  }

  new ResizeObserver(layOut).observe(split);
  onTheme.push({ of: canvas, redraw: () => { setColors(); paint(); } });
  setColors();
  layOut();
  refresh();
  return update;
}

if (data.racks) racksView(section("racks"), data.racks, data.types);
