// A line chart: uPlot with a legend of buttons, values at the pointer, arrow keys, and both themes.

/**
 * host: element. spec(): {label, x: {title, log, format, ticks}, y: {title, log, format, range},
 *   xs: [...], series: [{name, values, stepped, scattered, style, low, high, points, solid}], marks: [[x, text]]}; called at every draw.
 */
function chart(host, spec, height = 300) {
  const drawing = el("div", { class: "chart", tabindex: 0, role: "application", "aria-roledescription": "chart" });
  const legend = el("ul", { class: "legend" });
  const spoken = el("p", { class: "hidden", role: "status" });
  host.append(legend, drawing, spoken);
  const off = new Set();
  let plot = null;
  let now = null;

  function draw() {
    now = spec();
    drawing.setAttribute("aria-label", `${now.label}. Left and right arrow keys read the values.`);
    plot?.destroy();
    plot = new uPlot(options(now, drawing.clientWidth || 640, height, off, showValues), columns(now), drawing);
    plot.root.setAttribute("aria-hidden", "true");
    legend.replaceChildren(...now.series.map(entry));
    showValues(null);
  }

  function entry(series, i) {
    const style = seriesStyle(series.style ?? i);
    const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    swatch.setAttribute("viewBox", "0 0 28 8");
    swatch.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    // of dots the swatch is a dot
    line.setAttribute("d", series.scattered ? "M11 4a3 3 0 1 0 6 0a3 3 0 1 0 -6 0" : "M0 4h28");
    line.setAttribute("fill", series.scattered && series.solid ? style.color : "none");
    line.setAttribute("stroke", style.color);
    line.setAttribute("stroke-width", series.scattered ? "1.5" : "2.5");
    line.setAttribute("stroke-dasharray", series.scattered ? "" : style.dash.join(" "));
    swatch.append(line);
    const button = el("button", { type: "button", "aria-pressed": String(!off.has(series.name)) },
      swatch, el("span", {}, series.name), el("output", { "aria-hidden": "true" }));
    button.addEventListener("click", () => {
      if (!off.delete(series.name)) off.add(series.name);
      button.setAttribute("aria-pressed", String(!off.has(series.name)));
      plot.setSeries(i + 1, { show: !off.has(series.name) });
    });
    return el("li", {}, button);
  }

  function showValues(at) {
    [...legend.children].forEach((item, i) => {
      const value = at == null ? null : now.series[i].values[at];
      item.querySelector("output").textContent = value == null ? "" : now.y.format(value);
    });
  }

  function say(at) {
    const values = now.series.filter((s) => !off.has(s.name) && s.values[at] != null);
    spoken.textContent = `${now.x.format(now.xs[at], at)}: ` + values.map((s) => `${s.name} ${now.y.format(s.values[at])}`).join(", ");
  }

  drawing.addEventListener("keydown", (event) => {
    const last = now.xs.length - 1;
    const at = plot.cursor.idx;
    const next = { ArrowLeft: Math.max(0, (at ?? 1) - 1), ArrowRight: at == null ? 0 : Math.min(last, at + 1), Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    plot.setCursor({ left: plot.valToPos(now.xs[next], "x"), top: plot.bbox.height / devicePixelRatio / 2 });
    showValues(next);
    say(next);
  });

  new ResizeObserver(() => {
    const width = drawing.clientWidth;
    if (plot && width > 0 && Math.abs(width - plot.width) > 1) plot.setSize({ width, height });
  }).observe(drawing);
  onTheme.push({ of: drawing, redraw: () => now && draw() });
  return { draw };
}

/** The axis of a run's time up to an end, us: x of a chart, and where on it a time is. */
function runTime(end) {
  if (data.start != null) return { x: { title: "time", dates: true, format: date }, place: (us) => data.start + us / 1e6 };
  const [unit, size] = unitOf(end);
  return { x: { title: `time, ${unit}`, format: (v) => time(v * size) }, place: (us) => us / size };
}

/** Dates at an axis: the day where one begins, else the time of the day. */
function dateLabels(u, splits, axis, space, step) {
  return splits.map((seconds) => {
    const [day, clock] = date(seconds).split(" ");
    return clock === "00:00:00" || step >= 86400 ? day : clock.slice(0, step < 60 ? 8 : 5);
  });
}

/** Stepped series of several runs over time, each with its own edges, us: [{edges, series: [{name, values}]}]. Returns the
 * parts x, xs and series of a chart, and where on x a time is; a series ends where its run does. */
function steppedOverTime(runs) {
  const { x, place } = runTime(Math.max(...runs.map(({ edges }) => edges[edges.length - 1])));
  const tables = runs.map(({ edges, series }) =>
    [edges.map(place), ...series.map((s) => [...s.values, s.values[s.values.length - 1]])]);
  const [xs, ...columns] = tables.length > 1 ? uPlot.join(tables) : tables[0];
  if (tables.length > 1) {
    for (const values of columns) {
      const end = values.findLastIndex((value) => value != null);
      for (let i = 1; i < end; i++) values[i] ??= values[i - 1];
    }
  }
  return {
    x,
    xs,
    series: runs.flatMap(({ series }) => series).map((s, i) => ({ name: s.name, values: columns[i], stepped: true })),
    place,
  };
}

function columns(now) {
  const bands = now.series.flatMap((s) => (s.low ? [s.low, s.high] : []));
  return [now.xs, ...now.series.map((s) => s.values), ...bands];
}

function options(now, width, height, off, showValues) {
  const ink = cssColor("--ink-2"), line = cssColor("--line");
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 },
    font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 22 };
  const logAxis = { splits: roundOnLog, filter: keepAll };
  const lines = now.series.map((s, i) => {
    const style = seriesStyle(s.style ?? i);
    const stepped = s.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : s.scattered ? { paths: () => null } : {};
    return { label: s.name, stroke: style.color, dash: style.dash, width: 1.75, show: !off.has(s.name),
      fill: s.filled ? translucent(style.color) : undefined,
      points: { show: !!s.points, size: 7, stroke: style.color, fill: s.solid ? style.color : cssColor("--paper") }, ...stepped };
  });
  const bands = [];
  const edges = [];
  now.series.forEach((s, i) => {
    if (!s.low) return;
    const first = 1 + now.series.length + edges.length;
    const none = { stroke: "transparent", width: 0, points: { show: false }, show: !off.has(s.name) };
    edges.push(none, none);
    bands.push({ series: [first + 1, first], fill: translucent(seriesStyle(s.style ?? i).color) });
  });
  return {
    width, height, bands,
    tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "UTC"),
    legend: { show: false },
    padding: [14, 22, 0, 0],
    scales: {
      x: { time: !!now.x.dates, distr: now.x.log ? 3 : 1, ...(now.x.range ? { range: now.x.range } : {}) },
      y: { distr: now.y.log ? 3 : 1, ...(now.y.range ? { range: now.y.range } : {}) },
    },
    axes: [
      { ...axis, ...(now.x.log ? { ...logAxis, values: (u, splits) => splits.map(number) } : {}), ...(now.x.dates ? { values: dateLabels } : {}), label: now.x.title, space: 70, size: 34, ...(now.x.ticks ?? {}) },
      { ...axis, ...(now.y.log ? logAxis : {}), label: now.y.title, size: axisWidth, values: (u, splits) => splits.map((v) => (v == null ? "" : (now.y.tick ?? now.y.format)(v))) },
    ],
    series: [{}, ...lines, ...edges],
    cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
    hooks: { setCursor: [(u) => showValues(u.cursor.left < 0 ? null : u.cursor.idx)], draw: [(u) => drawMarks(u, now.marks ?? [], ink)] },
  };
}

/** On a logarithmic axis the powers of 10, with 2 and 5 of each where there are few, with all where there are hardly any. */
function roundOnLog(u, axis, low, high) {
  const decades = Math.log10(high / low);
  const parts = decades > 2.5 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const every = Math.max(1, Math.ceil(decades / 12));
  const splits = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += every)
    for (const part of parts) if (part * 10 ** power >= low * 0.9999 && part * 10 ** power <= high * 1.0001) splits.push(part * 10 ** power);
  return splits;
}

const keepAll = (u, splits) => splits;

/** Room for the widest label of the y axis. */
function axisWidth(u, values) {
  const widest = Math.max(0, ...(values ?? []).map((text) => (text ? text.length : 0)));
  return 16 + 7 * widest;
}

function translucent(color) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, 0.16)`;
}

/** Dashed upright lines with a text at the top; texts that would overlap are written as one. */
function drawMarks(u, marks, ink) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio;
  const seen = marks.map(([x, text]) => [u.valToPos(x, "x", true), text]).filter(([x]) => x >= bbox.left - ratio && x <= bbox.left + bbox.width + ratio);
  const joined = [];
  for (const [x, text] of seen) {
    const before = joined[joined.length - 1];
    if (before && x - before.last < 34 * ratio) { before.texts.push(text); before.last = x; } else joined.push({ x, last: x, texts: [text] });
  }
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = ink;
  ctx.lineWidth = ratio;
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.beginPath();
  for (const [x] of seen) { ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); }
  ctx.stroke();
  for (const { x, texts } of joined) {
    const text = texts.join(", ");
    const room = bbox.left + bbox.width - x > ctx.measureText(text).width + 6 * ratio;
    ctx.textAlign = room ? "left" : "right";
    ctx.fillText(text, x + (room ? 4 : -4) * ratio, bbox.top + 10 * ratio);
  }
  ctx.restore();
}
