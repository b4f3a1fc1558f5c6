"""The handshake: both sides prove that they know the token, without sending it, before any message is read.

Lines of fixed length. Server: nonce. Client: nonce, HMAC of both. Server: HMAC of both. Each connection has its own
keys, one for each direction, derived from the token and the nonces.
"""

import hmac
import secrets
from dataclasses import dataclass

NONCE_BYTES = 32
PROOF_BYTES = 32
MAGIC = b"vinesim-live-1\n"
GREETING_BYTES = len(MAGIC) + NONCE_BYTES
ANSWER_BYTES = NONCE_BYTES + PROOF_BYTES


class Refused(Exception):
    """The other side does not know the token, or does not speak this protocol."""


@dataclass(frozen=True)
class Keys:
    """The keys of a connection."""

    to_server: bytes
    to_client: bytes


def greeting() -> tuple[bytes, bytes]:
    """Return what a server sends first, and its nonce."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    return MAGIC + nonce, nonce


def answer(token: bytes, received: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what a client answers to the greeting, and both nonces. Raises :class:`Refused`."""
    if not received.startswith(MAGIC):
        raise Refused("no VineSim manager of this version answers there")
    theirs, ours = received[len(MAGIC) :], secrets.token_bytes(NONCE_BYTES)
    return ours + _proof(token, b"client", theirs, ours), theirs, ours


def check_answer(token: bytes, server_nonce: bytes, received: bytes) -> tuple[bytes, Keys]:
    """Return the server's proof and the keys. Raises :class:`Refused` if the client does not know the token."""
    theirs, proof = received[:NONCE_BYTES], received[NONCE_BYTES:]
    if not hmac.compare_digest(proof, _proof(token, b"client", server_nonce, theirs)):
        raise Refused("wrong token")
    return _proof(token, b"server", server_nonce, theirs), _keys(token, server_nonce, theirs)


def check_proof(token: bytes, server_nonce: bytes, client_nonce: bytes, received: bytes) -> Keys:
    """Return the keys. Raises :class:`Refused` if the server does not know the token."""
    if not hmac.compare_digest(received, _proof(token, b"server", server_nonce, client_nonce)):
        raise Refused("the manager there does not know this token")
    return _keys(token, server_nonce, client_nonce)


def _proof(token: bytes, role: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    return hmac.digest(token, MAGIC + role + server_nonce + client_nonce, "sha256")


def _keys(token: bytes, server_nonce: bytes, client_nonce: bytes) -> Keys:
    return Keys(*(_proof(token, role, server_nonce, client_nonce) for role in (b"key-to-server", b"key-to-client")))
