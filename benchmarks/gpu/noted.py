"""The programs of a cluster, with notes of their stages: ``python -m benchmarks.gpu.noted manager FOLDER`` and
``... agent FOLDER NODE`` serve it as ``vinesim.live.serve`` does."""

import sys

from benchmarks.gpu.stages import agent_noted, manager_noted
from vinesim.live import serve

if __name__ == "__main__":
    (manager_noted if sys.argv[1] == "manager" else agent_noted)()
    serve.main(sys.argv[1:])
