"""Nodes go down and come up: nothing runs on a node that is down, every task ends once. Both engines: engines_agree."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.resource_based_scan import TWINS
from tests.strategies import Limits, seeded_scenario, with_policy

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = 12


@pytest.mark.parametrize("name", TWINS)
def test_the_heaps_choose_as_a_plain_scan_does(name):
    for seed in range(N_SCENARIOS):
        case = seeded_scenario(seed, name, {}, Limits(outages=True, jobs=20))
        one = vs.simulate(case, engine="reference").tasks
        other = vs.simulate(with_policy(case, TWINS[name]), engine="reference").tasks
        assert all(one[column].tobytes() == other[column].tobytes() for column in one), seed


@pytest.mark.parametrize("name", ["high", "rb_ljf_ba", "delay"])
def test_nothing_begins_on_a_node_that_is_down_and_every_task_ends_once(name):
    n_lost = n_drained = 0
    for seed in range(40):
        case = seeded_scenario(seed, name, {}, Limits(outages=True, horizons=False))
        if not case.outages:
            continue
        done = vs.simulate(case, engine="reference")
        tasks, lost = done.tasks, done.outcome.early
        n_lost += len(lost.task)
        for outage in case.outages:
            here = (tasks["rack"] == outage.rack) & (tasks["shelf"] == outage.shelf)
            begins, ends = tasks["init_us"][here], tasks["finish_us"][here]
            assert not ((begins > outage.down_us) & (begins < outage.up_us)).any(), seed
            if outage.running == "requeue":
                assert not ((begins <= outage.down_us) & (ends > outage.down_us)).any(), seed
            else:
                n_drained += int(((begins <= outage.down_us) & (ends > outage.down_us)).sum())
        if done.exit_reason == "ALL_DONE":
            assert np.isfinite(tasks["finish_us"]).all()
        assert (tasks["restarts"] == np.bincount(lost.task, minlength=len(tasks["task"]))).all()
        started = tasks["unit"] >= 0
        assert (tasks["init_us"][started] >= tasks["arrival_us"][started]).all()
    assert n_lost > 20
    assert n_drained > 5


def plain_case(outages, policy="high", n_tasks=2):
    work = vs.Workload([0], [0, n_tasks], [0.0], np.full(n_tasks, 10.0), *np.zeros((3, n_tasks)), [-1] * n_tasks,
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    kind = vs.ProcessorType("CPU", idle_power_w=1.0)
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (kind,))
    return vs.Scenario(center, work, policy, affinity=[[1.0]], power_w=[[5.0]], outages=outages)


def test_what_was_lost_is_measured():
    done = vs.simulate(plain_case([vs.Outage(0, 0, 4.0, 6.0)]))
    assert done.tasks["init_us"].tolist() == [6.0, 0.0]
    assert done.tasks["finish_us"].tolist() == [16.0, 10.0]
    assert done.tasks["restarts"].tolist() == [1, 0]
    assert done.tasks["lost_us"].tolist() == [4.0, 0.0]
    assert done.summary["outages"] == {"restarts": 1, "lost_us": 4.0}
    assert done.units["active_us"].tolist() == [14.0, 10.0]
    assert done.units["energy_j"] * 1e6 == pytest.approx([14 * 5 + 2, 10 * 5 + 6])


def test_a_node_that_joins_is_one_that_was_down():
    done = vs.simulate(plain_case([vs.Outage(0, 1, 0.0, 3.0)]))
    assert done.tasks["init_us"].tolist() == [0.0, 3.0]


def test_a_task_that_ends_as_its_node_goes_down_is_not_lost():
    """At 10 two tasks end, the third begins on the first unit and loses it at once, and begins on the other one."""
    done = vs.simulate(plain_case([vs.Outage(0, 0, 10.0, 12.0)], n_tasks=3), engine="reference")
    assert done.tasks["finish_us"].tolist() == [10.0, 10.0, 20.0]
    assert done.tasks["unit"].tolist() == [0, 1, 1]
    assert done.tasks["restarts"].tolist() == [0, 0, 1]


def test_a_drained_node_ends_what_it_runs():
    done = vs.simulate(plain_case([vs.Outage(0, 0, 4.0, running="finish")], n_tasks=3))
    assert done.tasks["finish_us"].tolist() == [10.0, 10.0, 20.0]
    assert done.tasks["unit"].tolist() == [0, 1, 1]


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_node_that_fails_during_an_outage_is_up_when_both_are_over(engine):
    """An outage from 0 to 5, a failure from 3 to 9: what began at 0 begins again at 9, not 5. It fails again at 12."""
    failures = (vs.Failures(vs.Times(3.0, "constant"), vs.Times(6.0, "constant"), node=(0, 0)),)
    case = replace(plain_case([vs.Outage(0, 0, 0.0, 5.0)], n_tasks=1), failures=failures)
    on_one = replace(case, datacenter=vs.Datacenter([0], [0], [0], case.datacenter.processor_types), horizon_us=13.0)
    begun = vs.simulate(on_one, engine=engine).segments["begin_us"]
    assert begun.tolist() == [0.0, 9.0]


def test_all_that_is_wrong_is_said_at_once():
    wrong = [vs.Outage(3, 0, 0.0), vs.Outage(0, 0, 5.0, 4.0), vs.Outage(0, 1, 1.0, 9.0, "pause"), vs.Outage(0, 1, 2.0)]
    with pytest.raises(vs.InputError) as error:
        plain_case(wrong)
    text = str(error.value)
    for part in ("outages[0]", "outages[1].up", "outages[2].running", "outages[3]"):
        assert part in text


def test_policies_that_cannot_have_outages_say_so():
    with pytest.raises(vs.InputError, match="an online policy"):
        vs.simulate(plain_case([vs.Outage(0, 0, 4.0)], "ff"))
