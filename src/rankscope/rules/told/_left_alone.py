"""A thread that an error ended while its process lives on: others of the job wait in what it ran, and it does not any more.

Frameworks run the user's function in a thread or an executor, and who catches its error there may only write it down.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ...analysis.account import Account
from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.origin import is_user
from ...model.evidence.events import Event
from ...model.evidence.stacks import Frame
from ...model.patterns import regex


@dataclass(frozen=True)
class LeftAlone:
    """Who raised an error, and what shows that others are still where it was."""

    who: Account
    says: str


def left_alone(case: Case, error: Event) -> LeftAlone | None:
    """The process that raised an error and is shown outside of all that its traceback tells, while another one waits in it."""
    raised = list(_raised_in(error))
    shown = [one for one in accounts(case) if one.seen and len(one.refs) == 1]
    mine = [one for one in shown if _raised(one, error)]
    if case.snapshot.live or not raised or len(mine) != 1 or _inside(mine[0], raised) is not None:
        return None
    others = (_inside(one, raised, _FOR_OTHERS) for one in shown if one is not mine[0])
    there = next((frame for frame in others if frame is not None), None)
    if there is None:
        return None
    return LeftAlone(
        mine[0], f"another process is still in {there.function} ({there.file}), and the one that raised it is not"
    )


def _raised(account: Account, error: Event) -> bool:
    pid, rank = error.pid, error.rank
    return (
        any(ref.pid == pid for ref in account.refs) if pid is not None else rank is not None and rank in account.ranks
    )


# As errors keep them: the file, the line, the function.
_FRAME = regex(r"(?P<file>[^\n]{1,400}):(?P<line>\d{1,9}) (?P<function>\S{1,200})")
_ANY_PROGRAM = ("<module>", "main")


def _raised_in(error: Event) -> Iterable[Frame]:
    """The functions of the program that the traceback of an error tells, besides those that every process of it is in."""
    frames = error.fields.get("frames")
    for text in frames if isinstance(frames, tuple) else ():
        found = _FRAME.fullmatch(str(text))
        frame = Frame(found["function"], found["file"]) if found else None
        if frame is not None and is_user(frame) and frame.function not in _ANY_PROGRAM:
            yield frame


# In these a thread needs the others; of who serves requests one may be in the function in which another one failed.
_FOR_OTHERS = (WaitKind.COLLECTIVE, WaitKind.BACKWARD, WaitKind.P2P, WaitKind.DEVICE, WaitKind.STORE)


def _inside(account: Account, raised: Iterable[Frame], kinds: Collection[WaitKind] = ()) -> Frame | None:
    """The first frame of a process that is one of those, by its function and the end of its path; in threads that wait so."""
    stacks = [seen.stack for seen in account.seen if not seen.native]
    stacks = [stack for stack in stacks if not kinds or wait_of(stack).kind in kinds]
    frames = (frame for stack in stacks for frame in stack if is_user(frame))
    return next((frame for frame in frames if any(_alike(frame, one) for one in raised)), None)


def _alike(frame: Frame, other: Frame) -> bool:
    short, long = sorted((frame.file, other.file), key=len)
    same = frame.function.rsplit(".", 1)[-1] == other.function.rsplit(".", 1)[-1]
    return same and (long == short or long.endswith(f"/{short.lstrip('/')}"))
