"""A read-only client of NCCL's RAS (NCCL user guide, RAS): one question, one answer in text."""

from __future__ import annotations

import socket
import time

from ..model import ras_text
from ..model.evidence.ras import RasReport
from ..model.gap import Gap, Why
from ..model.ranks import port_of

DEFAULT = "localhost:28028"
_QUESTION = b"CLIENT PROTOCOL 2\nTIMEOUT 3\nVERBOSE STATUS\n"
MOST_BYTES = 32 << 20


def ask(address: str = DEFAULT, deadline_s: float = 5.0) -> RasReport | Gap | None:
    """What RAS says of the job; None where nobody listens."""
    end = time.monotonic() + deadline_s
    host, _, text = address.rpartition(":")
    port = port_of(text)
    if port is None:
        return None
    try:
        with socket.create_connection((host.strip("[]") or "localhost", port), timeout=1.0) as client:
            client.sendall(_QUESTION)
            return ras_text.parse(_answer(client, end).decode("utf-8", "replace").splitlines())
    except ConnectionRefusedError:
        return None
    except socket.timeout:
        return Gap("ras", Why.TIMEOUT, f"NCCL's RAS at {address} does not answer")
    except OSError as error:
        return Gap("ras", Why.UNREACHABLE, f"NCCL's RAS at {address}: {error.strerror or error}")


def _answer(client: socket.socket, end: float) -> bytes:
    """Everything until the other side closes; what came before the deadline is worth reading too."""
    pieces, size = [], 0
    while size < MOST_BYTES:
        left = end - time.monotonic()
        if left <= 0:
            break
        client.settimeout(left)
        try:
            piece = client.recv(1 << 16)
        except socket.timeout:
            break
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    if not pieces:
        raise socket.timeout
    return b"".join(pieces)
