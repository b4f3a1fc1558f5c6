"""Hashes of the results of thousands of random scenarios: ``python -m verification.corpus write|check FILE``.

A change that must not change any result is checked against hashes written before it. A hash covers all tables, the
summary, the exit reason, the number of events and the provenance without wall times; for a rejected scenario, it covers
the error message. ``--engine`` chooses the engine: hashes of the reference engine judge the compiled one.
"""

import argparse
import hashlib
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import vinesim as vs
from tests.partitions import partition_scenario
from tests.properties.any_scenario import any_scenario
from tests.properties.equivalence import contents, every_policy, is_slow, options_of, run
from tests.requests_scenarios import request_scenario
from tests.strategies import Limits, all_options, seeded_scenario
from verification.nodes import shares as of_nodes
from vinesim.core import code
from vinesim.engine import simulate
from vinesim.policies import identity
from vinesim.policies.registry import resolve

FIRST_SEED = 3_000_000
REQUEST_POLICIES = ("symphony", "fcfs", "edf", "deadline_consolidation", "earliest_completion")
MOST_SHOWN = 20


class Task(NamedTuple):
    """The scenarios of one kind under one policy, seeds from ``first`` to before ``end``."""

    kind: str
    policy: str
    first: int
    end: int


def scenario_of(kind: str, policy: str, seed: int) -> vs.Scenario:
    """Return the scenario of a seed."""
    if kind == "nodes":
        return partition_scenario(seed, policy, early=seed % 2 == 1, has_rates=True)
    if kind == "requests":
        return request_scenario(seed, policy, gangs=seed % 2 == 1)
    if kind == "early":
        options = all_options(resolve(policy, {}).__class__)
        return seeded_scenario(seed, policy, options[seed % len(options)], Limits(outages=True, early=True))
    choices = options_of(every_policy()[policy])
    return any_scenario(seed, every_policy()[policy], choices[seed % len(choices)])


def tasks(n: int) -> Iterator[Task]:
    """About n scenarios: any under every policy; real nodes, early ends and requests under those that take them."""
    everything, nodes = every_policy(), of_nodes(1)
    requests = [name for name in REQUEST_POLICIES if name in everything]
    share = n / (len(everything) + 3 * len(nodes) + len(requests))
    for name, policy in everything.items():
        few = 0.05 if getattr(policy, "plans", False) else 0.25 if is_slow(policy) else 1.0
        yield Task("any", name, FIRST_SEED, FIRST_SEED + max(1, round(few * share)))
    for name in nodes:
        yield Task("nodes", name, FIRST_SEED, FIRST_SEED + max(1, round(2 * share)))
        yield Task("early", name, FIRST_SEED, FIRST_SEED + max(1, round(share)))
    for name in requests:
        yield Task("requests", name, FIRST_SEED, FIRST_SEED + max(1, round(share)))


def fed(digest: Any, thing: Any) -> None:
    """Feed arrays and containers of arrays to a hash, with their names and types."""
    if isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype} {thing.shape}".encode())
        digest.update(repr(thing.tolist()).encode() if thing.dtype == object else np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, Mapping):
        for name in thing:
            digest.update(str(name).encode())
            fed(digest, thing[name])
    elif isinstance(thing, tuple | list):
        for part in thing:
            fed(digest, part)
    else:
        digest.update(
            repr(float(thing) if isinstance(thing, float) else thing).encode()
        )  # the engines differ in its type


def hashes(task: Task, engine: str, is_exact: bool = False) -> dict[str, str]:
    """Return the hash of each scenario, by kind, policy and seed."""
    with ExitStack() as changed:
        for module in (identity, simulate):  # a different version does not count as a difference here
            changed.enter_context(patch.object(module, "code_version", str))
        if is_exact:  # loops for just the features of each run, with the policy inlined
            changed.enter_context(patch.object(code, "INLINED_FROM", 0))
        return _hashes(task, engine)


def _hashes(task: Task, engine: str) -> dict[str, str]:
    warnings.simplefilter("ignore", vs.InputWarning)  # ill-ordered networks are meant
    found = {}
    for seed in range(task.first, task.end):
        name = f"{task.kind} {task.policy} {seed}"
        try:
            scenario = scenario_of(task.kind, task.policy, seed)
        except vs.InputError as wrong:
            found[name] = f"no scenario: {str(wrong)[:60]}"
            continue
        digest = hashlib.blake2b(digest_size=8)
        try:
            fed(digest, contents(run(scenario, engine)))
            found[name] = digest.hexdigest()
        except Exception as wrong:
            found[name] = f"{type(wrong).__name__}: {wrong}"[:200]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Write or check hashes; return 1 if any differs."""
    parser = argparse.ArgumentParser(prog="python -m verification.corpus", description=__doc__)
    parser.add_argument("verb", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--n", type=int, default=6_000, help="scenarios in all, about (default 6000)")
    parser.add_argument("--policy", action="append", help="only these")
    parser.add_argument("--kind", action="append", choices=("any", "nodes", "early", "requests"), help="only these")
    parser.add_argument("--engine", default="compiled", choices=("compiled", "reference"))
    parser.add_argument("--exact", action="store_true", help="compile a loop for just the features of each scenario")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    wanted = [
        task
        for task in tasks(given.n)
        if (not given.policy or task.policy in given.policy) and (not given.kind or task.kind in given.kind)
    ]
    known = json.loads(given.file.read_text()) if given.verb == "check" else {}
    found: dict[str, str] = {}
    with ProcessPoolExecutor(given.workers, max_tasks_per_child=1) as team:
        started = {team.submit(hashes, task, given.engine, given.exact): task for task in wanted}
        for done in as_completed(started):
            task = started[done]
            new = done.result()
            found |= new
            wrong = [name for name, value in new.items() if known.get(name, value) != value]
            print(f"{task.kind:8} {task.policy:24} {len(new):5} scenarios, {len(wrong)} differ", flush=True)
    if given.verb == "write":
        given.file.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n")
        print(f"{len(found)} hashes written to {given.file}")
        return 0
    wrong = sorted(name for name in found if found[name] != known.get(name))
    for name in wrong[:MOST_SHOWN]:
        print(f"  {name}: {known.get(name, 'not known')} before, {found[name]} now")
    print(f"{len(found)} hashes, {len(wrong)} differ: {dict(Counter(name.rsplit(' ', 1)[0] for name in wrong))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
