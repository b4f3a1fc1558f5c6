"""The way of orders to a device of this machine past its agent."""

import os
from collections.abc import Container
from typing import TYPE_CHECKING, Any

from vinesim.live.clock import lease_clock_us
from vinesim.live.wire.board import Address, Board, bell_at, rung

if TYPE_CHECKING:
    from vinesim.live.manager.core import Message


class Channel:
    """A board that an agent has opened to this manager. It is a peer: what is sent to it is an order; one that finds
    no place goes to the agent."""

    def __init__(self, address: Address, generation: int, agent: Any, epoch: int):
        """Raises :class:`OSError` if the board cannot be opened here."""
        self.agent, self._generation = agent, generation
        self.is_open = True  # orders may be sent; else it only waits for the ends of those that were
        self._epoch = epoch
        self._board = Board.at(address)
        self._bell = -1
        self._bell = bell_at(address, os.O_WRONLY)
        self._orders: dict[int, tuple[int, Message]] = {}  # whose ends have not come, by attempt, with their slots
        self._heard: list[int] = []  # slots whose ends have come

    def __del__(self) -> None:
        if self._bell >= 0:
            os.close(self._bell)

    def send(self, *orders: "Message") -> None:
        """Leave orders, and wake the device."""
        for place, order in enumerate(orders):
            order["given_us"] = lease_clock_us()
            slot = self._board.give(self._generation, order) if self.is_open else None
            if slot is None:
                self.is_open = False  # an agent that gets an order closes the board, so all keep their order
                self.agent.send(*orders[place:])
                break
            self._orders[order["attempt"]] = slot, order
        rung(self._bell)  # if its device has gone, the agent finds the orders

    def ends(self) -> "list[Message]":
        """Return the ends that have come."""
        found = []
        for attempt, (slot, _) in list(self._orders.items()):
            if self._board.has_ended(slot):
                found.append({"attempt": attempt, "epoch": self._epoch, **self._board.end(slot)})
                del self._orders[attempt]
                self._heard.append(slot)
        return found

    def free(self) -> None:
        """Use the slots of ends that were handled again. Until then the agent finds them, if this manager dies."""
        for slot in self._heard:
            self._board.free(slot)
        self._heard.clear()

    def is_of(self, generation: int) -> bool:
        """Whether the board was opened under this generation."""
        return self._generation == generation

    def left(self, taken: Container[int]) -> "list[Message]":
        """Return the orders that the agent did not find when it closed the board."""
        return [order for attempt, (_, order) in self._orders.items() if attempt not in taken]
