"""Writes trace.txt and deployment.txt of this folder."""

from pathlib import Path

from vinesim.formats.papers.deployment import write_deployment
from vinesim.formats.papers.trace import write_trace
from vinesim.model.datacenter import Datacenter
from vinesim.workloads.registry import GENERATORS

FOLDER = Path(__file__).parent
UNITS = [("CPU_INTEL", 0, shelf) for shelf in range(20)] + [("GPU", 0, shelf) for shelf in range(20, 40)]

if __name__ == "__main__":
    write_trace(FOLDER / "trace.txt", GENERATORS["500jobs"].generate())
    write_deployment(FOLDER / "deployment.txt", Datacenter.of(UNITS))
