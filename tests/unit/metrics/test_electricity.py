"""Power curves, sleep, prices and carbon: against a plain meaning, microsecond by microsecond."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.demands import demands_of, takes
from vinesim.engine.many import simulate_many
from vinesim.formats.scenario.series import read_series
from vinesim.metrics.energy import rest_of
from vinesim.model.accounting import Accounting
from vinesim.model.electricity import Electricity, Series
from vinesim.model.time import US_PER_HOUR

CURVE = (90.0, 97.0, 101.0, 105.0, 110.0, 116.0, 121.0, 125.0, 129.0, 133.0, 135.0)
EXAMPLES = Path(__file__).parents[3] / "examples"
STATES = ("active", "idle", "sleep", "wake_up", "migration")
CARBON = Path(__file__).parents[4] / "shared" / "data" / "carbon" / "carbon_NL_2024.csv"


def scenario(seed, shared=True, electricity=None, iat_us=None):
    """Random tasks of whole microseconds on units with all three power models, some of which sleep."""
    random = np.random.default_rng(seed)
    asleep = [None if random.random() < 0.4 else float(random.integers(0, 9)) for _ in range(2)]
    capacity = 4.0 if shared else 1.0
    if seed % 2:
        types = (
            vs.ProcessorType(
                "LINEAR", idle_power_w=7.0, dynamic_power_w=3.0, sleep_power_w=asleep[0], capacity=capacity
            ),
            vs.ProcessorType("CURVE", power_curve_w=CURVE, sleep_power_w=asleep[1], capacity=capacity),
        )
    else:
        types = (
            vs.ProcessorType("TABLE", idle_power_w=20.0, sleep_power_w=asleep[0], capacity=capacity),
            vs.ProcessorType("CURVE", power_curve_w=CURVE, sleep_power_w=asleep[1], capacity=capacity),
        )
    n = 12
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.cumsum(random.integers(0, 8, n)) if iat_us is None else iat_us * np.arange(n),
        random.integers(1, 20, n),
        data_bytes=random.choice([0.0, 30.0], n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        demand=random.choice([0.0, 1.0, 2.0, np.inf, np.nan], n) if shared else None,
        task_types=(vs.TaskType("T"),),
    )
    return vs.Scenario(
        vs.Datacenter.of([(types[0].name, 0, 0), (types[1].name, 0, 1), (types[1].name, 1, 0)], types),
        work,
        affinity=np.ones((2, 1)),
        power_w=None if seed % 2 else [[100.0], [1e9]],
        network=vs.Network(local=10.0, intra_rack=5.0, inter_rack=2.0, hop_latency_us=0.0),
        accounting=Accounting(wake_up_j=random.choice([0.0, 1e-3])),
        electricity=electricity or Electricity(),
    )


def by_microseconds(result, case, value_at=lambda us: 1.0):
    """J x value of each unit by its state: what it draws in each microsecond times the value there, and its wakings."""
    tasks, types = result.tasks, case.datacenter.processor_types
    demand = demands_of(case.workload)
    joule = {state: np.zeros(len(result.units["unit"])) for state in STATES}
    for unit, code in enumerate(result.units["unit_type"]):
        kind, was_awake = types[code], False
        for us in range(round(result.summary["makespan_us"])):
            on = (tasks["unit"] == unit) & (tasks["init_us"] <= us) & (us < tasks["finish_us"])
            executing = on & (tasks["start_us"] <= us)
            shares = takes(demand[executing], kind.capacity) / kind.capacity if executing.any() else np.zeros(0)
            state, watts = "idle", kind.idle_power_w
            if not on.any() and kind.sleep_power_w is not None:
                state, watts = "sleep", kind.sleep_power_w
            if executing.any():
                state = "active"
                if kind.power_curve_w is not None:
                    watts = np.interp(shares.sum(), np.linspace(0, 1, 11), CURVE)
                elif kind.dynamic_power_w is not None:
                    watts += kind.dynamic_power_w * shares.sum() * kind.capacity
                else:
                    watts = 100.0 * shares.sum()
            if on.any() and not was_awake and kind.sleep_power_w is not None:
                joule["wake_up"][unit] += case.accounting.wake_up_j * value_at(us)
            was_awake = on.any()
            joule[state][unit] += watts * 1e-6 * value_at(us)
    return joule


@pytest.mark.parametrize("shared", [True, False])
def test_energy_is_what_every_microsecond_draws(shared):
    for seed in range(16):
        case = scenario(seed, shared)
        result = vs.simulate(case)
        joule = by_microseconds(result, case)
        for state in STATES:
            assert result.units[f"{state}_j"] == pytest.approx(joule[state], rel=1e-9, abs=1e-15), state
            assert result.summary["energy"]["by_state"][state] == pytest.approx(joule[state].sum(), abs=1e-15)
        assert result.units["energy_j"] == pytest.approx(sum(joule.values()), rel=1e-9)


@pytest.mark.parametrize("shared", [True, False])
def test_a_price_that_changes_is_paid_when_the_energy_is_drawn(shared):
    price = Series([0.0, 7.0, 9.0], [0.5, -2.0, 4.0], 20.0, start_us=5.0)
    for seed in range(8):
        case = scenario(seed, shared, Electricity(price, 3.0, pue=1.5))
        result = vs.simulate(case)
        joule, energy = result.summary["energy_j"], result.summary["energy"]
        values = by_microseconds(result, case, lambda us: [0.5, -2.0, 4.0][sum((us + 5) % 20 >= b for b in (7, 9))])
        paid = sum(parts.sum() for parts in values.values())
        assert energy["cost"] == pytest.approx(1.5 * paid / 3.6e6, rel=1e-9)
        assert energy["carbon_g"] == pytest.approx(1.5 * 3.0 * joule / 3.6e6)
        assert energy["kwh"] == pytest.approx(1.5 * joule / 3.6e6)
        assert sum(energy["by_type"].values()) == pytest.approx(joule)


def test_many_runs_give_what_each_gives_alone_bit_for_bit():
    for seed in range(8):
        case = scenario(seed, shared=False, electricity=Electricity(Series([0.0, 11.0], [1.0, 3.0], 30.0), 2.0))
        case = replace(case, policy="pref")  # nothing is preferred; other tests compile this one for many runs, too
        times = np.cumsum(np.random.default_rng(seed).integers(0, 9, (5, case.workload.n_jobs)), axis=1).astype(float)
        runs = simulate_many(case, arrival_us=times, record=("energy", "energy_j"), engine="compiled")
        for k, arrival_us in enumerate(times):
            one = vs.simulate(replace(case, workload=replace(case.workload, arrival_us=arrival_us))).summary
            assert runs["energy_j"][k] == one["energy_j"]
            for name in ("kwh", "cost", "carbon_g"):
                assert runs[f"energy.{name}"][k] == one["energy"][name]
            for group in ("by_type", "by_state"):
                for name, joule in one["energy"][group].items():
                    assert runs[f"energy.{group}.{name}"][k] == joule


def test_a_series_starts_over_after_its_end():
    series = Series([0.0, 2.0], [1.0, 5.0], 3.0)
    assert series.at(np.array([0.0, 1.9, 2.0, 3.0, 5.5])).tolist() == [1, 1, 5, 1, 5]
    assert series.integral(np.array([0.0, 1.0, 3.0, 8.5])).tolist() == [0, 1, 7, 7 * 2 + 2 + 0.5 * 5]


def test_periods_of_a_batch_policy_cost_what_they_take_when_they_take_it():
    case = vs.read_scenario(
        "examples/energy.yaml", ["datacenter.racks[0].units={A: 5, D: 5}", "workload.options.tasks_per_batch=4"]
    )
    price = Series(np.arange(3) * 15e6, [1.0, 2.0, 4.0], 45e6)
    result = vs.simulate(replace(case, electricity=Electricity(price)))
    periods = result.periods
    means = [1.0, 1.5, 2.0, 4.0, 2.5, 1.0, 2.0, 3.0, 4.0]  # of 10 s each: 15 s at 1, 15 s at 2, 15 s at 4
    paid = sum(joule * means[k % 9] for k, joule in enumerate(periods["energy_j"]))
    assert result.summary["energy"]["cost"] == pytest.approx(paid / 3.6e6)


def test_price_without_powers_is_refused():
    with pytest.raises(vs.InputError, match="none of TABLE"):
        replace(scenario(0), power_w=None, electricity=Electricity(0.3))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"power_curve_w": CURVE[:10]}, "11 powers"),
        ({"power_curve_w": (*CURVE[:10], -1.0)}, "11 powers"),
        ({"power_curve_w": CURVE, "dynamic_power_w": 1.0}, "a power curve or a dynamic power"),
        ({"power_curve_w": CURVE, "idle_power_w": 3.0}, "at the start of the power curve"),
    ],
)
def test_wrong_curves_are_refused(options, words):
    with pytest.raises(vs.InputError, match=words):
        vs.ProcessorType("X", **options)


def test_the_files_problems_are_all_reported(tmp_path):
    path = tmp_path / "price.csv"
    path.write_text("hour,price\n0,1\n0,x\n2\nlater,3\n5,inf\n")
    with pytest.raises(vs.InputError) as error:
        read_series(path)
    places = [problem.where.rpartition(":")[2] for problem in error.value.problems]
    assert places == ["3", "3", "4", "5", "6"]
    path.write_text("timestamp,g\n2024-01-01 00:00,1\n2024-01-01 01:00,2\n")
    assert read_series(path, "2024-01-01 01:30").start_us == 1.5 * US_PER_HOUR
    assert read_series(path).length_us == 2 * US_PER_HOUR
    for start in ("2024-01-01 02:00", "1"):
        with pytest.raises(vs.InputError, match="start"):
            read_series(path, start)


@pytest.mark.parametrize(("rows", "hours"), [("0,1\n", 1), ("0,1\n3,2\n", 6), ("0,1\n1,2\n5,3\n", 9)])
def test_the_last_value_holds_for_as_long_as_the_one_before_it(tmp_path, rows, hours):
    path = tmp_path / "price.csv"
    path.write_text(f"hour,price\n{rows}")
    assert read_series(path).length_us == hours * US_PER_HOUR


@pytest.mark.skipif(not CARBON.exists(), reason="no carbon data next to the project")
def test_a_year_of_a_grid():
    series = read_series(CARBON)
    assert (len(series.values), series.length_us) == (8784, 8784 * US_PER_HOUR)
    mean = series.integral(np.array([series.length_us]))[0] / series.length_us
    assert mean == pytest.approx(series.values.mean())


def test_timestamps_count_their_offset(tmp_path):
    path = tmp_path / "summer.csv"
    path.write_text("timestamp,price\n2024-03-31 01:00:00+01:00,1\n2024-03-31 03:00:00+02:00,2\n")
    assert read_series(path).begin_us.tolist() == [0.0, US_PER_HOUR]
    path.write_text("timestamp,price\n2024-10-27 02:00:00+02:00,1\n2024-10-27 02:00:00+01:00,2\n")
    assert read_series(path).begin_us.tolist() == [0.0, US_PER_HOUR]


def test_idle_time_that_is_lost_to_rounding_is_not_negative():
    """A unit with a sleep power is awake for as long as it works, but sums of times round."""
    found = rest_of(np.array([0.1 + 0.2, 0.5]), np.array([0.1 + 0.2 + 1e-16, 0.2]), None)
    assert found.tolist() == [0.0, 0.3]
