"""The programs of a cluster, with notes of their stages: ``python -m benchmarks.gpu.noted manager FOLDER`` and
``... agent FOLDER NODE`` serve it as ``vinesim.live.serve`` does."""

import sys

from benchmarks.gpu.stages import manager_noted
from vinesim.live import serve

if __name__ == "__main__":
    if sys.argv[1] == "manager":
        manager_noted()
    serve.main(sys.argv[1:])
