"""All calls: which part of the manager carries out each of them, and which fields it has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vinesim.live.manager.fields import (
    ANYTHING,
    CODE,
    CONTENT,
    DEMAND,
    DICT,
    FLAG,
    NAME,
    NUMBER,
    PAYLOAD,
    POSITIVE,
    TEXT,
    WHOLE,
    Field,
    each,
    one_of,
    read,
    record,
    table,
)
from vinesim.live.wire.connection import UNREADABLE

JOB = record(
    "job",
    {
        "task_type": NAME,
        "name": NAME.or_else(""),  # by default its task type
        "commands": table(each(TEXT)).or_else({}),  # by processor type, or "*"
        "kernel": NAME.or_else(""),
        "payload": ANYTHING,  # of the kernel
        "demand": NUMBER.or_else(1.0),
        "requests": table(NUMBER).or_else({}),
        "expected_us": POSITIVE.or_else(None),  # by default from the history of its name
        "limit_us": POSITIVE.or_else(None),
        "folder": TEXT.or_else(""),
        "env": table(TEXT).or_else({}),
        "at_most_once": FLAG.or_else(False),
    },
)
END = {  # how an attempt ended
    "attempt": WHOLE,
    "epoch": WHOLE.or_else(0),  # 0: of a record on the agent's disk, which has none
    "outcome": one_of("done", "raised", "killed", "limit"),
    "why": TEXT.or_else(""),
    "results": each(DICT).or_else([]),
    "execution_us": NUMBER.or_else(0.0),
    "is_far": FLAG.or_else(False),  # the memory of a client cannot be opened there
    "exit_code": CODE.or_else(None),
    "usage": DICT.or_else({}),
}
HOME = record(  # where devices of the same machine find a client's memory
    "home", {"shared_by": NAME, "pid": WHOLE, "memory": each(WHOLE), "bell": each(WHOLE)}
)
FOUND = {  # an attempt that an agent runs
    "attempt": WHOLE,
    "unit": WHOLE,
    "age_us": NUMBER.or_else(0.0),
    "items": each(ANYTHING).or_else([]),
}


@dataclass(frozen=True)
class Call:
    """A call: ``is_once`` if it must not be carried out again when a client makes it again because its connection
    broke before the answer."""

    part: str
    fields: Mapping[str, Field]
    is_once: bool = False


CALLS = {
    "agent.hello": Call(
        "nodes",
        {
            "node": NAME,
            "epoch": WHOLE,
            "facts": DICT.or_else({}),
            "running": each(record("running", FOUND)).or_else([]),
            "ready": each(WHOLE).or_else([]),
            "ended": each(ANYTHING).or_else([]),
        },
    ),
    "agent.lease": Call("nodes", {"at_us": ANYTHING}),
    "agent.ready": Call("nodes", {"units": each(WHOLE)}),
    "agent.ended": Call("nodes", {"ends": each(ANYTHING), "is_of_board": FLAG.or_else(False)}),
    "agent.board": Call(  # open to the manager, or closed
        "nodes",
        {"unit": WHOLE, "generation": WHOLE, "board": HOME.or_else(None), "taken": each(WHOLE).or_else([])},
    ),
    "agent.text": Call("nodes", {"ticket": WHOLE, "data": CONTENT.or_else(b""), "why": TEXT.or_else("")}),
    "client.hello": Call("clients", {"id": NAME, "home": HOME.or_else(None)}),
    "client.register": Call(
        "clients",
        {
            "name": NAME,
            "relative_deadline_us": POSITIVE,
            "average_load": POSITIVE.or_else(1.0),
            "kernel": NAME.or_else(""),
            "nodes": each(NAME).or_else([]),
            "gang_size": WHOLE.or_else(1),
            "max_consolidated": WHOLE.or_else(1),
            "per_size": FLAG.or_else(False),
            "task_type": NAME,
            "demand": DEMAND.or_else(1.0),
        },
        is_once=True,
    ),
    "client.request": Call(
        "clients",
        {
            "key": NAME,
            "application": NAME,
            "size": NUMBER,
            "payload": PAYLOAD.or_else(None),
            "is_lost": FLAG.or_else(False),
        },
    ),
    "client.issue": Call("clients", {"grant": WHOLE, "kernel": NAME, "payloads": each(PAYLOAD)}),
    "client.payload": Call("clients", {"attempt": WHOLE, "node": NAME, "place": WHOLE, "payload": CONTENT}),
    "client.complete": Call("clients", {"grant": WHOLE}, is_once=True),
    "client.cancel": Call("clients", {"key": NAME}),
    "client.confirm": Call("clients", {"keys": each(NAME)}),
    "client.status": Call("operators", {}),
    "client.drain": Call("operators", {"node": NAME, "is_draining": FLAG}),
    "client.add": Call("operators", {"node": NAME, "units": table(WHOLE)}, is_once=True),
    "client.remove": Call("operators", {"node": NAME}, is_once=True),
    "client.restart": Call("operators", {"node": NAME}, is_once=True),
    "client.prune": Call("operators", {"older_us": NUMBER}),
    "client.stop": Call("operators", {}),
    "job.submit": Call("jobs", {"job": JOB, "key": NAME.or_else(None)}, is_once=True),
    "job.cancel": Call("jobs", {"job": WHOLE}, is_once=True),
    "job.list": Call("jobs", {"all": FLAG.or_else(True), "limit": WHOLE.or_else(1000)}),
    "job.wait": Call("jobs", {"job": WHOLE}),
    "job.logs": Call("jobs", {"job": WHOLE}),
    "job.output": Call("outputs", {"job": WHOLE, "stream": one_of("out", "err"), "offset": WHOLE.or_else(0)}),
}


def checked(message: Any) -> tuple[str, Call, dict[str, Any]]:
    """Return a message's op, its call, and its fields. Raises :class:`ValueError` for one that is not a call."""
    if not isinstance(message, dict) or "op" not in message:
        raise ValueError(f"expected a call, found a message without an op: {str(message)[:40]}")
    op = message["op"]
    if op == UNREADABLE:
        raise ValueError(f"the message cannot be read: {message.get('why')}")
    call = CALLS.get(op) if isinstance(op, str) else None
    if call is None:
        raise ValueError(f"unknown call {op!r}")
    try:
        return str(op), call, read(call.fields, message)
    except ValueError as wrong:
        raise ValueError(f"{op}: {wrong}") from None
