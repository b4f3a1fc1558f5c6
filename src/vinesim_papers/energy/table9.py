"""Table 9: demand beyond capacity (SLAV) along the batch period; N = 40,000."""

from vinesim_papers.energy.periods import FEW_TASKS, table

CELLS = {
    8: (3.34e7, 0, 0, 0, 0, 0, 0, 0),
    7: (3.21e7, 166, 0, 0, 0, 0, 0, 0),
    6: (3.06e7, 8880, 0, 0, 0, 0, 0, 0),
    5: (2.90e7, 6.51e4, 1550, 0, 0, 0, 0, 0),
    4: (2.92e7, 3.25e5, 6.37e4, 5810, 8, 0, 0, 0),
    3: (2.66e7, 7.04e5, 3.17e5, 1.21e5, 2.77e4, 7460, 0, 0),
    2: (2.12e7, 1.56e10, 6.90e10, 1.07e11, 6.69e10, 6.71e10, 4.15e8, 6.13e7),
    1: (1.24e7, 1.69e6, 9.18e5, 6.75e5, 4.93e5, 3.75e5, 2.00e9, 2.70e8),
}
ITEM = table(9, CELLS, "periods_2n.yaml", 40_000, FEW_TASKS)
