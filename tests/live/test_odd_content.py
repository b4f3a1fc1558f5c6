"""Whatever a kernel gets, returns or raises is an answer or an error of its request; the devices go on."""

import asyncio

import numpy as np
import pytest

from tests.live.clusters import content, processes
from tests.live.test_processes import run, up
from vinesim.live.agent.content import payload_of, result_of_job, result_of_request, words_of
from vinesim.live.client import LiveError
from vinesim.live.wire.contents import value_of
from vinesim.live.wire.messages import WrongMessage
from vinesim.model.errors import InputError

ODD = {
    "tuple keys": "its result cannot be read: a key of a dict",
    "set": "found a value of type set",
    "object": "found a value of type object",
    "big": "beyond 64 bits",
    "surrogate": "surrogates not allowed",
    "deep": "recursion limit",
    "objects": "found a value of type ndarray",
}


def test_odd_results_payloads_and_errors_are_errors_of_their_requests(tmp_path):
    async def work(session):
        echo = session.application("ECHO")
        await up(session, "n1")
        for odd, words in ODD.items():
            with pytest.raises(LiveError, match=words):
                await echo.request(["odd", odd])
        assert await echo.request(["odd", "bytes keys"]) == {b"a": 1}
        assert np.isnan(await echo.request(["odd", "nan"]))
        for verb, words in (("exit", "SystemExit: 3"), ("bad_words", "BadWords"), ("surrogates", "ValueError")):
            with pytest.raises(LiveError, match=words):
                await echo.request([verb, 3])
        with pytest.raises(LiveError, match="its payload cannot be read: a key of a dict"):
            await echo.request({(1, 2): 3})
        for payload in (object(), {1}, 2**70, "\ud800", np.array([object()])):
            with pytest.raises(InputError, match="payload: expected numbers, text"):
                await echo.request(payload)
        for size in (-1.0, float("nan"), "x", None):
            with pytest.raises(LiveError, match="size: expected a number"):
                await echo.request(1, size)
        with pytest.raises(LiveError, match="application: expected text"):
            await session.application(["a"]).request(1)
        with pytest.raises(InputError, match="a key of a dict"):
            await session.call("job.submit", job={("a", 1): 2})
        with pytest.raises(InputError, match="at most"):
            await session.call("job.submit", job={"task_type": "x" * 200_000})
        good = [echo.request(["say", i]) for i in range(8)]
        bad = [echo.request({(1, 2): i}) for i in range(8)]
        found = await asyncio.gather(*good, *bad, return_exceptions=True)
        assert found[:8] == list(range(8))
        assert all(isinstance(one, LiveError) for one in found[8:])
        for payload, words in ((["odd", "bytes keys"], "cannot be written as JSON"), (["one_fails", "no"], "no")):
            job = {"task_type": "ECHO", "kernel": "echo", "payload": payload, "expected_us": 1e6}
            number = (await session.call("job.submit", job=job))["job"]
            ended = (await session.call("job.wait", job=number))["job"]
            assert ended["state"] == "failed"
            assert words in ended["why"]
        job["payload"] = ["say", {"a": [1, 2]}]
        number = (await session.call("job.submit", job=job))["job"]
        assert (await session.call("job.wait", job=number))["job"]["results"] == [{"result": {"a": [1, 2]}}]
        status = await session.call("client.status")
        assert status["n_running"] == status["n_waiting"] == 0
        assert status["nodes"][1]["epoch"] == 1
        assert status["counters"]["n_started_again"] == 0

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)


def test_what_cannot_be_read_is_the_payload_and_the_result_of_one_request():
    good, bad = payload_of(content([1])), payload_of(content({(1, 2): 3}))
    assert good == [1]
    assert isinstance(bad, WrongMessage)
    assert "its payload cannot be read" in result_of_request(bad, 100)["error"]
    assert value_of(result_of_request(good, 100)["result"]) == [1]
    assert "the limit is 1" in result_of_request(good, 1)["error"]


def test_results_of_jobs_are_json():
    assert result_of_job({"a": np.arange(2), 3: np.float32(1.5)}) == {"json": '{"a": [0, 1], "3": 1.5}'}
    assert result_of_job(object())["json"].startswith('"<object')
    for odd in ({b"a": 1}, {(1, 2): 3}):
        with pytest.raises(TypeError, match="cannot be written as JSON"):
            result_of_job(odd)
    with pytest.raises(ZeroDivisionError):
        result_of_job(ZeroDivisionError())


def test_words_of_an_error_can_always_be_sent():
    class Bad(Exception):
        def __str__(self):
            raise RuntimeError

    assert words_of(Bad()) == "Bad"
    assert words_of(ValueError("a\0\ud800")) == "ValueError: a??"
    assert len(words_of(ValueError("x" * 10_000))) == 2_000
