// Pinned variants, and how they differ from the one that is shown: over runs that share their seeds, in the background.

/** Draw the pins; call.unpin(name), call.use(changes). Returns {draw, compare}. */
function pinsView(place, numbers, titleOf, call) {
  const list = el("ul", { class: "pins" });
  const times = el("input", { type: "number", id: "replications", min: 2, max: 200, value: 10 });
  const go = el("button", { type: "button", id: "compare" }, "Compare with intervals");
  const halt = el("button", { type: "button", hidden: true }, "Stop");
  const progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Runs done" });
  const status = el("p", { class: "note", role: "status" });
  const table = el("div");
  place.append(list, el("div", { class: "controls" }, el("div", { class: "choice" }, el("label", { for: "replications" }, "Runs of each variant"), times), go, halt, progress), status, table);
  let asked = 0, result = null;
  go.addEventListener("click", compare);
  halt.addEventListener("click", () => stopJob("differences"));

  function words(changes) {
    const parts = Object.entries(changes).map(([key, value]) => `${titleOf(key)} ${value}`);
    return parts.join(", ") || "as in the file";
  }

  function draw(clear = true) {
    if (clear) { result = null; asked += 1; }
    list.replaceChildren(...explored.pins.map((pin) => {
      const use = el("button", { type: "button" }, "Show");
      use.addEventListener("click", () => call.use(pin.changes));
      const off = el("button", { type: "button", "aria-label": `Unpin ${pin.name}` }, "Unpin");
      off.addEventListener("click", () => call.unpin(pin.name));
      return el("li", {}, el("b", {}, pin.name), el("span", {}, words(pin.changes)), use, off);
    }));
    go.disabled = !explored.pins.length;
    if (!explored.pins.length) { table.replaceChildren(); status.textContent = "Nothing is pinned. Pin this variant (P), change a control, and see what differs."; return; }
    if (!result) status.textContent = "From one run each; compare with intervals to see what is more than chance." + stalledNote();
    drawTable();
  }

  function drawTable() {
    const now = call.shown();
    const pins = explored.pins.filter((pin) => pin.view);
    if (!now || !pins.length) return;
    const rows = numbers.filter((n) => now.numbers[n.name] != null).map((n) => {
      const format = formatOf(n);
      return [n.title, format(now.numbers[n.name]), ...pins.flatMap((pin, i) => {
        const value = pin.view.numbers[n.name];
        const found = result?.rows[n.name]?.find((row) => row.variant === i + 1);
        if (!found) return [format(value), value == null ? "-" : signed(format, now.numbers[n.name] - value)];
        const between = found.low == null ? "" : ` [${signed(format, -found.high)}, ${signed(format, -found.low)}]`;
        return [format(found.second), signed(format, -found.estimate) + between + (found.isStalled ? ", stalled" : found.isSignificant ? "" : ", unclear")];
      })];
    });
    const marked = (view, name) => (isStalled(view) ? `${name} (stalled)` : name);
    const head = ["", marked(now, "now"), ...pins.flatMap((pin) => [marked(pin.view, `pinned ${pin.name}`), `now − ${pin.name}${result ? ", 95%" : ""}`])];
    table.replaceChildren(plainTable("How this variant differs from the pinned ones", head, rows));
  }

  function stalledNote() {
    const some = [call.shown(), ...explored.pins.map((pin) => pin.view)].some(isStalled)
      || (result && Object.values(result.rows).flat().some((row) => row.isStalled));
    return some ? " Stalled: tasks that can never run are left, so the numbers are those of a part of the jobs." : "";
  }

  const signed = (format, v) => (v === 0 ? format(0) : (v > 0 ? "+" : "−") + format(Math.abs(v)));

  async function compare() {
    const mine = ++asked;
    const pins = explored.pins.filter((pin) => pin.view);
    const variants = [copied(explored.changes), ...pins.map((pin) => pin.changes)];
    progress.hidden = halt.hidden = false;
    status.textContent = "Comparing in the background.";
    try {
      await ask("/differences", { variants, replications: Number(times.value) }, (kind, data) => {
        if (mine !== asked) return;
        if (kind === "progress") { progress.max = data.of; progress.value = data.done; }
        if (kind === "failed") status.textContent = data;
        if (kind === "stopped") status.textContent = "Stopped.";
        if (kind === "done") {
          result = data;
          status.textContent = `Paired differences over ${data.n} runs of each, with the same seeds; intervals hold together at 95% for each number.`
            + stalledNote() + (data.hasSameJobs ? " Every seed has the same jobs, as the workload comes from a file." : "");
          drawTable();
        }
      });
    } catch (wrong) { status.textContent = wrong.message; }
    progress.hidden = halt.hidden = true;
  }

  return { draw, compare };
}
