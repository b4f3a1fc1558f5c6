// The charts of a variant: those of a report, kept and drawn again, and cost, energy and the figures.

/** A place whose drawing is kept as long as it can take new data, and made again otherwise. */
function kept(host, make) {
  let update = () => false;
  return (shown, ...more) => {
    if (shown === undefined) { host.replaceChildren(el("p", { class: "note" }, "The run has no length.")); update = () => false; return; }
    if (update(shown, ...more) !== false) return;
    host.replaceChildren();
    forgetRemoved();
    update = make(host, shown, ...more);
    update(shown, ...more);
  };
}

function chartsView(numbers) {
  const hostIn = (anchor) => { const host = el("div"); section(anchor).append(host); return host; };
  const latency = kept(hostIn("latency"), (host, shown) => latencyView(host, shown, "tail"));
  const usage = kept(hostIn("usage"), (host, shown) => usageView(host, shown));
  const racks = kept(hostIn("racks"), (host, shown, types) => racksView(host, shown, types));
  const cost = costView(hostIn("cost"), numbers);
  const energy = energyView(hostIn("energy"));
  const queueHost = hostIn("queue");
  let steps = null;

  function drawQueue(shown, pins) {
    if (!shown) { queueHost.replaceChildren(el("p", { class: "note" }, "The run has no length.")); steps = null; return; }
    const others = pins.filter((pin) => pin.view.waiting).map((pin) => ({ name: pin.name, edges: pin.view.waiting.edges_us, values: pin.view.waiting.queue[0].values }));
    if (!steps) { queueHost.replaceChildren(); steps = stepsView(queueHost, "Waiting tasks", "waiting tasks, mean", queueOf(shown)); }
    steps(queueOf(shown), others);
  }

  const later = drawnWhenSeen();

  return (view, pins) => {
    const named = pins.filter((pin) => pin.view).map((pin) => ({ ...pin, name: `pinned ${pin.name}` }));
    later({
      latency: () => latency(view.latency, named.map((pin) => ({ name: pin.name, latency: pin.view.latency }))),
      usage: () => usage(view.usage, named.filter((pin) => pin.view.usage).map((pin) => ({ name: pin.name, usage: pin.view.usage }))),
      queue: () => drawQueue(view.waiting, named),
      racks: () => racks(view.racks, view.types),
      cost: () => cost(view, named),
      energy: () => energy(view, named),
    });
  };
}

/** What draws a section that is in sight at once, and the others when nothing else is to do or they come into sight. */
function drawnWhenSeen() {
  const seen = new Set(), due = new Map();
  const whenIdle = (act) => (window.requestIdleCallback ? requestIdleCallback(act, { timeout: 200 }) : setTimeout(act));
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) { seen.add(target.id); draw(target.id); } else seen.delete(target.id);
    }
  }, { rootMargin: "100px" });
  let waits = false;

  function draw(anchor) {
    const act = due.get(anchor);
    due.delete(anchor);
    act?.();
  }

  function rest() {
    waits = false;
    const [anchor] = due.keys();
    if (anchor !== undefined) draw(anchor);
    if (due.size) drawRest(); else document.documentElement.dataset.settled = "yes";
  }

  function drawRest() {
    if (!waits) whenIdle(rest);
    waits = true;
  }

  return (acts) => {
    for (const [anchor, act] of Object.entries(acts)) {
      if (!due.has(anchor)) watcher.observe(section(anchor));
      due.set(anchor, act);
    }
    [...seen].forEach(draw);
    drawRest();
  };
}

/** Cost against p99: where this variant is, where it has been, and the pinned ones. */
function costView(host, numbers) {
  const visited = [];
  const MOST = 200;
  let now = null, pins = [];
  const y = numbers.find((n) => n.name === "jobs.latency_us.p99");
  const priced = numbers.find((n) => n.name === "cost.purchase");
  const units = { name: "units", title: "units", unit: "" };
  const note = el("p", { class: "note" });
  const graph = el("div");
  const point = (view, x) => [x === units ? view.counts.units : view.numbers[x.name], view.numbers[y.name]];
  const across = () => (now.numbers[priced.name] == null ? units : priced);
  const values = tableOf("Cost against latency", () => [["variant", across().title, y.title],
    [["now", now], ...pins.map((pin) => [pin.name, pin.view])].map(([name, view]) => { const [a, b] = point(view, across()); return [isStalled(view) ? `${name} (stalled)` : name, number(a), time(b)]; })]);
  host.append(note, graph, values.node);
  const plotted = chart(graph, () => {
    const x = across();
    const all = [["visited", visited], ["now", [now]], ...pins.map((pin) => [pin.name, [pin.view]])];
    const points = all.flatMap(([name, views]) => views.map((view) => [isStalled(view) ? "stalled" : name, ...point(view, x)])).filter(([, a, b]) => a != null && b != null).sort((a, b) => a[1] - b[1]);
    if (points.some(([name]) => name === "stalled")) all.push(["stalled", []]);
    const [, size] = unitOf(Math.max(0, ...points.map((p) => p[2])));
    const [unit] = unitOf(size);
    const span = (low, high) => 0.06 * (high - low || high || 1);
    return {
      label: `${y.title} over ${x.title}`,
      x: { title: x.title, format: (v) => `${x.title} ${number(v)}`, range: (u, low, high) => [Math.max(0, low - span(low, high)), high + span(low, high)] },
      y: { title: `${y.title}, ${unit}`, format: (v) => (v == null ? "" : time(v * size)), tick: number, range: (u, low, high) => [0, (high || 1) * 1.12] },
      xs: points.map((p) => p[1]),
      series: all.map(([name], i) => ({ name, style: name === "stalled" ? 6 : [8, 2, 1, 3, 4, 5][i], points: true, scattered: true, values: points.map((p) => (p[0] === name ? p[2] / size : undefined)) })),
    };
  });
  return (view, others) => {
    const small = { numbers: view.numbers, counts: view.counts, reason: view.reason };
    if (now) visited.push(now);
    if (visited.length > MOST) visited.shift();
    now = small;
    pins = others;
    note.textContent = across() === units ? "The scenario gives no prices, so the number of units stands for the cost." : "What all units cost, against the latency that 99 % of jobs do not exceed.";
    plotted.draw();
    values.refresh();
  };
}

/** Energy by processor type and by state, in bars and in a table. */
function energyView(host) {
  const joule = (v) => (v == null ? "-" : `${number(v)} J`);
  return (view, pins) => {
    const runs = [["now", view], ...pins.map((pin) => [pin.name, pin.view])];
    if (view.numbers["energy_j"] == null) {
      host.replaceChildren(el("p", { class: "note" }, "The scenario gives no power for its units, so their energy is unknown."));
      return;
    }
    const most = Math.max(...runs.map(([, one]) => one.numbers["energy_j"] ?? 0));
    const bars = runs.map(([name, one]) => {
      const parts = Object.entries(one.energy.by_type);
      const bar = el("div", { class: "stack", "aria-hidden": "true" }, ...parts.map(([, value], i) => {
        const part = el("span");
        part.style.width = `${(100 * value) / most}%`;
        part.style.background = seriesStyle(i + 1).color;
        return part;
      }));
      return el("div", { class: "energy-row" }, el("span", {}, `${name}: ${joule(one.numbers["energy_j"])}`), bar);
    });
    const keys = el("ul", { class: "marks" }, ...Object.keys(view.energy.by_type).map((name, i) => {
      const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = seriesStyle(i + 1).color;
      return el("li", {}, swatch, name);
    }));
    const rows = ["by_type", "by_state"].flatMap((part) => Object.keys(view.energy[part]).map((name) => [part === "by_type" ? name : `${name} (state)`, ...runs.map(([, one]) => joule(one.energy[part]?.[name]))]));
    host.replaceChildren(keys, ...bars, plainTable("Energy", ["", ...runs.map(([name]) => name)], rows));
  };
}

/** The figures on top, with how they differ from the first pinned variant. */
function figuresView(host, numbers) {
  const list = el("dl", { class: "figures" });
  host.append(list);
  return (view, pins) => {
    const first = pins.find((pin) => pin.view);
    list.replaceChildren(...numbers.filter((n) => view.numbers[n.name] != null).map((n) => {
      const value = view.numbers[n.name], before = first?.view.numbers[n.name];
      const change = before == null ? "" : before === 0 ? `${first.name}: ${formatOf(n)(before)}` : `${value >= before ? "+" : "−"}${(100 * Math.abs(value / before - 1)).toFixed(1)}% against ${first.name}`;
      const title = n.title[0].toUpperCase() + n.title.slice(1);
      return el("div", {}, el("dt", {}, title), el("dd", {}, el("b", {}, formatOf(n)(value)), " ", el("span", {}, change)));
    }));
  };
}
