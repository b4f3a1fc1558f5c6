"""The scenario of a run."""

from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError
from vinesim.model.scenario import Scenario
from vinesim.model.study import Study
from vinesim.policies.documents import scenario_from
from vinesim.studies.run import Run, at_point


def scenario_of(study: Study, run: Run) -> Scenario:
    """Return the scenario of a run, as ``read_scenario`` would with the same changes and seed.

    The scenario's YAML is parsed once per process. Raises :class:`InputError`, each problem with its point.
    """
    source = scenario_source(study)
    try:
        return scenario_from(source.changed({**run.settings, "seed": run.seed}), study.folder)
    except InputError as error:
        raise at_point(error, run.point) from None
