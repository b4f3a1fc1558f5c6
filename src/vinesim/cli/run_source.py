"""The scenario that ``vinesim run`` simulates: of a file, a result folder, a sweep's point, or text files."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vinesim.cli.arguments import key_values, only_one_source, scenario_settings
from vinesim.formats.papers.scenario import read_text_scenario
from vinesim.formats.results.folder import ORIGIN, SCENARIO, STUDY
from vinesim.formats.scenario.file import read_source
from vinesim.formats.scenario.network import read_network
from vinesim.formats.source.quantities import time_us
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.formats.study.file import read_study, scenario_source
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.network import PRESETS
from vinesim.model.scenario import Scenario
from vinesim.policies.documents import prepared, scenario_from
from vinesim.policies.registry import resolve
from vinesim.policies.replacing import changed
from vinesim.studies.expand import Points, scenario_of
from vinesim.studies.origin import read_origin

NO_SAMPLING = ("none", "-1")  # -1 as in earlier versions


@dataclass(frozen=True)
class RunRequest:
    """A scenario, and what makes the document that says the same, whose file names are relative to ``folder``."""

    scenario: Scenario
    document: Callable[[], Mapping[str, Any]]
    folder: Path
    percentiles: str = "nearest_rank"  # of the result that is repeated


def of_file(
    file: Path,
    changes: list[str],
    inputs: dict[str, Any],
    policy: str | None,
    option: list[str],
    period: str | None,
    seed: int | None,
) -> RunRequest:
    """Read a scenario file, or the scenario of a result folder, with the changes from the command line."""
    only_one_source(file, changes, inputs)
    settings = scenario_settings(changes, option, policy=policy, period=period, seed=seed)
    percentiles = RunRequest.percentiles
    if file.is_dir():
        percentiles = read_origin(file, "run")["percentiles"]
        file = file / SCENARIO
    source = read_source(file, changes).changed(settings)
    return replace(of_source(source, file.parent), percentiles=percentiles)


def of_source(source: YamlSource, folder: Path) -> RunRequest:
    """Return the scenario of a document, with its warnings; its policy is checked."""
    notes: list[str] = []
    scenario = scenario_from(source, folder, check_policy=resolve, tell=notes.append)
    for text in notes:
        warnings.warn(text, InputWarning, stacklevel=2)
    return RunRequest(scenario, lambda: prepared(source, folder)[0].data, folder)


def of_point(sweep: Path | None, point: int, seed: int | None, given: dict[str, Any]) -> RunRequest:
    """Return the scenario of a point of a sweep, with its first seed or with this one."""
    problems = [
        Problem(f"--{name}", "--point without it", "both", f"--{name} cannot be combined with --point.")
        for name, value in given.items()
        if value is not None
    ]
    if sweep is None:
        problems.append(Problem("--point", "the folder of a sweep, or a study", "none"))
    if problems or sweep is None:
        raise InputError(problems)
    if (sweep / ORIGIN).exists():
        read_origin(sweep)
    study = read_study(sweep / STUDY if sweep.is_dir() else sweep)
    first = study.seed if seed is None else seed
    if not 0 <= point < study.n_points:
        problems.append(Problem("--point", f"a point of the sweep, 0 to {study.n_points - 1}", str(point)))
    if first < study.seed:
        problems.append(Problem("--seed", f"{study.seed}, the first seed of the study, or more", str(first)))
    if problems:
        raise InputError(problems)
    if study.warm_up not in (None, "none"):
        text = "warm_up: the numbers of one run cover all of its jobs; those of the sweep leave out its warm-up."
        warnings.warn(text, InputWarning, stacklevel=2)
    (run,) = Points(study).runs(point, [first - study.seed])
    source = scenario_source(study).changed({**run.settings, "seed": run.seed})
    return RunRequest(scenario_of(study, run), lambda: prepared(source, study.folder)[0].data, study.folder)


def of_text_files(
    changes: list[str],
    inputs: dict[str, Any],
    policy: str | None,
    option: list[str],
    period: str | None,
    seed: int | None,
) -> RunRequest:
    """Read the scenario of the papers' text files."""
    only_one_source(None, changes, inputs)
    options: dict[str, Any] = dict(key_values(option, "--option"))
    if "period_us" in options:
        options["period_us"] = time_us(options["period_us"], "--option period_us")
    new = {
        "policy": policy,
        "options": options,
        "period_us": None if period is None else time_us(period, "--period"),
        "seed": seed,
    }
    scenario = changed(
        read_text_scenario(**inputs), **{name: value for name, value in new.items() if value is not None}
    )
    times = {"file": str(inputs["arrivals"])} if inputs["arrivals"] else {"iat": inputs["iat"]}
    files = {
        "datacenter": "deployment",
        "workload": "trace",
        "affinity": "affinity",
        "prices": "prices",
        "power": "power",
    }
    document = {key: {"file": str(inputs[name])} for key, name in files.items() if inputs[name] is not None}
    run = {"policy": policy, "options": options or None, "period": new["period_us"], "seed": seed}
    given = {key: value for key, value in run.items() if value is not None}
    return RunRequest(scenario, lambda: {**document, "arrivals": times, **given}, Path())


def with_options(request: RunRequest, network: str | None, sampling: str | None) -> RunRequest:
    """Return the same with another network and sampling."""
    new: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    if network is not None:
        new["network"] = read_network(network)
        keys["network"] = network if network in PRESETS else {"file": str(Path(network).absolute())}
    if sampling is not None:
        new["sampling_us"] = keys["sampling"] = None if sampling in NO_SAMPLING else time_us(sampling, "--sampling")
    if not new:
        return request
    document = lambda: {**request.document(), **keys}  # noqa: E731
    return replace(request, scenario=changed(request.scenario, **new), document=document)
