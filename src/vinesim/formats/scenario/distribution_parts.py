"""Distributions in a scenario file, such as ``{lognormal: {mean: 5 ms, cv: 3}}``."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field

from vinesim.formats.scenario.values import FileName, Number, Positive, Time
from vinesim.formats.source.csv_rows import csv_records
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.parts import Part, one_of, schema_one_of
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem, Steps
from vinesim.workloads.distributions import DISTRIBUTIONS, Constant, Distribution, Empirical

Value = Annotated[Time, Field(description="A number, or a time: us.")]


class ExponentialPart(Part):
    """Without memory: coefficient of variation 1."""

    mean: Value = Field(description="Mean.")


class OfMeanPart(Part):
    """By its mean and its coefficient of variation."""

    mean: Value = Field(description="Mean.")
    cv: Positive = Field(description="Coefficient of variation: standard deviation / mean.")


class UniformPart(Part):
    """Every value between two bounds is equally likely."""

    low: Value = Field(description="Smallest value.")
    high: Value = Field(description="Largest value.")


class ParetoPart(Part):
    """A power law between two bounds."""

    low: Value = Field(description="Smallest value.")
    high: Value = Field(description="Largest value.")
    alpha: Positive = Field(description="Tail index: the share above x falls as x to the power of -alpha.")


class EmpiricalPart(Part):
    """The values of a sample, each equally likely."""

    model_config = ConfigDict(json_schema_extra=schema_one_of("values", "file"))

    values: list[Value] | None = Field(None, description="The values.")
    file: FileName | None = Field(None, description="A file with one value per line.")
    weights: list[Number] | None = Field(None, description="How likely each of the values is, relative to the others.")

    _one = one_of("values", "file")


def _as_constant(value: Any) -> Any:
    return value if isinstance(value, dict) else {"constant": value}


class DistributionPart(Part):
    """A distribution: of a name, with its parameters."""

    model_config = ConfigDict(json_schema_extra=schema_one_of(*DISTRIBUTIONS))

    constant: Value | None = Field(None, description="Always this value; a plain number means the same.")
    uniform: UniformPart | None = Field(None, description="Every value between two bounds.")
    exponential: ExponentialPart | None = Field(None, description="Coefficient of variation 1.")
    gamma: OfMeanPart | None = Field(None, description="Its tail is exponential, whatever its cv.")
    weibull: OfMeanPart | None = Field(None, description="Above a cv of 1, its tail is heavier than exponential.")
    lognormal: OfMeanPart | None = Field(None, description="Many small values and a few much larger ones.")
    hyperexponential: OfMeanPart | None = Field(None, description="Exponential with one of two means; cv above 1.")
    pareto: ParetoPart | None = Field(None, description="A power law between two bounds.")
    empirical: EmpiricalPart | None = Field(None, description="The values of a sample.")

    _one = one_of(*DISTRIBUTIONS)


def distribution_of(source: YamlSource, path: Steps, value: Any, folder: Path) -> Distribution | None:
    """Return the distribution at a place of a document; None if it is invalid, with its problems added."""
    part = checked_part(source, tuple(path), DistributionPart, _as_constant(value))
    if part is None:
        return None
    name = next(name for name in DISTRIBUTIONS if getattr(part, name) is not None)
    given = getattr(part, name)
    where = (*path, name) if isinstance(value, dict) else tuple(path)
    try:
        if name == "constant":
            return Constant(given)
        if isinstance(given, EmpiricalPart):
            values = read_values(folder / given.file) if given.file is not None else given.values or ()
            return Empirical(values, given.weights)
        return DISTRIBUTIONS[name](**given.model_dump())
    except InputError as error:
        adopt_at(source, where, error)
        return None


def adopt_at(source: YamlSource, path: Steps, error: InputError) -> None:
    """Add a model class's problems at the keys that they name, below ``path``."""
    for problem in error.problems:
        if not problem.path:  # a line of a file
            source.adopt(InputError([problem]), tuple(path), problem.where.partition(":")[0])
        else:
            key = str(problem.path[0]).removesuffix("_us")
            source.add((*path, key), problem.expected, problem.found, problem.remedy)


def read_values(path: Path) -> np.ndarray:
    """Return the numbers of a file with one per line; a first line without a number is the header.

    Raises :class:`InputError` with every wrong line.
    """
    values: list[float] = []
    problems: list[Problem] = []
    for line, row in csv_records(path):
        try:
            value = float(row[0]) if len(row) == 1 else -1.0
        except ValueError:
            if not values and not problems:
                continue
            value = -1.0
        if 0 <= value < float("inf"):
            values.append(value)
        else:
            problems.append(Problem(f"{path}:{line}", "one number, 0 or more", repr(",".join(row))[:40]))
    if not values and not problems:
        problems.append(Problem(str(path), "at least one number", "none"))
    if problems:
        raise InputError(problems[:MAX_PROBLEMS], len(problems))
    return np.array(values)
