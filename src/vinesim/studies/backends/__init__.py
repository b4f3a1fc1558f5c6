"""Where the chunks of a sweep are worked on: this process, processes of this machine, a Dask or a Ray cluster.

They are the futures of joblib's loky, of Dask and of Ray behind one small contract, and not joblib's own back-ends: a
chunk that kills its Dask worker makes ``joblib.Parallel`` wait for ever (joblib 1.6, distributed 2026.8), its Ray
back-end gives nothing before all is done, and with loky the death of one worker loses what the others have in hand.
"""

from vinesim.studies.backends.choose import BACKENDS, check_backend, open_backend
from vinesim.studies.backends.contract import Backend, Finished, WorkerDied

__all__ = ["BACKENDS", "Backend", "Finished", "WorkerDied", "check_backend", "open_backend"]
