"""Where a cluster is, and the token that it asks for: files in the cluster's folder, which only its owner can read."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vinesim.live.logs import last_failure
from vinesim.model.errors import InputError, Problem

TOKEN, PLACE = "token", "address.json"
TOKEN_BYTES = 32
PRIVATE = 0o600


@dataclass(frozen=True)
class Address:
    """The place in a cluster's folder where the manager's address and the token stand."""

    folder: Path

    @classmethod
    def in_folder(cls, folder: Any) -> "Address":
        """Return the address in a folder. Raises :class:`InputError` if no cluster was started there."""
        path = Path(folder)
        if not (path / TOKEN).is_file():
            remedy = "Start one: vinesim live start CLUSTER.yaml"
            raise InputError([Problem(str(path), "the folder of a cluster", "no token there", remedy)])
        return cls(path)

    def read(self) -> tuple[str, int, bytes]:
        """Return host, port and token. Raises :class:`OSError` while there is no manager."""
        try:
            place = json.loads((self.folder / PLACE).read_text())
        except ValueError as wrong:
            raise OSError(str(wrong)) from None
        return place["host"], place["port"], read_token(self.folder)

    def why_none(self) -> str:
        """Return what the manager failed with last, to be added to the words of a client that does not reach it."""
        path = self.folder / "logs" / "manager.jsonl"
        why = last_failure(path)
        return f"; the last failure of a manager in {path}: {why}" if why else ""

    def __str__(self) -> str:
        return str(self.folder)


def write_place(folder: Path, host: str, port: int, metrics_port: int) -> None:
    """Note where the manager listens."""
    partial = folder / f"{PLACE}.{os.getpid()}"
    place = {"host": host, "port": port, "metrics_port": metrics_port, "pid": os.getpid()}
    partial.write_text(json.dumps(place))
    partial.replace(folder / PLACE)


def read_token(folder: Path) -> bytes:
    """Return the token of a cluster. Raises :class:`InputError` if others can read it."""
    path = folder / TOKEN
    if path.stat().st_mode & 0o077:
        raise InputError([Problem(str(path), "a file that only its owner can read", "others can", f"chmod 600 {path}")])
    return bytes.fromhex(path.read_text().strip())


def make_token(folder: Path) -> bytes:
    """Return the token of a cluster; a new one if there is none."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / TOKEN
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w") as file:
            file.write(secrets.token_hex(TOKEN_BYTES))
    return read_token(folder)
