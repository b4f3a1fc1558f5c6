"""Memory that a client shares with the devices of its machine: data goes from one to the other without a socket.

It is a file without a name (``memfd``), which belongs to the client. Devices open it through ``/proc``, where only the
same user may; when its client has died, it is gone. Whoever writes appends, so the operating system gives each writer a
place of its own. What was read is taken out of the file again. Next to it there is a pipe, into which a device writes
that a result is there.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import sys
from typing import Any

import numpy as np

from vinesim.live.clock import boot_id
from vinesim.live.wire.contents import Parts, n_bytes_of
from vinesim.live.wire.messages import WrongMessage
from vinesim.live.wire.piping import piped, taken

IS_POSSIBLE = sys.platform == "linux" and hasattr(os, "memfd_create")
LIBC = ctypes.CDLL(None) if IS_POSSIBLE else None
PUNCH_HOLE = 3  # FALLOC_FL_PUNCH_HOLE and FALLOC_FL_KEEP_SIZE
MOST_PARTS = 1_000  # that the operating system writes at once
BELL_BYTES = 2**16  # that are read of a pipe at a time
RING_BYTES = 4_096  # what a pipe takes as a whole or not at all (PIPE_BUF)
Place = list[int]  # where content lies in the file: offset, length


def shared_by() -> str:
    """Return what processes that can open each other's memory have in common; empty if no process can here."""
    if not IS_POSSIBLE or not boot_id():
        return ""
    return f"{boot_id()}:{os.stat('/proc/self/ns/pid').st_ino}:{os.getuid()}"


class Memory:
    """The file, as one of its users has it open."""

    def __init__(self, file: int):
        self.file = file

    def append(self, parts: Parts) -> Place:
        """Write content. Returns its place. Raises :class:`OSError` if there is no memory left."""
        n_bytes = n_bytes_of(parts)
        whole = [*parts, bytes(-n_bytes % mmap.PAGESIZE)]  # whole pages, so that all of them can be freed
        n_all = n_bytes + len(whole[-1])
        if len(whole) > MOST_PARTS:
            whole = [b"".join(whole)]
        n_written = os.writev(self.file, whole)
        end = os.lseek(self.file, 0, os.SEEK_CUR)
        if n_written != n_all:
            self.free([end - n_written, n_written])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return [end - n_all, n_bytes]

    def read(self, place: Place) -> memoryview:
        """Return a copy of what lies in a place. Raises :class:`WrongMessage` if nothing lies there."""
        offset, n_bytes = place
        if offset + n_bytes > os.fstat(self.file).st_size:
            raise WrongMessage("it is not in its client's memory")
        data, n_read = np.empty(n_bytes, np.uint8), 0
        while n_read < n_bytes:
            n_read += os.preadv(self.file, [data[n_read:].data], offset + n_read)
        return data.data

    def free(self, place: Place) -> None:
        """Give the pages of a place back."""
        assert LIBC is not None
        offset, n_bytes = (ctypes.c_longlong(n) for n in (place[0], place[1] + -place[1] % mmap.PAGESIZE))
        LIBC.fallocate(self.file, PUNCH_HOLE, offset, n_bytes)

    def close(self) -> None:
        """Close the file. Whoever still uses it gets an :class:`OSError`: its number may be another file's by then."""
        file, self.file = self.file, -1
        os.close(file)


class Home:
    """A client's memory, and the pipe through which it gets results. ``address`` lets devices find both."""

    def __init__(self) -> None:
        self.memory = Memory(os.memfd_create("vinesim"))
        _append_only(self.memory.file)
        self.bell, self._write_end = os.pipe()
        os.set_blocking(self.bell, False)
        files = [[file, os.fstat(file).st_ino] for file in (self.memory.file, self._write_end)]
        self.address = {"shared_by": shared_by(), "pid": os.getpid(), "memory": files[0], "bell": files[1]}
        self._early = bytearray()

    def received(self) -> list[dict[str, Any]]:
        """Return the answers that have come."""
        with contextlib.suppress(BlockingIOError):
            data = None
            while data is None or len(data) == BELL_BYTES:  # fewer: there are no more
                data = os.read(self.bell, BELL_BYTES)
                self._early += data
        return taken(self._early)

    def close(self) -> None:
        """Give everything back."""
        self.memory.close()
        os.close(self.bell)
        os.close(self._write_end)


class Visit:
    """A client's home, as a device has it open."""

    def __init__(self, address: dict[str, Any]):
        """Raises :class:`OSError` if the client has gone."""
        self._address = address
        self.memory = Memory(opened(address, "memory", os.O_RDWR | os.O_APPEND))
        try:
            self._bell = opened(address, "bell", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            self.memory.close()
            raise

    def ring(self, answer: dict[str, Any]) -> bool:
        """Send an answer, if it is short and the client reads what it gets. Returns whether it was sent."""
        data = piped(answer)
        if len(data) > RING_BYTES:
            return False
        try:
            return os.write(self._bell, data) > 0
        except OSError:
            return False

    def is_there(self) -> bool:
        """Whether the client still lives; if not, its memory must be given back."""
        try:
            return os.stat(_path(self._address, "memory")).st_ino == self._address["memory"][1]
        except OSError:
            return False

    def close(self) -> None:
        """Close what is open; answers are not sent any more."""
        self.memory.close()
        bell, self._bell = self._bell, -1
        os.close(bell)


class Visits:
    """The homes that a device has open."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, ...], Visit] = {}

    def at(self, address: dict[str, Any]) -> Visit:
        """Return the home of an address. Raises :class:`OSError` if the client has gone."""
        which = (address["pid"], *address["memory"], *address["bell"])
        if which not in self._open:
            self._open[which] = Visit(address)
        return self._open[which]

    def forget_gone(self) -> None:
        """Give back the memory of clients that have gone."""
        for which, visit in list(self._open.items()):
            if not visit.is_there():
                del self._open[which]
                visit.close()


def _path(address: dict[str, Any], which: str) -> str:
    return f"/proc/{int(address['pid'])}/fd/{int(address[which][0])}"


def opened(address: dict[str, Any], which: str, flags: int) -> int:
    """Open a file of another process, if it is still the one that is meant. Raises :class:`OSError`."""
    path = _path(address, which)
    if os.stat(path).st_ino != address[which][1]:
        raise FileNotFoundError(errno.ENOENT, "its client has gone", path)
    return os.open(path, flags)


def _append_only(file: int) -> None:
    import fcntl  # not on Windows

    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
