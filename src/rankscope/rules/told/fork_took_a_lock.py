"""A forked child waits for a lock or a thread that exists only in its parent.

## What it means
`fork` copies memory, not threads. A lock that another thread of the parent held at that moment stays locked in the child for ever, and a
thread pool that was running is empty in the child. The child stops at its first use of that lock or pool; the parent waits for the child.

## How it is recognised
The child (a loader worker, pool worker, pre-forked web worker) ends in a lock below a library: a named global lock of an allocator
(`heap_lock`, `freelist_lock`, `arena_get2`), of OpenMP (`__kmp_*`), of the dynamic linker, of the log (`logging`), of an output buffer
(`_flush_std_streams`, `_enter_buffered_busy`); or in an operation of a library that keeps threads (Polars, OpenMP kernels of a CPU tensor,
gRPC, an asyncio loop that runs in the parent). Python 3.12 warns: "use of fork() may lead to deadlocks in the child".
A child of one thread that stands at the line which takes a lock, where a listing of the source shows it; a process of one thread, by gdb's
`info threads`, in `_enter_buffered_busy`.
`_PyImport_AcquireLock` in a worker that a server forked anew. gRPC says again and again "Waiting for thread pool to idle before forking".
Or one command was run twice, and came to its end only with another start method in its environment (`JOBLIB_START_METHOD=forkserver`).

## What to do
`multiprocessing_context="spawn"` or `"forkserver"` (DataLoader, ProcessPoolExecutor, Pool), or fork before the first thread and before the first
use of the library; web servers without `--preload`; `torch.set_num_threads(1)` before the fork where only OpenMP is concerned.

## How to prevent it
No plain fork by default (Python 3.14 takes `forkserver`); no clients, loggers with threads or tensors at import time of what is forked.
Cases: https://github.com/pytorch/pytorch/issues/75147, https://github.com/Lightning-AI/litData/issues/823,
https://github.com/wandb/wandb/issues/12079, https://github.com/benoitc/gunicorn/issues/2478
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, Seen, accounts
from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import at_rest, kind_of, wait_of
from ...analysis.identity import name_of
from ...analysis.origin import module_path
from ...analysis.threads import forked, parent_of, possible_holders, views
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Frame, Stack
from ...model.patterns import regex
from ...model.process import Role
from .. import make_rule
from ._findings import finding
from ._forks import CHILD_FRAMES, CHILD_WORDS, is_child, threads_listed
from ._listed_locks import blocks_in, is_named, is_of
from ._outcomes import BAD, FORK_THEN_EXEC, cured_by
from ._runs_twice import runs
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._threaded_libraries import LOCKS, WORDS, began_in
from ._wordings import HALTS

_STEPS = (
    "multiprocessing_context='spawn'   # or 'forkserver', for the loader, pool or executor",
    "rankscope stacks pid:CHILD --native   # names the lock",
)

# Threads of a library that were started in the process itself.
_OWN_THREADS = r"^(?:gomp_thread_start|blas_thread_server|__kmp_launch_worker|__kmp_launch_thread)\b"
# It is the parent that hangs, later: then it is no copy of a lock.
_IN_PARENT = r"\b(?:hangs?|hung|stuck|blocks?|freezes)\b[^\n]{0,30}\bin the parent\b[^\n]{0,20}\b(?:after|once|when)\b"
# The warning alone is in many healthy logs.
_STANDS = (
    r"\b(?:map\w*|process(?:es|ing)?|call|worker|child(?:ren)?|script|program|run|loop|training|it) blocks\b|"
    r"\b(?:stands|sits) still\b|futex|hang|hung|stuck|wait(?:s|ing)? (?:for|in|on)\b(?![^\n]*(?:finish|success))|"
    r"sleep(?:s|ing)?\b|never|is ever (?:printed|reached|written|returned)|frozen|freez|mutex|_lock\b|idle\)|"
    r"Timeout \(|\+{5,} Timeout \+{5,}|Failed: Timeout|timed out|times out|no progress|no (?:further|more) output|"
    r"nothing (?:more|further|follows|else)|still running|silent|does not (?:start|finish|return)"
)
# A finalizer that runs in a child, what it asks another thread for, and that the process was forked: a server's "worker" alone is none.
_FINALIZES = r"\b(?:weakref\w*|finaliz\w+|__del__|gc|garbage)\b"
_OF_A_THREAD = (
    r"(?:\bfutures?\b(?!/)|\b_?result(?:_or_cancel)? \((?:[^\n]*/)?concurrent/futures/_base\.py|result\(\)|"
    r"run_coroutine_threadsafe|\basyncer\b|\bevent loop\b)"
)
_FORKED = (
    r"\bfork(?:ed|s|ing)?\b|\bchild(?:ren)?\b|data ?loader[ _-]?worker|pool worker|\bsub-?process|pre-?fork|"
    r"popen_fork|_worker_loop|os_fork|run_at_forkers|multiprocessing/process\.py"
)
# Libraries whose threads work for others of the process.
_THREADED = (
    r"\((?:[^\n]*/)?(?:grpc|polars|pyarrow|pymongo|tensorflow|jax|jaxlib|numexpr|tokenizers|duckdb|lance|rasterio|"
    r"confluent_kafka|prometheus_client|opentelemetry|ddtrace|sentry_sdk|newrelic)/"
)
_SIGNS = (
    Sign(r"\b(?:opened|created|initiali[sz]ed|used|started|imported|loaded|connected|warmed)\b[^\n]{0,40}\b(?:in the parent|before)\b[^\n]{0,40}\bfork\w*", "something of the parent was in use before the fork", unless=(r"\b(?:CUDA|cuda|GPU|ibv|RDMA|EFA)\b",), prose=True),
    # Glibc's mutex has the value 2 while somebody waits for it.
    Sign(r"futex\(0x\w+, FUTEX_WAIT(?:_PRIVATE)?, 2, NULL(?: <unfinished[^\n]*|[^)\w]*)$", "a child waits for a mutex", anywhere=(r"\b(?:os\.)?fork\(|\bforked\b|popen_fork|prefork|--preload",)),
    Sign(r"\bfork (?:start method|context|mode)\b[^\n]{0,60}(?:hang|never|stuck|block|deadlock|freez)|(?:hang|never|stuck|block|deadlock|freez)\w{0,20}[^\n]{0,60}\bfork (?:start method|context|mode)", "it stands still with fork", prose=True),
    # gRPC tells that it left its handlers out, which does no harm to a child that does not use it.
    Sign(r"Other threads are currently calling into gRPC, skipping fork\(\) handlers|gRPC[^\n]{0,60}fork\(\)|fork_posix\.cc", "a library complains of the fork", POSSIBLE),
    Sign(r"fork\(\) called from a process already using (?:GNU )?OpenMP|OMP: (?:Error|Info) #\d+[^\n]*fork|prefork_posix", "a library complains of the fork"),
    # gRPC's handler of fork says so each three seconds.
    Sign(r"(?:^[^\n]*Waiting for thread pool to idle before forking[^\n]*\n?){2}", "the fork itself stands: gRPC waits for its own threads to be idle", POSSIBLE),
    Sign(_THREADED, "a child is inside a library that keeps threads", also=(r"worker|child|fork",), anywhere=(r"\bfork\w*\b|prefork|popen_fork|_launch \(|_worker_loop|--preload\b|\bpreload_app\b",)),
    Sign(r"^(?![^\n]*(?:[:,;] (?:all )?the same\b|no (?:effect|change|difference)|not help|still (?:hang|stuck)))[^\n]*(?:cv2\.setNumThreads\(0\)[^\n]{0,60}(?:(?<!_)work|fix|solv|help|resolv)|(?:(?<!_)work|fix|solv|help|resolv)\w{0,20}[^\n]{0,60}(?:cv2\.setNumThreads|set_num_threads\(1\)|TOKENIZERS_PARALLELISM|POLARS_\w+|OPENBLAS_NUM_THREADS|MKL_NUM_THREADS))", "it works when a library has no threads", prose=True),
    Sign(r"^(?:__enter__|acquire|lock|_lock) \([^\n]*(?:_objects|lock\w*|mutex\w*)\.pyx", "a child waits for a lock of an extension module", also=(CHILD_FRAMES,)),
    Sign(r"^_execute_child \((?:[^\n]*/)?subprocess\.py[^\n]*\n|errpipe_read|^subprocess_fork_exec|^_fork_exec\b", "a child that was forked to run a command never reached its exec", unless=(r"No such file|Permission denied|\b(?-i:D) state|State:\s*D",)),
    Sign(r"^(?:[^\n]*(?:wait|lock|join|futex|Spin)[^\n]*\n){1,4}(?:[^\n]*\n){0,6}?(?:__run_\w*fork_?handlers|run_at_forkers|PyOS_(?:Before|After)Fork\w*|grpc_(?:pre|post)fork\w*|\w*malloc\w*_prefork|ptmalloc_lock_all|\w*LockAll|blas_thread_shutdown\w*|__malloc_fork_lock_parent|atfork_\w+)", "the fork itself stands: one of its handlers waits for a thread or lock"),
    # Between fork and exec a child has one thread: nobody in it can be importing what it waits for.
    Sign(r"\bimport[_-]lock\b|_PyImport_AcquireLock|_ModuleLock\b|_lock_unlock_module", "a child that has not reached its exec waits for the lock of an import that its parent was doing", anywhere=(FORK_THEN_EXEC, r"\bthreads?\b")),
    Sign(r"_PyImport_AcquireLock|\bPyImport_ImportModuleLevel\b[^\n]*\n[^\n]*(?:sem_wait|PyThread_acquire_lock)", "a worker that a server forked anew waits for the lock of an import that its parent was doing", anywhere=(r"\b(?:re-?spawn(?:ed|s)?|re-?fork(?:ed|s)?|after (?:the )?fork|forked|uwsgi|mod_wsgi|gunicorn|pre-?fork)\b",)),
    Sign(r"_flush_std_streams|_enter_buffered_busy", "a child waits for the lock of an output buffer that the parent held", also=(CHILD_FRAMES,)),
    # What a handler does below itself it does with its lock taken: where that is the deepest frame, it asks for it (CPython 3.13 on).
    Sign(r"(?:_acquireLock|acquire|_lock|createLock) \((?:[^\n]*/)?logging/(?:__init__|handlers)\.py|(?:\A|(?<=\n\n)|(?<=\"\n))[^\S\n]*(?:\w+\.)?(?:emit|flush|handle) \((?:[^\n]*/)?logging/(?:__init__|handlers)\.py", "a child waits for the lock of the log", also=(CHILD_FRAMES,)),
    Sign(r"may lead to deadlocks in the child|os\.fork\(\) is incompatible with multithreaded|fork\(\) (?:called )?(?:from|in) (?:a )?multi-?threaded",
         "the interpreter or a library warned of this fork", anywhere=(_STANDS,)),
    # It goes on with one thread: that alone stops nobody.
    Sign(r"process just got forked, after parallelism", "tokenizers tells that it was in use before this fork", POSSIBLE, anywhere=(_STANDS,)),
    Sign(rf"(?:{LOCKS})", "a child waits for a lock that belongs to the whole process", also=(CHILD_WORDS, r"lll_lock|mutex_lock|SpinLock|SlowLock|futex|lock_slow|park|_lock\b|spin"), unless=(_OWN_THREADS, _IN_PARENT, r"take_gil|PyGILState_Ensure|PyEval_AcquireThread|gil_scoped_acquire"), prose=True),
    Sign(r"\b(?:inherit\w*|copied|held|taken|owned|locked)[^\n]{0,60}(?:lock|mutex)[^\n]{0,60}(?:fork|parent)|(?:lock|mutex)[^\n]{0,80}(?:held|owned|taken|locked)[^\n]{0,40}(?:at (?:the )?(?:time of )?fork|by (?:a |the )?(?:thread (?:id )?(?:of|in) )?(?:the )?parent|when (?:it|the process) forked|thread that does not exist|does not exist in the child)",
         "a lock was held when the process was forked", prose=True),
    Sign(rf"{_FINALIZES}[^\n]*(?:\n.*){{0,8}}{_OF_A_THREAD}|{_OF_A_THREAD}[^\n]*(?:\n.*){{0,8}}{_FINALIZES}", "a finalizer in a child waits for a thread of its parent", also=(_FORKED,), prose=True),
    Sign(rf"\b(?:collect|_collect|par_iter|read_parquet|scan|sink|join_context|in_worker_cold|install) \((?:[^\n]*/)?(?:polars|rayon)|\b(?:{WORDS})\b[^\n]{{0,60}}\bthread ?pool|thread ?pool[^\n]{{0,60}}(?:fork|child|missing|empty|gone|no threads)",
         "a library with a thread pool of its own is used in a child", also=(CHILD_WORDS,), prose=True),
    Sign(r"at::(?:native|cpu|_ops|parallel_for|internal)[^\n]*|libgomp|libiomp|\bc10::|torch::autograd::THPVariable", "a CPU operator does not return in a worker of a process that forks",
         also=(r"(?:hung|stuck|forked|blocked|hang\w{0,20})[^\n]{0,20}worker|worker[^\n]{0,30}(?:hung|stuck|forked|hang)|gunicorn|uwsgi|pre-?fork|celery|--preload",), prose=True),
    Sign(rf"\b(?:stuck|hang\w*|hung|never|block\w*|wait\w*|freez\w*|stop\w*|idle)\b(?! \()[^\n]{{0,60}}\b(?:{WORDS}|parallel_for|svd|matmul|dgetrf|linalg|blas|lapack|scipy|numpy|np\.)|\b(?:{WORDS}|svd|dgetrf|linalg|blas|lapack|scipy|numpy)\b[^\n]{{0,60}}\b(?:stuck|hang\w*|hung|never (?:return|finish|complete)\w*|block\w*|freez\w*)", "a library with threads of its own does not return in a child",
         also=(CHILD_WORDS, r"parent|before|already|fork|child|spawn|OMP_NUM_THREADS|thread"), unless=(_IN_PARENT, r"out of memory|killed by signal|No space left|all_?reduce|watchdog",), prose=True),
    Sign(r"\b(?:sync|wrapper) \((?:[^\n]*/)?fsspec/asyn\.py|run_coroutine_threadsafe|_blocking \((?:[^\n]*/)?grpc/|(?:result|_result_or_cancel) \((?:[^\n]*/)?concurrent/futures/_base\.py", "a child waits for a thread that would have to run in its parent", also=(r"_worker_loop|popen_fork|_launch \(|os_fork|forked",)),
    # The locks of a queue (_rlock, _wlock) are where idle workers stand.
    Sign(r"^[^\S\n]*with (?:\w+\.)*(?!_?[rw]lock\b)\w*lock\w*:\s*$|Lock\(owner=SomeOther(?:Process|Thread)\)", "a worker of a process that forks waits for a lock", anywhere=(r"multiprocessing/(?:forking|popen_fork)\.py|os\.fork\(", r"\bworker|\bchild")),
    Sign(r"with (?:self\.)?\w*lock\w*:|\.acquire\(", "a child waits for a lock", also=(r"\bforked?\b|\bchild\b|prefork|os\.fork|gunicorn|celery|uwsgi",), prose=True),
    Sign(cured_by(r"\b(?:OMP|OPENBLAS|MKL|NUMEXPR|VECLIB|RAYON|POLARS|BLIS|GOTO|TBB|ARROW|OPENCV\w*|TF)[_ ]\w*[_ ]?THREADS[ =_]{0,3}1\b|set_num_threads\(1\)|threadpool_limits|TOKENIZERS_PARALLELISM ?= ?\"?(?:false|0)|setNumThreads\([01]\)"), "it works with one thread", anywhere=(CHILD_WORDS,), prose=True),
    Sign(r"^(?![^\n]*Warning: )[^\n]*?\b(?:before|after|across|prior to|at|on|since|through)[^\n]{0,24}\b(?:os\.)?fork\w*\b[^\n]{0,80}(?:thread|lock|mutex|pool|hang|deadlock|stuck)|^(?![^\n]*Warning: )[^\n]*?\b(?:os\.)?fork\w*\b[^\n]{0,60}(?:while|when|with)[^\n]{0,60}(?:thread|lock)",
         "somebody says that threads and fork are mixed", unless=(_IN_PARENT,), prose=True),
    # A pool that idles while its parent waits has lost what it was given; one thread says that it was forked out of a program with more.
    Sign(r"^(?:get|__enter__|recv) \((?:[^\n]*/)?multiprocessing/(?:queues|synchronize|connection)\.py", "a worker forked out of a running program idles while its parent waits for it", POSSIBLE, also=(r"_process_worker|\bworker \((?:[^\n]*/)?multiprocessing/pool",), anywhere=(r"Threads:\s*1\b", r"futex"), unless=(r"\bspawn_main\b|popen_spawn|popen_forkserver|\bforkserver\b",)),
    Sign(r"\b(?:gunicorn|uwsgi|celery)[^\n]{0,60}(?:--preload|preload|prefork|pre-fork)", "a server forks its workers after loading", POSSIBLE, anywhere=(BAD,), prose=True),
    Sign(cured_by(r"(?<!WORKER_START=)(?<!mp\.)\b(?:spawn|forkserver)\b", within=140), "it works with spawn", anywhere=(rf"{HALTS}|{BAD}|no more\b|without end|\bsits? in\b|{_STANDS}",), unless=(r"CUDA|cuda|initialization error|finished its bootstrapping phase",), prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    said = (
        hit
        for hit in hits(case, _SIGNS, live_stacks=True)
        if _may_be_forked(case, hit.account) and not _runs_its_threads(hit) and not _has_executor(hit)
    )
    found = [
        *said,
        *_locked_children(case),
        *_at_listed_locks(case),
        *_alone_at_a_buffer(case),
        *_waiting_children(case),
    ]
    compared = list(_other_start(case))
    found += compared
    if found:
        title = "a forked child waits for a lock or thread that exists only in its parent"
        made = finding(RULE, case, found, title, _STEPS)
        # Several stand, and nobody reads what they wait for.
        yield replace(made, compared=len(made.processes) > 1 or bool(compared))


# Start methods in the environment of a command (joblib, multiprocess, programs of one's own).
_STARTED = regex(r"\w{0,40}(?:START_METHOD|MP_CONTEXT|MULTIPROCESSING_METHOD)=['\"]?(?:spawn|forkserver|loky)['\"]?")


def _other_start(case: Case) -> Iterator[Hit]:
    """A command that somebody had to break off, and that came to its end when its workers were not forked."""
    told = () if case.snapshot.live else runs(case)
    forked = {run.command for run in told if run.broken_off and not any(map(_STARTED.fullmatch, run.settings))}
    for run in told if forked else ():
        if run.command in forked and any(map(_STARTED.fullmatch, run.settings)) and not run.broken_off:
            says = "the same command ends when its workers are not forked, and had to be broken off when they were"
            yield Hit(Sign("", says), run.account, run.text)
            return


def _may_be_forked(case: Case, account: Account) -> bool:
    """Whether a subject may be a forked child: of a live job, one that still bears its parent's frames or command, and none of
    whose own threads may hold the lock for which another one waits."""
    members = [case.by_ref[ref] for ref in account.refs if ref in case.by_ref] if case.snapshot.live else []
    return not members or any(
        not _locked_at_home(one) and (forked(one) or (one.role is not Role.RANK and _called_as_its_parent(case, one)))
        for one in members
    )


def _runs_its_threads(hit: Hit) -> bool:
    """Whether what shows of a library are only its own threads: where those live, none of them stayed in a parent."""
    inside = (
        [seen for seen in hit.account.seen if _IN_THREADED.search(seen.text)] if hit.sign.pattern == _THREADED else []
    )
    return bool(inside) and all(began_in(seen.stack, _IN_THREADED) for seen in inside)


def _has_executor(hit: Hit) -> bool:
    """Whether a child waits for a result, and has threads of an executor of its own, which did not stay in a parent."""
    waits = _RESULT in hit.sign.pattern
    return waits and any(name_of(frame) == _WORKER for seen in hit.account.seen for frame in seen.stack)


_RESULT = r"(?:result|_result_or_cancel) \((?:[^\n]*/)?concurrent/futures/_base\.py"
_WORKER = ("concurrent/futures/thread.py", "_worker")
_IN_THREADED = regex(_THREADED)


def _called_as_its_parent(case: Case, member: Member) -> bool:
    """Whether it bears the command of its parent, as who was forked and called no other program does."""
    parent = parent_of(case, member)
    return parent is not None and bool(member.process.command) and member.process.command == parent.process.command


def _locked_at_home(member: Member) -> bool:
    """Whether a thread of the process waits for a lock that another thread of it may hold."""
    threads = views(member)
    wanted = any(view.wants_lock for view in threads)
    return wanted and bool(possible_holders(tuple(view for view in threads if not view.wants_lock)))


def _locked_children(case: Case) -> Iterator[Hit]:
    """Children whose stack ends in a lock that is not one of the loader's own."""
    forks = any(one.find(CHILD_FRAMES + r"|\bfork|DataLoader|ProcessPool|multiprocessing") for one in accounts(case))
    for account in accounts(case):
        if case.snapshot.live:
            return  # whether the holder lives is known there, and other rules ask it
        if not is_child(account, forks):
            continue
        for seen in account.seen:
            elsewhere = _next_in_line(case, seen) or _of_a_device(seen) or _no_lock_in_python(account, seen)
            depth = 0 if elsewhere else _lock_depth(seen)
            if depth and not any(frame.function in _INTERRUPTS for frame in seen.stack):
                says = "a worker stands in a lock below a library" if seen.native else "a worker stands in a lock"
                certainty = LIKELY if seen.native or account.role is Role.DATALOADER_WORKER else POSSIBLE
                yield Hit(Sign("", says, certainty), account, seen.text.split("\n", 1)[0])
                break


def _no_lock_in_python(account: Account, native: Seen) -> bool:
    """Whether the frames of Python of the same thread are shown as well, by another tool, and end in a condition: below that
    stands the lock in which its owner sleeps."""
    same = (one for one in account.seen if not one.native and one.thread.tid == native.thread.tid is not None)
    return native.native and any(wait_of(one.stack).kind in _RESTS for one in same)


_RESTS = (WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.IDLE)


def _at_listed_locks(case: Case) -> Iterator[Hit]:
    """Children of one thread that stand at the line which takes a lock, by a listing of the source: nobody in them has it."""
    listed = [] if case.snapshot.live else [(one.label, block) for one in accounts(case) for block in blocks_in(one)]
    for account in accounts(case) if listed else ():
        threads = {seen.thread.tid for seen in account.seen}
        stack = account.seen[-1].stack if account.seen and account.seen[-1].thread.active is not True else ()
        if len(threads) != 1 or not stack or not is_child(account, False):
            continue
        for label, (name, number, inside) in listed:
            mine = any(frame.line in inside for frame in stack if is_of(label, frame))
            if stack[-1].line == number and is_of(label, stack[-1]) and is_named(label) and not mine:
                says = f"a child of one thread stands at the line that takes {name}"
                yield Hit(Sign("", says), account, f"{stack[-1].function} ({stack[-1].file}:{number})")
                break


def _alone_at_a_buffer(case: Case) -> Iterator[Hit]:
    """Processes whose one thread waits for the lock of an output buffer: Python has no other way to get there than a fork."""
    for account in accounts(case) if not case.snapshot.live else ():
        inside = (seen.text for seen in account.seen if "_enter_buffered_busy" in seen.text)
        text = next(inside, None)
        if text is not None and threads_listed(account) == 1:
            says = (
                "the one thread of a process waits for the lock of an output buffer, which a thread of its parent held"
            )
            yield Hit(Sign("", says), account, text.split("\n", 1)[0])


# The drivers of devices and network cards: what a fork does to them has a rule of its own.
_DRIVER = regex(
    r"\blib(?:cuda|cudart|amdhip64|hsa-runtime64|ascendcl|ze_\w+|mlx[45]|ibverbs|efa)\b|"
    r"^(?:cu[A-Z]|cuda[A-Z]|hip[A-Z]|hsa_|ibv_|mlx[45]_|efa_)"
)


def _of_a_device(seen: Seen) -> bool:
    """Whether the lock belongs to the driver of a device."""
    return any(
        _DRIVER.search(f"{frame.library or frame.file or ''}") or _DRIVER.search(frame.function)
        for frame in seen.stack[-7:]
    )


def _next_in_line(case: Case, seen: Seen) -> bool:
    """Whether a worker waits its turn to read from the queue of its pool, and another is seen to read: both are idle."""
    if wait_of(seen.stack).kind is not WaitKind.IDLE or "synchronize.py" not in (seen.stack[-1].file or ""):
        return False
    others = (one for account in accounts(case) for one in account.seen if one is not seen)
    return any(wait_of(one.stack).kind is WaitKind.IDLE and _READS.search(one.stack[-1].function) for one in others)


_READS = regex(r"(?:^|[._])(?:recv(?:_bytes)?|read|poll)$")
# How CPython takes a lock of threading; its semaphore looks like a condition's.
_PYTHON_LOCK = {"lock_PyThread_acquire_lock", "acquire_timed", "rlock_acquire"}
# Whoever waits for a lock below these waits for its own thread.
_INTERRUPTS = {"<signal handler called>", "__del__", "Garbage-collecting", "_removeHandlerRef"}
# Where a worker runs what it was given, and where that waits for a thread of its own process.
_LOOP = regex(r"^(?:_worker_loop|_process_worker|worker|workloop|trace_task|_run_process|_worker_process|execute_job)$")
_POOLS_OWN = regex(
    r"(?:^|/)(?:multiprocess(?:ing)?|billiard|concurrent/futures|joblib|loky|threading|queue|torch/utils/data)(?:/|\.py)"
)


def _waiting_children(case: Case) -> Iterator[Hit]:
    """Children that wait, in the middle of a task, for another thread of their process."""
    if case.snapshot.live:
        return
    for account in accounts(case):
        for stack in account.stacks:
            loop = next((at for at, frame in enumerate(stack) if _LOOP.match(frame.function) and _python(frame)), -1)
            task = [
                frame for frame in stack[loop + 1 :] if frame.file and not _POOLS_OWN.search(module_path(frame.file))
            ]
            if loop >= 0 and task and wait_of(stack).kind is WaitKind.CONDITION and _threads_told(account):
                says = "a child waits, in the middle of its task, for a thread of its own process"
                yield Hit(Sign("", says, POSSIBLE), account, f"{task[-1].function} ({task[-1].file})")
                return


def _python(frame: Frame) -> bool:
    """Whether a frame is one of Python: a C library's pool has functions called ``worker`` too."""
    return frame.library is None and not (frame.file or "").endswith((".c", ".cc", ".cpp", ".h"))


def _threads_told(account: Account) -> bool:
    """Whether nobody else of the process is seen to work: it has but this stack, or only idle ones."""
    return len(account.stacks) <= 2


def _in_python(seen: Seen) -> Stack:
    """A stack as far as its deepest frame of Python; none where only native ones are shown."""
    deepest = max((at for at, frame in enumerate(seen.stack) if frame.file.endswith(".py")), default=-1)
    return Stack(seen.stack[: deepest + 1])


def _shared(stack: Stack) -> bool:
    """Whether it ends in a lock of multiprocessing: a semaphore that processes share, of which a fork makes no copy."""
    return bool(stack) and module_path(stack[-1].file or "") == "multiprocessing/synchronize.py"


def _lock_depth(seen: Seen) -> int:
    """How many of the innermost frames are locks; conditions and queues are where idle workers stand."""
    above = _in_python(seen) or seen.stack
    waits = above is not seen.stack and kind_of(above[-1]) is WaitKind.CONDITION
    serves = module_path(above[-1].file or "") == "multiprocessing/managers.py" if above else False
    joins = above is not seen.stack and above[-1].function.endswith("_wait_for_tstate_lock")  # a thread of its own
    if waits or joins or serves or at_rest(seen.stack) or at_rest(above) or _shared(above):
        return 0
    if any(frame.function in _PYTHON_LOCK for frame in seen.stack[-9:]):
        return 1  # an idle worker waits in a semaphore of multiprocessing or a read, never in a lock of threads
    depth = 0
    for frame in reversed(seen.stack[-4:]):
        kind = kind_of(frame)
        if kind in (WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.PIPE, WaitKind.SOCKET, WaitKind.IDLE):
            return 0
        depth += kind in (WaitKind.LOCK, WaitKind.IMPORT_LOCK)
    return depth


# They say by what the child is held, of which the place alone leaves a lock to be guessed.
_BETTER = ("lock-copied-by-fork", "filesystem-stall")
RULE = make_rule(__name__, __doc__, "fork-with-threads", 30, check, yields_to=_BETTER)
