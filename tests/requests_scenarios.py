"""Random requests of client-server applications on small clusters: node lists, gangs, consolidation."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from vinesim.model.application import Application


def request_scenario(
    seed: int,
    policy: Any,
    options: Mapping[str, Any] | None = None,
    *,
    noise: bool = True,
    same_load: bool = False,
    gangs: bool = True,
    most_requests: int = 60,
) -> vs.Scenario:
    """Up to 60 requests of up to 4 applications on up to 4 nodes of a CPU and GPUs of two generations."""
    random = np.random.default_rng([seed, 7])
    n_nodes, n_applications = int(random.integers(1, 5)), int(random.integers(1, 5))
    slots = float(random.integers(1, 5))
    types = (
        vs.ProcessorType("CPU", capacity=slots, parallelism=float(random.integers(1, slots + 1))),
        vs.ProcessorType("GPU"),
        vs.ProcessorType("OLD_GPU"),
    )
    units = [(0, node) for node in range(n_nodes)]
    units += [(int(random.integers(1, 3)), int(random.integers(0, n_nodes))) for _ in range(random.integers(1, 6))]
    center = vs.Datacenter([t for t, _ in units], [0] * len(units), [node for _, node in units], types, 1, n_nodes)
    applications = []
    for a in range(n_applications):
        nodes = tuple((0, node) for node in range(n_nodes) if random.integers(0, 2)) if random.integers(0, 2) else ()
        n_members = int(random.integers(1, 3)) if gangs and not nodes and n_nodes > 1 else 1
        applications.append(
            Application(
                f"A{a}",
                relative_deadline_us=float(random.integers(2, 30)),
                per_size=bool(random.integers(0, 2)),
                average_load=1.0 if same_load else float(random.integers(1, 9)),
                max_consolidated=int(random.integers(1, 5)),
                nodes=nodes,
                gang_size=n_members,
            )
        )
    n = int(random.integers(1, most_requests))
    times = random.integers(0, 40, n) if random.integers(0, 2) else random.uniform(0, 60, n)
    arrival = np.sort(times.astype(float))
    code = random.integers(0, n_applications, n)
    counts = np.array([a.gang_size for a in applications])[code]
    first = np.concatenate(([0], np.cumsum(counts)))
    n_tasks = int(first[-1])
    work = vs.Workload(
        job_task_type=code,
        job_first=first,
        arrival_us=arrival,
        operations=np.repeat(random.integers(1, 5, n).astype(float), counts),
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(n_tasks)),
        preferred_type=np.full(n_tasks, -1),
        demand=np.ones(n_tasks),
        application=code,
        time_factor=random.choice([1.0, 0.8, 1.5], n_tasks) if noise else None,
        task_types=tuple(vs.TaskType(f"A{a}") for a in range(n_applications)),
        application_names=tuple(f"A{a}" for a in range(n_applications)),
    )
    speed = random.choice([0.5, 1.0, 2.0], (3, n_applications)) * np.array([[0.5], [2.0], [1.0]])
    overhead = random.choice([0.0, 1.0, 2.0], (3, n_applications))
    network = vs.Network(None, None, None, 0.0)
    scenario = vs.Scenario(center, work, policy, options or {}, speed, overhead, network=network, seed=seed)
    return replace(scenario, applications=tuple(applications))


def with_gangs(case: vs.Scenario, seed: int, early: bool = False) -> vs.Scenario:
    """A scenario of requests on one node with requests on up to 4 of their nodes, now and then of unlike tasks; with
    ``early``, nodes that go down while they run, and limits or withdrawals."""
    random = np.random.default_rng([seed, 13])
    nodes = sorted(set(zip(case.datacenter.rack.tolist(), case.datacenter.shelf.tolist(), strict=True)))
    applications = tuple(
        replace(one, gang_size=int(random.integers(1, min(4, len(one.nodes or nodes)) + 1)))
        for one in case.applications
    )
    work = case.workload
    counts = np.array([one.gang_size for one in applications])[work.application]
    n_tasks = int(counts.sum())
    alike = np.repeat(random.choice([1.0, 0.5], work.n_jobs), counts)
    columns: dict[str, Any] = {
        "job_first": np.concatenate(([0], np.cumsum(counts))),
        "operations": np.repeat(work.operations * (random.integers(0, 4, work.n_jobs) > 0), counts),
        "demand": alike if random.integers(0, 3) else random.choice([1.0, 0.5], n_tasks),
        "time_factor": None if work.time_factor is None else random.choice([1.0, 0.8, 1.5], n_tasks),
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(n_tasks)),
        "preferred_type": np.full(n_tasks, -1),
    }
    more: dict[str, Any] = {}
    if early:
        places = random.permutation(nodes)[: int(random.integers(1, 5))].tolist()
        times = [(float(random.integers(0, 60)), float(random.integers(1, 9))) for _ in places]
        more["outages"] = tuple(
            vs.Outage(*place, down_us, down_us + took_us)
            for place, (down_us, took_us) in zip(places, times, strict=True)
        )
        kind = random.integers(0, 3)
        columns |= {"limit_us": random.choice([4.0, np.inf], work.n_jobs)} if kind == 1 else {}
        late = work.arrival_us + random.integers(1, 30, work.n_jobs)
        columns |= {"withdraw_us": np.where(random.integers(0, 3, work.n_jobs) > 0, np.inf, late)} if kind == 2 else {}
    return replace(case, workload=replace(work, **columns), applications=applications, **more)
