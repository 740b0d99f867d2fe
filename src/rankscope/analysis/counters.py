"""The numbers by which ranks in one place of a loop are told apart."""

from __future__ import annotations

from .identity import birth
from .standing import Standing


def counters(standing: Standing) -> dict[tuple[str, str, str], int]:
    """Whole-number locals of the job's own frames: (file, function, name) → value; they place ranks in a loop."""
    thread = standing.thread
    if thread is None:
        return {}
    user = standing.wait.user + birth(thread.stack)
    out = {}
    for local in thread.locals:
        if birth(thread.stack) <= local.depth <= user and (number := local.number) is not None:
            frame = thread.stack[local.depth]
            out[frame.file, frame.function, local.name] = number
    return out
