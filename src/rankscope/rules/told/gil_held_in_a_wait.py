"""A saved dump shows the holder of the interpreter lock asleep in native code.

## What it means
The thread that has the GIL waits inside an extension: for a lock, a condition, an answer, a worker thread of its own
library. No other Python thread can run meanwhile; if the wait ends only after one of them has run (a callback, a
destructor, a back end written in Python), it never ends.

## How it is recognised
py-spy marks a thread `+gil` and its innermost native frame is a wait (`futex`, `pthread_cond_wait`, `park`, `block_on`,
`join`, `recv`). Or a debugger shows all threads: one wants the GIL, none runs, and one waits in an extension. Or the pasted source of an extension blocks (`block_on`, `join`, `recv`) in a function that has the GIL,
while its own tasks acquire the GIL; or a C++ destructor that Python calls, since it lets an object of boost.python or pybind11 go, waits for a lock; or runs PyTorch's backward pass there, whose threads do (later releases refuse to).

## What to do
Release the GIL around the blocking call: `py.detach(…)`/`py.allow_threads(…)` (PyO3), `py::gil_scoped_release` (pybind11),
`with nogil` (Cython), `Py_BEGIN_ALLOW_THREADS`. Until then use the asynchronous entry point, or no callbacks in Python.

## How to prevent it
Every binding that may block releases the GIL first. Mechanism: https://github.com/PyO3/pyo3/issues/1305,
https://github.com/pybind/pybind11/issues/1446
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import has, kind_of
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Frame, Stack
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS

_WAITS = regex(
    r"futex|cond_(?:timed|clock)?wait|mutex_lock|lll_lock|sem_(?:timed|clock)?wait|^park|::park|Parker|block_on|"
    r"\bjoin\b|clockjoin|^recv|^poll$|^epoll_wait|^read$|^syscall$|ParkingLot|condition_variable|WaitFor\w+Object|"
    r"psynch|ulock_wait",
)
_DEVICE = (WaitKind.DEVICE, WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.GIL, WaitKind.STORE, WaitKind.INPUT)
_BLOCKS = r"\bblock_on\(|\.join\(\)|\bjoin_all\b|\.recv\(\)|\bwait\(|blocking_recv"
_SIGNS = (
    Sign(r"Python::(?:acquire_gil|with_gil|attach)\b", "a task of an extension takes the GIL while the function that waits for it has it", also=(_BLOCKS, r"#\[py(?:function|methods)\]|\bpy: Python"), unless=(r"allow_threads|\.detach\(|release_gil",)),
    # ctypes: functions of a PyDLL are called with the GIL, those of a CDLL without.
    Sign(r"\bctypes\.PyDLL\(|(?<![\w.])PyDLL\([\"'\w]|\bpydll\.LoadLibrary\(", "functions of a library are called with the GIL (PyDLL)", anywhere=(HALTS + r"|\+gil\b|unfinished",)),
    # The engine's threads take the GIL when they start, and for nodes and hooks in Python; since 1.5 it refuses: pytorch/pytorch#32295.
    Sign(r"\.backward\(|\b(?:torch::)?autograd::(?:backward|grad)\(", "an extension runs the backward pass while the function that Python called has the GIL", also=(r"PYBIND11_MODULE|\bm\.def\(|TORCH_EXTENSION_NAME",), anywhere=(HALTS,), unless=(r"gil_scoped_release|Py_BEGIN_ALLOW_THREADS|PyEval_SaveThread|AutoNoGIL|without_gil", r"^#\d+ ", r"TORCH_LIBRARY")),
    Sign(r"The autograd engine (?:was|is) called while holding the GIL", "the engine refuses to run the backward pass for a caller that has the GIL"),
    Sign(r"gil_scoped_acquire|PyGILState_Ensure\(", "a thread of an extension takes the GIL while the function that joins it has it", also=(_BLOCKS, r"std::thread|pthread_create|PYBIND11_MODULE|m\.def\("), unless=(r"gil_scoped_release|Py_BEGIN_ALLOW_THREADS|PyEval_SaveThread", r"^#\d+ ")),
)  # fmt: skip
_STEPS = (
    "py-spy dump --native --pid PID   # the thread marked +gil is the holder",
    "release the GIL around the blocking call",
)


def check(case: Case) -> Iterator[Finding]:
    found = [] if case.snapshot.live else [*_holders(case), *_unmarked(case), *_destructors(case), *hits(case, _SIGNS)]
    if found:
        yield finding(RULE, case, found, "the thread that has the GIL waits in native code", _STEPS)


def _holders(case: Case) -> Iterator[Hit]:
    for account in accounts(case):
        for seen in account.seen:
            if seen.thread.holds_gil and (where := waits_natively(seen.stack)):
                yield Hit(Sign("", "the holder of the GIL stands in a wait of native code", LIKELY), account, where)
                return


def _unmarked(case: Case) -> Iterator[Hit]:
    """A dump of all threads of a process, of which one wants the GIL and none runs: who waits in an extension has it."""
    for account in accounts(case):
        for moment in {seen.moment for seen in account.seen}:
            stacks = [seen.stack for seen in account.seen if seen.native and seen.moment == moment and seen.stack]
            wanting = [stack for stack in stacks if any(kind_of(frame) is WaitKind.GIL for frame in stack[-7:])]
            others = [stack for stack in stacks if stack not in wanting]
            where = [_extension(stack) for stack in others]
            if wanting and any(where) and not any(map(_runs, others)):
                says = "a thread wants the GIL, none runs Python, and one waits in native code of an extension"
                yield Hit(Sign("", says, LIKELY), account, next(filter(None, where)))
                return


# Who lets go of an object for Python: the interpreter itself, and what holds it for boost.python, pybind11, nanobind, SIP, SWIG.
_LETS_OBJECT_GO = regex(
    r"^_?Py_?Dealloc|^subtype_dealloc|\bboost(?:::|/)python\b|pybind11(?:::|_object_dealloc|/)|nanobind|"
    r"^(?:sip\w*_dealloc|SwigPyObject_dealloc|Shiboken::\w+|SbkDeallocWrapper)"
)
_DESTROYS = regex(r"(?:^|::)~\w+(?:\(|<|$)")
_INNERMOST, _OUTERMOST = 6, 40  # frames: a wait in what a destructor calls, and who called the destructor


def _destructors(case: Case) -> Iterator[Hit]:
    """A destructor that Python calls, since it lets go of an object, waits: nothing on this way has let the GIL go."""
    for account in accounts(case):
        halts = account.find(HALTS, prose=True)
        for seen in account.seen:
            inner = list(reversed(seen.stack)) if seen.native else []
            waits = next((frame for frame in inner[:_INNERMOST] if kind_of(frame) in _IN_LOCK), None)
            at = next((at for at, frame in enumerate(inner) if _DESTROYS.search(frame.function)), None)
            if waits is None or at is None or at > 2 * _INNERMOST:
                continue
            freed = inner[at:_OUTERMOST]
            if any(_LETS_OBJECT_GO.search(frame.function) or _BINDINGS.search(frame.file) for frame in freed):
                says = (
                    f"a destructor ({inner[at].function}) that Python calls waits in {waits.function}, and has the GIL"
                )
                yield Hit(Sign("", says, LIKELY if halts else POSSIBLE), account, inner[at].function)
                return


_IN_LOCK = (WaitKind.CONDITION, WaitKind.LOCK)
_BINDINGS = regex(r"/(?:boost/python|pybind11|nanobind)/")


# The interpreter's own functions, which call extensions; and those of its modules, which let the GIL go before they wait.
_INTERPRETER = regex(
    r"^_?Py(?!Init_)\w*(?:Eval|Object|Function|CFunction|Method|Vectorcall|_Dealloc|Run|Import)\w*|"
    r"^(?:cfunction_|method_vectorcall|slot_tp_|subtype_dealloc|dict_dealloc|object_vacall|vectorcall_|"
    r"pybind11_object_dealloc|builtin_)"
)
_LETS_GO = regex(
    r"^(?:lock_PyThread|acquire_timed|rlock_|time_sleep|pysleep|select_|sock_|os_|posix_|_io_|fileio|"
    r"_Py_(?:read|write)|socket_|faulthandler|_queue_|semlock|thread_PyThread|PyThread_acquire)"
)
_ASLEEP = (
    WaitKind.CONDITION,
    WaitKind.LOCK,
    WaitKind.CHILD,
    WaitKind.SOCKET,
    WaitKind.DEVICE,
    WaitKind.PIPE,
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
)


def _inner(stack: Stack) -> Sequence[Frame] | None:
    """The native frames deeper than the interpreter's last one, None where the stack has none of it."""
    for at in range(len(stack) - 1, -1, -1):
        if _INTERPRETER.search(stack[at].function) or stack[at].library is None:
            return stack[at + 1 :]
    return None


def _extension(stack: Stack) -> str:
    """Where an extension waits below the interpreter, "" where it does not, or the interpreter has let the GIL go."""
    inner = _inner(stack)
    if not inner or any(_LETS_GO.search(frame.function) or kind_of(frame) is WaitKind.GIL for frame in inner):
        return ""
    asleep = next((frame for frame in reversed(inner) if kind_of(frame) in _ASLEEP), None)
    own = next((frame for frame in inner if kind_of(frame) is None), None)
    return f"{asleep.function} in {own.function}" if asleep and own else ""


def _runs(stack: Stack) -> bool:
    """Whether a thread may have the GIL because it runs: it is below the interpreter and in no wait that is known."""
    inner = _inner(stack)
    return inner is not None and not any(
        kind_of(frame) is not None or _LETS_GO.search(frame.function) for frame in inner
    )


def waits_natively(stack: Stack) -> str:
    """The native wait in which a stack ends, "" where it ends in Python or in a wait for devices or ranks."""
    inner = list(reversed(stack[-4:]))
    if not inner or inner[0].library is None or any(has(stack, kind) is not None for kind in _DEVICE):
        return ""
    native = [frame for frame in inner if frame.library is not None]
    found = next((frame for frame in native if _WAITS.search(frame.function)), None)
    return f"{found.function} ({found.library})" if found else ""


RULE = make_rule(__name__, __doc__, "gil-deadlock", 31, check)
