"""What differs from run to run is refused in a policy when that is loaded, with its file, line and what to use."""

import pytest

import vinesim as vs
from vinesim.policies.registry import resolve

POLICY = """
import datetime, os, random, secrets, time, uuid
from datetime import datetime as dt
from random import random as draw
from time import perf_counter as clock
import numpy as np
import numpy.random as npr
from vinesim.policies import BatchPolicy, OnlinePolicy, first_free, nothing, oldest_pending, random_below, start

MADE = np.random.default_rng(1)

def helper(state):
    return {helper}

class Mine(OnlinePolicy):
    compiled = False

    @staticmethod
    def decide(model, state, view):
        if {decide} == 0.5:
            return nothing()
        return start(oldest_pending(model, state), first_free(model, state, helper(state)))

class Batches(BatchPolicy):
    def place(self, tasks, servers):
        return self.units(tasks)

    def units(self, tasks):
        return {place}
"""
GOOD = {"helper": "random_below(state, 3)", "decide": "view.now_us", "place": "tasks.unit"}


def load(folder, name="Mine", **parts):
    (folder / "mine.py").write_text(POLICY.format(**GOOD | parts))
    return resolve(f"{folder}/mine.py:{name}")


@pytest.mark.parametrize(
    "code",
    [
        *("np.random.rand()", "np.random.randint(0, 3)", "npr.random()", "random.random()", "random.randrange(3)"),
        *("draw()", "secrets.randbelow(3)", "secrets.token_bytes(2)", "uuid.uuid4()", "uuid.uuid1()", "os.urandom(3)"),
        *("np.random.default_rng()", "random.Random()", "random.SystemRandom(1)", "MADE.random()", "MADE"),
        *(
            "time.time()",
            "time.monotonic_ns()",
            "clock()",
            "datetime.datetime.now()",
            "dt.now()",
            "datetime.date.today()",
        ),
        *("[time.time() for i in range(3)]", "__import__('math').pi + random.random()"),
    ],
)
def test_it_is_refused_in_the_rule_in_what_it_calls_and_in_methods(tmp_path, code):
    for name, part, line in (("Mine", "helper", 13), ("Mine", "decide", 20), ("Batches", "place", 29)):
        with pytest.raises(vs.InputError) as error:
            load(tmp_path, name, **{part: code})
        (problem,) = error.value.problems
        assert problem.where == f"{tmp_path}/mine.py:{line}"
        assert problem.found.removesuffix("()") in code
        is_clock = any(word in code for word in ("time", "clock", "dt.", "date"))
        assert ("view.now_us" if is_clock else "random_below(state, n)") in problem.remedy


@pytest.mark.parametrize(
    "code",
    [
        *("np.random.default_rng(7).random()", "random.Random(7).random()", "time.sleep(0)"),
        *("datetime.datetime(2026, 1, 1).year", "datetime.timedelta(1)", "dt.fromisoformat('2026-01-01')", "os.sep"),
        *("uuid.UUID(int=3)", "uuid.uuid5(uuid.NAMESPACE_DNS, 'a')", "np.random.RandomState(7).rand()"),
    ],
)
def test_what_repeats_is_allowed(tmp_path, code):
    load(tmp_path, helper=code)
    load(tmp_path, "Batches", place=code)


@pytest.mark.parametrize("code", ["import random", "from random import random", "from time import time"])
def test_so_is_an_import_inside_the_rule(tmp_path, code):
    text = POLICY.format(**GOOD).replace(
        "        return self.units(tasks)", f"        {code}\n        return tasks.unit"
    )
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(vs.InputError, match=rf"mine.py:26: .*import {code.split()[1]}"):
        resolve(f"{tmp_path}/mine.py:Batches")
    resolve(f"{tmp_path}/mine.py:Mine")
