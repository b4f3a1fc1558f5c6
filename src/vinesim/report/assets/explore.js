// The page: a change of a control asks for a run, and what comes back is drawn. One run at a time is asked for; while it
// is short the next waits for it, so that charts follow a slider that is being moved; a long one is replaced.

(() => {
  const { controls: first, numbers } = data.explore;
  const LONG_MS = 700;
  const main = document.getElementById("main");
  const bar = el("div", { class: "run-bar" });
  const status = el("p", { class: "note", role: "status", id: "status" }, "Running the scenario.");
  const engine = el("p", { class: "note", id: "engine" });
  const wrong = el("pre", { class: "notice", role: "alert", id: "problem", hidden: true });
  const progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Tasks done" });
  const button = (id, words, title, act) => {
    const node = el("button", { type: "button", id, title }, words);
    node.addEventListener("click", act);
    return node;
  };
  const halt = button("stop", "Stop", "Stop the run (Esc)", () => stopJob("show"));
  halt.hidden = true;
  const pin = button("pin", "Pin", "Pin this variant (P)", pinThis);
  const undo = button("undo", "Undo", "Undo (Ctrl+Z)", () => step(explored.done, explored.undone));
  const redo = button("redo", "Redo", "Redo (Ctrl+Shift+Z)", () => step(explored.undone, explored.done));
  const reset = button("reset", "As in the file", "Take all changes back (R)", () => change(null, () => { explored.changes = {}; }));
  const keys = el("p", { class: "note", id: "keys" }, "Keys: P pins, U or Ctrl+Z undoes, Ctrl+Shift+Z redoes, R takes all changes back, Esc stops a run. Arrow keys move a slider.");
  bar.append(pin, undo, redo, reset, halt, progress);
  section("controls").append(bar, status, wrong, engine);

  let controls = first, shown = null, asking = null, waits = false;
  const titleOf = (key) => controls.find((control) => control.key === key)?.title ?? key;
  const knobs = controlsView(section("controls"), setKey);
  section("controls").append(keys);
  const figures = figuresView(section("results"), numbers);
  const notes = el("p", { class: "notice", hidden: true });
  section("results").append(notes);
  const charts = chartsView(numbers);
  const pins = pinsView(section("differences"), numbers, titleOf, {
    shown: () => shown,
    use: (changes) => change(null, () => { explored.changes = copied(changes); }),
    unpin: (name) => change(null, () => { explored.pins = explored.pins.filter((one) => one.name !== name); }),
  });
  const curve = curveView(section("curve"), numbers);
  saveView(section("save"), { shown: () => shown, varied: knobs.varied });
  main.classList.add("explore");
  const columns = el("div", { class: "columns" });
  [...main.querySelectorAll("section")].slice(1).forEach((part) => columns.append(part));
  main.append(columns);

  function setKey(key, value) {
    change(key, () => {
      if (key === "policy") Object.keys(explored.changes).filter((name) => name.startsWith("options.")).forEach((name) => delete explored.changes[name]);
      const own = controls.find((control) => control.key === key)?.value;
      if (value === null || value === own) delete explored.changes[key]; else explored.changes[key] = value;
    });
  }

  function change(what, act) {
    remember(what);
    act();
    refresh();
  }

  function step(from, to) {
    if (stepBack(from, to)) refresh();
  }

  function refresh() {
    showLink();
    knobs.set(controls, explored.changes);
    undo.disabled = !explored.done.length;
    redo.disabled = !explored.undone.length;
    reset.disabled = !Object.keys(explored.changes).length;
    pins.draw();
    run();
  }

  function pinThis() {
    const name = PIN_NAMES.find((one) => !explored.pins.some((other) => other.name === one));
    if (!shown) return;
    if (!name) { status.textContent = `${PIN_NAMES.length} variants are pinned; unpin one first.`; return; }
    change(null, () => explored.pins.push({ name, changes: copied(explored.changes), view: small(shown) }));
  }

  /** What is kept of a pinned variant: not its racks. */
  const small = ({ numbers: ns, counts, energy, reason, latency, usage, waiting }) => ({ numbers: ns, counts, energy, reason, latency, usage, waiting });

  function run() {
    if (asking && performance.now() - asking.at < LONG_MS) { waits = true; return; }
    waits = false;
    asking?.control.abort();
    const mine = { at: performance.now(), control: new AbortController(), changes: copied(explored.changes) };
    asking = mine;
    const late = setTimeout(() => {
      if (asking !== mine) return;
      halt.hidden = progress.hidden = false;
      progress.removeAttribute("value");
      if (waits) run();
    }, LONG_MS);
    const over = () => {
      clearTimeout(late);
      if (asking !== mine) return;
      asking = null;
      halt.hidden = progress.hidden = true;
      if (waits) run();
    };
    ask("/show", { changes: mine.changes }, (kind, data) => {
      if (kind === "compiling" || kind === "compiled") return tellEngine(kind, data);
      if (asking !== mine) return;
      if (kind === "progress") tellProgress(data);
      else if (kind === "done") { draw(data, mine); over(); } else {
        if (kind === "failed") tellProblem(data);
        over();
      }
    }, mine.control.signal).catch((error) => {
      if (error.name === "AbortError") return;
      tellProblem(`The server does not answer: ${error.message}. Start vinesim explore again.`);
    }).finally(over);
  }

  function tellProgress(now) {
    if (now.message) { engine.textContent = now.message; return; }
    progress.max = now.of;
    progress.value = now.done;
    progress.setAttribute("aria-valuetext", `${now.done} of ${now.of} tasks`);
  }

  function tellProblem(text) {
    wrong.hidden = false;
    wrong.textContent = text;
    status.textContent = "This variant cannot be shown; the charts are of the one before.";
    main.classList.add("stale");
  }

  function tellEngine(kind, isReady) {
    engine.textContent = kind === "compiling" ? "Drawn by the plain engine; the policy is being compiled in the background, then charts follow faster."
      : isReady ? "The policy is compiled." : "The policy could not be compiled: its runs stay in plain Python.";
  }

  function draw(view, mine) {
    shown = view;
    controls = view.controls;
    wrong.hidden = true;
    main.classList.remove("stale");
    engine.textContent = view.isCodeReady ? "" : engine.textContent;
    knobs.set(controls, explored.changes);
    curve.set(controls);
    figures(view, explored.pins);
    delete document.documentElement.dataset.settled;
    charts(view, explored.pins);
    pins.draw();
    const { counts, reason, warnings } = view;
    notes.textContent = [reason.name === "ALL_DONE" ? "" : `${reason.name}: ${counts.tasksDone.toLocaleString("en")} of ${counts.tasks.toLocaleString("en")} tasks are done. ${reason.words}`, ...warnings].filter(Boolean).join(" ");
    notes.hidden = !notes.textContent;
    const ms = performance.now() - mine.at;
    const p99 = numbers.find((n) => n.name === "jobs.latency_us.p99");
    status.textContent = `${counts.jobs.toLocaleString("en")} jobs, ${counts.tasks.toLocaleString("en")} tasks on ${counts.units.toLocaleString("en")} units: p99 ${formatOf(p99)(view.numbers[p99.name])}. Drawn in ${ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`}.`;
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn ?? 0) + 1);
    document.documentElement.dataset.ms = ms.toFixed(1);
  }

  /** Run the pinned variants of a link, one after another, then what the page shows. */
  async function restore() {
    Object.assign(explored, fromLink(location.hash));
    for (const one of explored.pins) {
      await ask("/show", { changes: one.changes }, (kind, data) => { if (kind === "done") one.view = small(data); else if (kind === "failed") tellProblem(`Pinned ${one.name}: ${data}`); }).catch(() => {});
    }
    refresh();
  }

  addEventListener("hashchange", () => { remember(null); restore(); });
  addEventListener("keydown", (event) => {
    const isText = event.target.matches?.('input[type="text"], input[type="number"], select, textarea');
    const withCtrl = event.ctrlKey || event.metaKey;
    if (withCtrl && event.key.toLowerCase() === "z" && !isText) { event.preventDefault(); (event.shiftKey ? redo : undo).click(); } else if (withCtrl && event.key.toLowerCase() === "y" && !isText) { event.preventDefault(); redo.click(); } else if (!withCtrl && !event.altKey && !isText) {
      ({ p: pin, u: undo, r: reset })[event.key.toLowerCase()]?.click();
    }
    if (event.key === "Escape" && !halt.hidden) halt.click();
  });
  restore();
})();
