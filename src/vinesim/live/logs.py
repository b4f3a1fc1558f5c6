"""Structured logs: one JSON object a line, in files of the cluster's folder."""

import contextlib
import json
import logging
import logging.handlers
from pathlib import Path

FILE_BYTES, FILES = 10 * 2**20, 3
LOOKED_AT_BYTES = 2**16
_OWN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonLines(logging.Formatter):
    """Writes time, level, message, and what the record carries besides."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        more = {name: value for name, value in vars(record).items() if name not in _OWN}
        line = {"time_s": round(record.created, 6), "level": record.levelname.lower(), "event": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line | more, default=str)


def log_to(path: Path) -> None:
    """Write the logs of this process to a file."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=FILE_BYTES, backupCount=FILES)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("vinesim")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def last_failure(path: Path) -> str:
    """Return the error that a program's log says it failed with last, in one line; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOOKED_AT_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        if '"critical"' not in line:
            continue
        with contextlib.suppress(ValueError, KeyError):  # the line is cut, for example as the disk is full
            return str(json.loads(line)["traceback"].strip().splitlines()[-1])
    return ""
