"""Damaged files: a short part of ``verification.fuzz``, and that its parts see what they should."""

import math
from random import Random

import pytest
import yaml

from verification.fuzz import __main__ as command
from verification.fuzz.folders import write
from verification.fuzz.inputs import Input, input_of
from verification.fuzz.outcomes import GOOD, MOST_MEMORY, Outcome, Seen, outcome_of
from verification.fuzz.parquet import damaged_parquet, parquet_of
from verification.fuzz.samples import AREAS, samples
from verification.fuzz.tables import damaged_table
from verification.fuzz.texts import damaged_bytes
from verification.fuzz.trees import damaged_json, damaged_yaml
from verification.fuzz.trying import fuzz, try_input
from verification.fuzz.worker import Worker

N_INPUTS = 5  # of each area
SCENARIO = b"""
datacenter: {racks: [{units: {GPU: 1}}]}
workload: {generator: identical, options: {n_jobs: 2}}
arrivals: {iat: 7}
policy: own.py:Own
"""
POLICY = """
import os
from vinesim.policies import OnlinePolicy, nothing
class Own(OnlinePolicy):
    compiled = False
    @staticmethod
    def decide(model, state, view):
        DO
        return nothing()
"""


def test_damaged_files_are_accepted_or_refused(tmp_path):
    found = list(fuzz(AREAS, 0, 0, N_INPUTS, math.inf, tmp_path))
    assert len(found) == N_INPUTS * len(AREAS)
    wrong = [one for one in found if one.outcome not in GOOD]
    assert not wrong, "\n".join(f"{one.area} {one.number}: {one.cause}\n{one.errors}" for one in wrong)
    assert {one.outcome for one in found} >= set(GOOD)


@pytest.mark.slow(reason="runs every file that is damaged as it is")
def test_files_are_accepted_as_they_are(tmp_path):
    with Worker() as worker:
        for area, of_area in samples().items():
            for number, sample in enumerate(of_area):
                folder = tmp_path / f"{area}-{number}"
                folder.mkdir()
                found = try_input(worker, Input(sample, sample.files, ""), number, folder)
                assert found.outcome is Outcome.ACCEPTED, f"{sample.name}: {found}"


def test_an_input_can_be_made_again_and_no_two_are_the_same():
    of_area = samples()["importers"]
    made = [input_of(of_area, 3, number) for number in (*range(20), *range(20))]
    assert made[:20] == made[20:]
    assert len({(one.sample.name, one.damage, one.files[one.sample.target]) for one in made}) > 15
    assert made[0] != input_of(of_area, 4, 0)


@pytest.mark.parametrize("damaged", [damaged_yaml, damaged_json])
def test_trees_change(damaged):
    text = '{"a": [1, {"b": "7 us"}], "c": "x"}'
    changed = [damaged(text, Random(i)) for i in range(300)]
    assert sum(found == text for found, _ in changed) < 30
    for words in ("a part is missing", "a wrong key", "nested", "much larger", "another unit", "there very often"):
        assert any(words in damage for _, damage in changed), words
    assert any(found.count("[") > 1000 for found, _ in changed)
    whole = [found for found, damage in changed if damage.endswith(("a part is missing", "another text"))]
    assert all(isinstance(yaml.safe_load(found.replace("\ud800", "")), dict | str | None) for found in whole[:5])


def test_tables_and_bytes_change():
    text = "a,b\n1,2\n3,4\n"
    tables = {damaged_table(text, Random(i))[0] for i in range(200)}
    assert len(tables) > 100
    assert {"a\n1\n3\n", "a,b\n", "a,b\n3,4\n"} <= tables
    assert any(len(found.splitlines()) > 10_000 for found in tables)
    data = {damaged_bytes(text.encode(), Random(i))[0] for i in range(200)}
    assert len(data) > 60
    assert b"" in data
    parquet = parquet_of(text)
    assert len({damaged_parquet(parquet, Random(i))[0] for i in range(30)}) > 15


def seen(code=2, errors="vinesim: 1 problem in the input\n  a.csv: expected a, found b", **more):
    return Seen(**{"code": code, "output": "", "errors": errors, "cpu_s": 1.0, "memory": 200.0, **more})


@pytest.mark.parametrize(
    ("ended", "made", "outcome"),
    [
        (seen(0), {"out"}, Outcome.ACCEPTED),
        (seen(3), {"out"}, Outcome.ACCEPTED),
        (seen(), set(), Outcome.REFUSED),
        (seen(errors="vinesim: 1 problem in the input"), set(), Outcome.REFUSED),
        (seen(errors=""), set(), Outcome.UNCLEAR),
        (seen(errors="  a.csv: expected text, found 'NoneType' object is not iterable"), set(), Outcome.UNCLEAR),
        (seen(errors="  a.csv: expected a table, found Conversion Error: no"), set(), Outcome.UNCLEAR),
        (seen(errors="  a.csv: expected a column, found \x1b[31m, which is none"), set(), Outcome.UNCLEAR),
        (seen(0, errors="vinesim: warning: overflow (/a/b.py:12)"), set(), Outcome.UNCLEAR),
        (seen(0, output="over\rwritten"), set(), Outcome.UNCLEAR),
        (seen(1, traceback="Traceback ...\nKeyError: 1"), set(), Outcome.TRACEBACK),
        (seen(1, errors="Traceback (most recent call last):\nKeyError: 1"), set(), Outcome.TRACEBACK),
        (seen(1), set(), Outcome.WRONG_CODE),
        (seen(None), set(), Outcome.SLOW),
        (seen(-11), set(), Outcome.CRASH),
        (seen(memory=MOST_MEMORY + 1.0), set(), Outcome.MEMORY),
        (seen(), {"out/jobs.parquet"}, Outcome.HALF),
        (seen(0), {"out/jobs.parquet", "out/.jobs.parquet.12.tmp"}, Outcome.HALF),
    ],
)
def test_outcomes(ended, made, outcome):
    assert outcome_of(ended, made)[0] is outcome


def run_own(worker, folder, do):
    folder.mkdir()
    write(folder, {"scenario.yaml": SCENARIO, "own.py": POLICY.replace("DO", do).encode()})
    return worker.run(folder, ["run", "scenario.yaml", "--engine", "reference", "--out", "out"], 1.0)


def test_a_worker_goes_on_after_a_command_that_never_ends_or_ends_the_process(tmp_path):
    with Worker() as worker:
        assert run_own(worker, tmp_path / "a", "os.system('echo printed')").output.startswith("printed")
        assert run_own(worker, tmp_path / "b", "os.abort()").code < 0
        endless = run_own(worker, tmp_path / "c", "while True: pass")
        assert (endless.code, endless.cpu_s > 1.0) == (None, True)
        assert run_own(worker, tmp_path / "d", "pass").code == 3


def test_the_command_prints_a_table_and_keeps_what_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("verification.fuzz.trying.outcome_of", lambda seen, made: (Outcome.TRACEBACK, "KeyError: 7"))
    words = ["texts", "--inputs", "2", "--seed", "5", "--keep", str(tmp_path)]
    assert command.main(words) == 1
    printed = capsys.readouterr().out
    assert "2 x texts: vinesim " in printed
    assert "python -m verification.fuzz texts --seed 5 --first 0 --inputs 1" in printed
    assert "KeyError" in (tmp_path / "texts-5-0" / "WHY").read_text()
    monkeypatch.setattr("verification.fuzz.trying.outcome_of", lambda seen, made: (Outcome.ACCEPTED, ""))
    assert command.main(words) == 0
