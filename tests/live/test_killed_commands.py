"""A command that is killed does not count as one that has ended by itself, whoever is faster."""

import asyncio
import io
import os
import signal

import pytest

from vinesim.live.agent import command, device, device_process, records


class Taken:
    """A lock that somebody else has taken for good."""

    def __enter__(self):
        raise InterruptedError("somebody ends the command")

    def __exit__(self, *_):
        raise AssertionError("it was never entered")


def test_a_device_process_is_ended_before_its_command(tmp_path, monkeypatch):
    ended = []
    monkeypatch.setattr(device, "end_group", lambda group, started: ended.append(group))

    class Process:
        pid = 20

    async def kill():
        one = device.Device(0, "CPU", device.Family(tmp_path), lambda *_: None)
        one._process, one.command = Process(), (10, None)
        one.kill("it took too long")

    asyncio.run(kill())
    assert ended == [20, 10]


def test_a_new_agent_ends_devices_before_their_commands(tmp_path):
    records.write_process(tmp_path, 10, "1", is_command=True)
    records.write_process(tmp_path, 20, "2")
    assert list(records.processes(tmp_path)) == [(20, "2"), (10, "1")]


def test_no_end_is_recorded_once_the_command_is_being_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "LIBC", None)  # this process adopts no orphans
    order = {"attempt": 5, "job": 3, "env": {}, "folder": ""}
    with pytest.raises(InterruptedError):
        command.run(["sh", "-c", "kill -9 $$"], order, tmp_path, lambda *_: None, Taken())
    assert not list(records.ends(tmp_path))


def test_a_device_whose_lease_ends_keeps_its_command_from_being_recorded(monkeypatch):
    one, killed = device_process.Device(io.BytesIO()), []

    def kill(group, number):
        assert one._ending.locked()
        killed.append((group, number))

    one.command_group = 10
    monkeypatch.setattr(os, "killpg", kill)
    monkeypatch.setattr(device_process, "end_descendants", lambda pid: kill("all of", pid))
    one.end_all()
    assert killed == [(10, signal.SIGKILL), ("all of", os.getpid()), (0, signal.SIGKILL)]
