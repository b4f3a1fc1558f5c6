"""Where the chunks of a sweep run: in this process, in processes of this machine, on a Dask or a Ray cluster.

They use the futures of joblib's loky, of Dask and of Ray behind one small contract, not joblib's own back-ends: a chunk
that kills its Dask worker makes ``joblib.Parallel`` wait forever (joblib 1.6, distributed 2026.8), its Ray back-end
returns nothing until everything is done, and with loky the death of one worker loses the work of the others.
"""

from vinesim.studies.backends.choose import BACKENDS, check_backend, open_backend
from vinesim.studies.backends.contract import Backend, Finished, WorkerDied

__all__ = ["BACKENDS", "Backend", "Finished", "WorkerDied", "check_backend", "open_backend"]
