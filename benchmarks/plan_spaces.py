"""The questions of the benchmark of plans: spaces of 500 to 1,000 points whose every point can be run."""

from collections.abc import Mapping
from typing import Any

UNITS = "datacenter.racks[0].units"
CPUS, GPUS, DFES = f"{UNITS}.CPU_INTEL", f"{UNITS}.GPU", f"{UNITS}.DFE"
LATENCY, P99 = "jobs.latency_us.mean", "jobs.latency_us.p99"
DELAY = {"options.wait_us": {"from": 1, "to": 1000, "n": 24, "log": True, "when": {"policy": "delay"}}}
UTILITY = {"utility": "cost.purchase / 1000 + 0.1 * jobs.latency_us.p99"}


def _mix(mean_us: float) -> dict[str, Any]:
    """Small jobs of two kinds: one for CPUs, one for both."""
    return {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 2}}]},
        "workload": {
            "generator": "mix",
            "options": {"n_jobs": 80, "tasks_per_job": 3, "operations": 5e6, "shares": {"INT": 1, "MEM": 2}},
        },
        "affinity": {"absolute": {"CPU_INTEL": {"INT": 5e4, "MEM": 4e4}, "GPU": {"INT": 3e5, "MEM": 1.5e4}}},
        "arrivals": {"poisson": {"mean": mean_us}},
        "prices": {"CPU_INTEL": 2000, "GPU": 3000},
        "power": {"CPU_INTEL": 120, "GPU": 250},
    }


def _kernels() -> dict[str, Any]:
    times = {
        "DFE": {"SGJ": "300 us", "RGJ": "500 us", "NGJ": "10 us"},
        "GPU": {"SGJ": "100 us", "RGJ": "2400 us", "NGJ": "60 us"},
    }
    return {
        "extends": "none",
        "processor_types": [{"name": "DFE"}, {"name": "GPU"}],
        "task_types": ["SGJ", "RGJ", "NGJ"],
        "affinity": {"times": times},
        "datacenter": {"racks": [{"units": {"DFE": 4, "GPU": 4}}]},
        "network": "none",
        "workload": {"generator": "neurasmus", "options": {"n_jobs": 240}},
        "arrivals": {"poisson": {"mean": "30 us"}},
        "power": {"DFE": 45, "GPU": 250},
    }


def spaces(step: int) -> dict[str, Mapping[str, Any]]:
    """Return plans by name; a larger ``step`` between counts gives fewer points."""

    def to(most: int, least: int = 0) -> dict[str, int]:
        return {"from": least, "to": most, "step": step}

    identical = {"workload": {"generator": "identical", "options": {"n_jobs": 100, "operations": 3e6}}}
    same = {**_mix(30), **identical, "arrivals": {"iat": "9 us"}, "policy": "earliest_finish"}
    same.pop("affinity")
    return {
        "two types, nothing random": {
            "scenario": same,
            "choose": {CPUS: to(24), GPUS: to(24)},
            "minimize": "cost.purchase",
            "limits": {LATENCY: {"below": 40}},
        },
        "two types and three policies, price": {
            "scenario": _mix(60),
            "choose": {CPUS: to(15), GPUS: to(11), "policy": ["high", "flat", "earliest_finish"]},
            "minimize": "cost.purchase",
            "limits": {P99: {"below": 420}},
        },
        "two types and two policies, price and latency": {
            "scenario": _mix(60),
            "choose": {CPUS: to(17), GPUS: to(14), "policy": ["high", "earliest_completion"]},
            "minimize": UTILITY,
            "limits": {P99: {"below": 600}},
        },
        "one type, three policies and an option": {
            "scenario": {**_mix(60), "network": "paper"},
            "choose": {CPUS: to(30, 9), "policy": ["high", "earliest_completion", "delay"], **DELAY},
            "minimize": UTILITY,
            "limits": {P99: {"below": 700}},
        },
        "two accelerators and two policies, energy": {
            "scenario": _kernels(),
            "choose": {DFES: to(21, 4), GPUS: to(15), "policy": ["high", "earliest_completion"]},
            "minimize": "energy_j",
            "limits": {P99: {"below": 1500}},
        },
        "price against latency, a front": {
            "scenario": _mix(60),
            "choose": {CPUS: to(17), GPUS: to(14), "policy": ["high", "earliest_completion"]},
            "minimize": ["cost.purchase", LATENCY],
            "limits": {P99: {"below": 900}},
        },
    }
