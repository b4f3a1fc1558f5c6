// The numbers and points of a sweep: how to write a number of its kind, and which labels a point has.

const KINDS = { us: time, share: percent, J: (v) => (v == null ? "-" : `${number(v)} J`), "%": (v) => (v == null ? "-" : `${number(v)} %`) };

/** How a number of a run is written. */
const formatOf = (of) => KINDS[of.unit] ?? ((v) => (v == null || !of.unit ? number(v) : `${number(v)} ${of.unit}`));

/** The unit of an axis that shows these values, as it stands behind the title, and its size. */
function scaleOf(of, values) {
  if (of.unit === "us") {
    const [unit, size] = unitOf(Math.max(0, ...values.filter((v) => v != null).map(Math.abs)));
    return [` (${unit})`, size];
  }
  return of.unit === "share" ? [" (%)", 0.01] : [of.unit ? ` (${of.unit})` : "", 1];
}

/** The mean of a point with half its interval; what is only rounding is 0. */
function meanText(of, point) {
  const [mean, half] = [of.mean[point], of.half[point]];
  if (mean == null) return "-";
  return formatOf(of)(mean) + (half == null ? "" : ` ± ${formatOf(of)(half < 1e-9 * Math.abs(mean) ? 0 : half)}`);
}

/** What an axis is called, with the unit of its labels. */
const axisName = (title, unit) => (unit ? `${title}, ${unit}` : title);

const labelText = (label) => (typeof label === "number" ? number(label) : String(label ?? "none"));

/** The position of a point on each axis; the first axis is outermost. */
function positionsOf(axes, point) {
  const found = [];
  for (let a = axes.length - 1; a >= 0; a--) {
    const n = axes[a].labels[0].length;
    found.unshift(point % n);
    point = Math.floor(point / n);
  }
  return found;
}

/** The labels of each point as text, in the order of the columns. */
function labelsOfPoints(axes, n) {
  return Array.from({ length: n }, (_, p) => {
    const at = positionsOf(axes, p);
    return axes.flatMap((axis, a) => axis.labels.map((column) => labelText(column[at[a]])));
  });
}
