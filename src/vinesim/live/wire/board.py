"""A board: memory of an agent in which the manager of the same machine leaves orders for one device, and the device
leaves their ends. So neither passes through the agent, which reads the board when it has to know what its device does.

The agent opens a board to one manager under a new generation, and closes it by another one. Orders and ends that are
left on a closed board count only if the agent finds them there: the device looks at the generation before it takes an
order, and again after it has left an end. Each field has one writer at a time, and the word of a field is written after
the content for which it stands.
"""

import contextlib
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vinesim.live.wire.memory import IS_POSSIBLE, opened, shared_by
from vinesim.live.wire.messages import packed, unpacked

ORDER_BYTES, END_BYTES = 24 * 2**10, 8 * 2**10 - 64
SLOT_BYTES = 64 + ORDER_BYTES + END_BYTES
WORD_BYTES = 8
FREE, GIVEN, BEGUN, ENDED = range(4)  # who writes next: manager, device, device, manager
STATE, ATTEMPT, GENERATION, BEGUN_US, ORDER, END = range(6)  # words of a slot; the last two are lengths
Address = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """An order, or its end, in a slot of the open board."""

    slot: int
    attempt: int
    state: int
    begun_us: int  # by the lease clock


class Bell:
    """A pipe that wakes its owner; whoever writes a byte needs no answer. ``address`` lets processes of this machine
    find it."""

    def __init__(self) -> None:
        self.file, self._write_end = os.pipe()
        for end in (self.file, self._write_end):
            os.set_blocking(end, False)
        self.address = {"shared_by": shared_by(), "pid": os.getpid(), "bell": _file(self._write_end)}

    def read_end(self) -> list[int]:
        """Return where another process finds the end that is read."""
        return _file(self.file)

    def close(self) -> None:
        """Give both ends back."""
        os.close(self.file)
        os.close(self._write_end)


def rung(file: int, data: bytes = b"\0") -> bool:
    """Ring a bell that is open for writing. Returns whether somebody may hear it."""
    try:
        return os.write(file, data) == len(data)
    except OSError:
        return False


class Board:
    """The memory, as one of its three users has it mapped."""

    def __init__(self, file: int):
        self._map = mmap.mmap(file, 0)
        self._words = memoryview(self._map).cast("Q")
        self._n_slots = (len(self._map) - mmap.PAGESIZE) // SLOT_BYTES

    @classmethod
    def made(cls, n_slots: int) -> "tuple[Board, int]":
        """Return a new board, and its file. Raises :class:`OSError`."""
        file = os.memfd_create("vinesim-board")
        os.ftruncate(file, mmap.PAGESIZE + n_slots * SLOT_BYTES)
        return cls(file), file

    @classmethod
    def at(cls, address: Address) -> "Board":
        """Map the board of an address. Raises :class:`OSError` if its agent has gone."""
        file = opened(address, "memory", os.O_RDWR)
        try:
            return cls(file)
        finally:
            os.close(file)

    def close(self) -> None:
        """Give the map back."""
        self._words.release()
        self._map.close()

    # --- the agent ---

    @property
    def generation(self) -> int:
        """The generation under which it is open; 0 if it is closed."""
        return self._words[0]

    @generation.setter
    def generation(self, generation: int) -> None:
        self._words[0] = generation

    def found(self, generation: int) -> list[Found]:
        """Return what is on it, in the order of the attempts."""
        return sorted(self._found(generation), key=lambda one: one.attempt)

    def _found(self, generation: int) -> Iterator[Found]:
        words = self._words
        for slot in range(self._n_slots):
            at = _word(slot)
            attempt, own = words[at + ATTEMPT], words[at + GENERATION]
            state, begun_us = words[at + STATE], words[at + BEGUN_US]
            is_one = words[at + ATTEMPT] == attempt  # else another order is being written meanwhile
            if is_one and state != FREE and own == generation:
                yield Found(slot, attempt, state, begun_us)

    def order(self, found: Found) -> Any:
        """Return the order in a slot; None if it has ended and another one has its slot."""
        data = self._bytes(found.slot, ORDER, 64)
        return unpacked(data) if self._words[_word(found.slot) + ATTEMPT] == found.attempt else None

    def end(self, slot: int) -> Any:
        """Return the end in a slot."""
        return unpacked(self._bytes(slot, END, 64 + ORDER_BYTES))

    def _bytes(self, slot: int, length: int, offset: int) -> bytes:
        at = mmap.PAGESIZE + slot * SLOT_BYTES + offset
        return self._map[at : at + self._words[_word(slot) + length]]

    # --- the manager ---

    def give(self, generation: int, order: dict[str, Any]) -> int | None:
        """Leave an order. Returns its slot; None if it is too long, or no slot is free."""
        words, data = self._words, packed(order)
        slot = next((one for one in range(self._n_slots) if self._is_free(one, generation)), None)
        if slot is None or len(data) > ORDER_BYTES:
            return None
        at = _word(slot)
        words[at + STATE] = FREE
        words[at + ATTEMPT], words[at + GENERATION], words[at + BEGUN_US] = order["attempt"], generation, 0
        self._write(slot, ORDER, 64, data)
        words[at + STATE] = GIVEN
        return slot

    def _is_free(self, slot: int, generation: int) -> bool:
        at = _word(slot)
        return self._words[at + STATE] == FREE or self._words[at + GENERATION] != generation

    def has_ended(self, slot: int) -> bool:
        """Whether there is an end in a slot."""
        return self._words[_word(slot) + STATE] == ENDED

    def free(self, slot: int) -> None:
        """Let a slot be used again."""
        self._words[_word(slot) + STATE] = FREE

    # --- the device ---

    def begin(self, slot: int, now_us: float) -> None:
        """Note that an order has begun."""
        at = _word(slot)
        self._words[at + BEGUN_US] = int(now_us)
        self._words[at + STATE] = BEGUN

    def finish(self, slot: int, end: dict[str, Any]) -> bool:
        """Leave an end. Returns False if it is too long."""
        data = packed(end)
        if len(data) > END_BYTES:
            return False
        self._write(slot, END, 64 + ORDER_BYTES, data)
        self._words[_word(slot) + STATE] = ENDED
        return True

    def _write(self, slot: int, length: int, offset: int, data: bytes) -> None:
        at = mmap.PAGESIZE + slot * SLOT_BYTES + offset
        self._map[at : at + len(data)] = data
        self._words[_word(slot) + length] = len(data)


class AgentBoard:
    """A board with the bell of its device, as its agent has it."""

    def __init__(self, n_slots: int):
        """Raises :class:`OSError`."""
        self.board, self._file = Board.made(n_slots)
        self._bell = Bell()
        self.address = self._bell.address | {"memory": _file(self._file)}
        self.device_address = self.address | {"bell": self._bell.read_end()}  # to be read there
        self.last = 0  # generation

    def found(self) -> list[Found]:
        """Return what is on it of the last generation, in the order of the attempts."""
        return self.board.found(self.last)

    def close(self) -> None:
        """Give everything back."""
        self.board.close()
        self._bell.close()
        os.close(self._file)


def is_possible(address: Address | None) -> bool:
    """Whether a process here can use what another one offers at this address."""
    return IS_POSSIBLE and address is not None and address["shared_by"] == shared_by() != ""


def bell_at(address: Address, flags: int) -> int:
    """Open a bell. Raises :class:`OSError` if its owner has gone."""
    return opened(address, "bell", flags | os.O_NONBLOCK)


def emptied(bell: int, most: int = 4096) -> bytes:
    """Read the bytes that were written to a bell."""
    with contextlib.suppress(BlockingIOError):
        return os.read(bell, most)
    return b""


def _file(file: int) -> list[int]:
    return [file, os.fstat(file).st_ino]


def _word(slot: int) -> int:
    return (mmap.PAGESIZE + slot * SLOT_BYTES) // WORD_BYTES
