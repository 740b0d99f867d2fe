"""A forked child stands in a library that works with threads of its own, and those stayed in the parent.

## What it means
OpenMP, BLAS, TBB, rayon and tokio (Polars, tokenizers, Lance), gRPC, Arrow, OpenCV, TensorFlow, JAX, onnxruntime, Kafka and AWS clients, the JVM
and Go runtimes hand their work to threads. `fork` copies their books but not their threads: the child puts its work into a queue that nobody
empties, or waits at a barrier to which nobody comes.

## How it is recognised
The native stack of a child ends in a wait (futex, condition, semaphore, spin) and a few frames further out stands one of these libraries, and no
thread of that library is seen in the child; that it is one its frames tell, its name, or a table of processes. Or `ps` shows a child with the
command line of its parent, one thread, asleep on a futex, and the parent with many threads waiting for it.

## What to do
`multiprocessing.set_start_method("spawn")` or `"forkserver"`; open the library in the worker, after the fork; one thread for the library that
is named: `OMP_NUM_THREADS=1`, `OPENBLAS_NUM_THREADS=1`, `TOKENIZERS_PARALLELISM=false`, `cv2.setNumThreads(0)`, `GRPC_ENABLE_FORK_SUPPORT=1`,
`torch.set_num_threads(1)`, `MKL_THREADING_LAYER=GNU`.

## How to prevent it
Nothing that starts threads before the workers are made. Mechanism: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=58378,
https://github.com/gperftools/gperftools/issues/932, https://github.com/pynbody/tangos/issues/281
"""

# ruff: noqa: E501  (a list of names is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts, written
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import has, kind_of
from ...model.diagnosis import Finding
from ...model.evidence.events import Event
from ...model.evidence.stacks import Frame, Stack
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._forks import CHILD_FRAMES, FRESH_FRAMES, is_child
from ._lines import events
from ._signs import LIKELY, Hit, Sign
from ._threaded_libraries import LIBRARIES

# Where a thread sleeps or spins, whatever for.
_ASLEEP = regex(
    r"^(?:.*(?:futex|lll_lock|mutex|cond_\w*wait|sem_\w*wait|Semaphore\w*|sched_yield|nanosleep|psynch|ulock|"
    r"semaphore|rwlock|once_slow|guard_acquire|spin|Spin|barrier|Barrier|_wait\b|Wait\w*|park|Park|Notification|"
    r"Block\w*|latch|usleep|thr_yield).*|syscall|do_wait|do_spin|__lock|__timedwait\w*|wait\w*|__internal_atexit|"
    r"__new_exitfn|__cxa_atexit|arena_get2\S*|_dl_add_to_namespace_list|__tz_convert|ptmalloc_lock_all|tcache_init\S*|"
    r"_IO_(?:lock|flock)\w*|runtime\.(?:futex|gopark|notesleep).*)$",
    re.IGNORECASE,
)
_RANK_WAITS = (
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
    WaitKind.DEVICE,
    WaitKind.RENDEZVOUS,
    WaitKind.STORE,
    WaitKind.GIL,
    WaitKind.CHILD,
)
_FRESH = FRESH_FRAMES + r"|\bspawned\b|\bspawn\b[^\n]{0,20}(?:context|method|process|worker)"
_FORKED = r"\bos\.fork\b|\bfork\(\)|\bfork(?:ed|s)\b"
_DEPTH = 24
# Frames of the interpreter: what lies further out called the library, and is not part of it.
_PYTHON = regex(
    r"^_?Py(?:Eval|Function|Object|CFunction|Vectorcall|Dict|List)_?\w*|^(?:cfunction|method|function)_\w*call\w*|"
    r"^call_function$|^slot_\w+"
)
_THREAD_OF_A_LIBRARY = regex(
    r"^(?:start_thread|clone3?|__clone3?|_pthread_start|thread_start|execute_native_thread_routine)\b"
)
_STEPS = (
    "multiprocessing.set_start_method('spawn')   # or 'forkserver'",
    "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false …   # to confirm",
)
_TITLE = "a forked child waits in a library whose threads stayed in its parent"


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return  # there the locks' owners and the threads themselves are known
    found = [*_in_libraries(case), *_copies_asleep(case)]
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


def _in_libraries(case: Case) -> Iterator[Hit]:
    forks = any(one.find(CHILD_FRAMES + r"|\bfork|DataLoader|ProcessPool|multiprocessing") for one in accounts(case))
    for account in accounts(case):
        forked = is_child(account, forks) or _lonely(case, account) or _is_copy(case, account)
        if not forked or account.find(_FRESH):
            continue
        if _several_at_work(case, account):
            continue
        for stack in account.stacks:
            name = library_waited_in(stack)
            if name and not _has_helpers(account):
                yield Hit(Sign("", f"a child waits inside {name}"), account, written(stack).split("\n", 1)[0])
                break


def _lonely(case: Case, account: Account) -> bool:
    """Whether it has but one thread, and somebody says that a process of the case was forked."""
    one = account.find(r"\b(?:one|single|1|only one) thread\b|\bThreads:\s*1\b")
    return bool(one) and any(other.find(_FORKED, prose=True) for other in accounts(case))


def _several_at_work(case: Case, account: Account) -> bool:
    """Whether its process uses more than one processor: then the threads of its library are there, and at work."""
    mine = {ref.pid for ref in account.refs if ref.numbered}
    used = [event.fields.get("cpu") for event in events(case, "proc.row") if event.pid in mine]
    return any(isinstance(cpu, float | int) and cpu > _ONE_THREAD for cpu in used)


_ONE_THREAD = 130.0  # percent of a processor, as top and ps tell: they round, and look at moments that differ


def library_waited_in(stack: Stack) -> str:
    """The library with threads in which a native stack sleeps, "" where there is none or the wait is for another rank."""
    inner = _of_the_library(stack)
    if not inner or any(has(stack, kind) is not None for kind in _RANK_WAITS):
        return ""
    if not any(_ASLEEP.match(frame.function) or _in_openmp(frame) for frame in inner[:5]) or any(
        kind_of(one) is WaitKind.IDLE for one in inner
    ):
        return ""
    bare = [frame.function.removeprefix("__GI_") for frame in inner]
    names = [f"{name} ({frame.library})" if frame.library else name for name, frame in zip(bare, inner)]
    return next((name for name, pattern in LIBRARIES if any(pattern.search(one) for one in names)), "")


# Builds without symbols show addresses; a team of OpenMP that misses a thread waits in them for ever.
_OPENMP = regex(r"lib(?:gomp|iomp5?|omp)\b")


def _in_openmp(frame: Frame) -> bool:
    return frame.function.startswith("0x") and _OPENMP.search(f"{frame.library} {frame.file}") is not None


def _of_the_library(stack: Stack) -> list[Frame]:
    """The innermost frames, up to those of the interpreter that called them; none of a thread that a library started."""
    inner: list[Frame] = []
    for frame in reversed(stack):
        if _python(frame) or len(inner) == _DEPTH:
            return inner
        if _THREAD_OF_A_LIBRARY.match(frame.function):
            return []
        inner.append(frame)
    return inner


def _python(frame: Frame) -> bool:
    return (
        bool(frame.file)
        and frame.library is None
        and not frame.file.endswith((".c", ".cc", ".cpp", ".h", ".hpp", ".rs", ".S"))
    ) or bool(_PYTHON.match(frame.function))


def _has_helpers(account: Account) -> bool:
    """Whether the child has threads of its own that may do the work: then they did not stay behind."""
    return any(has(stack, WaitKind.IDLE) is not None and not any(map(_python, stack)) for stack in account.stacks)


def _is_copy(case: Case, account: Account) -> bool:
    """Whether a table of processes shows that it is a copy of its parent, which has threads that it has not."""
    pids = {ref.pid for ref in account.refs}
    return any(row.pid in pids for row, _ in _copies(case))


def _copies(case: Case) -> Iterator[tuple[Event, Event]]:
    """Rows of ``ps``: children with their parent's command line and one thread, and the parents, which have more."""
    rows = {event.pid: event for event in events(case, "proc.row") if event.pid is not None}
    for row in rows.values():
        parent = rows.get(int(str(row.fields.get("ppid") or 0)))
        # Workers without work sleep so, too: the threads must be told, and that only the parent has several.
        lonely = row.fields.get("threads") == 1 and parent is not None and parent.fields.get("threads", 1) != 1
        if parent is not None and lonely and str(row.fields.get("command")) == str(parent.fields.get("command")):
            yield row, parent


def _copies_asleep(case: Case) -> Iterator[Hit]:
    """A child with its parent's command line and one thread, asleep on a futex, waited for by its parent."""
    for row, _ in _copies(case):
        asleep = str(row.fields.get("wchan", "")).startswith("futex") and str(row.fields.get("state"))[:1] == "S"
        account = next((one for one in accounts(case) if row in one.events), None) if asleep else None
        if account is not None:
            yield Hit(Sign("", "a copy of its parent with one thread sleeps on a futex", LIKELY), account, row.text)
            return


RULE = make_rule(__name__, __doc__, "fork-with-threads", 30, check)
