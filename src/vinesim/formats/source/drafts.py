"""Drafts: a file or folder is written under a hidden name next to its target until it is complete.

The name is ``.TARGET.PLACE-PID-RANDOM.tmp``. PLACE identifies the machine or container whose process has this PID, so
that drafts of killed processes can be recognised and removed there. The name is unpredictable, so nobody can create a
link with it in a folder that others may write to.
"""

import glob
import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

_NAME = re.compile(r"\.(?P<target>.+)\.(?P<place>[0-9a-f]{6})-(?P<pid>\d+)-[0-9a-f]{8}\.tmp")


def draft_of(target: Path) -> Path:
    """Return a new name for a draft of the target."""
    return target.with_name(f".{target.name}.{_place()}-{os.getpid()}-{secrets.token_hex(4)}.tmp")


def is_draft(name: str, targets: Iterable[str]) -> bool:
    """Whether this is the name of a draft of one of the targets, made by this version or an earlier one."""
    return name.endswith(".tmp") and any(name.startswith(f".{target}.") for target in targets)


def remove_drafts(target: Path) -> None:
    """Remove the drafts of the target that killed processes of this machine have left."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.{_place()}-*.tmp"):
        match = _NAME.fullmatch(path.name)
        if match and match["target"] == target.name and not _is_alive(int(match["pid"])):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


@cache
def _place() -> str:
    """Return an identifier of this machine and its container: 6 hex digits."""
    namespace = ""
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{socket.gethostname()} {namespace}".encode()).hexdigest()[:6]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        pass
    return True
