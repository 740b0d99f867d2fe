"""Worker processes run the main program again, or do not find in it what they are told to run, and end before they begin.

## What it means
With `spawn` and `forkserver` (the default from Python 3.14 on) a child imports the main program of its parent. Where that starts processes itself,
outside of `if __name__ == "__main__":`, the child fails at once. A function that was typed into a notebook or a prompt is in no module that a
child could import. A pool makes new workers without end, which fail alike; whoever waits for a result, or for the first word of the child, waits for ever.

## How it is recognised
`An attempt has been made to start a new process before the current process has finished its bootstrapping phase`; `Can't get attribute 'f' on
<module '__main__'`; a traceback that begins in `spawn_main` and fails in `_fixup_main_from_path`, or in what it imports.

## What to do
Put what the script starts below `if __name__ == "__main__":`, and functions for workers into a module of their own.
In a notebook: a module beside it, or a library that sends functions by value (loky, cloudpickle).

## How to prevent it
Scripts that can be imported without doing anything; `concurrent.futures`, which raises BrokenProcessPool in place of waiting.

## Links
https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding
from ._signs import POSSIBLE, Sign, hits

_SIGNS = (
    Sign(r"\bcurrent process has finished its bootstrapping phase\b", "a child runs the main program, which starts processes itself"),
    Sign(r"AttributeError: Can't get attribute '\w+' on <module '__(?:mp_)?main__'", "a child does not find in the main program what it is told to run"),
    Sign(r", in _fixup_main_from_(?:path|name)$", "a child fails in the main program, which it runs again", POSSIBLE, also=(r", in spawn_main$|, in _serve_one$",)),
)  # fmt: skip
_STEPS = (
    'if __name__ == "__main__":   # around what the script starts',
    "python -c 'import SCRIPT'   # must do nothing and raise nothing: so each worker begins",
)


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(
            RULE, case, found, "worker processes end before they begin: they run the main program again", _STEPS
        )


RULE = make_rule(__name__, __doc__, "child-dead", 36, check)
