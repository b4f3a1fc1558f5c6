// Where each cell of the rack view stands: racks side by side, shelf 0 at the bottom.

const RACK_LABEL = 16, SHELF_LABEL = 30, CELL_HIGHEST = 24, RACK_WIDEST = 190, KEEP_WHOLE = 48;

/**
 * The arrangement with the largest cells: high racks may be folded into columns, many racks stand in several bands.
 * Returns {x, y, widths: per cell, h: of a cell, used, height: of all, labels: [[x, y, text, align]]}, px.
 */
function rackLayout(view, width, highest) {
  const nRacks = Math.max(1, view.racks.length), nShelves = view.shelves.length;
  const nSlots = view.slot ? Math.max(...new Set(view.slot)) + 1 : 1;
  const left = view.racks.length ? SHELF_LABEL : 0;
  let best = null;
  for (let rows = nShelves; rows >= 1; rows = nShelves <= KEEP_WHOLE && view.racks.length ? 0 : Math.min(rows - 1, Math.floor(rows * 0.93))) {
    const folds = Math.ceil(nShelves / rows);
    for (let bands = 1; bands <= Math.min(nRacks, 60); bands++) {
      const inBand = Math.ceil(nRacks / bands);
      const gap = inBand > 100 ? 1 : inBand > 30 ? 2 : 8;
      const label = rows >= 4 && view.racks.length ? RACK_LABEL : 2;
      const rackWidth = Math.min(RACK_WIDEST * (nRacks === 1 ? folds : 1), (width - left - gap * (inBand - 1)) / inBand);
      const w = rackWidth / folds / nSlots;
      const h = Math.min(CELL_HIGHEST, (highest / bands - label) / rows);
      if (!best || Math.min(w, h) > Math.min(best.w, best.h) * 1.02) best = { rows, folds, bands, inBand, gap, label, rackWidth, w, h };
    }
  }
  const { rows, folds, bands, inBand, gap, label, rackWidth, w, h } = best;
  const bandHeight = label + rows * h;
  const n = view.shelf.length;
  const x = new Float64Array(n), y = new Float64Array(n), widths = new Float64Array(n);
  const together = new Map();
  const nodeOf = (cell) => view.rack[cell] * nShelves + view.shelf[cell];
  for (let cell = 0; cell < n; cell++) together.set(nodeOf(cell), (together.get(nodeOf(cell)) ?? 0) + 1);
  const rackX = (rack) => left + (rack % inBand) * (rackWidth + gap);
  const bandY = (rack) => Math.floor(rack / inBand) * (bandHeight + 8);
  for (let cell = 0; cell < n; cell++) {
    const rack = view.rack[cell], shelf = view.shelf[cell];
    widths[cell] = (w * nSlots) / together.get(nodeOf(cell));
    x[cell] = rackX(rack) + Math.floor(shelf / rows) * w * nSlots + (view.slot ? view.slot[cell] : 0) * widths[cell];
    y[cell] = bandY(rack) + label + (rows - 1 - (shelf % rows)) * h;
  }
  const labels = [];
  if (view.racks.length && label === RACK_LABEL) {
    const every = Math.max(1, Math.ceil(30 / (rackWidth + gap)));
    view.racks.forEach((name, rack) => {
      if ((rack % inBand) % every === 0 && (every === 1 || rackX(rack) < width - 24)) labels.push([rackX(rack) + (every > 1 ? 0 : rackWidth / 2), bandY(rack) + 11, every > 1 || rackWidth < 60 ? String(name) : `rack ${name}`, every > 1 ? "left" : "center"]);
    });
    if (folds === 1) {
      const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => s * h >= 14) ?? 1000;
      for (let band = 0; band < bands; band++)
        for (let row = 0; row < rows; row += step) labels.push([left - 7, band * (bandHeight + 8) + label + (rows - 0.5 - row) * h + 4, String(view.shelves[row]), "right"]);
    }
  }
  const used = left + inBand * (rackWidth + gap) - gap;
  return { x, y, widths, h, used, height: Math.ceil(bands * (bandHeight + 8) - 8), labels };
}
