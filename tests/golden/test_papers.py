"""The numbers of the VineSim papers (000, 001), as claims/vinesim.md section 4 gives them: exactly."""

import math

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.network import TABLE_4

CPU, GPU = 0, 2
IATS = (0, 5, 6, 7, 30, 100, 125, 1000)
MEAN_LATENCY_US = {  # 500Jobs on 20 CPUs + 20 GPUs
    ("high", None): (1512, 274.4, 54.44, 25, 25, 25, 25, 25),
    ("pref", GPU): (1575, 335, 87, 25, 25, 25, 25, 25),
    ("pref", CPU): (31500, 30260, 30012, 29764, 24060, 6700, 500, 500),
}


def datacenter(n_cpus=20, n_gpus=20):
    """Two racks: CPUs in one, GPUs in the other."""
    return vs.Datacenter(
        np.r_[np.full(n_cpus, CPU), np.full(n_gpus, GPU)],
        np.r_[np.zeros(n_cpus), np.ones(n_gpus)],
        np.r_[np.arange(n_cpus), np.arange(n_gpus)],
    )


def jobs_500(iat_us, preferred=None, n_jobs=500, n_tasks=5):
    """500 jobs of 5 FP_GOOD tasks of 30 million operations: 25 us on a GPU, 500 us on a CPU."""
    n = n_jobs * n_tasks
    return vs.Workload(
        job_task_type=np.full(n_jobs, 2),
        job_first=np.arange(n_jobs + 1) * n_tasks,
        arrival_us=np.arange(n_jobs) * float(iat_us),
        operations=np.full(n, 30e6),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1 if preferred is None else preferred),
    )


def run(policy, iat_us, preferred=None, engine="reference", **more):
    return vs.simulate(vs.Scenario(datacenter(), jobs_500(iat_us, preferred), policy=policy, **more), engine=engine)


def mean_latency(result):
    return result.summary["jobs"]["latency_us"]["mean"]


@pytest.mark.parametrize(("policy", "preferred"), MEAN_LATENCY_US)
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_500_jobs_mean_latency(policy, preferred, engine):
    if engine == "reference":
        iats, expected = (
            IATS[:1] + IATS[-1:],
            MEAN_LATENCY_US[policy, preferred][:1] + (MEAN_LATENCY_US[policy, preferred][-1:]),
        )
    else:
        iats, expected = IATS, MEAN_LATENCY_US[policy, preferred]
    measured = [mean_latency(run(policy, iat, preferred, engine)) for iat in iats]
    assert measured == pytest.approx(list(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("policy", "preferred", "makespan_us"), [("high", None, 3000), ("pref", GPU, 3125), ("pref", CPU, 62500)]
)
def test_500_jobs_makespan(policy, preferred, makespan_us):
    assert run(policy, 0, preferred).summary["makespan_us"] == pytest.approx(makespan_us, rel=1e-12)


def test_fig_11_flat_draws_blindly_at_low_load():
    """Of 5 tasks on random units of 20 + 20, one on a CPU makes 500 us: 500 - 475 C(20,5) / C(40,5) = 488.8 us."""
    theory = 500 - 475 * math.comb(20, 5) / math.comb(40, 5)
    means = [mean_latency(run("flat", 1000, seed=seed)) for seed in range(10)]
    spread = np.std(means, ddof=1) / math.sqrt(len(means))
    assert abs(np.mean(means) - theory) < 4 * spread
    assert means[0] != means[1]


def test_fig_11_at_saturation_the_policy_does_not_matter():
    assert mean_latency(run("flat", 0)) == pytest.approx(1515, rel=5e-3)


def series(result, group):
    table = result.utilization
    chosen = table["group"] == group
    return table["t_start_us"][chosen], table["t_end_us"][chosen], table["utilization"][chosen]


@pytest.mark.parametrize("iat_us", [7, 6.25])
def test_fig_13_gpus_alone_suffice(iat_us):
    """From IAT 6.25 us on the CPUs idle throughout, and GPUs are busy 5 x 25 us of every 20 x IAT."""
    result = run("high", iat_us, sampling_us=100.0)
    _, _, cpu = series(result, "CPU_INTEL")
    assert (cpu == 0).all()
    _begin, _end, gpu = series(result, "GPU")
    steady = slice(7, 7 + 7 * ((len(gpu) - 9) // 7))  # whole periods of 700 us, without the start and the end
    if iat_us == 7:
        assert gpu[steady].mean() == pytest.approx(25 / 28, rel=1e-12)
    else:
        assert gpu[steady] == pytest.approx(np.ones_like(gpu[steady]), rel=1e-12)


def test_fig_13_iat_6_needs_all_cpus():
    """From 0.2 ms on; a CPU that ends its 500 us between two arrivals idles for a moment."""
    scenario = vs.Scenario(datacenter(), jobs_500(6), sampling_us=100.0)
    result = vs.simulate(scenario)
    begin, _, cpu = series(result, "CPU_INTEL")
    steady = (begin >= 200) & (begin < 2900)
    assert (cpu[steady] >= 0.99).all()
    assert np.median(cpu[steady]) == pytest.approx(1.0, rel=1e-12)
    assert cpu[0] < 0.5
    assert cpu == pytest.approx(interval_active(scenario, result, 100.0, [CPU]), abs=1e-9)


def test_fig_13_iat_0_all_busy_to_the_end():
    result = run("high", 0, sampling_us=100.0)
    begin, end, overall = series(result, "all")
    assert end[-1] == 3000.0
    assert overall[begin < 2500] == pytest.approx(np.ones((begin < 2500).sum()), rel=1e-12)


def interval_active(scenario, result, interval_us, unit_types):
    """The paper's way (5.4.1), literally: at each sampling event every unit's interval_active is read and reset."""
    tasks, makespan = result.tasks, result.summary["makespan_us"]
    center = scenario.datacenter
    order = np.lexsort((center.shelf, center.rack))
    units = np.flatnonzero(np.isin(center.unit_type[order], unit_types))
    shares, begin = [], 0.0
    while begin < makespan:
        end = min(begin + interval_us, makespan)
        active = 0.0
        for unit in units:
            for t in np.flatnonzero(tasks["unit"] == unit):
                overlap = min(end, tasks["finish_us"][t]) - max(begin, tasks["init_us"][t])
                active += max(0.0, overlap)
        shares.append(active / (len(units) * (end - begin)))
        begin += interval_us
    return shares


@pytest.mark.parametrize("policy", ["high", "flat", "closer_to_data"])
@pytest.mark.parametrize("interval_us", [3.0, 25.0, 1000.0, 1e6])
def test_the_sampled_series_is_a_count_of_interval_active(policy, interval_us):
    random = np.random.default_rng(5)
    work = jobs_500(40, n_jobs=30)
    work = vs.Workload(
        **{
            **vars(work),
            "data_bytes": random.integers(0, 3, work.n_tasks) * 8192.0,
            "data_rack": random.integers(0, 2, work.n_tasks),
        }
    )
    scenario = vs.Scenario(datacenter(3, 3), work, policy=policy, sampling_us=interval_us)
    result = vs.simulate(scenario)
    for group, types in (("all", [CPU, GPU]), ("CPU_INTEL", [CPU]), ("GPU", [GPU])):
        begin, end, measured = series(result, group)
        assert measured == pytest.approx(interval_active(scenario, result, interval_us, types), abs=1e-9)
        assert (begin == np.arange(len(begin)) * interval_us).all()
        assert end[-1] == result.summary["makespan_us"]
    types = set(result.utilization["group"])
    assert types == {"all", "CPU_INTEL", "GPU"}


def test_the_sampled_series_adds_up_to_the_active_time():
    result = run("high", 5, sampling_us=37.0)
    begin, end, share = series(result, "all")
    assert (share * (end - begin)).sum() * 40 == pytest.approx(result.units["active_us"].sum(), rel=1e-12)
    overall = result.summary["utilization"]["overall"]
    assert overall == pytest.approx(result.units["active_us"].sum() / 40 / result.summary["makespan_us"], rel=1e-12)


@pytest.mark.parametrize(
    ("size", "intra_us", "inter_us"), [(8 * 1024, 6.25, 62.5), (64 * 1024, 50, 500), (1024 * 1024, 800, 8000)]
)
def test_table_4_transfer_times(size, intra_us, inter_us):
    """8 KB, 64 KB and 1 MB within a rack and across racks (the paper's 6.22 is a misprint)."""
    for unit, expected in (((0, 0), 0.0), ((0, 1), intra_us), ((1, 0), inter_us)):
        scenario = vs.Scenario(
            vs.Datacenter.of([("GPU", *unit), ("FPGA", 1, 1)]),
            vs.Workload([2], [0, 1], [0.0], [30e6], [size], [0], [0], [-1]),
            network=TABLE_4,
        )
        tasks = vs.simulate(scenario).tasks
        assert tasks["start_us"][0] - tasks["init_us"][0] == pytest.approx(expected, abs=1e-9)
        assert tasks["finish_us"][0] - tasks["start_us"][0] == pytest.approx(25, rel=1e-12)


def test_hops_add_their_latency():
    """The default network: 200 ns x 2 hops and x 4 hops on top."""
    for unit, expected in (((0, 1), 0.4 + 8192 / 1250), ((1, 0), 0.8 + 8192 / 125)):
        work = vs.Workload([2], [0, 1], [0.0], [30e6], [8192], [0], [0], [-1])
        tasks = vs.simulate(vs.Scenario(vs.Datacenter.of([("GPU", *unit), ("FPGA", 1, 1)]), work)).tasks
        assert tasks["start_us"][0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n_gpus", "good_us", "bad_us"), [(0, 50, 50), (13, 50, 250), (32, 2.5, 250), (40, 2.5, 250)])
def test_fig_4_low_load(n_gpus, good_us, bad_us):
    """Jobs of 30 tasks of 3 million operations on 40 units, n of them GPUs: FP_GOOD falls 20-fold where 30 GPUs are
    there, FP_BAD rises 5-fold where 30 CPUs are not."""
    for kind, expected in ((2, good_us), (1, bad_us)):
        work = vs.Workload([kind], [0, 30], [0.0], np.full(30, 3e6), *np.zeros((3, 30)), preferred_type=np.full(30, -1))
        result = vs.simulate(vs.Scenario(datacenter(40 - n_gpus, n_gpus), work))
        assert mean_latency(result) == pytest.approx(expected, rel=1e-12)
