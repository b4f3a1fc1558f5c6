"""Table 11: demand beyond capacity (SLAV) along the batch period; N = 200,000."""

from vinesim_papers.energy.periods import FEW_TASKS, table

CELLS = {
    7: (1.61e8, 0, 0, 0, 0, 0, 0, 0),
    6: (1.53e8, 862.75, 0, 0, 0, 0, 0, 0),
    5: (1.44e8, 34_975, 361.75, 0, 0, 0, 0, 0),
    4: (1.45e8, 478_757.8, 74_363, 4438.5, 0, 0, 0, 0),
    3: (1.33e8, *5 * (2.22e13,), 0, 0),
    2: (1.06e8, *5 * (2.58e13,), 9.83e9, 1.33e9),
    1: (61_967_200, *5 * (1.74e13,), 4.72e10, 6.16e9),
}
ITEM = table(11, CELLS, "periods_10n.yaml", 200_000, FEW_TASKS + "; the thesis has the means of four runs, here is one")
