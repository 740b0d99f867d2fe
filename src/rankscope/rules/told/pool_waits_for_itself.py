"""Tasks of a pool wait for further tasks of the same pool, and no thread of it is left to run them.

## What it means
A task hands more work to the pool that it runs in and waits for the result. That goes well as long as a thread is free. With as many such tasks as
the pool has threads, all of them wait, and what they wait for stays in the queue.

## How it is recognised
Stacks in which every thread of a pool runs a task that waits for a result, and none is free or at work; or a native one in which a worker of an engine (`ThreadedEngine::WaitForVar`, `ThreadPool::Wait`) waits for the tasks of the same engine. It works with fewer tasks than the pool has
threads, and stands from that number on. All threads on which a worker of dask runs tasks wait for other tasks there (`as_completed`, `result`,
`gather`), and none has left the pool (`secede`, `worker_client`). Words for it: tasks that wait for the same pool, a pool that is exhausted by tasks that wait; Celery's `Never call
result.get() within a task`.

## What to do
Give what a task starts a pool of its own, or more threads (`max_workers`, `pyarrow.set_io_thread_count`) as a first aid. Better: hand on the future
(callbacks, `chain`, `await`) and wait outside of the pool only.

## How to prevent it
No `result()`, `get()` or `wait()` on a future inside of a task of the same pool.
Mechanism: https://docs.python.org/3/library/concurrent.futures.html#threadpoolexecutor, https://github.com/apache/arrow/pull/12099
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import kind_of
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.repeated import found_in
from .. import make_rule
from ._findings import finding
from ._outcomes import BAD
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS

_POOL = r"(?:(?:thread|process|worker|I/?O|task|CPU)?[- ]?pool(?:[- ]?executor)?|executor)\b"
_SIGNS = (
    Sign(rf"\b(?:submit\w*|schedul\w*|enqueu\w*|spawn\w*|wait\w*|block\w*|nested)\b[^\n]{{0,60}}\b(?:to|in|on|for|of|from|into) (?:the|that|its|their|this)? ?(?:same|very same|own) (?:\w+ )?{_POOL}", "a task waits for the pool in which it runs", anywhere=(HALTS, r"\b(?:wait\w*|results?|block\w*|\.get\(|join\w*)\b"), unless=(r"\bfork\w*",), prose=True),
    Sign(rf"\b{_POOL}[^\n]{{0,24}}\b(?:exhaust\w*|starv\w*|saturat\w*|used up)\b|\b(?:exhaust\w*|starv\w*|saturat\w*)\b[^\n]{{0,24}}\b{_POOL}", "a pool has no thread left", anywhere=(HALTS, r"\b(?:nested|inner|sub-?tasks?|same (?:\w+ )?(?:pool|executor)|wait\w* (?:for|on) (?:\w+ ){0,3}(?:tasks?|futures?|results?))\b"), prose=True),
    Sign(r"\bNever call result\.get\(\) within a task\b", "a task of Celery waits for another one", anywhere=(HALTS + "|" + BAD,)),
)  # fmt: skip
_TITLE = "tasks of a pool wait for further tasks of the same pool, and no thread is left to run them"
_STEPS = (
    "py-spy dump --pid PID   # do all threads of the pool wait for a result?",
    "run it once with more threads than tasks (max_workers=…): it goes through then",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    found = [
        *hits(case, _SIGNS),
        *_all_wait(case),
        *_task_of_dask(case),
        *_engine_in_itself(case),
        *_from_its_size_on(case),
    ]
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


# What a thread of a pool begins with, and how it waits for a result.
_WORKER = regex(
    r"^_worker \((?:[^\n]*/)?concurrent/futures/thread\.py|^worker \((?:[^\n]*/)?multiprocess(?:ing)?/pool\.py", re.M
)
_RESULT = regex(
    r"^(?:result|wait|result_iterator|_result_or_cancel|as_completed|__next__) \((?:[^\n]*/)?concurrent/futures/_base\.py|^(?:get|wait|map|starmap|join) \((?:[^\n]*/)?multiprocess(?:ing)?/pool\.py",
    re.M,
)
# Who else may bring a result: another process, an event loop, a server; and the threads that serve a pool of multiprocessing.
_BRINGS = regex(r"concurrent/futures/process\.py|_run_once \(|run_forever \(|uvloop|grpc|distributed/|tornado/")
_SERVES = regex(r"^_handle_(?:workers|tasks|results) \((?:[^\n]*/)?multiprocess(?:ing)?/pool\.py", re.M)
_OF_THREADS = regex(r"^worker \((?:[^\n]*/)?multiprocess(?:ing)?/pool\.py", re.M)
_FEWEST = 2  # threads; a pool of one is as often a helper of something else, unless all threads wait for results


def _all_wait(case: Case) -> Iterator[Hit]:
    """Every thread of the pools of a process runs a task that waits for a result, and nobody else could bring it."""
    for account in accounts(case):
        stacks = {seen.thread.tid or seen.thread.name: seen.text for seen in account.seen if not seen.native}
        pool = [text for text in stacks.values() if _WORKER.search(text)]
        if not pool or not all(map(_RESULT.search, pool)) or any(map(_BRINGS.search, stacks.values())):
            continue
        if len(pool) < _FEWEST and not (len(stacks) > len(pool) and all(map(_RESULT.search, stacks.values()))):
            continue
        serving = [text for text in stacks.values() if _SERVES.search(text)]
        if serving and not any(map(_OF_THREADS.search, pool)):
            continue  # the pool whose results they wait for is of processes
        alone = len(stacks) <= len(pool) + len(serving) + 1  # the main thread is no helper
        says = f"{_all(len(pool))} of its pool runs a task that waits for a result"
        yield Hit(Sign("", says, LIKELY if alone else POSSIBLE), account, pool[0].split("\n", 1)[0])


# A task that a thread of a worker of dask runs, and where it waits for others (distributed/worker.py, distributed/client.py).
_TASK = regex(r"^(?:apply_function\w*|execute\w*|_?run_task\w*) \((?:[^\n]*/)?distributed/worker\.py", re.M)
_ITS_CLIENT = regex(
    r"^(?:__next__|_?result|gather|wait|_?get|compute|sync|as_completed|_wait) \((?:[^\n]*/)?distributed/(?:client|utils)\.py",
    re.M,
)
_ONE_THREAD = r"\b(?:one|a single|1) thread (?:per|a|for each|in each) worker\b|\b(?:only|single|sole) (?:\w+ )?thread\b|\b(?:n_?threads|threads_per_worker)\b\W{1,3}1\b"
_LEFT_POOL = r"\b(?:secede|worker_client)\b(?<!not a worker_client)(?<!no worker_client)(?<!without worker_client)"


def _task_of_dask(case: Case) -> Iterator[Hit]:
    """Every thread of a worker of dask on which a task runs waits there for other tasks: those may need the same threads."""
    told = accounts(case)
    if any(one.find(_LEFT_POOL) for one in told):
        return  # who leaves the pool for the time of its wait keeps no thread from the others
    for account in told:
        stacks = [seen.text for seen in account.seen] or re.split(r"\n\s*\n", account.said)
        tasks = [text for text in stacks if _TASK.search(text)]
        if tasks and all(map(_ITS_CLIENT.search, tasks)):
            waits = next(filter(None, map(_ITS_CLIENT.search, tasks)))
            says = f"{_all(len(tasks))} on which a worker runs tasks waits for other tasks"
            sure = LIKELY if len(tasks) > 1 or any(one.find(_ONE_THREAD, prose=True) for one in told) else POSSIBLE
            yield Hit(Sign("", says, sure), account, waits[0])
            return


def _all(threads: int) -> str:
    return "the only thread" if threads == 1 else f"each of the {threads} threads"


# An engine or pool of C++ by the names of its classes: how one waits for its tasks, and where a thread of its own runs them.
_ENGINE = regex(r"Engine|ThreadPool|Executor|Scheduler|TaskQueue")
_ENGINE_WAITS = regex(r"^(?:[Ww]ait|[Jj]oin|[Ss]ync|[Ff]lush|[Dd]rain)")
_ENGINE_WORKS = regex(r"[Ww]orker|[Ee]xecute|[Rr]unTask|[Ll]oop|[Pp]rocess")
_ASLEEP = (WaitKind.CONDITION, WaitKind.LOCK)


def _engine_in_itself(case: Case) -> Iterator[Hit]:
    """A thread of an engine that waits, inside of what it runs, for the tasks of the same engine."""
    for account in accounts(case):
        for seen in account.seen:
            names = [frame.function for frame in reversed(seen.stack)] if seen.native else []
            if not any(kind_of(frame) in _ASLEEP for frame in seen.stack[-_INNERMOST:]):
                continue
            waits = next(filter(None, (_of_engine(name, _ENGINE_WAITS) for name in names[:_INNERMOST])), "")
            works = [engine for name in names[_INNERMOST // 2 :] if (engine := _of_engine(name, _ENGINE_WORKS))]
            if waits and any(_kin(waits, engine) for engine in works):
                says = "a thread of an engine waits, inside of what it runs, for a task of the same engine"
                yield Hit(Sign("", says, POSSIBLE), account, waits)
                return


def _of_engine(function: str, does: re.Pattern[str]) -> str:
    """The class of an engine whose method does something, with its namespace; "" for any other function."""
    owner, _, method = _TEMPLATE.sub("", function.split("(", 1)[0]).rpartition("::")
    return owner if _ENGINE.search(owner.rpartition("::")[2]) and does.search(method) else ""


_TEMPLATE = regex(r"<[^<>]{0,400}>?")
_INNERMOST = 4  # frames


def _kin(one: str, other: str) -> bool:
    """Whether two classes are one, or one is made from the other, as their names tell."""
    return one.startswith(other) or other.startswith(one)


_MANY = regex(
    r"\b(?P<many>\d{1,4})(?: [a-z]+)? (?:or more|and more|upwards?)\b|"
    r"\b(?:from|starting (?:with|at)|>=|at least) (?P<from>\d{1,4})\b|\bmore than (?P<over>\d{1,4})\b",
    re.I,
)
# Numbers of ranks and devices tell another story.
_OF_RANKS = regex(
    r"\b(?:ranks?|gpus?|nodes?|hosts?|cards?|devices?|process(?:es)?|seconds?|minutes?|hours?|GB|MB|%)", re.I
)
_SIZE = regex(
    r"\bmax_workers(?: is| was| to| of)?\W{1,4}(?P<workers>\d{1,4})\b|\bpool (?:of|with|has) (?P<of>\d{1,4})\b|"
    r"\b(?P<threads>\d{1,4}) (?:\w+ )?(?:pool )?threads\b|"
    r"\"(?P<name>[A-Za-z][A-Za-z_]*(?:Pool\w*|Executor\w*|[Ww]orker|[Ii][Oo])[-_](?:\d+_)?|Io-)(?P<last>\d{1,4})\"",
    re.I,
)


_STANDS = regex(f"{BAD}|{HALTS}|\\bnever (?:do|does|did)\\b", re.I)


def _from_its_size_on(case: Case) -> Iterator[Hit]:
    """It stands from that number of tasks on which the pool has threads."""
    known = accounts(case)
    sizes = {size for one in known for size in _sizes(one)}
    for one in known if sizes else ():
        for line in one.prose.splitlines():
            if not found_in(line, _STANDS):
                continue
            for found in _MANY.finditer(line):
                first = int(found["many"] or found["from"] or 0) or int(found["over"]) + 1
                if (
                    first in sizes
                    and not _OF_RANKS.match(line[found.end() :].lstrip())
                    and not _OF_RANKS.search(found[0])
                ):
                    yield Hit(
                        Sign("", f"it stands with {first} tasks, and the pool has {first} threads"), one, line.strip()
                    )
                    return


def _sizes(account: Account) -> Iterator[int]:
    """How many threads pools have, by what is written or by the highest number of a thread's name."""
    highest: dict[str, int] = {}
    for found in _SIZE.finditer(account.text):
        if found["name"]:
            highest[found["name"]] = max(int(found["last"]), highest.get(found["name"], 0))
        else:
            yield int(found["workers"] or found["of"] or found["threads"])
    yield from (last + 1 for last in highest.values() if last)


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 36, check)
