"""What a known defect of a release is, and the tables of those that public threads have established."""

from __future__ import annotations

from dataclasses import dataclass

GITHUB = "https://github.com/"


@dataclass(frozen=True)
class Defect:
    """Versions from ``first`` up to, not including, ``fixed`` have it; all of ``shows`` must be in the evidence.

    Without a library the versions are part of ``shows``. ``alone`` says that its signs identify it even where nobody names
    a version, ``weak`` that other things show the same signs too.
    """

    library: str
    first: str
    fixed: str
    shows: tuple[str, ...]
    what: str
    cure: str
    thread: str = ""
    alone: bool = False
    weak: bool = False


# How people say that something does not go on.
HANGS = (
    r"\b(?:hangs?|hung|hanging|stuck|freez\w+|frozen|stall\w*|wedge[sd]?|dead-?lock\w*|lock(?:s|ed)? up|"
    r"time[sd]?[- ]?out|never (?:returns?|finish\w*|ends?|complete[sd]?)|does(?:n't| not) return|"
    r"no return(?! (?:value|code|type))|no progress|spin(?:s|ning)?)\b"
)
