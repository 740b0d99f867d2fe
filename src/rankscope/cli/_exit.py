"""Exit codes, in the manner of grep and ruff, and the one line a user sees when we are wrong."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.diagnosis import Diagnosis

NOTHING_FOUND, FOUND, COULD_NOT, NOT_ENOUGH, INTERRUPTED = 0, 1, 2, 3, 130
TERMINATED = 143  # by SIGTERM: as a shell reports it
CLOSED = 141  # nobody reads on, and nothing was found yet: as a shell reports SIGPIPE (signal(7))


def code_of(diagnoses: list[Diagnosis]) -> int:
    """One code for several jobs: the first of found, not enough evidence, nothing found."""
    from ..model.diagnosis import State  # a thirtieth of a second that most commands need not spend

    if any(one.verdict is not None and one.state is not State.SLOW for one in diagnoses):
        return FOUND
    return NOT_ENOUGH if any(one.evidence_weak for one in diagnoses) else NOTHING_FOUND


def told(error: Exception) -> str:
    """The text of an error, safe for a terminal: it may quote what a node or a file said."""
    from ..report.plain import clean

    return "\n".join(map(clean, str(error).split("\n")))


def interrupted(error: BaseException | None) -> bool:
    """Whether this is Ctrl-C; where a class is made, CPython before 3.12 makes a RuntimeError of it."""
    return isinstance(error, KeyboardInterrupt) or isinstance(getattr(error, "__cause__", None), KeyboardInterrupt)


class Terminated(KeyboardInterrupt):
    """SIGTERM, of a scheduler or of timeout(1): as good a reason to end as Ctrl-C."""


def again(error: BaseException | None) -> KeyboardInterrupt:
    """The interruption that click made an error of its own of."""
    return Terminated() if isinstance(error, Terminated) else KeyboardInterrupt()


# What the system says where output does not fit or cannot be kept (write(2)).
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def unwritten(error: Exception) -> str:
    """What a user is told where our output found no room; empty where the error is another one."""
    if not isinstance(error, OSError) or error.errno not in _UNWRITTEN or error.filename is not None:
        return ""
    return f"rankscope: cannot write the output: {(error.strerror or '').lower()}"


def bug(error: Exception) -> str:
    """What a user sees of a defect of ours; the traceback only on request."""
    import traceback

    if os.environ.get("RANKSCOPE_TRACEBACK"):
        traceback.print_exc()
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"rankscope: this is a defect of rankscope: {type(error).__name__}: {told(error)}"
        f" ({os.path.basename(where.filename)}:{where.lineno})\n"
        "  try      RANKSCOPE_TRACEBACK=1 in front of the same command, and report what it prints"
    )


def close_quietly() -> None:
    """After a broken pipe: keep the interpreter from complaining once more when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
