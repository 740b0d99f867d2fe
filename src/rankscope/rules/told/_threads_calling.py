"""Threads of one rank that are in collectives at the same time, and what says that each has a group of its own."""

from __future__ import annotations

from ...analysis.accounts import Account, Seen
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of

# Each thread has a group of its own.
APART = r"\b(?:different|separate|own|two|several|distinct|another) (?:\w+ )?(?:comm(?:unicator)?s?|(?:process )?groups?|pgs?)\b"


def calls_at_once(account: Account) -> dict[str, Seen]:
    """The threads of a subject that are in collectives, if one tool shows several: each names threads in its own way."""
    by_tool: dict[str, dict[str, Seen]] = {}
    for seen in filter(_calls, account.seen):
        by_tool.setdefault(seen.engine, {})[_thread(seen)] = seen
    return next((calling for calling in by_tool.values() if len(calling) > 1), {})


def _thread(seen: Seen) -> str:
    return seen.thread.name or f"thread {seen.thread.tid}"


def _calls(seen: Seen) -> bool:
    """Whether a Python thread made a call that others must make too."""
    wait = wait_of(seen.stack)
    return wait.kind is WaitKind.COLLECTIVE and not seen.native and any(frame.file for frame in seen.stack)
