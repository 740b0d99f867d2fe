"""A rank failed or left, and the others wait for it.

## What it means
One rank raised an exception, ran out of device memory, crashed or ended early. The others notice only when a limit expires, and their messages are what people see.

## How it is recognised
The first error in time is an exception that is not a consequence (not a closed connection, not a time-out); a launcher that names a process with an exit code; ranks that clean up while their
peers wait in a send, receive or collective; a process that is simply not there any more; a zombie of the program the others run, and a fault of that
program in the kernel's log; the interpreter's own dump of one that crashed (`Fatal Python error: Segmentation fault`), while another one was seen in a call.
It is *likely* where the error is one of the program's own data and code, a launcher or framework names the process, or a rank ran out of device memory while others stand in a call with it. Where the launcher
tells of the rank that raised the error that it has ended, and another one was seen to wait, no good lines outweigh it. An error that a device, the system or a library below raised (CUDA, an
errno, a full disk) and a death that is only mentioned are *possible*: they have causes of their own.
The process may live on: where the thread that raised the error is not in it any more, and others still wait in the functions that its traceback tells, it is *likely*, too.
SIGTERM to a launcher is one where others are seen to miss its ranks; else somebody, a time limit or a scheduler has ended the job, which is a note.
CANN's codes for a wait that timed out (507046 and its neighbours) are a consequence, too. Open MPI names a peer whose process disconnected (`An MPI communication peer process has unexpectedly disconnected`).

## What to do
Read the first exception (`rankscope analyze LOGS` names it) and fix that. Let failure end the job: `torchrun` with `--max-restarts=0`, NCCL's error handling left on
(`TORCH_NCCL_ASYNC_ERROR_HANDLING` is 3 by default; 0 switches it off), abort the groups instead of destroying them.

## How to prevent it
`@record` on `main`, so that the first error is written to a file; no `except: pass` around training steps.
Case: https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/5283
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from ...analysis.accounts import OF_LOGS, accounts, compiled, outlived
from ...analysis.case import Case
from ...analysis.clocks import offsets
from ...analysis.doings import crash, doings, in_kind, way
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Certainty, Finding, Kind
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._asked_to_end import ASKED, MISSED, asked_to_end
from ._findings import finding, members, ranks_said, simple
from ._first_error import consequence, first_error
from ._kin import ended
from ._left_alone import left_alone
from ._lines import events
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._timeouts import timeouts
from ._wordings import CORE, HALTS

_STEPS = ("read that rank's own log above this error, and above the first message of NCCL or gloo",)
# What a program was refused by a device, the system or a library below it: every rank may get such an error, and it has a
# cause of its own. Errors of its own data and code have none but the rank.
_FROM_BELOW = regex(
    r"\[Errno (?!2\])\d+\]|\berrno[ =:]|\bos error \d|\bOs \{|"
    r"\b(?:CUDA|CUBLAS\w*|cuDNN|HIP|NPU|HCCL|ECC|GPUs?|firmware|driver)\b|[Dd]evice \w+ failed|[Dd]evice already|"
    r"DEVICE_LOST|\bcuda[A-Z]\w+|synStatus|[Hh]ealth check|"
    r"[Aa]ddress already in use|failed to (?:listen|bind|connect)|[Oo]ut of memory|OutOfMemory|Cannot allocate|"
    r"No space left|\bquota\b|\brequested and \d+ written|inline_container|"
    r"Too many open files|ancdata|Resource temporarily|unable to (?:mmap|open shared memory|lock)|File exists|"
    r"\bbackend='\w+' raised|InductorError|(?<!Error in )DataLoader worker|Caught (?:Runtime|OS|IO|Memory|Accelerator)Error in|[Pp]in memory thread|[Dd]ead[Ll]ock|expects same model|Split sizes"
)  # fmt: skip
# Who takes less and goes on has not failed.
_MEMORY = Sign(
    r"^(?![^\n]*(?:\bWARNING\b|attempting to recover|\b(?:continuing|retrying|trying again) with\b))[^\n]*?(?:\b(?:CUDA|HIP|NPU) out of memory|OutOfMemoryError|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|CUDA error: out of memory|Cuda failure '?out of memory)(?![^\n]*(?:\n[^\n]*)?\bskipp(?:ing|ed) (?:this |the )?(?:batch|update|step|sample)\b)",
    "a rank ran out of device memory",
    POSSIBLE,
)
_WAITED_OUT = r"Timed out waiting \d+ms for (?:recv|send) operation"
_PEER_GONE = "a peer has gone"  # who says so has seen it, and is not the one
_TOLD_TO_END = "the launcher was told to end by SIGTERM: somebody, a time limit or a scheduler ended the job, and nothing here says why"
_WHO_ENDED_IT = (
    "sacct -j JOBID -o State,ExitCode,End,Timelimit   # or the events of the pod: a time limit, preemption, a person",
)
_SIGNS = (
    # Ray's own words; TensorRT-LLM's executor, which ends its peers itself.
    Sign(r"[Aa]ctor died because of an error raised in its creation task|\bExecutor loop crashed on this rank\b", "the framework says which of its workers failed"),
    # Slurm sets down every node that it does not hear, also where only the network keeps it silent.
    Sign(r"\bNodes? \S+ not responding, setting DOWN", "the scheduler does not hear a node any more", POSSIBLE),
    Sign(r"\bon failed node \S+|^\S+ +(?:\S+ +){0,6}?NODE_FAIL\b|\bJobState=NODE_FAIL\b|\bSISTER_EOF\b|\bnode \d+ \(\S+\) requested job (?:die|terminate)", "the scheduler lost a node"),
    # Scripts of torchvision, DETR and their descendants end a rank whose loss is no number, and tell the others nothing.
    Sign(r"^[^\n]*?(?P<said>\b[Ll]oss (?:is|was|became) [-\w.()]+[,;]? (?:stopping|quitting|exiting|aborting)\b)", "a rank says that it stops because of its loss", anywhere=(HALTS,)),
    # NCCL's RAS client, and the heartbeats of jax's and tensorflow's coordination service.
    Sign(r"considered dead \(unreachable via the RAS network\)", "the other processes of the job do not reach one of them any more", speaker=False),
    Sign(r"tasks? (?:are|is) unhealthy \(stopped sending heartbeats\)|\bheartbeat timeout\. This indicates that the remote task has failed|/task:\d+ heartbeat timeout", "a task of the job has stopped to send heartbeats", speaker=False),
    Sign(r"\bTaintManagerEviction\b|^\s*(?:Normal|Warning) +Preempted\b|\bPreempted by (?:a )?(?:pod|job|higher)|\bcompute\.instances\.preempted\b|\b(?:VM|instance|node|spot\w*)\b[^\n]{0,20}\b(?:was|got|been) preempted\b|^\s*Reason: +(?:Preempting|NodeLost|NodeShutdown|Shutdown|Terminated)$", "the scheduler took a worker away", until=r"\bJob executing on host\b|\bresum(?:ed|ing) (?:from|at)\b|\bNormal termination\b"),
    Sign(r"\bWorker proc \S+ died unexpectedly|\bRank \d+ scheduler (?:is dead|died)|\bworkers? \([^)\n]*\) killed due to worker crash|\bWorkers? \(tasks / actors\) killed due to(?! memory)", "the framework says that a worker died", POSSIBLE),
    Sign(r"\b[Ww]orker failed to heartbeat within \d+|\bRemove worker <\w*Worker\w* [^\n]*heartbeat", "a scheduler hears nothing of a worker any more", POSSIBLE),
    Sign(r"srun: error: Node failure on|DUE TO NODE FAILURE|^[^\S\n]*(?:Warning|Normal) +(?:\S+ +){0,2}NodeNotReady\b", "the scheduler lost a node"),
    Sign(r"\b(?:srun|yhrun|jsrun): error: \S+: tasks? [\d,-]+: (?!Killed|Out Of Memory)\w|exited on signal (?!9\b|15\b)\d+|(?:Signal: |Caught signal )(?:Segmentation|Aborted|Bus|Floating)", "the launcher says which task ended with an error", POSSIBLE),
    Sign(r"\b(?:worker|actor|task|raylet)\b[^\n]{0,60}\b(?:died|was killed|exits?|exited|crashed)\b[^\n]{0,60}\bunexpected|unexpectedly exits|ActorDiedError|ActorUnavailableError|WorkerCrashedError", "the framework says that a worker died", POSSIBLE),
    Sign(r"\bno (?:such |living |running )?(?:python )?process (?:with|of|for|named|is)?[^\n]{0,12}\brank[ =:]*\d|\brank[ =:]*\d+\b[^\n]{0,20}\b(?:no (?:such |longer a )?process|is missing from ps|pid (?:is )?gone|not in (?:ps|the process list))", "a rank has no process any more"),
    Sign(r"(?<!sub-)(?<!child )(?<!helper )\b(?:process|rank|worker|pid|actor)(?:es|s)?\b(?!['’]s )(?! (?:that|which) \w+ fork)(?:(?!\. )[^\n]){0,40}(?:\b(?:is|was|are)\b|:) ?(?:not there|no longer (?:there|running|alive)|not running|gone|not alive)\b", "a rank is said not to be there", POSSIBLE, anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:sys\.exit|os\._exit)\(\d*\)[^\n]*(?:rank|process|shard|early)|\b(?:rank|worker|process) ?\d*[^\n]{0,30}\bexit(?:s|ed)? (?:cleanly|normally|quietly|silently|early|alone|with (?:code|status) 0)", "a rank has left", anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:pid|process|rank|worker)\b[^\n]{0,30}\b(?:(?:does not|doesn't) exist any ?more|no longer exists?)\b", "a process does not exist any more", anywhere=(HALTS + r"|(?:[sS]ynchronize|all_?reduce|all_?gather|broadcast|barrier)\w* ?\(",), prose=True),
    Sign(r"\b[A-Z]\w*(?:Error|Exception)\b (?:of|on|from) (?:rank|process|replica) ?\d", "an exception of one rank is told", anywhere=(r"waiting for all participants to arrive|" + HALTS,), unless=(r"Timed? ?out|out of memory",), prose=True),
    Sign(r"\b(?:another|one|some other|a different|the other|(?:local_)?rank \d+|process \d+|worker \d+)\b(?: (?:rank|process|worker|one))?[^\n]{0,20}\b(?:has|had|raises|raised|hits|hit|shows?|gets|got|fails? with|failed with|ends with|prints) (?:an? |its own )?(?:\w+ ){0,2}(?:exception|error|traceback)\b", "another rank has an error of its own", unless=(r"[Tt]imed? ?out|Watchdog caught|out of memory",), prose=True),
    # Open MPI's btl/tcp and its daemons, PRRTE: they name the host whose process ended first.
    Sign(r"An MPI communication peer process has unexpectedly disconnected|(?:ORTE|PRTE|PRRTE|HNP) (?:has )?lost communication with (?:a|its) (?:remote )?daemon|ORTE has lost communication|lost connection to (?:a )?(?:remote )?daemon", "the message layer names a peer whose process ended first", speaker=False),
    Sign(r"Primary job\s+terminated normally, but \d+ process|(?:mpirun|mpiexec|prterun|orterun)\S* (?:detected|noticed) that (?:one or more )?process|The first process to do so was|MPI_ABORT was invoked on rank|BAD TERMINATION OF ONE OF YOUR APPLICATION|One or more processes \(first noticed rank|Horovod has been shut down\. This (?:was caused by|has)|process \d+ terminated with (?:exit code [1-9]|signal)|Process group watchdog thread terminated with exception: (?!\[Rank|CUDA error)|task \d+: Exited with exit code [1-9]|rank \d+ in job \d+ .{0,40}caused collective abort", "the launcher or a library says that one process ended first", POSSIBLE),
    Sign(r"DeadlockDetectedException|Deadlock detected from rank", "a trainer saw that one of its ranks had failed"),
    Sign(r"\b(?:node|host|worker|actor|raylet|pod|instance)\b[^\n]{0,80}(?:marked (?:as )?dead|missed too many heartbeats|preempted|evicted|NotReady|lost contact|node failure|NODE_FAIL|(?<!queue )drained|(?<!be )rebooted(?! \d+ sec))", "a node or worker was declared dead", POSSIBLE),
    Sign(rf"got signal: (?!{ASKED}\b)\d+|Received (?!{ASKED} )\d+ death signal|SignalException(?!\()(?![^\n]* got signal: {ASKED}\b)", "the launcher got a signal and ended its ranks"),
    # Whoever asks a job to end has a reason that the launcher does not know: others have to miss its ranks.
    MISSED,
    Sign(r"\b(?:(?:worker|compute|other) nodes?|one of the (?:\w+ )?(?:nodes|hosts|machines|instances|pods|workers)|(?:node|host|machine|instance|pod) ?\d+)\b[^\n]{0,12}\b(?:was|were|is|got|been) (?:shut ?down|powered (?:off|down)|switched off|terminated|removed|deleted|taken away|scaled (?:down|in)|reclaimed|unplugged|drained|stopped)\b", "a node was taken away", POSSIBLE, anywhere=(HALTS + r"|\b(?:remaining|other|surviving) (?:\w+ )?(?:workers|ranks|nodes)\b|\bno (?:exception|error)\b",), prose=True),
    _MEMORY,
    # Who has left a loop or a call is there still; and what the watchdog ends had waited.
    Sign(r"^(?![^\n]*\b[Ww]atchdog\b)[^\n]*?(?P<said>(?<!onnecting to )(?<!onnect to )(?<!onnection to )(?<!onnection from )\b(?:rank|worker|node|gpu|process|stage|replica|pod|actor)s?\b ?#?\d*[^\n]{0,60}\b(?:crash\w*|died|dead|killed|exited|terminated|failed|raised|gone|(?<!requests )(?<!request )(?<!tokens )(?<!tasks )(?<!task )(?<!data )(?<!batch )(?<!batches )(?<!samples )(?<!nothing )(?<!work )left(?! (?:the|its|their|this|that|it)\b(?! (?:job|run|group|cluster|ring|world|training)\b))|disappeared|lost(?! (?:the |its |a )?(?:\w+ )?(?:locks?|races?|leases?|lead\w*|election|claim|bid)\b)|evicted|preempted|restarted|(?<!it has been )aborted|segfault\w*)\b)", "a rank is gone", POSSIBLE,
         anywhere=(r"(?:others?|rest|remaining|peers?|ranks?|stage|workers?)\b[^\n]{0,80}(?:wait|hang|hung|stuck|block|time-?out|timed out|continue)",), prose=True),
    # What came of runs as a whole tells of no process in them; and the watchdog aborts its own.
    # torch.multiprocessing.spawn starts ranks, and says so of the first one that a signal ended (torch/multiprocessing/spawn.py).
    Sign(r"\bspawn\.ProcessExitedException: process \d{1,6} terminated with signal SIG(?:SEGV|BUS|ABRT|FPE|ILL)\b", "a rank that was spawned crashed"),
    Sign(r"\b(?:exit ?code|exitcode|returncode)\W{0,4}(?:-11|139|-7|135|-4|-8)\b|Segmentation fault|SIGSEGV|exited on signal|core dumped", "a process ended with an error", POSSIBLE),
    Sign(rf"{CORE}(?:SIG(?:SEGV|BUS|ILL|FPE|SYS|ABRT|TRAP)|4|5|6|7|8|11|31) |^\s*Message: Process \d+ \([^)\n]+\) of user \d+ dumped core", "the system keeps the core of a process that crashed", POSSIBLE, unless=(r"Watchdog caught|[Ww]atchdog thread terminated",)),
    # gloo's own time-out is an error of those that waited.
    Sign(r"\b(?:exit ?code|exitcode|returncode)\W{0,4}[12]\b(?![^\n]*\bruns\b)", "a process ended with an error", POSSIBLE, unless=(_WAITED_OUT,)),
    Sign(r"\b(?:exit ?code|exitcode|returncode)\W{0,4}(?:-6|134)\b|\bSIGABRT\b", "a process ended with an error", POSSIBLE, unless=(r"Watchdog caught|[Ww]atchdog thread terminated",)),
    Sign(r"reached monitoredBarrier, but received errors while waiting", "a rank broke off a barrier in which others wait", POSSIBLE, speaker=False),
    Sign(r"^(?![^\n]*\b[Rr]etr(?:y|ies|ying)\b)[^\n]*(?:Connection (?:closed|reset) by (?:remote )?peer)|remote process exited|ncclRemoteError|Connection closed by remote peer", _PEER_GONE, POSSIBLE, speaker=False, unless=(_WAITED_OUT, r"TCPStore\(|_create_c10d_store|client socket|socket\.cpp",)),
    Sign(r"\bLost executor \S+ on \S+: |\bCollective ops is aborted by: ", "the framework lost one of its workers", POSSIBLE, speaker=False),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live and not accounts(case):
        return  # nobody stands or is missing: what its log says is over
    first = first_error(case)
    if first is not None and not _of_a_helper(case, first):
        yield _failed(case, first)
        return
    yield from _signalled(case)
    yield from _crashed(case)
    yield from _last_words(case)
    found = [_alone(case, hit) for hit in hits(case, _SIGNS) if not _over(case, hit)]
    if not found and not case.snapshot.live and (left := _left(case)) is not None:
        yield left
    elif not found:
        yield from _told_to_end(case)
    elif found:
        said = finding(RULE, case, found, "a rank failed or left, and the others wait for it", _STEPS)
        yield replace(said, ranks=said.ranks or _silent(case, found))


def _of_a_helper(case: Case, first: Event) -> bool:
    """Whether an error ended a thread beside the main one of a program of which no ranks are told: the process lives on."""
    alone = first.rank is None and not any(one.ranks for one in accounts(case)) and not timeouts(case)
    return alone and "thread" in first.fields and not events(case, "elastic.root_cause", "elastic.worker_failed")


def _told_to_end(case: Case) -> Iterator[Finding]:
    """That somebody asked the launcher to end: no rank has failed by itself, and why it was asked stands elsewhere."""
    found = list(asked_to_end(case))
    if found:
        told = finding(RULE, case, found, _TOLD_TO_END, _WHO_ENDED_IT)
        yield replace(told, kind=Kind.NOTE, certainty=Certainty.POSSIBLE, ranks=RankSet(), processes=())


def _silent(case: Case, found: list[Hit]) -> RankSet:
    """The one rank of a log that raised nothing, where all others saw their peer go."""
    told = [hit for hit in found if hit.sign.says == _PEER_GONE]
    saw = RankSet(rank for hit in told for rank in ranks_said(hit.account, hit.sign.pattern))
    spoke = RankSet(event.rank for hit in told for event in hit.account.events if event.rank is not None)
    quiet = spoke - saw - RankSet(event.rank for event in events(case, "python.exception") if event.rank is not None)
    return quiet if len(quiet) == 1 and len(saw) > 1 else RankSet()


def _left(case: Case) -> Finding | None:
    """Somebody who is said to be gone, while somebody else is in a call that needs them."""
    told = [doing for doing in doings(case) if doing.account is not None]
    gone = in_kind(told, "dead")
    waiting = in_kind(told, WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value, WaitKind.P2P.value)
    if not gone or not waiting:
        return None
    ranks = RankSet(rank for doing in gone for rank in doing.ranks)
    title = f"{ranks_phrase(ranks) if ranks else 'a rank'} is gone, and others are in {waiting[0].op}"
    return simple(RULE, title, POSSIBLE, [gone[0].text, waiting[0].text], _STEPS, ranks)


def _alone(case: Case, hit: Hit) -> Hit:
    """A sign, surer where it tells of memory that some ran out of while others stand in a call with them."""
    if hit.sign is not _MEMORY or case.snapshot.live:
        return hit
    others = [doing for doing in doings(case) if doing.account is not None and doing.account is not hit.account]
    waiting = in_kind(others, WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value, WaitKind.P2P.value)
    return replace(hit, sign=replace(hit.sign, certainty=LIKELY)) if waiting else hit


# Signals with which a process ends by a fault of its own; the others are sent by somebody.
_FAULTS = (-11, -7, -4, -8, 139, 135)


def _signalled(case: Case) -> Iterator[Finding]:
    """A launcher that names a process ended by a fault, while others report that they waited."""
    waited = events(case, "torch.watchdog_timeout", "torch.watchdog_status", "gloo.op_timeout", "gloo.closed_by_peer")
    for event in events(case, "elastic.root_cause", "elastic.worker_failed"):
        code = event.fields.get("exitcode")
        if code in _FAULTS and waited:
            ranks = RankSet([event.rank] if event.rank is not None else [])
            title = (
                f"{ranks_phrase(ranks) if ranks else 'a rank'} ended by a fault (exit code {code}); the others waited"
            )
            yield simple(RULE, title, LIKELY, [event.text], _STEPS, ranks)
            return


def _crashed(case: Case) -> Iterator[Finding]:
    """A zombie among processes of one program, of which the kernel tells a fault, while another one of them waits.

    The kernel names the thread that was at fault, which has a number of its own.
    """
    at_fault = {str(event.fields.get("name")): event for event in events(case, "kernel.segfault")}
    rows = [] if case.snapshot.live or not at_fault else events(case, "proc.row")
    told = [doing for doing in doings(case) if doing.account is not None and doing.account.seen and doing.ranks]
    if not in_kind(told, *_FOR_OTHERS):
        return
    living = {_program(row) for row in rows if not ended(row)}
    ranks = {ref.pid for doing in told if doing.account is not None for ref in doing.account.refs}
    for row in filter(ended, rows):
        name = _program(row)
        # A child of a rank that has ended is a matter of that rank.
        if name in living and name in at_fault and row.fields.get("ppid") not in ranks:
            title = f"pid {row.pid} has ended by a fault, and the others wait"
            yield simple(RULE, title, LIKELY, [row.text, at_fault[name].text], _STEPS)
            return


def _last_words(case: Case) -> Iterator[Finding]:
    """The interpreter's own dump of one that crashed, while another one was seen to wait in a call with it."""
    told = [doing for doing in doings(case) if doing.account is not None and doing.account.seen]
    waiting = in_kind(told, *_FOR_OTHERS)
    for doing in in_kind(told, "dead"):
        said = crash(doing.account) if doing.account is not None else None
        if said is None or not waiting or "_worker_loop" in way(doing) or said.fields.get("error") == _NO_MEMORY:
            continue
        who = ranks_phrase(doing.ranks) if doing.ranks else f"the process of {doing.text or 'a file'}"
        title = f"{who} has crashed, and the others wait in {waiting[0].op}"
        because = [said.text, doing.site, waiting[0].site]
        yield replace(simple(RULE, title, LIKELY, because, _STEPS, doing.ranks), compared=True)
        return


_NO_MEMORY = "Bus error"  # a page that could not be had, of shared memory or of a file: that has a cause of its own
_FOR_OTHERS = [
    kind.value for kind in (WaitKind.COLLECTIVE, WaitKind.BACKWARD, WaitKind.P2P, WaitKind.DEVICE, WaitKind.STORE)
]


def _program(row: Event) -> str:
    """The name of a program as the kernel knows it: without its folder and arguments; of who has ended it stands in brackets."""
    return str(row.fields.get("command")).split(" ", 1)[0].rpartition("/")[2].strip("[]")[:_COMM]


_COMM = 15  # characters (sched.h, TASK_COMM_LEN)


_WITHIN = "an error came up in a thread, or in a process that is gone"


def _all_live(case: Case) -> bool:
    """Whether no process of a running job is seen to have ended, and no rank is missing."""
    return case.snapshot.live and not any(one.dead for one in case) and not RankSet(case.ranks) - RankSet(case.by_rank)


def _failed(case: Case, first: Event) -> Finding:
    alike = [event for event in events(case, "python.exception") if _same(event, first)]
    ranks = RankSet(event.rank for event in alike if event.rank is not None)
    who = ranks_phrase(ranks) if ranks else "a process"
    followers = tuple(_followers(case, ranks))
    how = "failed first" if followers or len(ranks) < 2 else "failed alike"
    what = f"{who} {how}" if ranks or not _all_live(case) else _WITHIN
    title = f"{what}: {first.fields.get('type')}: {str(first.fields.get('message'))[:80]}"
    left = left_alone(case, first) if len(alike) == 1 else None
    told = ranks or left or events(case, "elastic.root_cause", "elastic.worker_failed") or _waited_for(case, first)
    reasons = [first.text, *_place(first), *((left.says,) if left else ()), *followers, *_clocks(case)]
    source = OF_LOGS if case.snapshot.live else "text"
    memory = compiled(_MEMORY.pattern).search(first.text) and _missed(case, ranks)
    own = told and (memory or not _FROM_BELOW.search(first.text))
    who_left = members(case, left.who) if left else ()
    said = simple(RULE, title, LIKELY if own else POSSIBLE, reasons, _STEPS, ranks, source=source, processes=who_left)
    return replace(said, compared=bool(own) and (left is not None or _missed(case, ranks) or _ended(case, ranks)))


def _missed(case: Case, ranks: RankSet) -> bool:
    """Whether every other rank, and none of these, reports that it waited in a collective until its limit."""
    waited = RankSet(event.rank for event in timeouts(case) if event.rank is not None)
    if not ranks or len(waited) < 2 or ranks & waited:
        return False
    return waited | ranks == RankSet(range(max(*waited, *ranks) + 1))


def _ended(case: Case, ranks: RankSet) -> bool:
    """Whether the launcher tells of the very ranks that their processes have ended, and another one was seen to wait in a call
    with them: however many good lines the others wrote before, they go no further."""
    told = RankSet(
        rank
        for event in events(case, "slurm.task_failed", "mpi.exited", "elastic.root_cause", "elastic.worker_failed")
        for rank in _named_by(event)
    )
    seen = [doing for doing in doings(case) if doing.account is not None and doing.account.seen]
    waiting = [doing for doing in in_kind(seen, *_FOR_OTHERS) if doing.ranks and not doing.ranks & ranks]
    return bool(ranks and waiting) and not ranks - told


def _named_by(event: Event) -> RankSet:
    """The ranks of which a launcher says that they have ended: Slurm's tasks have their numbers."""
    if event.event == "slurm.task_failed":
        with suppress(ValueError):
            return RankSet.parse(str(event.fields.get("tasks"))[:_TASKS_READ])
    return RankSet([event.rank] if event.rank is not None else [])


_TASKS_READ = 400  # characters of a list of tasks


def _waited_for(case: Case, first: Event) -> bool:
    """Whether somebody else stands in a call with others, or waited in one until its limit, or for a device: an error of one then
    tells of all."""
    if events(case, "torch.watchdog_timeout", "gloo.op_timeout"):
        return True
    found = [doing for doing in doings(case) if doing.account is not None and doing.account.stacks]
    waiting = in_kind(
        found, WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value, WaitKind.P2P.value, WaitKind.DEVICE.value
    )
    return any(first not in doing.account.events for doing in waiting if doing.account is not None)


def _place(first: Event) -> Iterator[str]:
    frames = first.fields.get("frames")
    if isinstance(frames, tuple) and frames:
        yield f"it was raised in {frames[-1]}"


def _followers(case: Case, ranks: RankSet) -> Iterator[str]:
    """Those whose own error only says that somebody else was gone, or came after the first one."""
    late = [one for one in events(case, "python.exception") if one.rank is not None and one.rank not in ranks]
    for said, what in (([one for one in late if consequence(one)], "follow from it"),
                       ([one for one in late if not consequence(one)], "are other ones")):  # fmt: skip
        others = RankSet(event.rank for event in said if event.rank is not None)
        if others:
            kinds = dict.fromkeys(str(event.fields.get("type")).rsplit(".", 1)[-1] for event in said)
            yield f"the errors of {ranks_phrase(others)} ({', '.join(list(kinds)[:3])}) {what}"


def _over(case: Case, hit: Hit) -> bool:
    """Whether every line that shows a sign was followed by more steps."""
    look = compiled(hit.sign.pattern)
    said = [event for event in hit.account.events if look.search(event.text)]
    return bool(said) and all(outlived(case, event) for event in said)


_NUMBERS = regex(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")


def _same(event: Event, first: Event) -> bool:
    """Whether two ranks failed with one and the same words; at the same place addresses and numbers in them may differ."""
    one, other = event.fields, first.fields
    if one.get("type") != other.get("type"):
        return False
    if one.get("message") == other.get("message"):
        return True
    said, meant = (_NUMBERS.sub("0", str(fields.get("message"))) for fields in (one, other))
    return said == meant and bool(one.get("frames")) and one.get("frames") == other.get("frames")


def _clocks(case: Case) -> Iterator[str]:
    for source, ahead in sorted(offsets(case.events).items()):
        word = "ahead" if ahead > 0 else "behind"
        yield f"the clock of {source} is {abs(ahead):.0f} s {word}, by the steps that the logs have in common"


RULE = make_rule(__name__, __doc__, "dead-rank", 60, check)
