"""``python -m verification.serving DIR``: simulated serving engines against measured runs of vLLM.

DIR has a folder for each run of ``RUNS``, with ``requests.jsonl`` (each request's tokens and times), ``meta.json`` (the
engine's settings) and the profiled times of its kernels (``dense.csv``, ``per_sequence.csv``, ``attention.csv.gz``).
Each run is simulated from the profiled times, and from a formula that was fitted to the first half of its requests. Of
an engine on several devices the profile lacks what these exchange: that is left out, assumed, or fitted. Exit code 1
where a mean is more than 10 % off, but for what leaves something out: of all requests from profiled times, and of those
that a fit did not see.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.engine_settings import read_engine_settings
from vinesim.formats.importers.serving_log import Requests, read_serving_log
from vinesim.formats.scenario.batching import read_profile
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.step_times import Exchange, StepProfile, StepTime
from vinesim.studies.serving_fit import ServingFit, fit_requests
from vinesim.studies.serving_run import MEASURES, STATISTICS, engine_with, measured_times, simulated_times, statistics

MOST_OFF = 0.10


class Model(NamedTuple):
    """What a run's files do not say."""

    layers: int
    exchange: Exchange | None  # assumed; None: the engine has one device


RUNS = {
    "rtx4090_llama-3.1-8b": Model(32, None),
    # two all-reduces a layer, of 5,120 numbers of 2 bytes a token at 16 GB/s
    "rtxpro6000_qwen3-32b": Model(64, Exchange(base_us=20.0, token_us=0.64, times=128)),
}


class Row(NamedTuple):
    """A simulation of a run, next to what was measured: statistics [3, 4], us."""

    title: str
    measured_us: np.ndarray
    simulated_us: np.ndarray
    is_judged: bool = True

    @property
    def off(self) -> float:
        """How far the mean is off that is furthest off."""
        return float(np.abs(self.simulated_us / self.measured_us - 1)[:, 0].max())


def main(arguments: list[str]) -> int:
    """Print the rows of each run."""
    is_off = False
    for name, model in RUNS.items():
        print(name)
        for row in rows(Path(arguments[0]) / name, model):
            print_row(row)
            is_off |= row.is_judged and row.off > MOST_OFF
    return int(is_off)


def rows(folder: Path, model: Model) -> Iterator[Row]:
    """Yield the simulations of a run."""
    requests = read_serving_log(folder / "requests.jsonl")
    assert isinstance(requests, Requests)
    engine = engine_with(read_engine_settings(folder / "meta.json"), requests)
    profile, measured = profile_of(folder, model.layers), statistics(measured_times(requests))

    def from_profile(exchange: Exchange | None) -> np.ndarray:
        step = StepTime(profile=profile, exchange=exchange)
        return statistics(simulated_times(requests, replace(engine, step=step)))

    if model.exchange is None:
        yield Row("from profiled times", measured, from_profile(None))
    else:
        yield Row("from profiled times, without what devices exchange", measured, from_profile(None), is_judged=False)
        base_us, token_us, times = model.exchange.base_us, model.exchange.token_us, model.exchange.times
        title = f"from profiled times and {times} exchanges of {base_us:g} us + {token_us:g} us a token"
        yield Row(title, measured, from_profile(model.exchange))
        yield from fitted("profiled times and a formula for the rest", fit_requests(requests, engine, profile))
    yield from fitted("a formula", fit_requests(requests, engine))


def fitted(title: str, fit: ServingFit) -> Iterator[Row]:
    """Yield how a fit compares on the half that it did not see, and on the other."""
    step = fit.step
    numbers = f"{step.base_us:g}, {step.prefill_token_us:g}, {step.sequence_us:g}, {step.memory_token_us:g} us"
    yield Row(f"{title} ({numbers}), fitted to the first half; the second half", *fit.statistics(seen=False))
    yield Row("the first half", *fit.statistics(seen=True), is_judged=False)


def profile_of(folder: Path, layers: int) -> StepProfile:
    """Return the profile of a run: each layer has two norms, and the embedding and the last norm run once."""
    section = {
        "dense_file": str(folder.resolve() / "dense.csv"),
        "per_sequence_file": str(folder.resolve() / "per_sequence.csv"),
        "attention_file": str(folder.resolve() / "attention.csv.gz"),
        "layers": layers,
        "repeats": {"layernorm": 2 * layers, "embedding": 1, "final_layernorm": 1},
    }
    with tempfile.TemporaryDirectory() as place:
        write_yaml(Path(place) / "profile.yaml", section)
        return read_profile(Path(place) / "profile.yaml")[1]


def print_row(row: Row) -> None:
    """Print a simulation: of each time the statistics as measured, as simulated, and the error."""
    print(f"\n  {row.title}")
    print("              " + "".join(f"{name:>26}" for name in STATISTICS))
    for name, measured, simulated in zip(MEASURES, row.measured_us, row.simulated_us, strict=True):
        unit, per_unit = ("ms", 1e3) if name == "per token" else ("s", 1e6)
        pairs = zip(measured / per_unit, simulated / per_unit, strict=True)
        cells = [f"{true:8.2f} {of_run:8.2f} {100 * (of_run / true - 1):+6.1f} %" for true, of_run in pairs]
        print(f"  {name + ', ' + unit:14}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
