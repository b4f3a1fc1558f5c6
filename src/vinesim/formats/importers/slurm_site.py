"""Import a whole Slurm site: a folder with any of its files becomes a scenario under the policy ``slurm``."""

from collections import Counter
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.importers.declaration import Imported, check_workload
from vinesim.formats.importers.report import Finding, ImportReport
from vinesim.formats.importers.site_contradictions import contradictions
from vinesim.formats.importers.site_jobs import JOB, SiteJob, goes_back, site_jobs, workload_of
from vinesim.formats.importers.site_nodes import CPU, Nodes, has_partitions, racks_of, read_nodes
from vinesim.formats.importers.site_options import options_of
from vinesim.formats.importers.site_parameters import PARAMETERS
from vinesim.formats.importers.site_unmodelled import unmodelled
from vinesim.formats.importers.site_values import check_values
from vinesim.formats.importers.slurm_jobs import zone_of
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.slurm.anonymous import anonymous
from vinesim.formats.slurm.availability import NodeEvent
from vinesim.formats.slurm.site import Site, check_jobs, read_site
from vinesim.formats.slurm.values import duration_s, exact
from vinesim.formats.source.quantities import MEMORY, format_time_us
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import InputError, Problem

MOST_NAMES, MOST_LINES = 12, 5  # the most parameters, and line numbers, in one line of the report
FEW_S = 1.0  # an event that begins within this time after the last one of a node continues it, s


def import_site(folder: Path, output: Path, *, is_anonymous: bool = False) -> Imported:
    """Write a site's jobs, and the scenario of its nodes, partitions, limits and parameters."""
    check_workload(output)
    site = anonymous(read_site(folder)) if is_anonymous else read_site(folder)
    check_jobs(site)
    check_values(site)
    nodes = read_nodes(site)
    begin_s = min(job.records[0].submit_s for job in site.jobs.jobs)
    over_s = duration_s(site.config.settings.get("overtimelimit", "0")) or 0.0
    jobs = site_jobs(site.jobs.jobs, nodes, begin_s, min(over_s, 1e9), site.jobs.drop)
    if not jobs:
        dropped = sorted(site.jobs.dropped.items(), key=lambda item: -len(item[1]))
        reasons = ", ".join(f"{reason}: {len(lines):,} jobs" for reason, lines in dropped)
        remedy = "" if nodes.partitions else "Add slurm.conf, or the output of scontrol show partitions."
        raise InputError([Problem(str(folder), "at least one job that its nodes can run", f"none; {reasons}", remedy)])
    workload = workload_of(jobs, nodes, begin_s)
    types = tuple(ProcessorType(name) for name in (CPU, *nodes.gpu_types, MEMORY))
    document = scenario_of(site, nodes, begin_s, output)
    scenario = output.with_suffix(".yaml")
    write_workload(output, workload, types)
    write_yaml(scenario, document)
    return Imported(_report(site, nodes, jobs, begin_s), output, f"{workload.n_jobs:,} jobs", scenario)


def scenario_of(site: Site, nodes: Nodes, begin_s: float, output: Path) -> dict[str, Any]:
    """Return the document of a scenario: nodes, partitions, outages and options, with the workload in a file."""
    units = [CPU, *nodes.gpu_types]
    options = options_of(site, nodes, begin_s)
    groups, outages = nodes.groups(), _outages(site, nodes, begin_s)
    mode, loses = options.get("preempt_mode", "off"), any(one["running"] == "requeue" for one in outages)
    partitions = [
        {"name": one.name, "groups": list(dict.fromkeys(name for name, run in groups if one.name in run[0].partitions))}
        for one in nodes.partitions
        if one.nodes
    ]
    return {
        "description": "Jobs, nodes and parameters of a Slurm site.",
        "extends": "none",
        "processor_types": [{"name": name} for name in units],
        "task_types": [JOB.name],
        "affinity": {"absolute": {name: {JOB.name: 1.0} for name in units}},
        "network": "none",
        "start_date": f"{datetime.fromtimestamp(begin_s, UTC).replace(tzinfo=None)}",  # local time of the site's files
        "datacenter": {"racks": racks_of(nodes)},
        "partitions": partitions,
        "outages": outages,
        "workload": {"file": output.name},
        **({"preemption": "restart"} if mode != "suspend" and (mode != "off" or loses) else {}),
        "policy": "slurm",
        "options": options,
    }


def _outages(site: Site, nodes: Nodes, begin_s: float) -> list[dict[str, Any]]:
    """Return when nodes took no jobs; consecutive events of a node are joined."""
    place = {node.name: (rack, i) for rack, (_, run) in enumerate(nodes.groups()) for i, node in enumerate(run)}
    found = []
    events = sorted((one for one in site.events if one.node in place), key=lambda one: (one.node, one.start_s))
    for name, of_node in groupby(events, key=lambda one: one.node):
        rack, shelf = place[name]
        for down_s, up_s, state in _joined(list(of_node)):
            if up_s <= begin_s:
                continue
            one = {"rack": rack, "shelf": shelf, "down": f"{exact(max(0.0, down_s - begin_s))} s"}
            one |= {} if up_s == np.inf else {"up": f"{exact(up_s - begin_s)} s"}
            found.append(one | {"running": "requeue" if state.startswith("DOWN") else "finish"})
    return found


def _joined(events: list[NodeEvent]) -> list[tuple[float, float, str]]:
    found: list[tuple[float, float, str]] = []
    for event in events:
        end_s = np.inf if event.end_s is None else event.end_s
        if found and event.start_s <= found[-1][1] + FEW_S:
            found[-1] = found[-1][0], max(found[-1][1], end_s), found[-1][2]
        else:
            found.append((event.start_s, end_s, event.state))
    return [one for one in found if one[1] > one[0]]


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:MOST_LINES])) + (" ..." if len(numbers) > MOST_LINES else "")
    return f"{len(numbers):,} line{'s' * (len(numbers) > 1)} ({shown})"


def _report(site: Site, nodes: Nodes, jobs: list[SiteJob], begin_s: float) -> ImportReport:
    report = ImportReport(str(site.folder), site.jobs.n_lines)
    report.time_zone = zone_of(site.jobs.n_dates, site.jobs.n_without_zone)
    n_gpus = sum(n for node in nodes.nodes for _, n in node.gpus)
    report.made = f"{len(jobs):,} jobs, {len(nodes.nodes):,} nodes with {n_gpus:,} GPUs"
    report.numbers = {"jobs": len(jobs), "nodes": len(nodes.nodes), "gpus": n_gpus, "begin_s": begin_s}
    for reason, lines in site.jobs.dropped.items():
        report.drop(reason, *lines)
    report.notes += [f"lines of steps, which are parts of jobs: {site.jobs.n_steps:,}"] * bool(site.jobs.n_steps)
    report.notes += ["read: " + ", ".join(f"{kind} from {name}" for kind, name in site.files.items())]
    report.notes += [f"not read: {name}: {why}" for name, why in site.unused.items()]
    ignored = sorted(set(site.config.settings) - set(PARAMETERS)) if "config" in site.files else []
    if ignored:
        shown = ", ".join(ignored[:MOST_NAMES]) + (" ..." if len(ignored) > MOST_NAMES else "")
        report.notes.append(f"parameters of {site.files['config']} without a meaning here: {len(ignored)}: {shown}")
        report.numbers["parameters_not_read"] = ignored
    states = Counter(one.job.records[-1].state for one in jobs)
    report.notes.append("states: " + ", ".join(f"{state} {n:,}" for state, n in states.most_common()))
    waits_us = [
        (first.start_s - first.eligible_s) * 1e6
        for first in (one.job.records[0] for one in jobs)
        if first.start_s is not None and first.eligible_s is not None and not goes_back(first)
    ]
    if waits_us:
        quantiles = np.quantile(waits_us, [0.5, 0.9, 0.99], method="inverted_cdf").tolist()
        waited = dict(zip(("mean", "p50", "p90", "p99"), [float(np.mean(waits_us)), *quantiles], strict=True))
        report.numbers["waited_us"] = waited
        words = ", ".join(f"{name} {format_time_us(us)}" for name, us in waited.items())
        report.notes.append(f"jobs waited, from when they were eligible: {words}")
    else:
        words = "no job has a start: the site cannot be back-tested"
        report.findings.append(Finding("starts", words, True, {"starts": 0}))
    if nodes.partitions and not has_partitions(site):
        words = f"only their names are known, from {site.files['nodes']}, not their limits, tiers and defaults"
        report.findings.append(Finding("partitions", words, True, {"partitions": len(nodes.partitions)}))
    report.findings += [
        Finding("not understood", f"{kind} in {site.files[kind]}: {reason}: {_lines(lines)}", True, {"lines": lines})
        for kind, unread in site.unread.items()
        for reason, lines in unread.items()
    ]
    wrong = contradictions(site, nodes, jobs)
    report.numbers |= {"contradictory": dict(wrong)} if wrong else {}
    report.findings += [Finding("contradictory", f"{words}: {n:,}", True, {"count": n}) for words, n in wrong]
    missing = unmodelled(site, nodes, jobs)
    report.numbers["not_modelled"] = dict(missing)
    for words, n in missing:
        report.findings.append(Finding("not modelled", f"{words}: {n:,} jobs", n >= len(jobs) / 20, {"jobs": n}))
    if not missing:
        report.findings.append(Finding("not modelled", "nothing that these files say"))
    return report
