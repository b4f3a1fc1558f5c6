"""Policies in files of the user: found, refused with a reason, and never mixed up."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vinesim as vs
from tests.loops import copy_loops
from vinesim.policies.online.delay import Delay
from vinesim.policies.registry import resolve

PATIENT = Path("examples/my_policy.py").read_text()
RUN = """
import sys, vinesim as vs
scenario = vs.changed(vs.read_scenario("examples/quickstart.yaml", ["arrivals.iat=6 us"]), policy=sys.argv[1])
print(vs.simulate(scenario, engine="compiled").summary["jobs"]["latency_us"]["mean"])
"""


def mean_latency(policy: str) -> float:
    """Of the 500 jobs at IAT 6, in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", RUN, policy], capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_the_same_code_in_a_second_file_does_not_need_the_first(tmp_path):
    (tmp_path / "one.py").write_text(PATIENT)
    assert mean_latency(f"{tmp_path}/one.py:Patient") == 87.0
    (tmp_path / "one.py").rename(tmp_path / "two.py")
    assert mean_latency(f"{tmp_path}/two.py:Patient") == 87.0


def test_a_query_about_groups_needs_the_group(tmp_path):
    (tmp_path / "mine.py").write_text(re.sub(r"    groups = .*\n", "", PATIENT))
    with pytest.raises(vs.InputError, match=r'groups = \("preferred_type",\), as it calls preferred_type'):
        resolve(f"{tmp_path}/mine.py:Patient")


def test_a_file_with_several_policies_says_which(tmp_path):
    (tmp_path / "mine.py").write_text(PATIENT + PATIENT.replace("Patient", "Impatient"))
    with pytest.raises(vs.InputError, match=r"mine\.py:Patient or .*mine\.py:Impatient"):
        resolve(f"{tmp_path}/mine.py")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x = 1\ny = x +\n", "mine.py:2"), ("import nothing_like_it\n", "mine.py:1"), ("x = 1\n", "policy class")],
)
def test_files_that_are_no_policy(tmp_path, text, expected):
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(vs.InputError, match=expected):
        resolve(f"{tmp_path}/mine.py:Mine")


@pytest.mark.parametrize(("old", "new"), [("start_together", "start_consolidated"), ("WAKE_UP", "ARRIVAL")])
def test_a_name_of_an_older_version_is_refused_with_its_new_one(tmp_path, old, new):
    (tmp_path / "older.py").write_text(f"from vinesim.policies import {old}\n")
    with pytest.raises(vs.InputError, match=rf"older\.py:1: .*'{old}'.*Did you mean {new}\?"):
        resolve(str(tmp_path / "older.py"), {})


def test_times_among_the_options_take_units():
    assert resolve("delay", {"wait_us": "2 ms"}) == Delay(wait_us=2000.0)
    with pytest.raises(vs.InputError, match="wait_us"):
        resolve("delay", {"wait_us": "2 parsecs"})


def test_an_error_in_a_plain_policy_names_its_line(tmp_path):
    broken = PATIENT.replace(
        '    groups = ("preferred_type",)', '    groups = ("preferred_type",)\n    compiled = False'
    )
    broken = broken.replace("        task = oldest", "        1 / 0\n        task = oldest")
    (tmp_path / "mine.py").write_text(broken)
    line = broken.splitlines().index("        1 / 0") + 1
    scenario = vs.changed(vs.read_scenario("examples/quickstart.yaml"), policy=f"{tmp_path}/mine.py:Patient")
    with pytest.raises(vs.PolicyError, match=rf"Patient\.decide, .*mine\.py:{line}: ZeroDivisionError"):
        vs.simulate(scenario, engine="reference")


SAYS = """
import sys, vinesim as vs

reported = []
case = vs.read_scenario("examples/quickstart.yaml", ["policy=" + sys.argv[1]])
vs.simulate(case, engine="compiled", on_message=reported.append)
print(*reported, sep="|")
"""


def test_compiling_is_reported_when_the_code_is_not_on_the_disk_and_at_no_other_time(tmp_path):
    """However busy the machine is: the compiler tells it, not a clock."""
    (tmp_path / "mine.py").write_text(PATIENT)
    copy_loops(tmp_path / "cache")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def reported():
        command = [sys.executable, "-c", SAYS, f"{tmp_path}/mine.py:Patient"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert (
        reported() == "compiling the policy Patient for this machine: a few seconds, until its code or VineSim changes"
    )
    assert reported() == ""


def test_modules_of_the_same_name_next_to_two_policies_are_not_mixed_up(tmp_path):
    for folder, unit in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("from helpers import UNIT\n" + PATIENT + "    unit = UNIT\n")
        (tmp_path / folder / "helpers.py").write_text(f"UNIT = {unit}\n")
    assert [resolve(f"{tmp_path}/{folder}/mine.py:Patient").unit for folder in ("one", "two", "one")] == [1, 2, 1]
