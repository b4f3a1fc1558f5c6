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


@case("rel-policy-unit-true", right="2: names tasks and units by whole numbers, found True")
def policy_that_names_true(folder: Path) -> str:
    """A truth value in place of a unit."""
    code, _, words = ran_own(folder, "return start(oldest_pending(model, state), True)").partition(":")
    return f"{code}: names {words.partition('must name ')[2]}"


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
