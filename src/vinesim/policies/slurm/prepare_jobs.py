"""Build the arrays of a site's jobs: what they request, and their attributes."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.slurm.requests import WHOLE, Request, held_by, parse
from vinesim.formats.slurm.values import WEIGHED, duration_s, licences
from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_PARTITION, Workload
from vinesim.policies.slurm.codes import AFTER_ANY, ANY_KIND, DEPENDENCIES, N_COUNTED, NO_KIND, US_PER_MINUTE, US_PER_S
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_amounts import amounts_of_parts, billing_of, wanted_by
from vinesim.policies.slurm.prepare_named import lacks_named, nodes_of_requests, unknown_names
from vinesim.policies.slurm.prepare_nodes import Asked, Places, nodes_allowed
from vinesim.policies.slurm.priority import of_largest, of_resource, size

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm


@dataclass
class Jobs:
    """The J jobs of a site, with their R distinct requests."""

    n: int
    requests: list[Request]  # [R]
    request: np.ndarray  # [J]
    parts: list[list[int]]
    qos: list[str]
    account: list[str]
    user_names: list[str]
    association: list[int]
    limit_us: np.ndarray
    tres: np.ndarray  # [R, 4] the CPUs, memory, nodes and GPUs requested
    asked: list[Asked]  # [R] before the limits of partitions apply
    never: np.ndarray
    lacks_named: np.ndarray  # whether the job never starts because it names nodes that it cannot have
    known: dict[str, Any]

    @classmethod
    def of(
        cls, policy: "Slurm", scenario: Scenario, places: Places, accounts: Accounts, problems: list[Problem]
    ) -> "Jobs":
        """Read the jobs of a scenario. Errors are added to ``problems``."""
        work = scenario.workload
        texts = work.words_of("request")
        distinct = sorted(set(texts))
        requests = []
        for text in distinct:
            try:
                requests.append(parse(text))
            except ValueError as wrong:
                problems.append(Problem(("workload", "attribute.request"), "a request", f"{text[:40]!r}: {wrong}"))
                requests.append(parse("tasks=1"))
        problems += unknown_names(requests, policy)
        account, qos = work.words_of("account"), work.words_of("qos")
        parts = _parts(work, places.partitions)
        allowed = [_nodes_allowed(policy, places, *one) for one in zip(parts, qos, strict=True)]
        number = {text: i for i, text in enumerate(distinct)}
        kinds = sorted({(number[text], *nodes) for text, nodes in zip(texts, allowed, strict=True)})
        given = [requests[i] for i, *_ in kinds]
        requests = [_within(requests[i], least, most) for i, least, most in kinds]
        place = {kind: i for i, kind in enumerate(kinds)}
        request = np.array([place[number[text], *nodes] for text, nodes in zip(texts, allowed, strict=True)])
        user = [""] * work.n_jobs if work.user is None else [work.user_names[u] for u in work.user]
        association = [accounts.number(*key) for key in zip(account, user, strict=True)]
        limit_us = _limits_us(work)
        of_request = np.array([wanted_by(one) for one in requests])
        lacks = lacks_named(requests, request, parts, places)
        billing = billing_of(policy, places, requests, request, parts, of_request, work.words_of("licenses"))
        part_tres = amounts_of_parts(requests, request, parts, places, billing["part_billing"])
        return cls(
            work.n_jobs, requests, request, parts, qos, account, user, association, limit_us,
            of_request, [_asked(one) for one in given],
            np.array([not one for one in parts]) | lacks, lacks,
            _request_arrays(requests, places, policy)
            | {"request_by_node": [one.is_by_node for one in given]} | _job_arrays(work, policy, limit_us)
            | _before(work, places, problems)
            | _priorities(policy, places, requests, request, parts, of_request, limit_us)
            | _of_attributes(policy, accounts, association, qos) | billing | {"part_tres": part_tres}
            | _dependencies(work) | _licences(work, policy.licenses) | _components(work),
        )  # fmt: skip

    def amounts_in(self, k: int) -> np.ndarray:
        """Return [5] the amounts that limits count of a waiting job in its partition ``job_part[k]``."""
        return np.array(self.known["part_tres"][k])

    def asked_in(self, j: int, k: int) -> np.ndarray:
        """Return [5] what a job requests in its partition ``job_part[k]``, and the bill for it."""
        return np.append(self.tres[self.request[j]], np.floor(self.known["part_billing"][k]))

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the policy about jobs."""
        return self.known | {
            "job_request": self.request,
            "job_first_part": np.concatenate(([0], np.cumsum([len(one) for one in self.parts]))),
            "job_part": [part for one in self.parts for part in one],
            "job_limit_us": self.limit_us,
            "job_association": self.association,
            "job_tres": np.zeros((self.n, N_COUNTED)),
            "job_counted": np.full(self.n, -1),
            "job_billed": np.zeros(self.n),
        }


def _limits_us(work: Workload) -> np.ndarray:
    if work.estimate_us is None:
        return np.full(work.n_jobs, 365 * 86400 * US_PER_S)
    return work.estimate_us[work.job_first[:-1]]


def _parts(work: Workload, names: list[str]) -> list[list[int]]:
    found = []
    for j, text in enumerate(work.words_of("partitions")):
        given = text.split(",") if text else []
        if not given and work.partition is not None and work.partition[j] != NO_PARTITION:
            given = [work.partition_names[work.partition[j]]]
        found.append([names.index(name) for name in given if name in names])
    return found


def _nodes_allowed(policy: "Slurm", places: Places, parts: list[int], qos: str) -> tuple[int, int]:
    """Return the fewest and the most nodes that the first partition of a job allows; 0 if not limited."""
    return nodes_allowed(places.options[parts[0]] if parts else {}, policy.qos.get(qos, {}))


def _asked(one: Request) -> Asked:
    return Asked(one.least_nodes, one.most_nodes, WHOLE if one.exclusive else held_by(one).cpus)


def _within(one: Request, least: int, most: int) -> Request:
    """Return a request with the partition's limits on nodes applied; a request by node has its own number."""
    if one.is_by_node or (least, most) == (0, 0):
        return one
    return one._replace(
        least_nodes=max(one.least_nodes, least), most_nodes=min(one.most_nodes or most, most or one.most_nodes)
    )


def _request_arrays(requests: list[Request], places: Places, policy: "Slurm") -> dict[str, Any]:
    longest_wait_s, packs = policy.max_switch_wait, policy.pack_serial_at_end
    sizes, of_request = np.unique([max(one.per_node, 1) * one.cpus for one in requests], return_inverse=True)
    return nodes_of_requests(requests, places) | {
        "request_cpus": [one.n_cpus for one in requests],
        "request_step": [one.cpus for one in requests],
        "request_per_node": [one.per_node * one.cpus for one in requests],
        "request_least": [max(1, one.least_nodes) for one in requests],
        "request_most": [one.most_nodes or 10**9 for one in requests],
        "request_cpu_memory": [one.mem_cpu for one in requests],
        "request_node_memory": [one.mem_node for one in requests],
        "request_kind": [_kind(one, places.kind_names) for one in requests],
        "request_gpus": [one.gpus for one in requests],
        "request_exclusive": [one.exclusive for one in requests],
        "request_is_serial": [packs and one.n_cpus == 1 and not one.nodelist for one in requests],
        "request_switches": [one.switches for one in requests],
        "request_switch_wait": [min(one.switch_wait_s, longest_wait_s) for one in requests],
        "request_size": of_request,
        "size_cpus": sizes,
    }


def _kind(one: Request, names: list[str]) -> int:
    if not one.gpus:
        return NO_KIND
    return names.index(one.gpu_type) if one.gpu_type in names else ANY_KIND


def _least_us(work: Workload, limit_us: np.ndarray) -> np.ndarray:
    """Return the shortest time limit of each job: --time-min if given, otherwise the limit."""
    least = limit_us.copy()
    for j, text in enumerate(work.words_of("time_min")):
        if text and (seconds := duration_s(text)):
            least[j] = min(least[j], seconds * US_PER_S)
    return least


def _job_arrays(work: Workload, policy: "Slurm", limit_us: np.ndarray) -> dict[str, Any]:
    begin = work.words_of("begin_s")
    reservations = list(policy.reservations)
    arrays = work.words_of("array")
    throttle = [int(text) if text.isdecimal() else 0 for text in work.words_of("throttle")]
    throttled = sorted({array for array, most in zip(arrays, throttle, strict=True) if most and array})
    number = {array: i for i, array in enumerate(throttled)}
    return {
        "job_number": _numbers(work, _batches(arrays)),
        "job_from_us": [math.inf if text == "never" else float(text) * US_PER_S if text else 0.0 for text in begin],
        "job_least_us": _least_us(work, limit_us),
        "job_nice": [float(text or 0) for text in work.words_of("nice")],
        "job_reservation": [
            reservations.index(name) if name in reservations else -1 for name in work.words_of("reservation")
        ],
        "job_user": np.zeros(work.n_jobs) if work.user is None else work.user,
        "job_requeue": [text == "" for text in work.words_of("no_requeue")],
        "job_failed": [text != "" for text in work.words_of("failed")],
        "job_batch": _batches([array or whole for array, whole in zip(arrays, wholes_of(work), strict=True)]),
        "job_array": [number.get(array, -1) for array in arrays],
        "job_throttle": [most if array else 0 for array, most in zip(arrays, throttle, strict=True)],
        "n_tasks": work.n_tasks,
    }


def _numbers(work: Workload, first: np.ndarray) -> np.ndarray:
    """Return the number of each job; for the jobs of an array, the number of the array."""
    own = np.arange(work.n_jobs) if work.job_id is None else work.job_id
    least = own.copy()
    np.minimum.at(least, first, own)
    return least[first]


def _batches(arrays: list[str]) -> np.ndarray:
    """Return, for each job, the first job that was submitted together with it, as an array or as components."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(array, j) if array else j for j, array in enumerate(arrays)], int)


def wholes_of(work: Workload) -> list[str]:
    """Return the heterogeneous job of each component, "" for other jobs. Resampled workloads may repeat one."""
    pairs = zip(work.words_of("component"), work.arrival_us.tolist(), strict=True)
    return [f"components of {number} at {us!r}" if number else "" for number, us in pairs]


def _components(work: Workload) -> dict[str, Any]:
    """Return which jobs are components of the same heterogeneous job, if it has several."""
    groups = defaultdict[str, list[int]](list)
    for j, whole in enumerate(wholes_of(work)):
        if whole:
            groups[whole].append(j)
    members = [group for group in groups.values() if len(group) > 1]
    first = np.concatenate(([0], np.cumsum([len(group) for group in members]))).astype(int)
    jobs = [j for group in members for j in group]
    member = np.full(work.n_jobs, -1)
    member[jobs] = np.arange(len(jobs))
    return {
        "job_member": member,
        "member_job": jobs,
        "member_group": np.repeat(np.arange(len(members)), np.diff(first)),
        "group_first": first,
    }


def _before(work: Workload, places: Places, problems: list[Problem]) -> dict[str, Any]:
    """Return what jobs already held, or how long they had waited, when they arrived.

    These are set if the workload begins while the site is in operation.
    """
    number = places.number_of
    first, nodes, cpus = [0], list[int](), list[int]()
    for text in work.words_of("runs_on"):
        for item in text.split():
            name, _, n = item.partition("=")
            if name in number and n.isdecimal():
                nodes.append(number[name])
                cpus.append(int(n))
            else:
                expected = "NODE=CPUS, a node of options.nodes"
                problems.append(Problem(("workload", "attribute.runs_on"), expected, repr(item)[:40]))
        first.append(len(nodes))
    ran = work.words_of("ran_s")
    return {
        "job_ran_us": [float(text) * US_PER_S if text else -1.0 for text in ran],
        "job_waited_us": [float(text or 0.0) * US_PER_S for text in work.words_of("waited_s")],
        "job_first_on": first,
        "on_node": nodes,
        "on_cpus": cpus,
    }


def _priorities(
    policy: "Slurm", places: Places, requests: list[Request], request: np.ndarray, parts: list[list[int]],
    tres: np.ndarray, limit_us: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    """Return what a job's size adds to its priority, and what each of its partitions adds, with its resources."""
    n_nodes, n_cpus = len(places.cpus), places.cpus.sum()
    asked = np.array([(max(1, one.least_nodes), one.n_cpus) for one in requests])[request]
    limit_min = np.maximum(limit_us / US_PER_MINUTE, 1.0)
    is_by_time, favours_small = policy.small_relative_to_time, policy.priority_favor_small
    of_size = size(asked[:, 0], asked[:, 1], limit_min, n_nodes, n_cpus, is_by_time, favours_small)
    factors = np.array([float(one.get("priority_job_factor", 1.0)) for one in places.options])
    of_part = factors if policy.no_normal_part else of_largest(factors, max(factors, default=0.0))
    gpus = places.kinds.sum(axis=1) if len(places.kind_names) else np.zeros(n_nodes)
    of_node = np.stack([places.cpus, places.memory, np.ones(n_nodes), gpus], axis=1)
    weights = np.array([policy.priority_weight_tres.get(name, 0.0) for name in WEIGHED])
    of_resources = tres[:, None] if policy.no_normal_tres else of_resource(tres[:, None], places.part_nodes @ of_node)
    shares = policy.priority_weight_partition * of_part + of_resources @ weights  # [R, P]
    of_each = [shares[request[j], part] for j, own in enumerate(parts) for part in own]
    return {"size_share": policy.priority_weight_job_size * of_size, "part_share": of_each}


def _of_attributes(policy: "Slurm", accounts: Accounts, association: list[int], qos: list[str]) -> dict[str, Any]:
    """Return what the association and the QOS of each job add to its priority, and the usage factor of its QOS."""
    of_each = accounts.priorities()
    own = np.array([of_each[i] if i >= 0 else 0.0 for i in association])
    given = {name: float(one.get("priority", 0.0)) for name, one in policy.qos.items()}
    of_qos = np.array([given.get(name, 0.0) for name in qos])
    if not policy.no_normal_assoc:
        own = of_largest(own, max(of_each, default=0.0))
    if not policy.no_normal_qos:
        of_qos = of_largest(of_qos, max(given.values(), default=0.0))
    factors = {name: float(one.get("usage_factor", 1.0)) for name, one in policy.qos.items()}
    return {
        "association_share": policy.priority_weight_assoc * own,
        "qos_share": policy.priority_weight_qos * of_qos,
        "job_usage_factor": [factors.get(name, 1.0) for name in qos],
    }


def _licences(work: Workload, given: Mapping[str, float]) -> dict[str, Any]:
    """Return the licences that each job requests. Licences that the cluster does not count are unlimited."""
    number = {name: i for i, name in enumerate(given)}
    first, licence, amounts = [0], list[int](), list[float]()
    for text in work.words_of("licenses"):
        for name, amount in licences(text).items():
            if name in number:
                licence.append(number[name])
                amounts.append(amount)
        first.append(len(licence))
    return {
        "job_first_licence": first, "job_licence": licence, "job_n_licences": amounts,
        "free_licences": list(given.values()),
    }  # fmt: skip


def _dependencies(work: Workload) -> dict[str, Any]:
    """Return the jobs that each job depends on."""
    members = work.jobs_by_number()
    names = work.words_of("name")
    last = dict[tuple[str, int], int]()
    first, kinds, jobs = [0], list[int](), list[int]()
    for j, text in enumerate(work.words_of("dependency")):
        for part in filter(None, text.replace("?", ",").split(",")):
            kind, _, rest = part.partition(":")
            if kind == "singleton":
                key = names[j], 0 if work.user is None else int(work.user[j])
                if key in last:
                    kinds.append(AFTER_ANY)
                    jobs.append(last[key])
                last[key] = j
            for target in filter(None, rest.split(":")):
                for other in members.get(target.split("_")[0].split("+")[0], []):
                    kinds.append(DEPENDENCIES.get(kind, AFTER_ANY))
                    jobs.append(other)
        first.append(len(kinds))
    awaited = np.isin(np.arange(work.n_jobs), jobs)
    return {
        "job_first_dependency": first, "dependency_kind": kinds, "dependency_job": jobs, "job_is_awaited": awaited,
    }  # fmt: skip
