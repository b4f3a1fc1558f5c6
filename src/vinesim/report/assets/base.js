// Elements, numbers, times, colours and the theme: what every part of the page uses.

const data = JSON.parse(document.getElementById("data").textContent);

/** A new element: el("p", {class: "note"}, "text", child). */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

/** The part of the page with this anchor, or null. */
const section = (anchor) => document.getElementById(anchor);

const UNITS_US = [["ns", 0.001], ["us", 1], ["ms", 1e3], ["s", 1e6], ["min", 6e7], ["h", 3.6e9], ["d", 8.64e10]];

/** The largest unit in which a time, us, is at least 1: [name, us]. */
function unitOf(us) {
  return UNITS_US.filter(([, size]) => Math.abs(us) >= 0.9995 * size).pop() ?? UNITS_US[0];
}

function digits(value, significant = 3) {
  const whole = String(Math.trunc(Math.abs(value))).length;
  const decimals = Math.max(0, significant - whole);
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A time for people, three digits, as on the terminal: 25.0 us, 1.52 ms. */
function time(us) {
  if (us == null) return "-";
  if (us === 0) return "0 us";
  const [name, size] = unitOf(us);
  return `${digits(us / size)} ${name}`;
}

/** A point in time of the run: a date, if it is known when it began (data.start, s since 1970), else how long after that. */
function when(us) {
  return data.start == null || us == null ? time(us) : date(data.start + us / 1e6);
}

/** A date to the second, as on the terminal: 2024-05-06 00:06:46. */
const date = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 19).replace("T", " ");

const percent = (share) => (share == null ? "-" : `${(100 * share).toFixed(1)}%`);

/** Any number in few characters. */
function number(value) {
  if (value == null) return "-";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(3);
  return value.toLocaleString("en", { maximumSignificantDigits: 5 });
}

let nChoices = 0;

/** A labelled choice; call(value) when it changes. */
function choice(label, options, call, chosen = options[0]?.[0]) {
  const id = `choice${nChoices++}`;
  const select = el("select", { id }, ...options.map(([value, text]) => el("option", { value }, text)));
  select.value = chosen;
  select.addEventListener("change", () => call(select.value));
  return { node: el("div", { class: "choice" }, el("label", { for: id }, label), select), select };
}

let nRadios = 0;

/** One of a few, as radio buttons; call(value) when it changes. */
function radios(label, options, call, chosen = options[0][0]) {
  const name = `radio${nRadios++}`;
  const inputs = options.map(([value]) => el("input", { type: "radio", name, value, checked: value === chosen }));
  inputs.forEach((input) => input.addEventListener("change", () => call(input.value)));
  const labels = options.map(([, text], i) => el("label", {}, inputs[i], el("span", {}, text)));
  const node = el("fieldset", { class: "radios" }, el("legend", {}, label), el("div", {}, ...labels));
  return { node, set: (value) => inputs.forEach((input) => (input.checked = input.value === value)) };
}

const LONG_CELL = 24; // letters of a cell that is not wrapped
const MOST_ROWS = 24; // of a table that is shown at once; a longer one scrolls

function plainTable(caption, head, rows) {
  const titles = el("tr", {}, ...head.map((title) => el("th", { scope: "col" }, title)));
  const lines = rows.map(([first, ...rest]) =>
    el("tr", {}, el("th", { scope: "row" }, first), ...rest.map((cell) => el("td", { class: cell.length > LONG_CELL ? "name" : null }, cell))));
  const hidden = el("caption", { class: "hidden" }, caption);
  return el("div", { class: rows.length > MOST_ROWS ? "scroll tall" : "scroll", tabindex: 0, role: "group", "aria-label": caption },
    el("table", {}, hidden, el("thead", {}, titles), el("tbody", {}, ...lines)));
}

/** The same values as a table, built when somebody opens it; rows() gives [head, rows]. */
function tableOf(caption, rows) {
  const place = el("div");
  const node = el("details", { class: "values" }, el("summary", {}, "These values as a table"), place);
  const refresh = () => node.open && place.replaceChildren(plainTable(caption, ...rows()));
  node.addEventListener("toggle", refresh);
  return { node, refresh };
}

// Theme: the system's, until the button says otherwise. Charts draw themselves again.

const knownColors = new Map(); // of this theme: asking for one lets the browser lay out the page
const onTheme = []; // {of: node, redraw}; a node that has left the page is drawn no more
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
let chosenTheme = null;
let printing = false;

const isDark = () => !printing && (chosenTheme === null ? systemDark.matches : chosenTheme === "dark");

function applyTheme() {
  document.documentElement.style.colorScheme = isDark() ? "dark" : "light";
  const button = document.getElementById("theme");
  button.hidden = false;
  button.textContent = isDark() ? "Light theme" : "Dark theme";
  knownColors.clear();
  forgetRemoved();
  onTheme.forEach(({ redraw }) => redraw());
}

function forgetRemoved() {
  onTheme.splice(0, onTheme.length, ...onTheme.filter(({ of }) => of.isConnected));
}

document.getElementById("theme").addEventListener("click", () => {
  chosenTheme = isDark() ? "light" : "dark";
  applyTheme();
});
systemDark.addEventListener("change", applyTheme);
addEventListener("beforeprint", () => { printing = true; applyTheme(); });
addEventListener("afterprint", () => { printing = false; applyTheme(); });
applyTheme();

const probe = document.body.appendChild(el("span", { class: "hidden", "aria-hidden": "true" }));

/** The colour of a CSS variable as the theme has it now. */
function cssColor(name) {
  if (!knownColors.has(name)) {
    probe.style.color = `var(${name})`;
    knownColors.set(name, getComputedStyle(probe).color);
  }
  return knownColors.get(name);
}

const SERIES = { light: ["#1d1f21", "#0a66a8", "#b8480f", "#00785a", "#9c3f86", "#7a6300", "#5350a8", "#a8324a", "#55606b"],
  dark: ["#f0efec", "#74b6f2", "#f29a5b", "#4fcba6", "#e895cf", "#dcc54e", "#b1adf7", "#f58ea0", "#a8b4c0"] };
const DASHES = [[], [], [8, 3], [2, 3], [10, 3, 2, 3], [5, 5], [12, 4, 4, 4], [1, 2], [6, 2]];

/** Colour and dashes of series i; two series differ in both as far as they go round. */
function seriesStyle(i) {
  const colors = SERIES[isDark() ? "dark" : "light"];
  const place = i < colors.length ? i : 1 + ((i - 1) % (colors.length - 1));
  return { color: colors[place], dash: DASHES[i < DASHES.length ? i : 1 + ((i * 5) % (DASHES.length - 1))] };
}
