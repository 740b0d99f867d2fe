"""A thread waits for a module that another thread is importing, and that thread waits for it.

## What it means
Each module has a lock while it is imported. A package that starts a thread in its `__init__` and waits for it blocks for ever when that thread
imports anything of the package; two threads that import two modules in opposite order do the same.

## How it is recognised
`_ModuleLock.acquire`, `_lock_unlock_module` or `acquire (<frozen importlib._bootstrap>)` at the end of a stack, while the main thread is
inside a package's `<module>` frame and waits for a thread, future or process. A file that goes through when it is run and hangs when it is imported.
In Python 2, whose one lock of all imports no frame shows: a thread that waits for a lock, and whose innermost line is an `import` (gdb's `py-bt`, `py-list`).

## What to do
Find the `<module>` frame that waits (`rankscope stacks pid:PID`), and move the thread's start or the wait out of the import; import what the thread
needs before it starts. Take import hooks (tracers, profilers) away to prove it.

## How to prevent it
No threads, pools or network calls at import time. Case: https://github.com/DataDog/dd-trace-py/pull/17742
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.progress import advances
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._lines import events
from ._outcomes import FORK_THEN_EXEC, GOOD
from ._signs import POSSIBLE, Hit, Sign, hits

_STARTED = (
    r"ProcessPoolExecutor|ThreadPoolExecutor|Thread\(|\bPool\(|\.start\(\)|\.result\(|\.submit\(|\bthreads?\b|"
    r"\bpool\b|num_proc|n_jobs|Parallel\(|max_workers|asyncio\.run|subprocess\b|multiprocess"
)
_STOPS = r"\b(?:hangs?|hung|never|stuck|for ?ever|freez\w+|blocks?|nothing more|no prompt|does not (?:return|end|come back))\b"
_SIGNS = (
    # A thread of C imports too: CPython asks for the lock of a module that is not yet initialized (Python/import.c).
    Sign(r"^(?:lock_)?PyThread_acquire_lock\w*[^\n]*\n(?:[^\n]+\n){0,9}?import_ensure_initialized", "a thread waits for the lock of a module that is being imported", unless=(FORK_THEN_EXEC,)),
    Sign(r"_lock_unlock_module|_ModuleLock\b|_ModuleLockManager|acquire \(importlib/_bootstrap|acquire \(<frozen importlib|_get_module_lock \((?:importlib/_bootstrap|<frozen importlib)|File \"<frozen importlib\._bootstrap>\", line \d+,? in (?:acquire|_lock_unlock_module|_get_module_lock)\b|_DeadlockError|import[- ]lock(?:\b|s\b)|_imp\.acquire_lock|imp_lock|_PyImport_(?:Acquire|Lock)\w*",
         "a thread waits for the lock of a module that is being imported", unless=(FORK_THEN_EXEC,)),
    Sign(r"\b(?:import\w*|(?<!<)module)[^\n]{0,60}(?:deadlock|lock)[^\n]{0,60}thread|thread[^\n]{0,80}(?:waits?|blocked)[^\n]{0,40}import", "a thread and an import wait for each other", prose=True),
    Sign(r"\bpython[\d.]* -c ['\"]import \w+|^[^\w\n]*>>> import \w+|(?<=at )import time\b|\bimport-time\b|\bat import\b|\bmodule (?:body|level|scope)\b|\b(?:hangs?|hung|stuck|blocks?|freezes|never returns?)\b[^\n]{0,40}\b(?:when|while|if|on|at|during) (?:it is |being |we )?(?:import(?:ed|ing)?|the import)\b|\bimport\w*\b[^\n]{0,30}\b(?:hangs?|blocks? for ?ever|never returns?)\b",
         "it hangs when it is imported, and starts a thread or pool there", POSSIBLE, anywhere=(_STARTED, r"hang|never|stuck|for ?ever|freez|block|nothing more|no prompt|does not return"), unless=(r"CUDA|NFS|nfs|network file|D state|State:\s*D|slow",), prose=True),
    Sign(r"\b(?:last|stands?|stuck|reached|blocked|stops?|waits?|is)\b[^\n]{0,50}\b(?:at|in|is|on|line)\b[^\n]{0,50}:? ?(?:from [\w.]+ import \w+|import [\w.]+)\W{0,3}$", "a thread stands at an import of its own while another one imports", anywhere=(r"\b(?:main|other|first)[ -]thread\b|^MainThread", r"\b(?:executing|inside|during|within|under|runs?|running|in) (?:the |an? |its )?(?:own )?import\b|\bmodule (?:level|body|scope)\b|\bwhile [^\n]{0,30}\b(?:import\w*|load(?:ed|ing|s))\b"), prose=True),
    Sign(r"<module> \((?:[^\n]*/)?__init__\.py", "a package waits for something while it is imported", POSSIBLE,
         also=(r"(?:join|wait|result|get|_wait_for_tstate_lock|start) \((?:threading|concurrent/futures/_base|queue|multiprocessing/\w+)\.py",)),
)  # fmt: skip

# In a running job a wait below an import may be any wait.
_SAVED = (
    Sign(r"_find_and_load|_handle_fromlist|_call_with_frames_removed", "a thread waits while a module is imported", POSSIBLE, also=(r"(?:^|\n)(?:acquire|__enter__|_acquire_restore|wait|join|result|get) \(",), anywhere=(r"<module>",)),
)  # fmt: skip
_TITLE = "a thread waits for a module that is being imported by a thread which waits for it"
_STEPS = ("rankscope stacks pid:PID   # find the <module> frame that waits", "python -X importtime …")


def check(case: Case) -> Iterator[Finding]:
    found = [
        *(hit for hit in hits(case, _SIGNS, live_stacks=True) if not _gets_on(case, hit)),
        *_program_imported(case),
        *_as_script_or_module(case),
        *_at_an_import(case),
    ]
    if not case.snapshot.live:
        found.extend(hits(case, _SAVED))
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


def _gets_on(case: Case, hit: Hit) -> bool:
    """Whether all who show a sign are at work: a thread of theirs imports one module after the other."""
    shown = [case.standings[ref] for ref in hit.account.refs if ref in case.standings]
    return bool(shown) and case.snapshot.live and all(map(advances, shown))


def _program_imported(case: Case) -> Iterator[Hit]:
    """A file that starts threads or a pool in its body, and hangs when it is imported rather than run."""
    if case.snapshot.live:
        return
    told = accounts(case)
    if not all(any(one.find(words, prose=True) for one in told) for words in (_STARTED, _STOPS)):
        return
    names = {
        name
        for one in told
        for name in re.findall(r"\b([A-Za-z_]\w*)\.py\b", f"{one.label.replace(' ', '_')}\n{one.prose}")
    }
    for one in told:
        for name in names:
            if line := one.find(rf"(?:^|-c ['\"])\W{{0,5}}import {name}\b", prose=True):
                yield Hit(Sign("", "a program that starts threads or a pool hangs when it is imported"), one, line)
                return


def _as_script_or_module(case: Case) -> Iterator[Hit]:
    """One file that goes through when it is run, and hangs when it is imported: only then does its body hold a module's lock."""
    if case.snapshot.live:
        return
    told = accounts(case)
    if any(one.find(_SLOW_FILES) for one in told):
        return
    runs = rf"\b(?:python[\d.]*|run\w*|execut\w*|script|start\w*|\./)[^\n]{{0,30}}?\b(\w+)\.py\b[^\n]{{0,60}}(?:{GOOD}|\b(?:done|prints|at once|immediately)\b)"
    for one in told:
        for name in re.findall(runs, one.prose, re.I):
            stops = rf"\bimport(?:s|ed|ing)? [`'\"]?{name}\b[^\n]{{0,60}}{_STOPS}"
            for other in told:
                if line := other.find(stops, prose=True):
                    says = "the same file goes through as a program and hangs as a module: its body waits for a thread that imports"
                    yield Hit(Sign("", says), other, line)
                    return


def _at_an_import(case: Case) -> Iterator[Hit]:
    """A thread of Python 2 that waits for a lock, and whose innermost frame stands at an import: the one lock of all imports.

    Frames of the import itself, written in C there, no tool for Python shows; a later Python has frames of importlib below it.
    """
    imports = {
        event.fields["number"]: event for event in events(case, "python.source_line") if _IMPORT.match(event.text)
    }
    for one in accounts(case) if imports and not case.snapshot.live else ():
        for seen in one.seen:
            inner = next((frame for frame in reversed(seen.stack) if frame.line), None)
            waits = bool(seen.stack) and not seen.stack[-1].line and _WAITS_FOR_LOCK.search(seen.stack[-1].function)
            said = imports.get(inner.line) if inner is not None else None
            if inner is None or said is None or not waits or not _OF_PYTHON_2.search(f"{inner.file}\n{one.said}"):
                continue
            says = "a thread of Python 2 waits for a lock at an import: another thread has the lock of all imports"
            yield Hit(Sign("", says), one, f"{inner.function} ({inner.file}:{inner.line}): {said.text}")
            return


_IMPORT = regex(r"(?:import \w|from [.\w]{1,200} import\b)")
_WAITS_FOR_LOCK = regex(r"^(?:Waiting for|acquire\b|(?:lock_)?PyThread_acquire_lock|sem_wait|do_futex_wait|futex)")
_OF_PYTHON_2 = regex(r"\bpython-?2(?:\.\d)?\b|\bpy27\b", re.IGNORECASE)
_SLOW_FILES = r"\bNFS\b|network file|state:?\s*D\b|\bD state"


RULE = make_rule(__name__, __doc__, "import-lock", 33, check, yields_to=("thread-waits-for-import",))
