"""Reported faults of the engine, its policies and the generators of workloads."""

import json
from pathlib import Path

from verification.cases.case import case, vinesim, write


def nodes(*kinds: str) -> str:
    """A datacenter of one rack, as a line of a scenario without a catalog."""
    types = "processor_types: [{name: CPU}, {name: A100}]"
    return f"extends: none\n{types}\nnetwork: none\ndatacenter: {{racks: [{{nodes: [{', '.join(kinds)}]}}]}}\n"


def rows(folder: Path, result: str, query: str) -> list[tuple[object, ...]]:
    """The rows of a query on the tables of a result folder."""
    from vinesim.formats.results.tables import open_result

    with open_result(folder / result) as tables:
        return tables.rows(query)


def ran(folder: Path, *words: str) -> str:
    """Run ``s.yaml`` into the folder ``o``; nothing if that went well, else what was said."""
    done = vinesim(folder, "run", "s.yaml", "--out", "o", *words)
    return "" if done.returncode == 0 else f"{done.returncode}: {done.stderr.strip()[:200]}"


@case("oracle-gang-nodes", right="job 2 from 600 s: 8 tasks on 1 node; job 3: 4 + 4 tasks")
def gang_of_nodes(folder: Path) -> str:
    """Half of each of two nodes is taken: a job of one node with eight tasks waits."""
    jobs = "arrival_s,time_s,cores,gpus,gpu_type,nodes,tasks_per_node"
    write(folder, j_csv=f"{jobs}\n0,600,1,4,A100,,\n1,600,1,4,A100,,\n2,60,1,1,A100,1,8\n3,60,1,1,A100,2,4\n")
    center = nodes("{count: 2, units: {CPU: {cores: 96}, A100: 8}}")
    write(folder, s_yaml=f"{center}workload: {{file: j.csv}}\npolicy: fcfs\n")
    if wrong := ran(folder):
        return wrong
    on = "SELECT count(*) FROM tasks WHERE job = {} GROUP BY rack, shelf ORDER BY shelf"
    (start,) = {begin for (begin,) in rows(folder, "o", "SELECT init_us FROM tasks WHERE job = 2")}
    two, three = ([str(n) for (n,) in rows(folder, "o", on.format(job))] for job in (2, 3))
    return f"job 2 from {start / 1e6:g} s: {' + '.join(two)} tasks on {len(two)} node; job 3: {' + '.join(three)} tasks"


@case("gang-uneven", right="ALL_DONE, ALL_DONE, ALL_DONE")
def uneven_gang(folder: Path) -> str:
    """Tasks that fit on the nodes, each on one of them, in the wrong order."""
    found = []
    for cores, sizes in (((53, 31), (30, 50)), ((53, 31), (50, 30)), ((50, 30, 20), (20, 30, 50))):
        center = nodes(*(f"{{count: 1, units: {{CPU: {{cores: {n}}}}}}}" for n in cores))
        write(folder, s_yaml=f"{center}workload: {{file: j.csv}}\npolicy: fcfs\n")
        write(folder, j_csv="job,arrival_s,time_s,cores,gang\n" + "".join(f"0,0,9,{n},anywhere\n" for n in sizes))
        found.append(json.loads(vinesim(folder, "run", "s.yaml", "--json").stdout)["exit_reason"])
    return ", ".join(found)


TWO_JOBS = """
datacenter: {racks: [{units: {GPU: 2}}]}
workload: {generator: identical, options: {n_jobs: 2}}
arrivals: {iat: 1}
"""
POLICY = """from vinesim.policies import OnlinePolicy, oldest_pending, start


class Own(OnlinePolicy):
    compiled = False

    @staticmethod
    def decide(model, state, view):
        """


def ran_own(folder: Path, statement: str) -> str:
    """Run a policy with one statement; the exit code and what the error says about the policy."""
    write(folder, s_yaml=TWO_JOBS, p_py=f"{POLICY}{statement}\n")
    done = vinesim(folder, "run", "s.yaml", "--policy", "p.py:Own")
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return f"{done.returncode}: {last.strip()}"


@case("rel-policy-exit", right="2: raise SystemExit(0); 2: raise GeneratorExit")
def policy_that_exits(folder: Path) -> str:
    """A policy ends the program: an error of the policy, which shows its line."""
    return "; ".join(ran_own(folder, f"raise {end}") for end in ("SystemExit(0)", "GeneratorExit"))


@case("rel-policy-unit-true", right="2: return start(oldest_pending(model, state), True)")
def policy_that_names_true(folder: Path) -> str:
    """A truth value in place of a unit: an error of the policy, which shows its line."""
    return ran_own(folder, "return start(oldest_pending(model, state), True)")


@case("rel-huge-int", right="2 without a traceback, 2 without a traceback, 2 without a traceback")
def integers_of_many_digits(folder: Path) -> str:
    """Integers that no floating-point number can hold, as options of a generator and of policies."""
    huge, found = "1" + "0" * 320, []
    generator = TWO_JOBS.replace("n_jobs: 2", f"n_jobs: 2, operations: {huge}")
    for text in (generator, f"{TWO_JOBS}policy: delay\noptions: {{wait_us: {huge}}}\n"):
        write(folder, s_yaml=text)
        found.append(vinesim(folder, "validate", "s.yaml"))
    axes = f"{{policy: [delay], options.wait_us: [{huge}]}}"
    write(folder, s_yaml=f"{TWO_JOBS}policy: delay\n", t_yaml=f"scenario: s.yaml\naxes: {axes}\n")
    found.append(vinesim(folder, "validate", "t.yaml"))
    return ", ".join(f"{one.returncode} with{'' if 'Traceback' in one.stderr else 'out'} a traceback" for one in found)


@case("oracle-las-wait", right="waits: 3600 s, 0 s; to the first start: 0 s, 0 s")
def wait_of_preempted(folder: Path) -> str:
    """A job that is preempted after 60 s for an hour waits for that hour."""
    center = "processor_types: [{name: GPU}]\nnetwork: none\ndatacenter: {racks: [{nodes: [{units: {GPU: 8}}]}]}\n"
    write(folder, s_yaml=f"extends: none\n{center}workload: {{file: j.csv}}\npolicy: priority\n")
    write(folder, j_csv="arrival_s,time_s,gpus,priority\n0,600,8,0\n60,3600,8,10\n")
    jobs = json.loads(vinesim(folder, "run", "s.yaml", "--json").stdout)["jobs"]
    waits, starts = (
        [f"{jobs[name][which] / 1e6:g} s" for which in ("max", "p50")] for name in ("wait_us", "time_to_start_us")
    )
    return f"waits: {', '.join(waits)}; to the first start: {', '.join(starts)}"


@case("backfill-estimate-0", right="starts at 0, 50, 57; 0, 50, 57")
def estimate_of_nothing(folder: Path) -> str:
    """A job that is expected to take no time needs the whole node: the one behind it may not take half of it."""
    center = nodes("{count: 1, units: {CPU: {cores: 10}}}")
    write(folder, j_csv="arrival_s,time_s,cores,estimate_s\n0,50,5,50\n0,7,10,0\n0,100,5,100\n")
    found = []
    for policy in ("easy_backfill", "conservative_backfill"):
        write(folder, s_yaml=f"{center}workload: {{file: j.csv}}\npolicy: {policy}\n")
        if wrong := ran(folder):
            return wrong
        (folder / "o").rename(folder / policy)
        found.append(", ".join(f"{us / 1e6:g}" for (us,) in rows(folder, policy, "SELECT init_us FROM tasks")))
    return f"starts at {'; '.join(found)}"


@case("ux-random-policy", right="2: rnd.py:10, np.random.randint, random_below")
def random_policy(folder: Path) -> str:
    """A policy that draws without the scenario's seed is refused with the line and what to use."""
    write(
        folder,
        rnd_py="""
import numpy as np
from vinesim.policies import OnlinePolicy, can_start, nothing, oldest_pending, start


class Rnd(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = np.random.randint(0, model.unit_type.shape[0])
        return start(task, unit) if can_start(model, state, task, unit) else nothing()
""",
        s_yaml=f"{TWO_JOBS}policy: rnd.py:Rnd\n",
    )
    done = vinesim(folder, "run", "s.yaml")
    found = [words for words in ("rnd.py:10", "np.random.randint", "random_below") if words in done.stderr]
    return f"{done.returncode}: {', '.join(found)}"


@case("rel-slow-auto-engine", right="compiled", seconds=300.0)
def few_tasks_on_many_nodes(folder: Path) -> str:
    """A gang on ten thousand nodes takes plain Python minutes: the compiled engine takes over."""
    center = nodes("{count: 10800, units: {CPU: {cores: 8}, A100: 1}, memory: 16 GiB}")
    jobs = "arrival_s,time_s,cores,memory,gpus,gpu_type,nodes,tasks_per_node\n"
    write(folder, j_csv=f"{jobs}10,300,4,16 GiB,1,A100,2,1\n11,300,4,16 GiB,1,A100,2,1\n20,60,4,16 GiB,1,A100,,\n")
    write(folder, s_yaml=f"{center}workload: {{file: j.csv}}\npolicy: fcfs\n")
    done = vinesim(folder, "run", "s.yaml", "--json")
    return str(json.loads(done.stdout)["provenance"]["engine"])


@case("energy-endless", right="run_time: ENDLESS, 180 J, bound 180 J; eq2: ENDLESS, 150 J, bound 150 J")
def energy_of_a_service(folder: Path) -> str:
    """A service counts in each period until the run ends, in the energy and in the bound."""
    import numpy as np

    import vinesim as vs
    from vinesim.model.accounting import Accounting

    kind = vs.ProcessorType("GPU", idle_power_w=10.0, dynamic_power_w=20.0, sleep_power_w=0.0)
    times_us = [[np.inf, 2e6], *np.zeros((3, 2)), [-1, -1]]
    work = vs.Workload([0, 0], [0, 1, 2], [0.0, 0.0], *times_us, demand=[1.0, 1.0], task_types=(vs.TaskType("T"),))
    case, found = vs.Scenario(vs.Datacenter.of([("GPU", 0, 0)] * 2, (kind,)), work, "bf", affinity=[[1.0]]), []
    for reading in ("run_time", "eq2"):
        run = vs.simulate(vs.changed(case, period_us=2e6, accounting=Accounting(energy=reading)), engine="reference")
        energy_j, bound_j = run.summary["energy_j"], run.summary["periods"]["bound_j"]
        found.append(f"{reading}: {run.exit_reason}, {energy_j:g} J, bound {bound_j:g} J")
    return "; ".join(found)


@case("oracle-same-instant", right="high: node 1; fcfs: node 0; easy_backfill: node 0")
def two_free_at_once(folder: Path) -> str:
    """Two nodes become free at 10 s, node 1 first: most policies look when both are, as the page on semantics says."""
    write(folder, j_csv="arrival_s,time_s,gpus\n0,5,1\n1,9,1\n5,5,1\n6,3,1\n")
    center = "datacenter: {racks: [{nodes: [{count: 2, units: {GPU: 1}}]}]}\n"
    head = f"extends: none\nprocessor_types: [{{name: GPU}}]\nnetwork: none\n{center}workload: {{file: j.csv}}\n"
    found = []
    for policy in ("high", "fcfs", "easy_backfill"):
        write(folder, s_yaml=f"{head}policy: {policy}\n")
        if wrong := vinesim(folder, "run", "s.yaml", "--out", policy).stderr:
            return wrong[:200]
        ((node,),) = rows(folder, policy, "SELECT shelf FROM tasks WHERE job = 3")
        found.append(f"{policy}: node {node}")
    return "; ".join(found)


@case("priority-column", right="priority: 1, user: 1, deadline: 1; under priority: 0, 1, 1")
def ignored_columns(folder: Path) -> str:
    """A table with priorities, users and deadlines, under policies that look at none or one of them."""
    write(
        folder,
        jobs_csv="arrival_s,time_s,cores,user,priority,deadline_s\n0,100,4,a,1,50\n1,100,4,b,2,60\n",
        s_yaml="""
extends: none
processor_types: [{name: CPU}]
network: none
datacenter: {racks: [{nodes: [{units: {CPU: {cores: 4}}, memory: 100 GB}]}]}
workload: {file: jobs.csv}
policy: easy_backfill
""",
    )
    columns = ("priority", "user", "deadline")
    texts = (
        vinesim(folder, "run", "s.yaml").stderr,
        vinesim(folder, "validate", "s.yaml", "--policy", "priority").stderr,
    )
    run, check = ([text.count(f"does not look at the column {name}") for name in columns] for text in texts)
    first = ", ".join(f"{name}: {n}" for name, n in zip(columns, run, strict=True))
    return f"{first}; under priority: {', '.join(map(str, check))}"


@case("policy-check", right="2, a line; 0, both engines", seconds=200)
def check_of_policies(folder: Path) -> str:
    """A policy that starts tasks on a full unit, and one of VineSim's."""
    write(folder, p_py=f"{POLICY}return start(oldest_pending(model, state), 0)\n")
    wrong, right = (vinesim(folder, "policies", "--check", name) for name in ("p.py:Own", "high"))
    line = "a line" if "p.py:" in wrong.stdout.partition("has no room")[0] else "no line"
    engines = "both engines" if "both engines" in right.stdout else "one engine"
    return f"{wrong.returncode}, {line}; {right.returncode}, {engines}"
