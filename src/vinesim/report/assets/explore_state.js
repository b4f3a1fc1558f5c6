// What the page shows: the changes of the scenario, key by key. They are the link, and what undo steps through.

const explored = { changes: {}, pins: [], undone: [], done: [] };
const PIN_NAMES = ["A", "B", "C", "D"];

const copied = (value) => JSON.parse(JSON.stringify(value));
const snapshot = () => copied({ changes: explored.changes, pins: explored.pins });

/** The part of the address behind #: key=value for each change, and pin=name:{...} for each pinned variant. */
function toLink({ changes, pins }) {
  const parts = Object.entries(changes).map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(JSON.stringify(value))}`);
  pins.forEach((pin) => parts.push(`pin=${encodeURIComponent(JSON.stringify([pin.name, pin.changes]))}`));
  return parts.length ? `#${parts.join("&")}` : "";
}

/** What a link says; parts that are none are left out. */
function fromLink(text) {
  const found = { changes: {}, pins: [] };
  for (const part of text.replace(/^#/, "").split("&").filter(Boolean)) {
    const at = part.indexOf("=");
    try {
      const key = decodeURIComponent(part.slice(0, at)), value = JSON.parse(decodeURIComponent(part.slice(at + 1)));
      if (key === "pin") { if (PIN_NAMES.includes(value[0])) found.pins.push({ name: value[0], changes: value[1] }); } else found.changes[key] = value;
    } catch { /* a part that somebody has cut off */ }
  }
  return found;
}

function showLink() {
  history.replaceState(null, "", location.pathname + location.search + toLink(explored));
}

/** Note the state before a change; a run of changes of one control, as by a slider, is one step. */
function remember(what) {
  const last = explored.done[explored.done.length - 1];
  const now = performance.now();
  if (!(last && last.what === what && what !== null && now - last.at < 1500)) explored.done.push({ what, at: now, state: snapshot() });
  else last.at = now;
  if (explored.done.length > 200) explored.done.shift();
  explored.undone = [];
}

/** Step back or forward. Returns whether there was a step. */
function stepBack(from, to) {
  const step = from.pop();
  if (!step) return false;
  to.push({ what: null, at: 0, state: snapshot() });
  Object.assign(explored, copied(step.state));
  return true;
}

/** Whether the run of a view stalled, so that its numbers are those of a part of the jobs. */
const isStalled = (view) => view?.reason.name === "STALLED";
