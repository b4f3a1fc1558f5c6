"""What an import of an SWF log says about itself."""

from dataclasses import dataclass
from datetime import datetime

from vinesim.formats.importers.report import ImportReport
from vinesim.formats.importers.swf_lines import FIELDS, PARTITION
from vinesim.formats.source.quantities import format_time_us


@dataclass
class SwfReport(ImportReport):
    """What an import read, dropped and left out."""

    n_jobs: int = 0
    n_tasks: int = 0
    span_us: float = 0.0  # first to last arrival
    work_us: float = 0.0  # processor time of all jobs
    began: datetime | None = None  # when the first job was submitted
    n_resorted: int = 0  # jobs whose line came after that of a later arrival
    n_processors: int | None = None  # in the machines file
    n_unasked: int = 0  # jobs without a requested time, whose estimate is their run time

    def conclude(self) -> None:
        """Turn the counts into words."""
        days, hours = self.span_us / 86400e6, self.work_us / 3600e6
        span = format_time_us(self.span_us)
        self.made = f"{self.n_jobs:,} jobs, {self.n_tasks:,} tasks over {span}, {hours:,.0f} processor hours"
        self.numbers = {"jobs": self.n_jobs, "tasks": self.n_tasks, "days": days, "processor_hours": hours}
        if self.n_processors:
            self.made += f", on {self.n_processors:,} processors"
            self.numbers["processors"] = self.n_processors
        self.values = {
            column: dict(sorted(values.items(), key=lambda item: int(item[0].split()[0])))
            for column, values in self.values.items()
            if not all(value.startswith("-1") for value in values)  # not given
        }
        kept = [value for value, (n_kept, _) in self.values.get(FIELDS[PARTITION], {}).items() if n_kept]
        if len(kept) > 1:
            self.notes.append(
                f"jobs of {len(kept)} partitions are merged, and each may run on any cluster: select partitions with "
                "--partition"
            )
        if self.n_resorted:
            self.notes.append(f"{self.n_resorted:,} jobs were out of order and were sorted by arrival")
        if self.n_unasked:
            self.notes.append(f"{self.n_unasked:,} jobs have no requested time: their estimate is their run time")
