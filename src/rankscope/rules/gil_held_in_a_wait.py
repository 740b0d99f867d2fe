"""A saved dump shows the holder of the interpreter lock asleep in native code.

## What it means
The thread that has the GIL waits inside an extension: for a lock, a condition, an answer, a worker thread of its own
library. No other Python thread can run meanwhile; if the wait ends only after one of them has run (a callback, a
destructor, a back end written in Python), it never ends.

## How it is recognised
py-spy marks a thread `+gil` and its innermost native frame is a wait (`futex`, `pthread_cond_wait`, `park`, `block_on`,
`join`, `recv`). Or the pasted source of an extension blocks (`block_on`, `join`, `recv`) in a function that has the GIL,
while its own tasks acquire the GIL.

## What to do
Release the GIL around the blocking call: `py.detach(…)`/`py.allow_threads(…)` (PyO3), `py::gil_scoped_release` (pybind11),
`with nogil` (Cython), `Py_BEGIN_ALLOW_THREADS`. Until then use the asynchronous entry point, or no callbacks in Python.

## How to prevent it
Every binding that may block releases the GIL first. Mechanism: https://github.com/PyO3/pyo3/issues/1305,
https://github.com/pybind/pybind11/issues/1446
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ..analysis.accounts import accounts
from ..analysis.case import Case
from ..analysis.frame_tables import Kind as Wait
from ..analysis.frames import has
from ..model.diagnosis import Finding
from ..model.evidence.stacks import Stack
from ._text import LIKELY, Hit, Sign, finding, hits, make_rule

_WAITS = re.compile(
    r"futex|cond_(?:timed|clock)?wait|mutex_lock|lll_lock|sem_(?:timed|clock)?wait|^park|::park|Parker|block_on|\bjoin\b|clockjoin|^recv|^poll$|^epoll_wait|^read$|^syscall$|ParkingLot|condition_variable|WaitFor\w+Object|psynch|ulock_wait",
)
_DEVICE = (Wait.DEVICE, Wait.COLLECTIVE, Wait.P2P, Wait.GIL, Wait.STORE, Wait.INPUT)
_BLOCKS = r"\bblock_on\(|\.join\(\)|\bjoin_all\b|\.recv\(\)|\bwait\(|blocking_recv"
_SIGNS = (
    Sign(r"Python::(?:acquire_gil|with_gil|attach)\b", "a task of an extension takes the GIL while the function that waits for it has it", also=(_BLOCKS, r"#\[py(?:function|methods)\]|\bpy: Python"), unless=(r"allow_threads|\.detach\(|release_gil",)),
    Sign(r"gil_scoped_acquire|PyGILState_Ensure\(", "a thread of an extension takes the GIL while the function that joins it has it", also=(_BLOCKS, r"std::thread|pthread_create|PYBIND11_MODULE|m\.def\("), unless=(r"gil_scoped_release|Py_BEGIN_ALLOW_THREADS|PyEval_SaveThread", r"^#\d+ ")),
)  # fmt: skip
_STEPS = (
    "py-spy dump --native --pid PID   # the thread marked +gil is the holder",
    "release the GIL around the blocking call",
)


def check(case: Case) -> Iterator[Finding]:
    found = [] if case.snapshot.live else [*_holders(case), *hits(case, _SIGNS)]
    if found:
        yield finding(RULE, case, found, "the thread that has the GIL waits in native code", _STEPS)


def _holders(case: Case) -> Iterator[Hit]:
    for account in accounts(case):
        for seen in account.seen:
            if seen.thread.holds_gil and (where := waits_natively(seen.stack)):
                yield Hit(Sign("", "the holder of the GIL stands in a wait of native code", LIKELY), account, where)
                return


def waits_natively(stack: Stack) -> str:
    """The native wait in which a stack ends, "" where it ends in Python or in a wait for devices or ranks."""
    inner = list(reversed(stack[-4:]))
    if not inner or inner[0].library is None or any(has(stack, kind) is not None for kind in _DEVICE):
        return ""
    native = [frame for frame in inner if frame.library is not None]
    found = next((frame for frame in native if _WAITS.search(frame.function)), None)
    return f"{found.function} ({found.library})" if found else ""


RULE = make_rule(__name__, __doc__, "gil-deadlock", 31, check)
