"""Check that something listens at a cluster's address; the clusters' own clients would try for up to a minute."""

import socket

from vinesim.model.errors import InputError, Problem

TIMEOUT_S = 15.0


def check_address(address: str, expected: str, port: int) -> None:
    """Raise :class:`InputError` unless the port of ``[kind://]host[:port]`` accepts connections."""
    rest = address.rpartition("://")[2].rstrip("/")
    host, colon, given = rest.rpartition(":")
    if not colon or "]" in given:  # no port; an IPv6 address is in brackets
        host, given = rest, str(port)
    try:
        socket.create_connection((host.strip("[]"), int(given)), TIMEOUT_S).close()
    except (OSError, ValueError, OverflowError) as wrong:
        found = getattr(wrong, "strerror", None) or str(wrong)
        raise InputError([Problem(f"--address {address}", expected, found, "Is it running?")]) from None
