"""What is said of jobs that waited for others: in the tables, in an explanation, in the queue."""

import math

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.unit.engine.test_dependencies import CHAIN, workflow
from tests.unit.metrics.test_waiting import recorded
from vinesim.formats.results.explain_reader import read_record
from vinesim.formats.results.tables import open_result
from vinesim.metrics.causes import causes_of
from vinesim.metrics.queue import mean_queues, queues_of
from vinesim.metrics.tables import Tables
from vinesim.metrics.waiting import waiting_of
from vinesim.metrics.waiting_words import headline


@pytest.fixture
def folder(tmp_path):
    recorded(tmp_path / "run", workflow(CHAIN))
    return tmp_path / "run"


def test_a_wait_for_units_begins_when_a_job_is_eligible(folder):
    found = waiting_of(folder, 0)
    assert (found.arrival_us, found.eligible_us, found.waited_us, found.after) == (0.0, 10.0, 0.0, [1])
    assert waiting_of(folder, 3).waits == [(3.0, 14.0)]


def test_an_explanation_names_the_jobs_that_it_waited_for(folder):
    assert headline(waiting_of(folder, 0))[2] == (
        "It waited for job 1 to be over until 10.0 us, and only then for units."
    )
    assert not any("over" in line for line in headline(waiting_of(folder, 3)))


def test_a_job_that_arrives_later_came_after_them(tmp_path):
    recorded(tmp_path / "run", workflow([(0, [1], []), (5, [1], [0])]))
    assert headline(waiting_of(tmp_path / "run", 1))[2] == "It came after job 0, over by then."


def test_a_job_that_is_never_eligible_says_so(tmp_path):
    recorded(tmp_path / "run", workflow([(0, [math.inf], []), (0, [1], [0])], n_units=2))
    found = waiting_of(tmp_path / "run", 1)
    assert (found.eligible_us, found.waits) == (None, [])
    assert headline(found)[2] == "It waits for job 0 to be over, and is not eligible."


def test_the_queue_holds_eligible_tasks_only(folder):
    case = workflow(CHAIN)
    with open_result(folder) as result:
        queue = queues_of(result, [None])[0]
        causes = causes_of(result, read_record(result), np.array([0.0, 15.0]))
    assert dict(zip(queue.time_us.tolist(), queue.length.tolist(), strict=True)) == {
        2.0: 0, 3.0: 1, 4.0: 2, 7.0: 1, 10.0: 1, 14.0: 0,
    }  # fmt: skip
    assert causes.waited_us == 11.0 + 3.0
    in_memory = mean_queues(Tables(case, vs.simulate(case, engine="reference").outcome), [None], 1)[0]
    assert in_memory[0] == pytest.approx(queue.waited_us / 15.0)


def test_a_withdrawn_job_that_was_never_eligible_was_in_no_queue(tmp_path):
    case = workflow([(0, [9], []), (0, [1], [0])], n_units=2, withdraw_us=[math.inf, 3.0])
    recorded(tmp_path / "run", case)
    with open_result(tmp_path / "run") as result:
        assert queues_of(result, [None])[0].length.tolist() == [0]
