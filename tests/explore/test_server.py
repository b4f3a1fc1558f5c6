"""The server answers its own page only, with the token, and says what it may do."""

import asyncio
import json
import re
import socket

import pytest
from typer.testing import CliRunner

from tests.explore.conftest import EXAMPLES, GPUS, asked
from vinesim.cli.errors import report_errors
from vinesim.cli.main import app as commands
from vinesim.explore.guard import MAX_BODY
from vinesim.explore.line import Line
from vinesim.explore.question import read_question
from vinesim.explore.server import Server, listening
from vinesim.model.errors import InputError

PORT = 4321
HOST = {"host": f"127.0.0.1:{PORT}"}


@pytest.fixture
def server(quickstart):
    return Server(quickstart, PORT)


def knowing(server, **more):
    return {**HOST, "authorization": f"Bearer {server.token}", **more}


def test_the_page_is_for_who_knows_the_token(server):
    status, headers, text = asked(server.app, "GET", f"/?token={server.token}", HOST)
    assert status == 200
    assert "<title>500 jobs of 5 tasks" in text
    assert server.token not in text
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 401),
        ("GET", "/?token=", {}, 403),
        ("GET", "/?token=wrong", {}, 403),
        ("POST", "/show", {}, 401),
        ("POST", "/show?token={token}", {}, 401),  # only the page's own address holds it
        ("POST", "/show", {"authorization": "Bearer wrong"}, 403),
        ("POST", "/show", {"authorization": "Bearer \u00e9"}, 403),
        ("GET", "/?token={token}", {"host": f"evil.example:{PORT}"}, 403),
        ("GET", "/?token={token}", {"host": "127.0.0.1:1"}, 403),
        ("POST", "/stop", {"authorization": "Bearer {token}", "origin": "http://evil.example"}, 403),
        ("POST", "/stop", {"authorization": "Bearer {token}", "origin": "null"}, 403),
        ("POST", "/stop", {"authorization": "Bearer {token}", "content-length": str(MAX_BODY + 1)}, 413),
        ("POST", "/stop", {"authorization": "Bearer {token}", "content-length": "-1"}, 413),
        ("POST", "/stop", {"authorization": "Bearer {token}", "transfer-encoding": "chunked"}, 413),
        ("POST", "/stop", {"authorization": "Bearer {token}", "origin": f"http://127.0.0.1:{PORT}"}, 200),
        ("POST", "/stop", {"authorization": "Bearer {token}", "host": f"localhost:{PORT}"}, 200),
        ("GET", "/show", {"authorization": "Bearer {token}"}, 405),
        ("GET", "/etc/passwd", {"authorization": "Bearer {token}"}, 404),
    ],
)
def test_others_are_refused(server, method, path, headers, status):
    given = {**HOST, **{key: value.replace("{token}", server.token) for key, value in headers.items()}}
    found, reported, text = asked(server.app, method, path.replace("{token}", server.token), given, {})
    assert found == status
    assert reported["x-content-type-options"] == "nosniff"
    assert server.token not in text


def test_saving_tells_a_text_or_what_is_wrong(server):
    status, _, text = asked(server.app, "POST", "/save", knowing(server), {"kind": "command", "changes": {GPUS: 7}})
    assert status == 200
    assert f"--set '{GPUS}=7'" in json.loads(text)["text"]
    status, _, text = asked(server.app, "POST", "/save", knowing(server), {"kind": "scenario", "changes": {"x": 7}})
    assert status == 422
    assert json.loads(text)["error"].startswith("x: expected a control of this page")


def test_a_newer_job_replaces_an_older_one_and_a_dead_worker_is_replaced(quickstart):
    """One worker process: a long job gives way to a newer one of its page, and what kills it ends one job only."""

    async def run():
        line = Line(quickstart)
        try:
            long = {"changes": {"workload.options.n_jobs": 100_000}}
            first, other = line.submit("a", "show", long), line.submit("b", "show", {"changes": {}})
            kinds = []
            async for kind, data in first.messages():
                kinds.append(kind)
                if kind == "progress" and "of" in data:
                    second = line.submit("a", "show", {"changes": {GPUS: 3}})
            found = [await ends(ticket) for ticket in (other, second)]
            third = line.submit("a", "show", long)
            async for kind, data in third.messages():
                if kind == "progress" and "of" in data:
                    line._process.kill()
                last = kind, data
            after = await ends(line.submit("a", "show", {"changes": {}}))
            wrong = await ends(line.submit("a", "show", {"changes": {"arrivals.iat": "x"}}))
            return kinds, found, last, after, wrong
        finally:
            await line.close()

    async def ends(ticket):
        return [message async for message in ticket.messages()][-1]

    kinds, found, last, after, wrong = asyncio.run(run())
    assert kinds[-1] == "replaced"
    assert [kind for kind, _ in found] == ["done", "done"]
    assert json.loads(found[1][1])["counts"]["units"] == 23
    assert last[0] == "failed"
    assert "has ended" in last[1]
    assert after[0] == "done"
    assert wrong[0] == "failed"
    assert "Traceback" not in wrong[1]


def test_the_command_tells_what_is_wrong_in_one_message(monkeypatch, capsys):
    def code(*words):
        monkeypatch.setattr("sys.argv", ["vinesim", "explore", *words])
        return report_errors(commands), capsys.readouterr().err

    assert code("none.yaml", "--no-browser")[0] == 2
    found = code(str(EXAMPLES / "quickstart.yaml"), "--set", "policy=hihg", "--no-browser")
    assert found[0] == 2
    assert "Did you mean high?" in found[1]
    assert code(str(EXAMPLES / "quickstart.yaml"), "--engine", "fast", "--no-browser")[0] == 2
    with listening(0) as taken:
        port = taken.getsockname()[1]
        found = code(str(EXAMPLES / "quickstart.yaml"), "--port", str(port), "--no-browser")
    assert found[0] == 2
    assert "a free port" in found[1]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = code(str(EXAMPLES / "quickstart.yaml"))
    assert found[0] == 2
    assert '-m pip install "starlette>=' in found[1]
    assert '-m pip install "uvicorn>=' in found[1]


def test_a_browser_that_is_sooner_than_the_server_waits_for_it():
    with listening(0) as ours, socket.create_connection(ours.getsockname(), timeout=5) as browser:
        assert browser.getpeername() == ours.getsockname()


def test_the_commands_help_needs_no_server():
    assert "127.0.0.1" in CliRunner().invoke(commands, ["explore", "--help"]).output


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": ["plan"]},
        {"kind": "scenery"},
        {"kind": "plan", "changes": []},
        {"kind": "plan", "vary": "arrivals.iat"},
        {"kind": "plan", "vary": [{}]},
        {"kind": "plan", "vary": ["arrivals.iat"], "pinned": {"policy": "flat"}},
        {"kind": "plan", "vary": ["arrivals.iat"], "pinned": [{"policy": {}}]},
        {"kind": "plan", "vary": ["arrivals.iat"], "p99_us": "soon"},
        {"kind": "plan", "vary": ["arrivals.iat"], "p99_us": 10**400},
        {"kind": "plan", "vary": ["policy"], "changes": {"policy": ["flat"]}},
        {"kind": "scenario", "changes": {"arrivals.iat": {}}},
        {"kind": "scenario", "changes": {"arrivals.iat": 10**400}},
    ],
)
def test_what_is_of_another_type_is_refused_by_name(server, wrong):
    status, _, text = asked(server.app, "POST", "/save", knowing(server), wrong)
    assert status == 422
    assert ": expected " in json.loads(text)["error"]


def test_what_is_no_json_is_refused(server):
    for body in (b"[" * 100_000, b"{", b"3"):
        with pytest.raises(InputError):
            read_question(body)
    assert read_question(b"") == {"changes": {}}


@pytest.mark.parametrize(("path", "body"), [("/differences", {}), ("/curve", {"key": "arrivals.iat"})])
def test_what_is_missing_is_named_before_a_worker_starts(server, path, body):
    status, _, text = asked(server.app, "POST", path, knowing(server), body)
    assert status == 422
    assert json.loads(text)["error"].startswith(("variants: expected", "values: expected"))


def test_a_policy_of_a_file_that_the_scenario_does_not_name_is_not_loaded_by_saving(server, tmp_path):
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    named = {"policy": f"{tmp_path / 'own.py'}:Own"}
    for body in ({"changes": named}, {"pinned": [named]}):
        status, _, _ = asked(server.app, "POST", "/save", knowing(server), {"kind": "plan", "vary": ["policy"], **body})
        assert status == 422
    assert not (tmp_path / "ran").exists()
