"""Table 10: demand beyond capacity (SLAV) along the batch period; N = 100,000."""

from vinesim_papers.energy.periods import FEW_TASKS, table

CELLS = {
    7: (80_317_425, 0, 0, 0, 0, 0, 0, 0),
    6: (76_221_800, 359, 0, 0, 0, 0, 0, 0),
    5: (72_278_525, 18_060, 197.5, 0, 0, 0, 0, 0),
    4: (72_626_700, 253_914.3, 41_697, 2772.5, 0, 0, 0, 0),
    3: (66_742_350, *5 * (5.56e12,), 0, 0),
    2: (53_032_700, *5 * (6.44e12,), 2.47e9, 3.48e8),
    1: (30_912_250, *5 * (4.35e12,), 1.17e10, 1.55e9),
}
ITEM = table(10, CELLS, "periods_5n.yaml", 100_000, FEW_TASKS + "; the thesis has the means of four runs, here is one")
