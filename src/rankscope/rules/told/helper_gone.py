"""A parent waits for a child process that is gone.

## What it means
A pool worker, helper or simulator process was killed or crashed, and nobody told the parent: `multiprocessing.Pool` replaces a dead worker but
never finishes the task it had; a manager or server process that died leaves its clients in `recv`.

## How it is recognised
The parent waits in `join`, `recv`, `get` of a pool's result or `waitpid`; the child is a zombie (`<defunct>`), has ended by a signal, or no longer exists.
The system tells of its core (`systemd-coredump`, abrt, apport, audit); a container of the pod is `Terminated` while another runs; the workers of a
pool fail in `initializer(*initargs)` again and again; `Process SpawnProcess-2:` and a traceback, while a service asks in vain (503); a supervisor killed a worker that took too long.

A thread beside the main one that ended with an exception (`Exception in thread Thread-5:`) in a program that goes on and is said to hang.

A traceback through `_handle_results` of a pool or `_feed` of a queue that ends in what cannot be pickled or unpickled (an exception class whose
`__init__` wants more arguments than it hands to its base, a lambda, more than 2 GiB before Python 3.8): the task or its result is lost.

## What to do
Find why it died: `dmesg -T | grep -i -e segfault -e oom`, its own log, the exit code (`-11` crash, `-9` killed). Use
`ProcessPoolExecutor` (it raises BrokenProcessPool), time-outs on `get`, and sentinels (`multiprocessing.connection.wait`).

## How to prevent it
Parents that watch their children; PR_SET_PDEATHSIG for children that must not outlive the parent.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._lines import events
from ._outcomes import BAD
from ._signs import POSSIBLE, Hit, Sign, hits
from ._wordings import CORE, POOL_WAITS

_WAIT = r"(?:join|wait|recv|get|waitpid|wait4|poll|select|hang|stuck|block)\w*"
_STILL = (
    r"hang|never|stuck|wait|not (?:executed|run|returned)|remain|get\(\)|for ?ever|locks? up|"
    r"no (?:new )?(?:task|line|output|progress)|idle"
)
_POOL = r"\bPool\b|\bpool\b|ProcessPool|\bprocesses\b|n_jobs|num_proc|max_workers"
_STILL_WAITS = r"^(?:recv\w*|_recv\w*|join|get|wait|poll|_poll|result|map) \((?:[^\n]*/)?(?:multiprocessing/\w+|threading|subprocess|selectors|concurrent/futures/\w+|queue)\.py|\b(?:recv|join|get|result|waitpid|wait4)\("
# Somebody asked a service again and again whether it was ready.
_IN_VAIN = (
    r"\b503 Service Unavailable|\bfailed to (?:start|come up|become (?:ready|healthy)) (?:with)?in\b|"
    r"\b[Tt]imed out (?:while )?waiting for\b|"
    r"\b(?:server|service|worker|engine)\b[^\n]{0,30}\b(?:not (?:ready|healthy)|did not (?:start|come up|become))"
)
_OVERDUE = r"\b(?:worker|child|process|task|helper|actor)\b[^\n]{0,60}\b(?:exceeded|timed out|overdue|too long|over its (?:time )?limit|did not (?:answer|respond|finish))\b[^\n]{0,60}\b(?:SIGKILL|kill(?:ed|ing)?\b|kill -9)"
# What ends workers, where it is told: then their end is but what came of it.
_WHY = (
    r"\bout[- ]of[- ]memory\b|\bOOM\b|oom[-_]kill|excessive memory|No space left|\bshm\b|shared memory|"
    r"unsupported pickle|_inductor|\btriton\b|\bat ?fork\b|\bforked\b|can't start new thread|Too many open files"
)
_POOL_SAYS = (
    r"WorkerLostError|exited with 'signal \d+|KilledWorker|BrokenProcessPool|"
    r"process in the process pool was terminated|TerminatedWorkerError|worker process managed by the executor was|"
    r"background (?:workers?|process(?:es)?) (?:is|are) (?:6 feet|missing|no longer)"
)
# Ends that are a matter of another rule, or come after it is over.
_OTHER_ENDS = (
    r"KeyboardInterrupt|Watchdog caught|out of memory|OutOfMemory|No space left|EngineCore|Engine (?:core|process) |"
    r"Cannot re-initialize CUDA|Address already in use|DistBackendError|CUDA error|can't start new thread|Too many open files|"
    r"is likely shutting down|Exception in threading\.excepthook|interpreter shutdown"
)
# Tools that somebody called beside the job, and that their shell or container has not collected.
_ASIDE = r"\[(?:nvidia-smi|rocm-smi|amd-smi|npu-smi|sshd?|git|sleep|ps|top|curl|wget|gpustat|nvtop)\] <"
# What was to be done is done before the thread ends: then the program waits for nothing that it would have brought.
_OVER = r"^=* ?\d+ passed\b[^\n]{0,60}\bin \d|^\W{0,4}(?:all )?(?:done|finished|completed)\W{0,4}$"
# The threads by which pools and queues of multiprocessing, billiard, loky and concurrent.futures (its backport spells one otherwise) hand on
# what was pickled: the taker of results ends with an exception, the feeder loses what it should have sent (Lib/multiprocessing/pool.py, queues.py).
_OF_POOLS = r'File "[^"\n]{0,300}[\\/](?:pool|process|process_executor|_base|queues)\.py", line \d{1,9}, in '
_TO_ERROR = r"\n(?:[ \t]+[^\n]*\n){1,24}?"
_NOT_PICKLED = (
    r"(?:[A-Za-z_]\w{0,40}\.){0,4}(?:PicklingError|UnpicklingError|(?:AttributeError|TypeError)(?!: 'NoneType' object)|SystemError|OverflowError|"
    r"ModuleNotFoundError|ImportError|struct\.error|MaybeEncodingError)\b[^\n]*"
)
_TAKER_ENDED = (
    "the thread that takes the results of a pool ended with what it could not unpickle: no later result is taken"
)
_WORKER_RAISED = (
    "a background worker ended with an exception of its own, and who waits for it is only told that it is gone"
)
_NOT_REMADE = "an exception of a worker cannot be unpickled: the thread that takes the results of a pool ends with it"
_FEEDER_LOST = "the thread that sends the tasks of a queue could not pickle one: it reaches nobody, and nobody is told"
# Newer executors hand such an error to who asked for the result; the interpreter's end takes modules away below these threads.
_HANDED_ON = r"\b_RemoteTraceback\b|was the direct cause of the following|interpreter shutdown|BrokenProcessPool"
_THREAD_ENDED = "a thread beside the main one ended with an exception, and the process lives on"
_SIGNS = (
    Sign(r"\b(?:worker|child|process|helper|sub-?process)\w*\b[^\n]{0,40}\b(?:missing (?:from|in) (?:ps|the process|the list)|(?:is|was) not (?:in|listed in) (?:ps|the process)|no longer (?:in|shows))|segfault[^\n]{0,40}(?:for|of|in) (?:its|the|that|a) (?:pid|child|worker|process)", "a child is not there any more", prose=True),
    # The heading names the child, and what is told below it that it is not there.
    Sign(r"\A[^\n]*\b(?:worker|child|helper|sub-?process|simulator|actor|engine)\b[^\n]*\n(?:[^\n]*\n){0,6}?(?:it |they )?(?:is |are |was |were )?(?:no longer|not|gone from|missing (?:in|from)) (?:any ?more |listed )?(?:(?:in|by|to be seen in) )?(?:`?ps\b|(?:the )?process (?:list|table)|/proc\b|h?top\b)", "a child is not there any more", anywhere=(r"\b(?:get|recv|join|wait|result)\(\)|\bwait(?:s|ing)? (?:in|for)\b|" + _STILL_WAITS,), unless=(r"oom[-_]kill|Out of memory",), prose=True),
    Sign(r"subprocesses has abruptly died|\b(?:worker|child|helper|core proc|process|engine\w*|\w+(?-i:Worker|Process|Actor)|pool|simulator|env\w*)\b[^\n]{0,40}\b(?:died|exited|terminated|quit|ended|stopped|disappeared)\b[^\n]{0,16}\b(?:unexpectedly|abruptly|prematurely|silently)|\b(?:unexpected(?:ly)?|abrupt(?:ly)?)\b[^\n]{0,16}\b(?:died|exit|exited|terminated|termination|death)\b[^\n]{0,40}\b(?:worker|child|helper|process|engine)", "a child or helper ended without a word", unless=(r"oom[-_]kill|Out of memory|bus error|Bus error|shared memory|No space left|DataLoader worker|Worker proc \S+ died",)),
    Sign(r"\bRestarting worker\b|^(?![^\n]*\b(?:by hand|manually|by (?:me|us)|asked (?:for|to))\b)[^\n]*?(?P<said>\bworker\b[^\n]{0,40}\b(?:was )?(?:restarted|respawned|replaced)\b)", "a worker was replaced", anywhere=(BAD,), unless=(r"\bSIG(?:TERM|HUP|USR\d)\b[^\n]{0,16}\b(?:for|to) (?:an? )?(?:restart|reload)\b|\b(?:asked|told) to (?:restart|reload)\b", r"exceeded[^\n]{0,20}memory|oom[-_]kill|Out of memory",)),
    Sign(r"^(?:get|wait|map|starmap|next|_get_result|result|as_completed|retrieve) \((?:[^\n]*/)?(?:multiprocess(?:ing)?/pool|concurrent/futures/_base|joblib/parallel|billiard/pool|pebble/\S+)\.py|^iflatmap_unordered \(", "a parent waits for the result of a pool", POSSIBLE, anywhere=(BAD + r"|\bno change (?:since|for)\b",), unless=(r"_inductor|triton|asyncio|import|fork",)),
    Sign(r"\b(?:younger|newer|later|recent|fresh(?! start\b))\b[^\n]{0,24}\b(?:start(?:ed)?(?: time)?|pid|process id|age)\b[^\n]{0,40}|\bone (?:of (?:them|the workers)|worker)\b[^\n]{0,40}\b(?:newer|younger|started (?:later|after|minutes|hours))", "a worker is younger than the others: it replaced one", anywhere=(_STILL, _POOL), prose=True),
    Sign(r"\b(?:little|low (?:on )?|not enough|small|limited|less|out of|memory pressure|under (?:\w+ ){0,2}memory)\b ?(?:RAM|memory|pressure)?\b[^\n]{0,60}", "a pool stands still when memory is short: one of its workers may have been killed", POSSIBLE, anywhere=(_STILL, _POOL, r"\b(?:RAM|memory)\b"), unless=(r"CUDA|GPU memory|/dev/shm|shared memory|\bfork(?:ed|s)?\b|Cannot allocate",), prose=True),
    Sign(r"\bonly (?:\d+|one|two|three|\w+) of (?:the |its |all )?(?:\d+|\w+) (?:\w+ ){0,2}(?:are|is|were) (?:still )?(?:in ps|left|alive|running|listed|there|present)|\bone (?:of (?:the|its) \w+|\w+)? ?(?:is|was) missing (?:in|from) (?:ps|the process)", "not all of its children are there", anywhere=(_STILL_WAITS + r"|" + BAD,), unless=(r"\branks?\b[^\n]{0,20}(?:joined|arrived)|nodes?\b",), prose=True),
    Sign(r"^(?![^\n]*potential root causes)[^\n]*\b(?:OOM|out-of-memory)[- ]?killer\b", "the killer of the kernel took a worker, and its parent waits", anywhere=(r"\b(?:worker|child|pool|sub-?process)", rf"{_STILL}|{BAD}|stands there"), unless=(r"Watchdog caught|NCCL|all_?reduce",), prose=True),
    Sign(r"\[DEBUG/\w+\] cleaning up worker \d+", "a pool replaced a worker that had ended", anywhere=(_STILL,)),
    Sign(r"\bkill(?:s|ed|ing)?\b(?: -\d+| -KILL)?[^\n]{0,30}\b(?:workers?|child\w*|ForkPoolWorker\S*|SpawnPoolWorker\S*|sub-?process\w*|helper|simulator|actor)\b|\b(?:workers?|child\w*|sub-?process\w*|helper)\b[^\n]{0,20}\b(?:was|were|got|is) (?:kill|OOM-?kill|SIGKILL|terminat)(?!\w+ (?:by hand|manually|by (?:me|us)\b))", "a worker was killed", POSSIBLE, anywhere=(_STILL,), unless=(r"oom[-_]kill|Out of memory|Memory cgroup|<defunct>",), prose=True),
    Sign(r"\bno (?:such )?process (?:with|of|for|has) (?:this|that|its|the)\b|\bpid \d+\b[^\n]{0,30}(?:does not|no longer|doesn't) exist|No such process", "a process is not there any more", anywhere=(_STILL_WAITS,), prose=True),
    Sign(r"\w[\w.-]*\[\d+\]: segfault at |traps: \S+\[\d+\] (?:trap|general protection)|general protection fault", "the kernel tells of a crash of a helper", anywhere=(_STILL_WAITS,)),
    Sign(r"^(?:\[\w+/[\w-]+\] )?process exiting with exitcode (?!0\b)-?\d+", "a worker of a pool ended in the middle of its work", anywhere=(r"^(?:get|wait|map|starmap|next|join|result) \((?:[^\n]*/)?(?:multiprocess(?:ing)?/pool|billiard/pool|threading|concurrent/futures/_base)\.py",)),
    # multiprocessing.Process prints its name and a traceback when its target raises; whoever waits for it is told nothing.
    Sign(r"(?:^|[\])|:>] +)Process (?:Spawn|Fork|ForkServer)?(?:Process|PoolWorker)-\d+(?::\d+)*: *\n(?:[^\n]*\n)?[^\n]*Traceback \(most recent", "a helper process of multiprocessing ended with an exception", anywhere=(BAD + "|" + _IN_VAIN,), unless=(_OTHER_ENDS,)),
    # threading tells of a thread that ended so, and nobody else is told; a queue that it read or filled stays as it is.
    Sign(r"^(?:\S+ )?(?:Unhandled e|E)xception in (?:background )?thread (?!MainThread)[^\n]{1,200}$", _THREAD_ENDED, also=(r"Traceback \(most recent",), anywhere=(BAD + r"|\b(?:goes on|keeps?|still) waiting\b|" + _STILL_WAITS,), unless=(_OTHER_ENDS, _OVER)),
    # People leave the head of the traceback out, or keep one of several.
    Sign(r"^(?:\S+ )?(?:Unhandled e|E)xception in (?:background )?thread (?!MainThread)[^\n]{1,200}$", _THREAD_ENDED, anywhere=(BAD + r"|\bdo(?:es)?(?:n't| not) complete\b", r"\bno (?:such )?thread\b[^\n]{0,40}\b(?:alive|left|running|there)\b|\bdo(?:es)?(?:n't| not) complete\b"), unless=(_OTHER_ENDS, _OVER)),
    Sign(_OF_POOLS + r"(?:_handle_results|_queue_man\w{0,12}ment_worker)" + _TO_ERROR + _NOT_PICKLED, _TAKER_ENDED, unless=(_HANDED_ON, _OVER), passing=True),
    Sign(_OF_POOLS + "_feed" + _TO_ERROR + _NOT_PICKLED, _FEEDER_LOST, POSSIBLE, unless=(_HANDED_ON, _OVER, r"\bDataLoader\b"), passing=True),
    # Tried by hand: what a worker raises can be pickled, and not be made again from it.
    Sign(r"\b(?:pickle|dill|cloudpickle)\.loads\([^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\bTypeError: [^\n]*\b__init__\(\) (?:takes|missing)\b", _NOT_REMADE, POSSIBLE, anywhere=(_POOL,), unless=(_HANDED_ON, _OVER)),
    # Parsl's wrapper of what a process of its own begins with (parsl/process_loggers.py, older: exception wrapper).
    Sign(r"\b(?:process logger )?exceptional ending for (?:[^\n]* )?(?:on |in )?(?:thread )?MainThread\b|process logger exceptional ending for ", "a helper process says that it ends with an exception", anywhere=(BAD,), unless=(r"KeyboardInterrupt|MainThread[^\n]* in process MainProcess",)),
    Sign(r"\bReceived sigquit from a child process\b|\bIt usually means the child failed\b", "a server says that a child of it failed"),
    Sign(r"^Signal (?:4|6|7|8|11) caught\.?$", "a simulator says that it crashes (Unreal Engine)", anywhere=(r"^\w+ \([^()\n]+\.py:\d+\)$|" + BAD,)),
    # Who collects cores tells of them: systemd-coredump(8), coredumpctl(1), abrt, apport, the kernel's audit (ANOM_ABEND), macOS.
    Sign(CORE + r"|systemd-coredump\[\d+\]: |\bProcess \d+ \([^)\n]+\) of user \d+ (?:dumped core|terminated abnormally)|\bANOM_ABEND\b|\btype=1701 audit|\babrt\S*: Process \d+ \([^)\n]+\)[^\n]* (?:crashed|killed by SIG(?:SEGV|ABRT|BUS|ILL|FPE|TRAP)\b)|\bCaught signal (?:4|6|7|8|11)\b|^Exception Type: +EXC_|\bapport: (?:called for pid|executable:)|\bSaved crash report for\b", "the system tells of a crash of a helper", anywhere=(_STILL_WAITS,)),
    Sign(r"\binitializer\(\*initargs\)", "the workers of a pool fail in what they begin with, and the pool makes new ones without end", anywhere=(r"^(?:get|wait|map|starmap|next|join) \((?:[^\n]*/)?(?:multiprocess(?:ing)?|billiard)/pool\.py|^Process \w+PoolWorker-\d{3,}:",), unless=(r"BrokenProcessPool",)),
    Sign(r"^\s*State:\s+Terminated\b[^\n]*\n\s*Reason:\s+(?:Error|ContainerCannotRun|StartError|DeadlineExceeded)\b", "a container beside the one that waits has ended", also=(r"^\s*State:\s+Running\b",), unless=(r"OOMKilled",)),
    Sign(_OVERDUE, "a supervisor killed a worker that took too long", anywhere=(_STILL_WAITS + r"|" + BAD + r"|^(?:__enter__|acquire) \((?:[^\n]*/)?multiprocessing/synchronize\.py",), unless=(r"WORKER TIMEOUT|HARAKIRI|Watchdog caught",)),
    Sign(r"<(?:Fork|Spawn)?(?:Server)?Process[^\n>]*(?:stopped\[|stopped exitcode=-|exitcode=-\d|, stopped)|WorkerLostError|Worker exited prematurely|exited with 'signal \d+|KilledWorker|Worker process \d+ was killed by signal", "a pool says that a worker is gone", unless=(_WHY,)),
    Sign(rf"^(?![^\n]*(?:\bZ[sN<+]*l|cannot be killed|{_ASIDE}))[^\n]*<defun\w*>?|^(?![^\n]*{_ASIDE})\S+\s+\d+\s+(?:[\d.]+\s+){{2}}0\s+0\s+\S+\s+Z", "a child has ended and was not collected", POSSIBLE),
    # Zl is a process whose main thread has ended and whose others have not (ps(1)): it ends, and is no dead child.
    Sign(rf"^(?![^\n]*(?:\bZ[sN<+]*l|cannot be killed|{_ASIDE}))[^\n]*<defunct>|^(?![^\n]*(?:\bCtrl[-+ ]?C\b|\^C|\bTasks: )[^\n]*zombie)[^\n]*(?<!\b0 )\bzombie\b(?![^\n]*(?:listen|port\b))|\bZ[s+<N]{{0,3}}\b +\S*python|state[: ]+Z\b", "a child has ended and was not collected", POSSIBLE, anywhere=(_WAIT,), unless=(r"\batexit\.register\b|_run_exitfuncs|_exit_function \(|_shutdown \((?:[^\n]*/)?threading",)),
    Sign(r"process in the process pool was terminated abruptly|BrokenProcessPool|A worker process (?:was|has been) (?:unexpectedly )?(?:terminated|died)|TerminatedWorkerError|worker process managed by the executor was unexpectedly terminated",
         "a pool says that a worker is gone", unless=(_WHY,)),
    # nnU-Net and batchgenerators.
    Sign(r"\b(?:[Oo]ne or more|[Ss]ome|[Oo]ne of your) background (?:workers?|process(?:es)?) (?:is|are) (?:6 feet under|missing|no longer alive)", "a pool says that a worker is gone", unless=(_WHY,)),
    Sign(r"^Exception in background (?:worker|process) \d{1,9}:", _WORKER_RAISED, unless=(_WHY, r"\bMemoryError\b|\bUnable to allocate\b|Cannot allocate|CUDA (?:error|out)|errno (?:12|28)\b"), passing=True),
    Sign(_POOL_SAYS, "a pool lost a worker, and the reason is told", POSSIBLE, anywhere=(_WHY,)),
    # A client of PostgreSQL only guesses at its server (libpq).
    Sign(r"^(?![^\n]*This probably means the server terminated)[^\n]*?(?P<said>\b(?:child|worker|helper|sub-?process|process|server|manager|actor|simulator|env(?:ironment)?)\b[^\n]{0,60}\b(?:died\b|dead\b|(?<!hang )(?<!deadlock )(?<!problem )(?<!issue )(?<!error )(?:is|was) gone\b|crashed|segfault\w*|no longer (?:exists|alive|running)|exited (?:with|unexpectedly)|terminated|killed(?! (?:by hand|manually|by (?:me|us)\b))|vanished|disappeared))",
         "a child or helper is gone", anywhere=(r"(?:parent|main|rank|driver|master|caller|trainer|program|launcher|client|server)\b[^\n]{0,80}" + _WAIT,), prose=True),
    Sign(rf"^(?!{CORE})[^\n]*?(?P<said>\b(?:exit ?code|exitcode|returncode)\W{{0,4}}(?:-11|139|-6|134|-7|135|-4|132|-8)\b|Segmentation fault|SIGSEGV|SIGABRT|core dumped)", "a process crashed", POSSIBLE, unless=(r"Watchdog caught|local_rank: \d|first noticed rank|BAD TERMINATION OF ONE|ProcessExitedException|process rank \d|error: \S+: tasks? \d|\b(?:mpi_)?rank_?\d+\]|\btrainers?\b",)),
    Sign(r"\bsi_signo=SIGCHLD\b|wait4\([^\n]*unfinished|waitid\(", "a parent waits for a child", POSSIBLE),
    Sign(r"\b(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionRefusedError)(?:[^\n]*\n)?[^\n]*(?:managers|multiprocessing)|multiprocessing/managers\.py(?:[^\n]*\n){0,8}[^\n]*(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionRefusedError)", "a manager's process is gone"),
    Sign(r"\bWorker (?:with pid |\(pid:?)\d+\)? was (?:terminated due to|sent) (?:signal |SIG)(?:4|6|7|8|11|ILL|ABRT|BUS|FPE|SEGV)\b|\bFailed core proc\(s\): \{[^}\n]*: -(?:4|6|7|8|11)\b", "a server says that a worker crashed"),
)  # fmt: skip

_FACTS = {_THREAD_ENDED, _TAKER_ENDED, _FEEDER_LOST, _NOT_REMADE, _WORKER_RAISED}
_STEPS = ("ps -ef --forest | grep -e defunct -e python", "dmesg -T | grep -i -e segfault -e oom")
_LOCKED = r"(?:__enter__|acquire) \((?:[^\n]*/)?multiprocessing/synchronize\.py[^\n]*\n(?:[^\n]+\n){0,2}?[^\n]*(?:get|worker|_process_worker|put) \((?:[^\n]*/)?(?:multiprocessing/(?:queues|pool)|concurrent/futures/process)"
_TERMINATES = r"\b_terminate_pool \("
_READING = r"(?:_recv|recv|recv_bytes|_recv_bytes|read|poll) \((?:[^\n]*/)?multiprocessing/connection\.py"


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    if not case.snapshot.live:
        found.extend(_nobody_reads(case))
        found.extend(_replaced(case))
        found.extend(_crashed(case))
    if found:
        made = finding(RULE, case, found, "a parent waits for a child process that is gone", _STEPS)
        # The end of a thread and the wait of its process are two facts: what else reads well does not outweigh them. Nor does
        # it bring back a task that a pool has lost.
        yield replace(made, compared=any(hit.sign.says in _FACTS for hit in found))


def _nobody_reads(case: Case) -> Iterator[Hit]:
    """Every worker waits for the lock of the queue and none reads from it: its holder died, or the pool itself took it to end."""
    if any(one.find(_TERMINATES) for one in accounts(case)):
        return
    locked = [one for one in accounts(case) if one.find(_LOCKED)]
    reading = [one for one in accounts(case) if one.find(_READING)]
    if len(locked) > 1 and not reading:
        yield Hit(Sign("", "all workers wait for the lock of their queue, and nobody reads from it"), locked[0], "")


def _replaced(case: Case) -> Iterator[Hit]:
    """A pool whose caller waits, and of whose workers ``ps`` shows one or two that were started long after the others."""
    waiting = next((one for one in accounts(case) if one.find(POOL_WAITS)), None)
    families: dict[tuple[object, object], list[str]] = {}
    for row in events(case, "proc.row"):
        if "started" in row.fields:
            families.setdefault((row.fields.get("ppid"), row.fields.get("command")), []).append(
                str(row.fields["started"])[:5]
            )
    for times in families.values():
        usual = max(set(times), key=times.count)
        late = [one for one in times if one > usual]
        if waiting is not None and len(times) > 2 and late and 3 * len(late) <= len(times):
            yield Hit(
                Sign("", f"a worker was started at {late[0]}, the others at {usual}: it replaced one"), waiting, ""
            )
            return


# The number of the process that crashed, in the words of systemd-coredump(8) and of the kernel.
_CRASHED = regex(
    r"\bProcess (?P<core>\d{1,10}) \([^)\n]{1,64}\) of user \d{1,10} (?:dumped core|terminated abnormally)|"
    r"\w\[(?P<kernel>\d{1,10})\]:? (?:segfault at|general protection)"
)


def _crashed(case: Case) -> Iterator[Hit]:
    """A crash that the system tells of, and ``ps`` shows this very process, which its parent has not collected."""
    zombies = {row.pid: row for row in events(case, "proc.row") if str(row.fields.get("state"))[:1] == "Z"}
    for one in accounts(case) if zombies else ():
        for found in _CRASHED.finditer(one.text):
            row = zombies.get(int(found["core"] or found["kernel"]))
            if row is not None:
                yield Hit(Sign("", "a child crashed, and was not collected"), one, row.text)
                return


RULE = make_rule(
    __name__,
    __doc__,
    "child-dead",
    38,
    check,
    yields_to=("rank-not-collected", "child-not-collected", "pool-result-lost"),
)
