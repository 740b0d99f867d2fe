"""A thread takes a lock that it holds already, or two threads hold what the other wants.

## What it means
A finalizer, a weak-reference callback or a signal handler ran in the middle of code that held a lock, and called code that takes the same lock.
Or two threads take two locks in opposite order. Nobody can go on.

## How it is recognised
One stack shows the same function twice with the collector, `weakref` or `__del__` in between (`Garbage-collecting` in faulthandler output); a
`<signal handler called>` above a lock; two threads of a process in a lock, each below a frame that holds the other's.
A weak reference's callback (`weakref_cb`) that waits for a lock. A callback of the collector (`gc.callbacks`) that calls back into the
file whose code it interrupted. A function of the standard library that holds a plain lock (`put` of a queue, `Event.set`, `submit` of an
executor) twice in one stack, at whose second entry the stack ends, whatever ran in between. Two threads of one dump that wait in each other's code: one came from class or file A and
waits in B, the other came from B and waits in A. A stack that ends in `__get__` of `functools.cached_property`, which has a lock of its own
before Python 3.12; one that waits below a line which takes two locks. `Resource deadlock avoided` (EDEADLK), by which the system says that a wait would close a circle.

## What to do
`py-spy dump --locals --native` shows both. Re-entrant lock (`RLock`), or no lock in finalizers and handlers: put the object on a queue that the
normal path empties. Keep one order of locks. `gc.disable()` around the critical part proves it.

## How to prevent it
`__del__`, `weakref` callbacks and signal handlers only set a flag. Cases: https://github.com/getappmap/appmap-python/issues/333,
https://github.com/ray-project/ray/issues/25115
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts, written
from ...analysis.case import Case
from ...analysis.crossed import crossing
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import kind_of, wait_of
from ...analysis.identity import name_of
from ...analysis.origin import Origin, origin
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Frame, Stack
from ...model.patterns import regex
from ...model.repeated import of_stacks
from .. import make_rule
from ._findings import finding
from ._outcomes import cured_by
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS

_HANDLER = regex(
    r"^_?handler$|^sig(?:term|int|hup|break|chld|usr\d|quit|alrm)\w*$|sig(?:nal)?_?handler|"
    r"handle_?(?:sig|term|int\b|usr|shutdown|stop|exit|quit|alarm|child|reload)|"
    r"(?:graceful_|_)?(?:shutdown|stop|exit|quit|terminate)_handler|on_(?:term|int|shutdown|exit|alarm)|"
    r"on_(?:signal|sig)|_signal$",
    re.IGNORECASE,
)
_STEPS = ("py-spy dump --locals --native --pid PID", "python -X faulthandler …; kill -ABRT PID")
_LOCK = r"(?:with (?:self\.)?\w*lock|\.acquire\(|acquire \(|_lock\b|mutex|Lock\b|(?<![bc])lock_\w+)"
# Where a thread waits for a mutex, and the frames in which Python runs code between two steps of other code.
_LEAF = (
    r"(?:acquire \((?:threading|logging|_thread|[^\n]*/logging/)|(?:acquire|__enter__) \(|wait for lock|"
    r"(?:\w+::)*Mutex::Lock|lock_PyThread_acquire_lock|PyThread_acquire_lock\w*|__lll_lock_wait\w*|"
    r"(?:___?|__GI_+)?pthread_mutex_lock|(?:___?|__GI_+)?pthread_rwlock_(?:wr|rd)lock|\S*Mutex::lock_contended|"
    r"std::mutex::lock|acquire_timed|sem_(?:timed|clock)?wait\w*|absl::\S*Mutex::Lock|parking_lot::\S+|_PyMutex_LockTimed)"
)
_FINALIZER = (
    r"(?:\b__del__\b|\b__dealloc__\b|weakref\.py|_weakref|handle_weakrefs|handle_callback|PyObject_ClearWeakRefs|"
    r"slot_tp_finalize|PyObject_CallFinalizer\w*|invoke_gc_callback|"
    r"collect_with_callback|collect_generations|gc_collect_\w+|finalize_garbage|delete_garbage|\b\w*weakref_?(?:cb|callback)\b|\(garbage collect\w*\)|Garbage-collecting|<signal handler called>|local_dealloc|_removeHandlerRef)"
)
_SIGNS = (
    # Below a line that takes two locks somebody waits for one of them: where that is the second, it has the first.
    Sign(r"^\W{0,12}(?:async )?with (?=[\w.]{0,80}(?:lock|mutex))[\w.]{1,80}, ?(?=[\w.]{0,80}(?:lock|mutex))[\w.]{1,80} ?:\W{0,3}\n(?:[^\n]*\n){0,2}?[^\n]*(?:\bin (?:__enter__|acquire)\b|\b(?:__enter__|acquire) \()", "a thread waits in a line that takes two locks, of which it may hold the first", POSSIBLE, unless=(r"\bfork(?:ed|s|ing)?\b",)),
    # Until Python 3.12 functools.cached_property takes a lock for all instances while it computes (bpo-43468): innermost, it waits for it.
    Sign(r"(?<=\n\n)__get__ \((?:[^\n]*/)?functools\.py:\d+\)\n", "a thread waits for the lock of a cached_property, inside of which another one takes a lock", anywhere=(HALTS, r"@with_\w*|\bwith [\w.]{0,80}lock\b|[Ll]ock\.acquire\(|\bRLock\b|^(?:__enter__|acquire) \("), unless=(r"\bfork(?:ed|s|ing)?\b",)),
    # loguru/_handler.py tells of it by itself, where its lock is taken again below its own sink.
    Sign(r"Could not acquire internal lock because it was already in use \(deadlock avoided\)", "the library says that its lock is taken again by the thread that holds it"),
    Sign(r"\b(?:each|both|two)\b[^\n]{0,30}\bholds?\b[^\n]{0,30}\b(?:locks?|mutex\w*)\b[^\n]{0,40}\b(?:waits?|wants?|needs?)\b", "each of two threads holds what the other wants", unless=(r"\bGIL\b",), prose=True),
    Sign(r"\bholds?\b[^\n]{0,40}\b\w*(?:lock|mutex)\w*[^\n]{0,30}\b(?:while|and|when)\b[^\n]{0,30}\b(?:joins?|waits? for)\b[^\n]{0,60}\b(?:waits?|blocks?|blocked|wants?|needs?|acquir\w+)\b[^\n]{0,40}\b\w*(?:lock|mutex)", "a thread holds a lock and waits for one that wants it", unless=(r"\bGIL\b",), prose=True),
    # A logger's handle calls its handlers', whose locks may be entered again.
    Sign(r"^(?:acquire|__enter__|lock|_acquire_restore) \([^\n]*\n(?!handle \([^\n]*\ncallHandlers )(\w+) \(([^\n:]+\.py):\d+\)\n(?:[^\n]+\n){1,12}?\1 \(\2:\d+\)", "a function that takes a lock was entered again below itself", also=(r"\n(?:on_\w+|_?handle\w*|\w*handler\w*|\w*signal\w*|__del__|\w*callback\w*|_?emit|_?finali\w+) \(",)),
    Sign(r"\bhold(?:s|ing)?\b[^\n]{0,40}\b(?:lock|mutex)\b[^\n]{0,40}\b(?:waits?|waiting|wants?|blocked)\b[^\n]{0,40}\b(?:lock|mutex)\b[^\n]*(?:\n[^\n]*){0,2}?\bhold(?:s|ing)?\b", "two threads each hold what the other wants", unless=(r"\bGIL\b",), prose=True),
    Sign(r"\b(?:logger|logging|log|print|emit|write)[^\n]{0,60}(?:in|from|inside|during) (?:a |the )?(?:__del__|destructor|finali[sz]er|signal handler|weakref callback|gc callback)|(?:__del__|destructor|finali[sz]er|signal handler|SIG\w+ handler|garbage collect\w+)[^\n]{0,80}(?:log(?:s|ger|ging)?\b|print|emit|acquire|lock|\b(?:syslog|malloc|backtrace|fflush|localtime)|\bputs?\b[^\n]{0,50}[Qq]ueue)", "a finalizer or handler uses what its own thread holds", also=(r"lock|deadlock|hang|stuck|wait|acquire",), unless=(r"\bfork(?:ed|s|ing)?\b|\bGIL\b|DataLoader",), prose=True),
    Sign(rf"^[^\S\n]*(?:#\d+ +)?(?:0x\w+ in )?{_LEAF}[^\n]*\n(?:[^\n]+\n){{0,24}}?[^\n]*{_FINALIZER}", "code that runs in the middle of other code (a finalizer, a weak reference's callback, the collector) waits for a lock", unless=(r"\bfork(?:ed|s|ing)?\b|popen_fork|take_gil|Waiting for the GIL",)),
    Sign(r"_removeHandlerRef(?:[^\n]*\n){0,6}?[^\n]*(?:acquire|lock)|(?:acquire|_acquireLock)[^\n]*\n(?:[^\n]+\n){0,6}?[^\n]*_removeHandlerRef", "a weak-reference callback wants the lock of the log while it is being released"),
    Sign(r"__del__(?:[^\n]*\n){0,14}?[^\n]*" + _LOCK, "a destructor takes a lock", prose=True),
    Sign(r"(?:__dealloc__|tp_dealloc|(?<!\w)finaliz(?!e_backward)\w|weakref|_weakref_cb|weakref_cb|remove_callback)(?:[^\n]*\n){0,10}?[^\n]*" + _LOCK, "a finalizer takes a lock", also=(r"hang|stuck|deadlock|wait|idle|block",), prose=True),
    Sign(r"Garbage-collecting(?:[^\n]*\n){0,12}?[^\n]*(?:lock|acquire|put|emit|add_)", "the collector runs finalizers inside code that uses a lock", also=(r"__del__|weakref|lock|acquire|synchronize\.py|\bjoin \((?:[^\n]*/)?threading\.py",)),
    Sign(_LOCK.replace(r"\w+", r"\w") + r"[^\n]*\n(?:[^\n]+\n){0,12}?[^\n]*<signal handler called>|<signal handler called>[^\n]*\n(?:[^\n]+\n){0,11}?[^\n]*(?:lll_lock|mutex_lock|malloc)", "a signal handler interrupted code that held the lock it wants", prose=True),
    Sign(r"reentrant call inside <_io\.", "a signal handler re-entered an output buffer"),
    Sign(r"^[^\n]*\b(\w*(?:lock|mutex)\w*) locked\b[^\n]*\n(?=(?:[^\n]*\n){0,3}[^\n]*\Z)(?![\s\S]*\1 (?:un|re)?locked\b)(?:[^\n]*\n){0,3}[^\n]*\Z", "the trace ends where a lock was taken and not let go", also=(r"\b\w*(?:lock|mutex)\w* unlocked\b",)),
    Sign(r"\b(?:callbacks?|handlers?|events?|listeners?|hooks?|observers?|dispatch\w*|(?<!kill )signals?|user code)\b[^\n]{0,60}\b(?:inside|under|within|while (?:holding|inside|it holds)|holding|with)\b[^\n]{0,30}[\"'`]?(?:async )?(?:with )?\b[\w.]*_?(?<!un)lock\b", "what is called back runs inside a lock that it takes too", anywhere=(r"\bnever\b|hang|deadlock|stuck|block",), unless=(r"\bGIL\b|\bfork(?:ed|s)?\b|file ?lock|\.lock\b",), prose=True),
    # A client calls its listeners on the thread that would have to bring the answer to what they ask it.
    Sign(r"\b[\w.]{1,80}\.(?:release|acquire|get\w*|set\w*|create\w*|delete\w*|publish|send\w*|request|call|result|wait|join|(?:un)?(?:subscribe|schedule|register))\([^()\n]{0,80}\)[^\w\n]{1,12}(?:then |there |itself )?(?:does(?:n't| not) (?:return|come back)|never (?:returns|comes back)|hangs|blocks)\b", "a listener asks, by a call that does not return, what the thread that calls it would have to bring", POSSIBLE, anywhere=(r"\b(?:listeners?|watch(?:er)?s?|(?:in|inside|from|of) (?:a|an|the|its|my)? ?(?:\w+ )?callback)\b(?: *\(\))?(?:,|:| (?:that|which|for|on|state|calls?|called)\b)|\bdef \w*(?:listener|callback|on_\w+)\w*\(|\badd_(?:listener|watch\w*|\w*callback)\(",), unless=(r"\bfork(?:ed|s)?\b|all_?reduce|NCCL|\bGIL\b",), prose=True),
    # How CPython writes a lock that is taken (Modules/_threadmodule.c): by the number of the thread that owns it.
    Sign(r"\bident\w*\W{1,2}(\d{6,})\b[\s\S]{0,400}?\bowner=(?!\1\b)(\d{6,}) count=[\s\S]{0,2000}?\bident\w*\W{1,2}\2\b[\s\S]{0,400}?\bowner=\1 count=", "each of two threads wants a lock that the other owns"),
    # userfaultfd(2): who unmaps or faults sleeps until the reader of the descriptor has taken the event.
    Sign(r"\b(?:userfaultfd_(?:event_wait_completion|unmap_complete)|dup_userfaultfd_complete|handle_userfault)\b", "the kernel holds a thread until the reader of its userfaultfd has taken note, and that reader waits for a lock", anywhere=(r"\bfutex_wait\w*|lll_lock_wait|pthread_mutex_lock",)),
    # POSIX: the wait would close a circle (fcntl(2), pthread_mutex_lock(3), std::errc::resource_deadlock_would_occur).
    Sign(r"^(?![^\n]*\bjoin)[^\n]*(?:\bResource deadlock (?:avoided|would occur)\b|\bEDEADLK\b)", "the system says that a wait for a lock would close a circle"),
    Sign(r"Found one Java-level deadlock|waiting to lock monitor [^\n]*\n[^\n]*which is held by", "the Java machine found threads that wait for each other"),
    Sign(cured_by(r"\bgc\.(?:disable|freeze)\(\)|gc\.disable\b"), "it works when the collector does not run", anywhere=(r"\block|acquire|deadlock|mutex",), unless=(r"\bslow(?:er)?\b",), prose=True),
    Sign(cured_by(r"\bRLock\b(?!\(ctx)"), "it works when the lock may be taken again", prose=True),
    Sign(r"\b(?:takes?|acquires?|holds?|grabs?|locks?)\b[^\n]{0,40}\b\w*(?:lock|mutex)\b[^\n]{0,50}\b(?:then|first|before|while holding|and (?:then|in)|in a callback)\b[^\n]{0,60}\b\w*(?:lock|mutex)\b[^\n]*[;,.\n][^\n]*\b(?:takes?|acquires?|holds?|grabs?|locks?)\b[^\n]{0,40}\b\w*(?:lock|mutex)\b[^\n]{0,50}\b(?:then|first|before|while holding|and (?:then|in)|in a callback)\b",
         "two paths take locks one after the other, in opposite orders", unless=(r"\bGIL\b",), prose=True),
    Sign(r"lock-order[- ]inversion|(?<!Frozen threads found \()potential deadlock|(?-i:\bABBA\b)|\block (?:order(?:ing)?|inversion|hierarchy)\b|(?:opposite|reverse|inverse) (?:lock )?order[^\n]*(?:lock|mutex)|(?:lock|mutex)[^\n]*(?:opposite|reverse|inverse) order", "locks are taken in opposite orders"),
    Sign(r"\b(?:already (?:hold|held|own)\w*|re-?enter\w*|recursiv\w*|same thread|itself|non-?re-?entrant|not re-?entrant|twice)[^\n]{0,60}\b(?:lock|mutex)|\b(?:lock|mutex)\b[^\n]{0,60}(?:already held by (?:this|the same)|held by (?:itself|the same thread)|non-?re-?entrant|recursively)",
         "a lock is taken by a thread that holds it", prose=True),
    Sign(r"thread (?:\w+ )?(?:A|1|one)\b[^\n]*hold\w*[^\n]*(?:wait|want)\w*(?:[^\n]*\n){0,6}?[^\n]*thread (?:\w+ )?(?:B|2|two)\b[^\n]*hold\w*[^\n]*(?:wait|want)", "two threads each hold what the other wants"),
    Sign(r"\b(?:hold|own)\w* (?:the )?(?:lock|mutex) ?(?:A|1|\w+)[^\n]{0,60}(?:wait|block)\w* (?:for|on) (?:the )?(?:lock|mutex)", "a thread holds one lock and waits for another", also=(r"(?:hold|own)(?:[^\n]*\n)+[^\n]*(?:hold|own)\w*",), prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    found = [*hits(case, _SIGNS, live_stacks=True), *_twice(case), *_crossed(case)]
    if not found and not case.snapshot.live:
        found = [*_locked(case), *_at_told_locks(case)]
    if found:
        yield finding(
            RULE,
            case,
            found,
            "a lock is taken by a thread that holds it, or locks are taken in opposite orders",
            _STEPS,
        )


def _crossed(case: Case) -> Iterator[Hit]:
    """Two threads that wait in each other's code."""
    for account in () if case.snapshot.live else accounts(case):
        if found := crossing(account.seen):
            says = f"one thread came from {found.second} and waits in {found.first}, another came the other way"
            yield Hit(Sign("", says, LIKELY if found.sure else POSSIBLE), account, "")
            return


def _locked(case: Case) -> Iterator[Hit]:
    """Threads that end in a lock although nobody says who holds it."""
    for account in accounts(case):
        for stack in account.stacks:
            locked = wait_of(stack).kind is WaitKind.LOCK and not _in_condition(stack)
            if locked or _lock_of_an_extension(stack) or any(_RWLOCK.search(frame.function) for frame in stack[-4:]):
                says = "a thread stands in a lock whose holder is not shown"
                yield Hit(Sign("", says, POSSIBLE), account, written(stack).split("\n", 1)[0])
                return


def _at_told_locks(case: Case) -> Iterator[Hit]:
    """Two idle threads at lines that show no wait, of which somebody says which locks they take: two or more."""
    names = {name.lower() for one in accounts(case) for name in _LOCK_NAMES.findall(one.prose)}
    for account in accounts(case) if len(names) > 1 else ():
        idle = {
            seen.stack[-1].function
            for seen in account.seen
            if seen.thread.active is False and _shows_no_wait(seen.stack)
        }
        if len(idle) > 1:
            says = "threads stand at lines that take locks, as it is told"
            yield Hit(Sign("", says, POSSIBLE), account, ", ".join(sorted(idle)))
            return


# Below it stands the futex of a condition.
_RWLOCK = regex(r"^_*(?:GI_+)?pthread_rwlock_(?:rd|wr)lock|^QReadWriteLock::|RwLock::(?:read|write)_contended")
_LOCK_NAMES = regex(r"\b((?:\w+\.)?_?\w+_(?:lock|mutex)|(?:\w+\.)_lock)\b", re.IGNORECASE)


def _shows_no_wait(stack: Stack) -> bool:
    return bool(stack) and stack[-1].library is None and wait_of(stack).kind in (WaitKind.USER, WaitKind.LIBRARY)


def _in_condition(stack: Stack) -> bool:
    """Whether the lock below is the one in which a condition or event of the interpreter lets its waiters sleep."""
    python = Stack(frame for frame in stack if frame.library is None and frame.file)
    return bool(python) and kind_of(python[-1]) is WaitKind.CONDITION


def _lock_of_an_extension(stack: Stack) -> bool:
    """Whether an extension module waits for a lock of the interpreter's kind, not the interpreter for its own or a program's."""
    for at in range(len(stack) - 1, max(len(stack) - 9, 0), -1):
        if stack[at].function.startswith("PyThread_acquire_lock"):
            caller = stack[at - 1].function
            return not caller.startswith(
                (
                    "lock_",
                    "_lock",
                    "acquire",
                    "rlock_",
                    "take_gil",
                    "PyEval",
                    "_PyImport",
                    "PyThread",
                    "tstate",
                    "wait_for",
                    "_queue_SimpleQueue",
                )
            )
    return False


def _twice(case: Case) -> Iterator[Hit]:
    """Stacks in which a function stands twice with a finalizer between, and which end in a lock or where they were."""
    for account in accounts(case):
        for seen in account.seen:
            name = reentered(seen.stack)
            if name is not None:
                yield Hit(
                    Sign("", f"{name} stands twice in one stack, with a finalizer in between", LIKELY), account, name
                )
                break
            name = _entered_twice(seen.stack)
            if name is not None:
                says = f"{name}, which holds a lock that may not be taken twice, was entered again below itself"
                yield Hit(Sign("", says, LIKELY), account, name)
                break
            name = _came_back(seen.stack)
            if name is not None:
                says = f"a finalizer that the collector ran in the middle of {name} came back into its file"
                yield Hit(Sign("", says, LIKELY), account, name)
                break
            name = _collected(seen.stack)
            if name is not None:
                says = f"the collector called {name} in the middle of code of the same file"
                yield Hit(Sign("", says, POSSIBLE), account, name)
                break


# Functions of the standard library that do their work with a plain lock taken (queue.Queue.mutex, threading.Event._cond,
# ThreadPoolExecutor._shutdown_lock, the tracker's and the heap's own): who comes back into one of the same file waits for
# itself. The locks of logging may be taken again; the put of multiprocessing waits for room before it takes its lock.
_HOLDS: dict[str, frozenset[str]] = {
    "queue.py": frozenset(("put", "get", "put_nowait", "get_nowait", "qsize", "empty", "full", "task_done", "join")),
    "threading.py": frozenset(("set", "clear", "release")),
    "concurrent/futures/thread.py": frozenset(("submit", "shutdown", "weakref_cb")),
    "multiprocessing/resource_tracker.py": frozenset(("ensure_running", "register", "unregister", "getfd")),
    "multiprocessing/heap.py": frozenset(("malloc", "free")),
}
# Of a program's own queue these are called by Queue itself, and may use another queue; items may be compared.
# And in a condition's wait the lock is free.
_FREE_BELOW = regex(r"^_(?:put|get|qsize|init)$|^__(?:lt|gt|le|ge|eq|bool|len)__$|^wait(?:_for)?$")
# Waits at the lock itself, which may show above its caller.
_AT_A_LOCK = frozenset(("__enter__", "acquire"))


def _entered_twice(stack: Stack) -> str | None:
    """The function of the standard library that ends a stack, where one of the same lock stands further out as well.

    Nothing that they call leads back into them: a finalizer, a weak reference's callback (of any name) or a signal's handler
    ran in between. Who sleeps in a condition has the lock already, and waits for another one.
    """
    frames = [frame for frame in stack if frame.function != "Garbage-collecting" and frame.library is None]
    while len(frames) > 1 and name_of(frames[-1])[0] == "threading.py" and name_of(frames[-1])[1] in _AT_A_LOCK:
        frames = frames[:-1]
    held = [_held(frame) for frame in frames]
    if not held or not held[-1]:
        return None
    for at in range(len(frames) - 2, -1, -1):
        between = frames[at + 1 :]
        ran = any(origin(one) in (Origin.USER, Origin.LIBRARY) for one in between)
        if held[at] == held[-1] and ran and not _FREE_BELOW.search(name_of(between[0])[1]):
            return f"{name_of(frames[-1])[1]} ({held[-1]})"
    return None


def _held(frame: Frame) -> str:
    """The file of the standard library whose lock a frame takes, "" where it takes none."""
    file, function = name_of(frame)
    return file if function in _HOLDS.get(file, ()) else ""


def _came_back(stack: Stack) -> str | None:
    """The function that the collector interrupted, where the finalizer that it ran ends in the same file of a library.

    faulthandler says that the collector is at work, and shows no lock: `with lock:` has no frame.
    """
    frames = Stack(frame for frame in stack if frame.function != "Garbage-collecting")
    if len(frames) == len(stack) or len(frames) < 3:
        return None
    at = next((at for at in range(len(frames) - 2, 0, -1) if frames[at].function == "__del__"), 0)
    outer, inner = frames[at - 1], frames[-1]
    same = at > 0 and bool(outer.file) and outer.file == inner.file
    return str(outer.function) if same and origin(outer) in (Origin.USER, Origin.LIBRARY) else None


@of_stacks
def _collected(stack: Stack) -> str | None:
    """The function in which a stack ends that a callback of the collector called, above code of the same file.

    Python code shows no `with lock:` in its stack, and before 3.12 no frame of the collector either (gc.callbacks).
    """
    if len(stack) < 3 or not _OF_THE_COLLECTOR.search(f"{stack[-2].file}:{stack[-2].function}"):
        return None
    return str(stack[-1].function) if _same_file(stack, len(stack) - 2) else None


_OF_THE_COLLECTOR = regex(r"(?:^|/)_?gc(?:_\w+)?\.py:_?\w*(?:cb|callback|hook|notify)\w*$|:\w*gc_(?:callback|cb|hook)$")


def reentered(stack: Stack) -> str | None:
    """The function that runs again inside itself through a finalizer, None where there is none."""
    first: dict[tuple[str, str], int] = {}
    finalizer = -1
    for at, frame in enumerate(stack):
        if _interrupts(frame) and at < len(stack) - 1:
            finalizer = at
        key = (frame.function, frame.file)
        if (
            finalizer > 0
            and at == len(stack) - 1
            and wait_of(stack).kind is WaitKind.LOCK
            and _same_file(stack, finalizer)
        ):
            return str(stack[finalizer + 1].function)
        if (
            key in first
            and first[key] < finalizer < at
            and (at >= len(stack) - 3 or wait_of(stack).kind is WaitKind.LOCK)
        ):
            return str(frame.function)
        first.setdefault(key, at)
    return None


def _same_file(stack: Stack, finalizer: int) -> bool:
    """Whether the code on both sides of a finalizer is of one file, which is no part of the interpreter."""
    outer, inner = stack[finalizer - 1], stack[min(finalizer + 1, len(stack) - 1)]
    return bool(outer.file) and outer.file == inner.file and origin(outer) in (Origin.USER, Origin.LIBRARY)


def _interrupts(frame: Frame) -> bool:
    """Whether a frame runs in the middle of other code: a finalizer, a weak reference's callback, a signal's handler."""
    if frame.function in ("__del__", "Garbage-collecting", "<signal handler called>"):
        return True
    if frame.function == "__call__" and frame.file.endswith("multiprocessing/util.py"):
        return True  # a Finalize object that a weak reference called
    return "weakref" in frame.file or bool(_HANDLER.search(frame.function))


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 32, check)
