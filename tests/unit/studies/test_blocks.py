from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.formats.papers.trace import write_trace
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.study.file import study
from vinesim.model.errors import InputError
from vinesim.model.study import Axis, Study
from vinesim.policies.identity import content_id
from vinesim.studies import blocks as blocks_module
from vinesim.studies.expand import blocks, expand, scenario_of
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.distributions import Exponential
from vinesim.workloads.placement import Placement
from vinesim.workloads.registry import GENERATORS
from vinesim.workloads.setting import Setting

SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
}
ONE_PLACE = {"datacenter.racks[0].per_shelf": 9}
OPTIONS = {
    "500jobs": {"n_jobs": 4},
    "identical": {"n_jobs": 3},
    "mix": {"n_jobs": 4, "shares": {"INT": 1, "MEM": 2}},
    "sized": {"n_jobs": 60, "n_tasks": 3000},
    "neurasmus": {"n_jobs": 3},
    "batches": {"n_batches": 2, "tasks_per_batch": 3},
    "jobs": {"n_jobs": 4, "sizes": {"exponential": {"mean": 30e6}}, "n_users": 2},
}
WORKLOADS = [
    *(
        {"generator": name, "options": options}
        for name, options in OPTIONS.items()
        if GENERATORS[name].task_types is None
    ),
    {"generator": "identical", "options": {"n_jobs": 3, "data_bytes": 5, "data_rack": 0}},
    {"file": "t.txt"},
]
ARRIVALS = [
    {"iat": 7},
    {"iat": "1 ms"},
    {"poisson": {"mean": 5}},
    {"poisson": {"mean": 7}},
    {"weibull": {"mean": 7, "cv": 2}},
    {"mmpp": {"mean": 7, "rates": [1, 5], "stay": [20, 10]}},
    {"iat": 7, "weekly": [1, 1, 1, 1, 1, 0, 2], "start": "4 d"},
    {"series": {"file": "counts.csv"}},
    {"times": [0, 1, 2]},
    {"file": "a.txt"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.txt").write_text("1\n5\n9\n")
    (folder / "counts.csv").write_text("0,5\n1,9\n2,0\n")
    work = GENERATORS["identical"].generate({"n_jobs": 3, "iat_us": 4.0})
    write_trace(folder / "t.txt", work)
    write_workload(folder / "w.parquet", work)
    write_workload(folder / "due.parquet", replace(work, deadline_us=[100.0, 110.0, 120.0]))
    return folder


def as_run(block, k):
    """Run k of a block as its own scenario."""
    if block.arrival_us is None:
        return replace(block.scenario, seed=int(block.seeds[k]))
    work = replace(block.scenario.workload, arrival_us=block.arrival_us[k])
    return replace(block.scenario, workload=work, seed=int(block.seeds[k]))


def check(found, runs):
    """Whether every run is in one block, and is what its block says; the sizes of the blocks."""
    together = list(blocks(found, runs))
    assert sorted(run.index for block in together for run in block.runs) == [run.index for run in runs]
    for block in together:
        assert [run.index for run in block.runs] == sorted(run.index for run in block.runs)
        assert (block.arrival_us is None) == (len(block.runs) == 1)
        for k, run in enumerate(block.runs):
            assert content_id(as_run(block, k)) == content_id(scenario_of(found, run))
    return sorted(len(block.runs) for block in together)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(WORKLOADS), min_size=1, max_size=2, unique_by=str),
    st.lists(st.sampled_from(ARRIVALS) | st.none(), min_size=1, max_size=3, unique_by=str),
    st.sampled_from([{}, ONE_PLACE]),
    st.lists(st.sampled_from(["high", "flat"]), min_size=1, max_size=2, unique=True),
    st.permutations([0, 1, 2]),
    st.integers(1, 3),
)
def test_a_run_of_a_block_is_exactly_its_scenario(folder, works, arrivals, place, policies, order, replications):
    settings = [
        [{"workload": work, **place} for work in works],
        [{"arrivals": kind} for kind in arrivals],
        [{"policy": policy} for policy in policies],
    ]
    axes = [
        Axis((str(i),), tuple((n,) for n in range(len(settings[i]))), tuple(settings[i])) for i in order if settings[i]
    ]
    found = Study(SCENARIO, tuple(axes), replications=replications, folder=folder)
    runs = []
    for run in expand(found):
        try:
            scenario_of(found, run)
        except InputError:  # such as three times for 60 jobs
            continue
        runs.append(run)
    check(found, runs)


def test_a_table_with_its_own_times_and_with_others(folder):
    kinds = [None, {"iat": 3}, {"poisson": {"mean": 5}}, {"times": [1, 2, 3]}]
    axis = Axis(("x",), tuple((i,) for i in range(len(kinds))), tuple({"arrivals": kind} for kind in kinds))
    for file, expected in (("w.parquet", [4]), ("due.parquet", [1] * 4)):  # deadlines move with the arrivals
        found = Study({**SCENARIO, "workload": {"file": file}}, (axis,), folder=folder)
        assert check(found, expand(found)) == expected


def test_what_is_put_together():
    def sizes(workload, **more):
        mapping = {
            "scenario": {**SCENARIO, "workload": workload, **more},
            "axes": {"policy": ["high", "flat"], "arrivals.iat": [5, 6, 7]},
            "replications": 4,
        }
        found = study(mapping)
        return check(found, expand(found))

    one = {"datacenter": {"racks": [{"units": {"GPU": 2}, "per_shelf": 2}]}}
    assert sizes({"generator": "500jobs"}, **one) == [12, 12]
    assert sizes({"generator": "500jobs"}) == [12, 12]
    data = {"generator": "500jobs", "options": {"data_bytes": 5}}
    assert sizes(data) == [3] * 8  # places of the data are drawn
    assert sizes({"generator": "mix", "options": OPTIONS["mix"]}, **one) == [3] * 8
    assert sizes({"generator": "jobs", "options": OPTIONS["jobs"]}, **one) == [3] * 8  # the seed draws the sizes
    mixed = {"n_jobs": 4, "kinds": [{"name": "a", "arrivals": {"poisson": {"mean": 5}}, "sizes": 3}]}
    kinds = {"scenario": {**SCENARIO, "workload": {"generator": "job_mix", "options": mixed}, "arrivals": None}}
    kinds |= {"axes": {"workload.options.kinds[0].arrivals.poisson.mean": [5, 6]}, "replications": 3}
    found = study(kinds)
    assert check(found, expand(found)) == [1] * 6


def test_no_block_is_larger_than_its_arrival_times_may_be(monkeypatch):
    monkeypatch.setattr(blocks_module, "MAX_TIMES", 7)  # two runs of three jobs
    found = study({"scenario": SCENARIO, "axes": {"arrivals.iat": [1, 2, 3, 4, 5]}})
    assert check(found, expand(found)) == [1, 2, 2]


@pytest.mark.parametrize(
    "arrivals", [{"times": [1, 2]}, {"times": [3, 1, 2]}, {"iat": "5 uss"}, {"file": "none.txt"}, {"iat": 1e308}]
)
def test_wrong_arrivals_are_reported_with_their_point(arrivals):
    axes = {"arrivals": {"cases": {"right": {"arrivals": {"iat": 3}}, "wrong": {"arrivals": arrivals}}}}
    found = study({"scenario": SCENARIO, "axes": axes})
    with pytest.raises(InputError, match=r"^arrivals=wrong: "):
        list(blocks(found, expand(found)))


@pytest.mark.parametrize("name", GENERATORS)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_generators_declare_what_seed_and_arrivals_decide(name, data):
    spec = GENERATORS[name]
    options = OPTIONS.get(name)
    if options is None:  # undeclared: never put together
        assert spec.is_random
        assert not spec.arrivals_apart
        return
    same_seed, same_arrivals = data.draw(st.booleans()), data.draw(st.booleans())
    nodes = data.draw(st.sampled_from([[(0, 0)], [(0, 0), (1, 0), (1, 3)]]))
    rack = data.draw(st.sampled_from([None, 0, 1]) if len(nodes) > 1 else st.none())
    data_bytes = data.draw(st.sampled_from([0.0, 5.0]))

    def make(seed, arrivals):
        setting = Setting(
            seed,
            arrivals,
            Placement(data_bytes, nodes, rack),
            spec.task_types or Setting.task_types,
            spec.processor_types or Setting.processor_types,
        )
        return spec.make(setting, **options)

    options = {key: Exponential(5.0) if key == "sizes" else value for key, value in options.items()}
    one = make(1, Arrivals("constant", 3.0))
    two = make(1 if same_seed else 2, Arrivals("constant", 3.0) if same_arrivals else Arrivals("poisson", 5.0))
    is_promised = (same_arrivals or spec.arrivals_apart) and (
        same_seed or not spec.depends_on_seed({"data_rack": rack, "data_bytes": data_bytes}, nodes)
    )
    equal = all(
        np.array_equal(getattr(one, column), getattr(two, column))
        for column, value in vars(one).items()
        if isinstance(value, np.ndarray) and column != "arrival_us"
    )
    assert equal or not is_promised


OWN_TABLES = {
    "estimates that the seed draws": ("w.csv", {"workload.estimate_error": 2.0}, [1] * 4),
    "deadlines that follow the arrivals": (
        "a.csv",
        {
            "arrivals": {"poisson": {"mean": "150 us"}},
            "applications": [{"name": "A", "relative_deadline": "300 us", "average_load": 1}],
        },
        [1] * 4,
    ),
    "arrivals by the number of a period": ("p.csv", {"arrivals": {"iat": "1 ms"}}, [1] * 4),
    "their own arrivals": ("w.csv", {}, [4]),
}


@pytest.mark.parametrize("case", OWN_TABLES)
def test_runs_of_a_table_are_put_together_only_where_nothing_else_changes(tmp_path, case):
    (tmp_path / "w.csv").write_text("arrival_us,operations\n0,100\n0,200\n0,300\n5,50\n")
    (tmp_path / "a.csv").write_text("arrival_us,operations,application\n0,100,A\n0,200,A\n0,300,A\n5,50,A\n")
    (tmp_path / "p.csv").write_text("period,time_us\n0,100\n0,200\n1,50\n3,300\n")
    file, more, sizes = OWN_TABLES[case]
    scenario = {
        "extends": "none",
        "processor_types": [{"name": "X"}],
        "task_types": ["TASK"],
        "affinity": {"absolute": {"X": {"TASK": 1}}},
        "network": "none",
        "datacenter": {"racks": [{"nodes": [{"units": {"X": 1}}]}]},
        "workload": {"file": file},
        "policy": "rb_sjf",
    }
    if file == "p.csv":
        del scenario["task_types"], scenario["affinity"]
    for key, value in more.items():
        part, _, name = key.partition(".")
        if name:
            scenario[part][name] = value
        else:
            scenario[part] = value
    found = study({"scenario": scenario, "replications": 4, "seed": 1}, folder=tmp_path)
    assert check(found, expand(found)) == sizes
