"""A limit of the process, user or node is reached: open files, processes, locked memory, maps.

## What it means
The kernel refuses a descriptor, a thread or pinned memory although the machine has plenty. Tensors passed between processes keep
one descriptor each; InfiniBand needs locked memory; thread pools of many workers add up.

## How it is recognised
`[Errno 24] Too many open files`, `received 0 items of ancdata`, `can't start new thread`, `pthread_create failed … Resource
temporarily unavailable`, `ibv_reg_mr … Cannot allocate memory`, `Call to ibv_create_cq failed`, `Failed to create a completion queue` with `Cannot allocate memory`; `unable to open shared memory object … in read-write mode` of an older PyTorch;
pools of threads that cannot be made (`ThreadPoolBuildError`, `OMP: System error #11`, `failed to create new OS thread`);
no port left to connect from, no context of the network card, no key of the kernel, no connection to a database.
Of a running job a line of its log alone is *possible*; *likely* where a process handles such an error or is at its limit.

## What to do
`cat /proc/PID/limits`, `ls /proc/PID/fd | wc -l`. `ulimit -n 65536`; `torch.multiprocessing.set_sharing_strategy("file_system")`;
`memlock unlimited` in limits.conf, the container and slurmd's unit; `OMP_NUM_THREADS`, more pids for the cgroup.

## How to prevent it
Do not keep batches that came from workers; check limits before the run. See https://github.com/pytorch/pytorch/issues/973
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ...analysis.case import Case
from ...analysis.handled import handled
from ...model.diagnosis import Finding, Reason
from ...model.evidence.files import OpenFiles
from ...model.evidence.task_limit import TaskLimit
from .. import make_rule
from .._say import who
from ._findings import finding
from ._room import WATCHES_USED_UP, handles
from ._signs import LIKELY, POSSIBLE, Sign, hits

# A filter of system calls that refuses to make threads is no limit.
_REFUSED = r"(?:pthread_create|clone3?|thread)[^\n]*Operation not permitted"
# That something is refused, or that somebody says so.
_REFUSES_IT = (
    r"errors?\b|\b(?:fail\w*|cannot|can't|could not|unable|refus\w*|ENOMEM|EAGAIN|crash\w*|abort\w*|kill(?:s|ed)|"
    r"hangs?|hung|stuck|stands|never|stops|reset by peer)\b|Resource temporarily"
)
_SIGNS = (
    # Where the kernel lets those wait whose control group has no page left, or is over memory.high (mm/memcontrol.c); ps(1) may cut it.
    Sign(r"\bmem_cgroup_(?:oom_synchroni|handle_over_h)\w*", "its memory group is full, and who needs a page waits"),
    Sign(r"filedescriptor out of range in select|No file descriptors available|FD_SETSIZE", "more files are open than the call can handle"),
    Sign(r"\b(?:sem_?get|msgget|msg_get_queue|shmget|shmat|semop)\b[^\n]*(?:No space left|Invalid argument|fail)|\b(?:kernel\.(?:sem|shmmni|pid_max|threads-max)|SEMMNI|SHMMNI|TasksMax|nproc)\b[^\n]{0,60}(?:limit|reach|exceed|too (?:low|small)|rais|increas)\w*", "a limit of the kernel or service is reached"),
    Sign(r"(?:failed to|cannot|could not|unable to) (?:create|start|spawn|fork) (?:a |new |another |the |any )*(?:native |worker )?threads?\b|pthread_create\b[^\n]{0,60}(?:\b11\b|EAGAIN|fail)|Failed to create thread", "no thread or process could be made", unless=(_REFUSED,)),
    Sign(r"(?:allocate|alloc|reg\w*) (?:pd|mr|memory region)\W{0,2}\[?-12\b|(?:memory registration|register\w* memory|reg_mr)[^\n]{0,80}(?:ENOMEM|Cannot allocate memory|\berrno\W{1,3}12\b)", "memory for the network card cannot be locked"),
    Sign(r"\b(?:fork|os\.fork|Popen|pthread_create|spawn)[^\n]*(?:\n[^\n]*){0,4}(?:\[Errno 1[12]\]|Cannot allocate memory|Resource temporarily unavailable)|BlockingIOError: \[Errno 11\](?![^\n]*lock)", "no process or thread could be made"),
    Sign(r"Too many open files|\[Errno 2[34]\]|\bget errno 24\b|\bEMFILE\b|\bENFILE\b", "the limit of open files is reached"),
    # Ray's daemon has several descriptors for each of its workers, and ends when it gets no more.
    Sign(r"\bulimit -n\b[^\n]{0,20}\n?[^\S\n]*(?:1024|256|512|2048|4096)\b", "few files may be open where very many workers are started", POSSIBLE, anywhere=(r"\braylet\b[^\n]{0,60}\b(?:abort\w*|SIGABRT|died|crash\w*|exited|zombie)\b|'raylet', status='zombie'", r"\b(?:[2-9]\d\d|\d,?\d{3}) (?:Ray )?(?:processes|workers|actors)\b|\bnproc\b[^\n]*\n?\s*(?:[2-9]\d\d|1\d\d\d)\b")),
    Sign(r"received 0 items of ancdata|ancdata", "a descriptor could not be passed on: the limit of open files is reached"),
    Sign(r"unable to open shared memory object <\S+> in read-write mode *(?:$| at )", "a segment cannot be opened mostly for want of a descriptor: older releases name no reason"),
    Sign(r"(?:shared memory|shm_open|memory segment|memfd_create|epoll_create\w*|eventfd|inotify_init\w*|socket(?:pair)?|accept4?|pipe2?)\b[^\n]*(?:\bos error 2[34]\b|\(os error 2[34]\)|errno\W{1,3}2[34]\b)|\bos error 24\b|too many files open|out of file descriptors|ran out of (?:file )?descriptors", "the limit of open files is reached"),
    Sign(r"(?:fail\w*|could ?n[o']t|unable|cannot|error)\b[^\n]{0,60}(?:spawn|create|start|fork|pool|new)[^\n]{0,60}(?:os error 11\b|code: 11\b|errno[= :]+11\b|System error #11|WouldBlock)|ThreadPoolBuildError[^\n]*(?:code: 11|WouldBlock)|OMP: (?:Error #34|System error #11)|what\(\): +(?:thread: )?Resource temporarily unavailable|thread constructor failed", "no more threads or processes are allowed", unless=(_REFUSED,)),
    Sign(r"\[Errno 27\]|\bEFBIG\b|\bSIGXFSZ\b|File size limit exceeded|\[Errno 7\] Argument list too long|SIGXCPU|CPU time limit exceeded", "a limit of the process (size of a file, time of the processor, arguments) is reached", LIKELY),
    Sign(r"can't (?:start|create) new thread(?! at interpreter shutdown)|\bthread: Resource temporarily unavailable|pthread_create(?: failed|[^\n]*(?:Resource temporarily|EAGAIN))|\b(?:fork|clone3?): (?:retry: )?Resource temporarily unavailable|"
         r"Resource temporarily unavailable[^\n]*(?:thread|fork|process)|libgomp: Thread creation failed|OpenBLAS blas_thread_init[^\n]*failed|(?<!propagating )RLIMIT_NPROC",
         "no more threads or processes are allowed", unless=(_REFUSED,)),
    Sign(r"\b(?:rdma_create_\w+|[Uu]nable to create (?:AH|QP|CQ|MR)\b|ibv_(?:reg_\w{0,20}?mr\w{0,20}|create_\w{1,40}|modify_\w{1,40}|alloc_\w{1,40})|fi_mr_reg\w{0,20})[^\n]{0,400}?(?:[Cc]annot allocate memory|\b(?:errno|error|err|rc|ret\w*|status|code|with)\b\W{1,4}-?12\b|[Nn]ot enough memory|lock(?:ed)? memory|memlock|\bENOMEM\b)", "memory for the network card cannot be locked"),
    # The card's own table of pages, queues or keys is full (mlx5's cmd.c: status 0x8), and it cannot be opened once more.
    Sign(r"\bmlx[45]_cmd\w*\b[^\n]*\b(?:ALLOC|CREATE)\w*\([^\n]*\bstatus (?:limits? exceeded|no resources)\b", "the network card has no more of what is asked for"),
    Sign(r"\bibv_open_device\b[^\n]*(?:Cannot allocate memory|\bENOMEM\b|No space left)", "the network card cannot be opened by one more process"),
    # Open MPI's own words for ibv_create_cq, and the error below them.
    Sign(r"Failed to create a (?:completion|shared receive|send|receive)? ?queue\b[^\n]*\n(?:[^\n]*\n){0,6}?\s*Error:\s+Cannot allocate memory", "memory for the network card cannot be locked"),
    Sign(r"\b(?:max )?locked memory[^\n]*(?:\blimit\b|\b64\b|\blow\b)|memlock[^\n]*(?:\blimit\b|\btoo\b|\blow\b|exceed|\b64\b)|RLIMIT_MEMLOCK[^\n]*(?:\blimit\b|\btoo\b|\blow\b|exceed|small|rais|\b64\b)", "the limit of locked memory is low"),
    # What a limit is set to says nothing by itself: most machines that run well have these numbers.
    Sign(r"(?:\blocked memory|memlock|RLIMIT_MEMLOCK)\b[^\n]*\b(?:8192|65536)\b", "the limit of locked memory is low", anywhere=(_REFUSES_IT,)),
    Sign(r"pids?\.max\b(?!\W{0,3}(?:\w+ ){0,2}(?:max|unlimited)\b)", "the number of processes and threads is limited", anywhere=(_REFUSES_IT,)),
    Sign(r"file-max limit \d+ reached|cgroup: fork rejected by pids controller|neighbou?r(?:: arp_cache:)? (?:neighbor )?table overflow|TCP: out of memory|MDB_READERS_FULL|Failed to allocate some locked memory|trying to allocate some locked memory|(?:raise|increase|set)[^\n]{0,40}(?:max )?locked memory", "the kernel or a library names the limit"),
    Sign(r"\bio_(?:setup|queue_init)\b[^\n]*(?:Resource temporarily unavailable|\bEAGAIN\b|-11\b)", "no more asynchronous requests are allowed"),
    Sign(r"\bfs\.aio-max-nr\b", "no more asynchronous requests are allowed", anywhere=(_REFUSES_IT,)),
    Sign(r"system limit exceeded on number of|opal_set_max_sys_limits|[Ss]ystem limits? (?:on|for) (?:the )?number of \w+(?: \w+){0,4} (?:was|were|has been|is) (?:reached|exceeded)", "the launcher names the limit"),
    Sign(r"\bio_uring_\w+[^\n]*(?:ENOMEM|Cannot allocate memory)|\[Errno 105\]|\bENOBUFS\b|No buffer space available", "the kernel has no more buffers for it"),
    # Redis, PostgreSQL, MySQL.
    Sign(r"max number of clients reached|sorry, too many clients already|remaining connection slots are reserved|\b1040\b[^\n]*Too many connections|\bToo many connections\b|\bpast MaxStartups\b|\bMaxStartups throttling\b", "a service takes no more connections", passing=True),
    Sign(r"\b(?:session keyring|create session key|add_key|keyctl|request_key)\b[^\n]*quota exceeded", "the quota of the kernel's keys is used up"),
    # connect(2): EADDRNOTAVAIL without an address of one's own means that no port of the range is free.
    Sign(r"\[Errno 99\]|Cannot assign requested address|\bEADDRNOTAVAIL\b", "no port is left to connect from", anywhere=(r"\btimewait (?!0\b)\d{4,}|\bTIME[-_]WAIT\b|ip_local_port_range|\bephemeral ports?\b",), unless=(r"(?:bind|listen)\w*\([^\n]*(?:Errno 99|assign requested|EADDRNOTAVAIL)",)),
    # PSM and PSM2: a node has a number of contexts, and each process takes one.
    Sign(r"can't open hfi unit: -1 \(err=23\)|assign_context command failed: (?:Device or resource busy|Resource temporarily unavailable)|[Dd]river initialization failure on /dev/(?:hfi1\S*|ipath\S*) \(err=23\)|no free (?:PSM2? |hfi\d? |hardware )?contexts", "no context of the network card is free"),
    Sign(r"Call to (?:mmap|cudaHostRegister|cuMemHostRegister)\w* failed[^\n]*Cannot allocate memory", "memory cannot be mapped or locked"),
    Sign(r"unable to mmap[^\n]*Cannot allocate memory", "the limit of memory maps is reached"),
    Sign(r"vm\.max_map_count", "the limit of memory maps is reached", anywhere=(_REFUSES_IT,)),
    Sign(r"\bpids?\b[^\n]{0,12}(?:cgroup )?limit\b(?![^\n]{0,12}\bunlimited)[^\n]{0,24}\b\d+|\bpod ?PidsLimit\b", "the number of processes and threads is limited", prose=True),
    Sign(r"\bulimit\b[^\n]{0,80}\b(?:another|other|different|larger|higher|smaller|lower) (?:value|limit|number)\b", "where it stops moves with a limit of the user", prose=True),
    # A thread of Windows can wait for 64 handles at most (WaitForMultipleObjects), of which Python's pools use two or three themselves.
    Sign(r"\bneed at most 6[0-4] handles\b|\bmax_workers must be <= 61\b|\bMAXIMUM_WAIT_OBJECTS\b", "Windows waits for 64 handles at most, and the pool has more workers"),
    Sign(r"\b(?:6[2-9]|[7-9]\d|[12]\d\d) (?:\w+ )?(?:processors|cores|CPUs|threads|workers|processes|jobs)\b|\b(?:jobs|workers|processes|max_workers|n_jobs|num_workers)\b ?(?:=|of|:)? ?(?:6[2-9]|[7-9]\d|[12]\d\d)\b", "Windows waits for 64 handles at most: fewer workers work", anywhere=(r"\bWindows\b|\bwin32\b", r"\b(?:hangs?|stuck|stands? still|freezes?|never|does(?:n't| not) (?:end|finish|return))\b", r"\b(?:jobs|workers|processes|max_workers|n_jobs|num_workers)\b ?(?:=|of|:|<=?)? ?(?:[1-5]\d|6[01])\b[^\n]{0,24}\b(?:works?|ends?|fine|ok|finish\w*|passes)\b|\b(?:[1-5]\d|6[01])(?: \w+)? (?:and|or) (?:fewer|less|below)\b|\b(?:works?|fine|ok) (?:with|up to|below|under) (?:[1-5]\d|6[01])\b"), prose=True),
    Sign(r"inotify[^\n]*(?:limit|No space left)|" + WATCHES_USED_UP, "a limit of the user is reached"),
    Sign(r"\buser\.max_\w+", "a limit of the user is reached", anywhere=(_REFUSES_IT,)),
    Sign(r"\bulimit -[nuls]\b|\b(?:nofile|memlock|(?<!-)nproc|pids[-_.]limit|TasksMax|LimitNOFILE|max_map_count)\b|(?:set_)?sharing[_ ]strategy|--ulimit\b", "raising a limit cures it", cures=True),
    Sign(r"\bulimit\b[^\n]*(?:1024|exceed|reached|too (?:low|small))", "a ulimit is named", POSSIBLE, prose=True),
    Sign(r"configured to only allow registering part of your physical memory|libibverbs: Warning: RLIMIT_MEMLOCK is \d+ bytes", "the library of the card says how little memory may be locked or registered"),
)  # fmt: skip

_STEPS = ("cat /proc/PID/limits; ls /proc/PID/fd | wc -l", "ulimit -n 65536; ulimit -l unlimited")
# What the kernel answers at a limit of open files, of the size of a file, and of buffers (errno(3)).
_REFUSES = (errno.EMFILE, errno.ENFILE, errno.EFBIG, errno.ENOBUFS)


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    if found:
        said = finding(RULE, case, found, "a limit (open files, threads or locked memory) is reached", _STEPS)
        seen = tuple(islice(_agrees(case), 1))
        shows = tuple(
            case.by_ref[ref].process for one in seen if (ref := one.process) is not None and ref in case.by_ref
        )
        yield replace(said, because=(*said.because, *seen), processes=said.processes or shows)


def _agrees(case: Case) -> Iterator[Reason]:
    """What the processes of a live job show of a limit: an error that one is handling, or what it has and may have."""
    for standing in case.standings.values() if case.snapshot.live else ():
        member = standing.member
        files, tasks = member.latest(OpenFiles), member.latest(TaskLimit)
        if handled(standing) in _REFUSES:
            yield handles(standing)
        if files is not None and 0 < files.limit <= len(files.files):
            yield Reason(
                f"{who(member.process)} has {len(files.files)} of {files.limit} descriptors", "kernel", member.ref
            )
        if tasks is not None and tasks.full:
            yield Reason(f"control group {tasks.path} has {tasks.count} of {tasks.limit} tasks", "cgroup", member.ref)


RULE = make_rule(__name__, __doc__, "resource-limit", 11, check, yields_to=("descriptors-used-up", "limit-refuses"))
