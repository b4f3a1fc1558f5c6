// The controls, as the scenario has them: sliders with a number next to them, choices, switches.

const STEPS = 400; // of a slider whose numbers are not whole

/** Draw the controls; call(key, value) for a change, value null: as in the file. Returns {set, vary}. */
function controlsView(place, call) {
  const host = el("form", { class: "knobs", "aria-label": "Controls of the scenario" });
  host.addEventListener("submit", (event) => event.preventDefault());
  place.append(host);
  const varied = new Set();
  let drawn = new Map(); // key -> {node, set}
  let shape = "";
  let typed = null, latest = null; // the box that somebody types in, and what is shown once it is left
  const leave = () => { typed = null; };
  host.addEventListener("input", (event) => { typed = event.target.classList.contains("exact") ? event.target : null; });
  host.addEventListener("change", leave, true);
  host.addEventListener("focusout", () => { if (typed) { leave(); set(...latest); } });

  /** Show these controls with these changes, but not over what somebody is typing; they are rebuilt only where other controls are there. */
  function set(controls, changes) {
    latest = [controls, changes];
    if (typed) return;
    const next = JSON.stringify(controls.map((c) => [c.key, c.kind, c.words]));
    if (next !== shape) build(controls);
    shape = next;
    controls.forEach((control) => drawn.get(control.key).set(changes[control.key] ?? control.value, control.key in changes));
  }

  function build(controls) {
    const focused = document.activeElement?.id;
    const groups = [...new Set(controls.map((control) => control.group))];
    drawn = new Map(controls.map((control) => [control.key, knob(control)]));
    host.replaceChildren(...groups.map((group) => {
      const open = host.querySelector(`details[data-group="${group}"]`)?.open ?? true;
      return el("details", { open, "data-group": group }, el("summary", {}, group),
        ...controls.filter((control) => control.group === group).map((control) => drawn.get(control.key).node));
    }));
    if (focused) document.getElementById(focused)?.focus();
  }

  function knob(control) {
    const id = `knob-${control.key}`;
    const made = { number: slider, choice: picker, switch: toggle }[control.kind](control, id);
    const back = el("button", { type: "button", class: "back", title: "As in the file", "aria-label": `${control.title}: as in the file` }, "↺");
    back.addEventListener("click", () => call(control.key, null));
    const vary = el("input", { type: "checkbox", checked: varied.has(control.key), title: "Vary it in a plan", "aria-label": `Vary ${control.title} in a plan` });
    vary.addEventListener("change", () => (vary.checked ? varied.add(control.key) : varied.delete(control.key)));
    const node = el("div", { class: `knob ${control.kind}`, "data-key": control.key },
      el("div", { class: "name" }, el("label", { for: id }, control.title), back, el("span", { class: "vary" }, vary, el("span", { "aria-hidden": "true" }, "vary"))), made.node);
    return {
      node,
      set(value, isChanged) {
        node.classList.toggle("changed", isChanged);
        back.hidden = !isChanged;
        made.set(value);
      },
    };
  }

  function slider(control, id) {
    const { low, high, is_log: log, is_whole: whole } = control;
    const span = log ? Math.log(high / low) : high - low;
    const even = whole && !log;
    const [first, last] = even ? [low, high] : [0, STEPS];
    const input = el("input", { type: "range", id, min: first, max: last, step: 1 });
    const exact = el("input", { type: "text", inputmode: "decimal", class: "exact", "aria-label": `${control.title}, exact value` });
    const unit = control.unit ? ` ${control.unit}` : "";
    const numberOf = (value) => (typeof value === "number" ? value : parseFloat(value));
    const at = (number) => (even ? number : Math.round(STEPS * (log ? Math.log(number / low) / span : (number - low) / span)));
    const valueAt = (position) => {
      if (even) return position;
      const number = log ? low * Math.exp((span * position) / STEPS) : low + (span * position) / STEPS;
      return whole ? Math.round(number) : Number(number.toPrecision(3));
    };
    const written = (number) => (control.unit ? `${number}${unit}` : number);
    input.addEventListener("input", () => call(control.key, written(valueAt(Number(input.value)))));
    exact.addEventListener("change", () => {
      const text = exact.value.trim();
      call(control.key, text === "" ? null : /^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text) ? (control.unit ? text + unit : Number(text)) : text);
    });
    return {
      node: el("div", { class: "pair" }, input, exact),
      set(value) {
        const inUnit = typeof value !== "string" || !control.unit || value.trim().endsWith(control.unit) || /^[\d.e+-]+$/.test(value);
        if (inUnit && document.activeElement !== exact) input.value = at(numberOf(value));
        if (inUnit) input.value = Math.min(last, Math.max(first, at(numberOf(value))));
        exact.value = value;
        input.setAttribute("aria-valuetext", String(value));
      },
    };
  }

  function picker(control, id) {
    const select = el("select", { id }, ...control.words.map((word) => el("option", { value: String(word) }, String(word))));
    select.addEventListener("change", () => call(control.key, control.words.find((word) => String(word) === select.value)));
    return { node: select, set: (value) => { select.value = String(value); } };
  }

  function toggle(control, id) {
    const input = el("input", { type: "checkbox", id, role: "switch" });
    input.addEventListener("change", () => call(control.key, input.checked));
    return { node: input, set: (value) => { input.checked = Boolean(value); } };
  }

  return { set, varied: () => [...drawn.keys()].filter((key) => varied.has(key)) };
}
