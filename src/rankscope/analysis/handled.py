"""What a program is dealing with where it stands: the error whose handler it is in, as the interpreter keeps it."""

from __future__ import annotations

import errno
import os

from .standing import Standing

FULL = (errno.ENOSPC, errno.EDQUOT)


def handled(standing: Standing) -> int:
    """The system's number of the error that the deciding thread handles, 0 for none or another kind."""
    return standing.thread.errno if standing.thread is not None else 0


def refused(standing: Standing) -> bool:
    """Whether it handles an error of the system, or one that says that no thread could be made (threading.Thread.start)."""
    return handled(standing) != 0 or (standing.thread is not None and standing.thread.handles == "RuntimeError")


def in_words(standing: Standing) -> str:
    """The error in words, empty where none is being handled; ends of iterations and time limits are no errors."""
    name = standing.thread.handles if standing.thread is not None else ""
    if not name or name in ("StopIteration", "StopAsyncIteration", "GeneratorExit", "Empty", "Full"):
        return ""
    number = handled(standing)
    return f"{name} ({errno.errorcode.get(number, number)}: {os.strerror(number)})" if number else name
