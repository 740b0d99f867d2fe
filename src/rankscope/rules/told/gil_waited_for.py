"""A thread waits for the interpreter lock (GIL) while its holder waits for that thread, or never lets go.

## What it means
Native code took a lock of its own (the driver's, the allocator's, an RPC library's) and then wants the GIL for a Python callback or to
free a Python object; the thread that has the GIL is in a native call that wants that lock. Or a thread polls without letting the GIL go,
and the background thread that would finish the work cannot run.

## How it is recognised
`take_gil`, `PyGILState_Ensure`, `PyEval_AcquireThread` or `gil_scoped_acquire` above (inside) a native frame of another library; `Waiting for
the GIL` in `py-bt`; another thread in a native lock or with the GIL inside a native call. In logs: `Could not acquire GIL within 300 ms on
exit`, or a watchdog that got stuck.
Where gdb shows that nobody has it (`gil.locked` is 0), a wake-up got lost.
Where the dump shows the holder, with its native frames, at a line of Python, it runs, and lets go when another asks.
A worker that was just forked or respawned takes the GIL that none of its threads can let go.

## What to do
`py-spy dump --native` or `rankscope stacks --native` on that rank: who holds the GIL, in which call. Release the GIL around blocking native
calls (`Py_BEGIN_ALLOW_THREADS`, `py::call_guard<py::gil_scoped_release>`); no Python callbacks from native threads that hold a lock;
update the binding that is named.

## How to prevent it
Bindings that never call Python under their own lock.
Cases: https://github.com/pytorch/pytorch/issues/97833, https://github.com/rapidsai/ucx-py/issues/187, https://github.com/horovod/horovod/issues/3352
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding
from ._outcomes import cured_by
from ._signs import POSSIBLE, Sign, hits
from ._wordings import HALTS

_WANT = (
    r"(?:take_gil|PyGILState_Ensure|PyEval_AcquireThread|PyEval_AcquireLock|PyEval_RestoreThread|"
    r"_PyThreadState_Attach|gil_scoped_acquire|PyThreadState_Acquire|__pyx_gilstate_ensure)"
)
_FOREIGN = (
    r"(?:cu[A-Z]\w+|cuda\w+|c10::|c10d::|torch::|at::|std::|ucp_|uct_|grpc|absl::|horovod|ffi_\w+|nccl\w+|MPI_\w+|"
    r"PMPI|omp_|tbb|boost::|pybind11::|rmm::|arrow::|gloo::|tensorpipe|_M_dispose|ompi_|Napi|jni|PyInit|dlopen|_dl_)"
)
# Where a server written in another language makes a new worker of itself.
_REBORN = r"(?:\b\w*(?:respawn|fork_?child|after_?fork|post_?fork|master_fixup|spawn_worker)\w*|__(?:libc_)?fork)\b"
_SIGNS = (
    Sign(rf"{_WANT}[^\n]*\n(?:[^\n]+\n){{0,4}}?[^\n]*{_FOREIGN}", "native code waits for the GIL inside another library"),
    Sign(rf"{_WANT}[^\n]*\n(?:[^\n]+\n){{0,4}}?[^\n]*{_REBORN}", "a child that was just forked takes the GIL, and none of its threads can let it go"),
    Sign(r"PyGILState_Ensure|gil_scoped_acquire|PyEval_AcquireThread", "a native callback waits for the GIL", also=(r"cond_timedwait|take_gil|cond_wait|futex|sem_wait|PyThread_acquire_lock",)),
    Sign(rf"{_WANT}|\bwaits? for (?:the )?(?:GIL|interpreter lock)|\bPyGIL", "a thread wants the GIL whose holder waits", anywhere=(r"\b(?:holds?|holding|with|has|keeps|owns|owner of|under)\b[^\n]{0,16}\b(?:GIL|interpreter lock)\b|\+gil\b",), unless=(r"\bfork(?:ed)?[_ ]child",)),
    Sign(r"PyThread_acquire_lock[^\n]*\n[^\n]*\b(?:tstate_delete_common|_?PyThreadState_Delete\w*)\b", "a thread that ends waits with the GIL for the interpreter's list of threads", anywhere=(r"\b_current_frames\b|_PyThread_CurrentFrames", rf"{_WANT}|\bwaits? for the GIL"), unless=(r"\bfork(?:ed)?[_ ]child",)),
    Sign(rf"{_WANT}", "a thread wants the GIL that somebody keeps while it joins or destroys", anywhere=(r"(?:std::(?:__1::)?thread::join|pthread_join|pthread_clockjoin_ex|pthread_timedjoin|~\w+)[^\n]*\n(?:[^\n]+\n){0,16}?[^\n]*(?:subtype_dealloc|dealloc|_Py_DECREF|_Py_Dealloc|PyObject_\w+|_PyEval\w+|\w+\.py|pybind11)",)),
    Sign(rf"{_WANT}", "a thread wants the GIL, and another stands in a native lock", anywhere=(r"(?:pthread_mutex_lock|__lll_lock_wait|Mutex::[Ll]ock|Monitor::lock|std::mutex::lock|Q(?:Recursive)?Mutex::lock|CriticalSection|rwlock_\w+lock|SpinLock)[^\n]*\n(?:[^\n]+\n){0,24}?[^\n]*(?:_PyEval|PyObject_|_PyObject|PyCFunction|_wrap_|\w+\.py|pybind11|cython|__pyx|cfunction|method_vectorcall|jpype)",)),
    Sign(cured_by(r"ctypes\.CDLL|\bCDLL\b|\bnogil\b|(?<!::)gil_scoped_release|Py_BEGIN_ALLOW_THREADS|releas\w+ the (?:GIL|interpreter lock)|PYTHON_GIL ?= ?0|-X gil=0|without (?:holding )?the GIL"), "it works when the GIL is let go", prose=True),
    Sign(rf"(?:{_WANT}|\b(?:takes|wants|acquires|needs) the GIL)[^\n]{{0,60}}\b(?:while|when|with|and)\b[^\n]{{0,20}}\b(?:holds?|holding|owns?|under)\b[^\n]{{0,40}}(?:lock|mutex)|\b(?:holds?|holding|under)\b[^\n]{{0,40}}(?:lock|mutex)[^\n]{{0,60}}{_WANT}", "the GIL is wanted under another lock", unless=(r"\bfork(?:ed)?[_ ]child",)),
    Sign(r"\+gil\b[^\n]{0,60}\b(?:zero|no|0 ?%)[^\n]{0,8}CPU|\bGIL\b[^\n]{0,60}\b(?:zero|no|0 ?%)[^\n]{0,8}CPU", "a thread that does not run keeps the GIL", prose=True),
    Sign(r"\b(?:all|other|every|no other)\b (?:of the |the )?(?:other )?(?:python )?threads?\b[^\n]{0,40}\b(?:stops?|freez\w+|frozen|stand still|do(?:es)? not run|don't run|cannot run|runs|starv\w+)\b[^\n]{0,60}\b(?:while|during|until|as long as|when|at once|together|also|too)\b",
         "no thread of the interpreter runs while one is in native code", POSSIBLE, anywhere=(r"\bC\+\+(?!\w)|\b(?:extension|native|binding|ctrl-?c|py-spy|gdb|library|heartbeat)\b",), unless=(r"\bfork(?:ed)?\b|stopped by|SIGSTOP|TracerPid",), prose=True),
    Sign(r"\b(?:callback|hook|handler)\b[^\n]{0,60}\bPython\b[^\n]{0,60}\bnever (?:runs?|(?:is )?(?:called|invoked|entered|executed))", "a callback in Python never gets the interpreter", anywhere=(r"\+gil\b|\bholds? the GIL\b|[Ss]ynchronize",), unless=(r"\bfork(?:ed)?\b",), prose=True),
    Sign(r"possible GIL[- ]induced hang|GIL[- ]induced|GIL (?:checker|deadlock)", "the program itself suspects the GIL"),
    Sign(r"Waiting for the GIL", "the interpreter says that a thread waits for the GIL", also=(r"mutex_lock|cuda|malloc|rpc|nccl|allocator|c10|synchronize",)),
    Sign(r"\b(?:wait(?:s|ing|ed)?|block(?:s|ed)?|stuck|want(?:s)?|need(?:s)?|acquir\w+|re-?acquir\w+|tak\w+|asks?|ask(?:ed|ing))\b[^\n]{0,40}\b(?:the |for the |to get the )?(?:GIL|interpreter lock)\b", "a thread waits for the GIL",
         anywhere=(r"(?:hold\w*|keep\w*|own\w*|held|has|owns)\b[^\n]{0,30}\b(?:GIL|interpreter lock)\b|\b(?:GIL|interpreter lock)\b[^\n]{0,40}(?:held|holder|owner|not released)|active\+gil|without releasing|\bwait(?:s|ing)? for (?:an? |the |that )?(?:\w+ ){0,2}(?:mutex|lock\b)",), prose=True),
    Sign(r"\b(?:GIL|interpreter lock)\b[^\n]{0,60}(?:deadlock|held (?:by|while|in|during)|not released|never released|without releas\w+)|without releasing the (?:GIL|interpreter lock)|hold(?:s|ing) the (?:GIL|interpreter lock)|keep(?:s|ing) the (?:GIL|interpreter lock)\b[^\n]{0,20}\b(?:for|during|while|throughout)\b", "the GIL is held by a thread that waits", prose=True),
    Sign(r"Could not acquire GIL within", "a rank could not take the GIL when it was asked to end"),
    Sign(r"\(idle\+gil\)|idle\+gil", "a thread that does not run keeps the GIL"),
    # CPython asks for the GIL again after each interval of 5 ms (sys.getswitchinterval).
    Sign(r"^[^\n]*futex\([^\n]*FUTEX_WAIT[^\n]* = -1 ETIMEDOUT[^\n]*\n(?:[^\n]*\n){0,6}?[^\n]*futex\([^\n]*FUTEX_WAIT[^\n]* = -1 ETIMEDOUT", "a thread asks for the GIL again and again", anywhere=(r"\+gil\b",), also=(r"\b(?:recvfrom|recvmsg|read|poll|ppoll|select|accept4?|connect|ioctl|wait4)\([^\n]*(?:unfinished|$)",)),
    Sign(r"^GIL: (?:9\d|100)(?:\.\d+)?%", "one thread keeps the GIL", POSSIBLE, anywhere=(HALTS,)),
    Sign(r"watchdog got stuck for \d+ ?seconds", "the watchdog thread itself stands still", POSSIBLE),
    Sign(r"pthread_mutex_lock[^\n]*\n[^\n]*(?:CachingAllocator|cuda\w+|cu[A-Z]\w+)", "a thread waits for a lock of the driver or allocator", POSSIBLE, anywhere=(_WANT,)),
    Sign(rf"{_WANT} ?(?:->|→|<-|←|<|=>) ?\S|(?:->|→|<-|←|=>) ?\S*{_WANT}", "native code waits for the GIL inside another library", anywhere=(HALTS,)),
    Sign(rf"{_WANT}", "a thread waits for the GIL", POSSIBLE, also=(r"hang|stuck|deadlock|mutex|freez",)),
)  # fmt: skip

_STEPS = (
    "rankscope stacks pid:PID --native",
    "py-spy dump --native --pid PID   # the thread marked +gil is the holder",
)


# What gdb prints of the lock itself (Python/ceval_gil.h), and what people say of py-spy's mark.
_FREE = r"\bgil\.locked\b[^\n]*\n[^\n]*= (?:\{_value = )?0\b|\b(?:no|none of the) threads? (?:is |has |holds )?(?:marked )?\W?\+?gil\b"


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS, live_stacks=True))
    if found and not _holders_run(case) and not any(one.find(_FREE) for one in accounts(case)):
        yield finding(RULE, case, found, "a thread waits for the GIL, and its holder waits for that thread", _STEPS)


def _holders_run(case: Case) -> bool:
    """Whether every thread that is shown to have the GIL is at a line of Python: who evaluates lets it go when another asks."""
    holders = [seen for one in accounts(case) for seen in one.seen if seen.native and seen.thread.holds_gil]
    return bool(holders) and all(seen.stack and seen.stack[-1].library is None for seen in holders)


RULE = make_rule(__name__, __doc__, "gil-deadlock", 31, check)
