"""Numba's arrays, loaded without SciPy's linear algebra.

Numba asks whether that is there by importing it, which takes longer than the rest of a small run. No kernel here needs
it; one of a user's that does asks again when it is compiled.
"""

import sys

from numba.np import linalg

if "numba.np.arraymath" not in sys.modules:
    _asked, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = _asked
