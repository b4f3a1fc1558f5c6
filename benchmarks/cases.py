"""The models: 500Jobs (A), a million tasks on 10,000 units (B), ten million on 100,000 (C)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import vinesim as vs

CPU, GPU, FP_GOOD = 0, 2, 2  # codes of the built-in types
SPEED = {CPU: 60_000.0, GPU: 1_200_000.0}  # operations per us of FP_GOOD, Table 1
TASKS_A_JOB = 5
LOAD = 0.8  # of all units together


@dataclass(frozen=True)
class Case:
    """Jobs of 5 equal tasks on half CPUs, half GPUs: 500 us and 25 us for 30 M operations."""

    name: str
    n_jobs: int
    n_units: int
    varies: bool = False  # operations of a job: uniform from 15 M to 45 M
    iat_us: float = 0.0  # 0: from the load

    @property
    def n_tasks(self) -> int:
        return self.n_jobs * TASKS_A_JOB

    @property
    def n_of_each(self) -> int:
        return self.n_units // 2

    @cached_property
    def arrival_us(self) -> np.ndarray:
        capacity = self.n_of_each * (SPEED[CPU] + SPEED[GPU]) / 30e6
        return np.arange(self.n_jobs) * (self.iat_us or TASKS_A_JOB / (LOAD * capacity))

    @cached_property
    def operations(self) -> np.ndarray:
        if not self.varies:
            return np.full(self.n_tasks, 30e6)
        return np.repeat(np.random.default_rng(1).uniform(15e6, 45e6, self.n_jobs), TASKS_A_JOB)

    def first(self, n_tasks: int) -> "Case":
        """The same with the first tasks only, for those who are slow."""
        if n_tasks >= self.n_tasks:
            return self
        part = Case(self.name, n_tasks // TASKS_A_JOB, self.n_units, self.varies, self.iat_us)
        part.__dict__["operations"] = self.operations[: part.n_tasks]
        return part

    def datacenter(self) -> vs.Datacenter:
        """10 units a node, 10 nodes a rack; types alternate, so that each node has both."""
        unit = np.arange(self.n_units)
        return vs.Datacenter(np.where(unit % 2 == 0, CPU, GPU), unit // 100, unit % 100 // 10)

    def workload(self, **columns: np.ndarray) -> vs.Workload:
        nothing = np.zeros(self.n_tasks)
        values = {
            "job_task_type": np.full(self.n_jobs, FP_GOOD, np.int16),
            "job_first": np.arange(self.n_jobs + 1) * TASKS_A_JOB,
            "arrival_us": self.arrival_us,
            "operations": self.operations,
            "data_bytes": nothing,
            "data_rack": nothing.astype(np.int32),
            "data_shelf": nothing.astype(np.int32),
            "preferred_type": np.full(self.n_tasks, -1, np.int16),
        }
        return vs.Workload(**(values | columns))

    def scenario(self, policy: object = "high") -> vs.Scenario:
        return vs.Scenario(self.datacenter(), self.workload(), policy=policy)

    def mean_latency_us(self, finish_us: np.ndarray) -> float:
        """Mean over the jobs of last finish - arrival: what all engines must agree on."""
        last = np.asarray(finish_us).reshape(-1, TASKS_A_JOB).max(axis=1)
        return float((last - self.arrival_us).mean())


def small_case(iat_us: float, seed: int) -> Case:
    """One of many: A with arrivals at random, that mean time apart."""
    case = Case("S", 500, 40, iat_us=iat_us)
    case.__dict__["arrival_us"] = np.cumsum(np.random.default_rng(seed).exponential(iat_us, case.n_jobs))
    return case


A = Case("A", 500, 40, iat_us=7.0)
B_CONST, B_VAR = (Case(f"B {word}", 200_000, 10_000, word == "var") for word in ("const", "var"))
C_CONST, C_VAR = (Case(f"C {word}", 2_000_000, 100_000, word == "var") for word in ("const", "var"))
