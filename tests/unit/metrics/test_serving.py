"""Times of tokens, tokens per second and goodput: by hand, and the same from a stored run."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.served import S, served
from vinesim.engine.simulate import result_of
from vinesim.formats.results.outcome import read_outcome
from vinesim.formats.results.tables import open_result
from vinesim.metrics.numbers import numbers
from vinesim.metrics.run_columns import ColumnsInMemory, StoredColumns
from vinesim.metrics.summary import measure, plain
from vinesim.metrics.tables import Tables
from vinesim.metrics.times import times_with
from vinesim.model.titles import number_title

WITHIN = {"first_token_within_us": [S, S, np.inf, S, S], "token_within_us": [S, S / 10, S / 10, np.inf, S]}


def test_by_hand():
    _, result = served(**WITHIN)
    found = result.summary["serving"]
    assert found["first_token_us"] == pytest.approx(
        {"mean": 1.5 * S, "p50": 1.5 * S, "p90": 3 * S, "p99": 3 * S, "p99_9": 3 * S, "max": 3 * S}
    )
    assert found["token_us"]["mean"] == pytest.approx((0.1 + 0.2 + 0.5) / 3 * S)
    assert found["token_us"]["p50"] == pytest.approx(0.2 * S)
    assert found["queue_us"]["max"] == pytest.approx(0.25 * S)
    makespan_s = result.summary["makespan_us"] / S
    assert makespan_s == 10.0
    assert found["output_tokens_per_s"] == pytest.approx((10 + 1 + 11 + 5) / makespan_s)
    assert found["input_tokens_per_s"] == pytest.approx((100 + 50 + 30 + 20) / makespan_s)
    assert found["preemptions"] == 3
    assert found["memory"] == pytest.approx({"mean": 90 / (2 * 160 * makespan_s), "peak": 100 / 160})
    assert result.summary["utilization"]["overall"] == pytest.approx((1.4 + 1.5 + 4.0 + 2.5 + 6.0) / (8 * makespan_s))
    # the second misses its first token, the third its tokens, the last does not finish
    assert (found["goodput_pct"], found["missed"]) == (40.0, 3)
    assert found["goodput_per_s"] == pytest.approx(2 / makespan_s)


@pytest.mark.parametrize(
    ("within", "good"),
    [
        ({"first_token_within_us": [0.5 * S] * 5}, 2),
        ({"first_token_within_us": [np.nextafter(0.5 * S, 0)] * 5}, 0),
        ({"token_within_us": [0.2 * S] * 5}, 3),  # one output token has no time between tokens
        ({"token_within_us": [np.inf] * 5}, 4),
    ],
)
def test_both_sides_of_a_limit(within, good):
    assert served(**within)[1].summary["serving"]["goodput_pct"] == pytest.approx(100 * good / 5)


def test_no_goodput_where_no_request_has_a_limit():
    assert not {"goodput_pct", "goodput_per_s", "missed"} & set(served()[1].summary["serving"])


def test_only_wanted_numbers_are_computed():
    from vinesim.metrics.record import Record

    scenario, result = served(**WITHIN)
    tables = Tables(scenario, result.outcome)
    assert list(measure(tables, record=Record(("serving.goodput_pct",)))["serving"]) == ["goodput_pct"]
    assert "serving" not in measure(tables, record=Record(("jobs",)))


def test_the_warm_up_leaves_out_times_of_the_first_requests():
    scenario, result = served()
    found = measure(Tables(scenario, result.outcome), warm_up={"jobs": 2})["serving"]
    assert found["first_token_us"]["mean"] == pytest.approx((2.0 + 0.5 + 3.0) / 3 * S)


def test_the_tables_have_columns_of_tokens():
    _, result = served(token_within_us=[S] * 5)
    assert result.tasks["input_tokens"].tolist() == [100, 50, 30, 20, 10]
    assert result.tasks["n_preemptions"].tolist() == [0, 2, 0, 1, 0]
    assert "token_within_us" in result.tasks
    assert "first_token_within_us" not in result.tasks
    assert result.units["rack"].tolist() == [0, 1]
    assert result.units["memory_peak"].tolist() == [100.0, 80.0]  # of the engine in rack 0 first
    assert result.units["memory_us"].tolist() == [50 * S, 40 * S]
    assert result.units["memory_tokens"].tolist() == [160, 160]


def test_a_stored_run_gives_the_same(tmp_path):
    scenario, result = served(**WITHIN)
    result.save(tmp_path / "run")
    tables = Tables(scenario, result.outcome)
    with open_result(tmp_path / "run") as stored:
        assert stored.has("tasks", "first_token_us")
        again = Tables(scenario, read_outcome(stored, scenario))
        for name, times in times_with(True).items():
            found, known = (times.values(run) for run in (StoredColumns(stored), ColumnsInMemory(tables)))
            assert np.array_equal(found, known, equal_nan=True), name
    assert plain(measure(again)) == plain(measure(tables))


def test_a_run_without_engines_has_no_times_of_tokens():
    assert not [name for name in times_with(False) if name.startswith("serving")]
    scenario, _ = served()
    plain = replace(scenario, datacenter=vs.Datacenter.of([("GPU", 0, 0)], (vs.ProcessorType("GPU"),)))
    result = vs.simulate(plain, engine="reference")
    assert "serving" not in result.summary
    assert "first_token_us" not in result.tasks


def test_by_application():
    _, result = served(**WITHIN)
    rows = result.by("application")
    found = {name: dict(zip(rows["application"], rows[name], strict=True)) for name in rows}
    assert found["first_token_us"] == pytest.approx({"chat": 1.25 * S, "code": 5 / 3 * S})
    assert found["first_token_p99_us"] == pytest.approx({"chat": 2 * S, "code": 3 * S})
    assert found["token_us"] == pytest.approx({"chat": 0.15 * S, "code": 0.5 * S})
    assert found["goodput_pct"] == pytest.approx({"chat": 50, "code": 100 / 3})


def test_by_application_after_a_warm_up():
    scenario, result = served(**WITHIN)
    cut = result_of(scenario, result.outcome, lambda: result.provenance, warm_up={"jobs": 2})
    rows = cut.by("application")
    found = {name: dict(zip(rows["application"], rows[name], strict=True)) for name in rows}
    assert found["first_token_us"] == pytest.approx({"chat": 2 * S, "code": 1.75 * S})
    assert rows["goodput_pct"].tolist() == result.by("application")["goodput_pct"].tolist()


def test_every_number_has_words():
    for name in numbers(served(**WITHIN)[1].summary):
        if name.startswith("serving."):
            assert number_title(name).words not in ("", name)
            assert ("_us" in name) == (number_title(name).unit == "us"), name
