"""A rank did not arrive at init_process_group, new_group or the rendezvous.

## What it means
The others meet and count; one is missing. It was never started, is still importing or downloading, stands before the call, or looks for another address.

## How it is recognised
The store counts fewer clients than the world has (`2/4 clients joined`), or waits for a key that ends in the missing rank; some ranks print `Init START` and never `Init COMPLETE`;
ranks stand in `init_process_group` or the rendezvous; a counter of those who came stands below the number expected; the coordination service
names tasks at its first barrier (`Timed out task names`); the launcher starts fewer
processes than the world has, or commands for several nodes do not say which node each is; a gang scheduler, or the init container of the workers, waits for pods that nobody has created; the local rank is passed as the rank on several nodes; a scheduler or Ray still waits for devices.

A barrier of more parties than the pool runs at one time; a node number left in the environment of a program of one node. A trainer on Spark that waits for more workers than its cluster runs at one time.

## What to do
Find the process of the rank that is named: does it run, what is its stack? Compare `--nnodes`, `--nproc-per-node`, `WORLD_SIZE` and the node list with what was started; check that
`MASTER_ADDR:MASTER_PORT` is the same everywhere and can be reached.

## How to prevent it
One launcher for all nodes; a short time-out for the first meeting.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks, seen_apart, size
from ...analysis.frame_tables import WaitKind
from ...analysis.looked_twice import moved
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._before_meeting import another_node, few_started, more_parties, nodes_alike, own_port, waits_first
from ._findings import Fact, finding, of_fact
from ._head_count import (
    PLACED,
    came_later,
    communicator_incomplete,
    few_counted,
    few_in_store,
    gang_incomplete,
    key_missing,
    tasks_missing,
)
from ._lines import events
from ._roll_call import WAITING
from ._signs import LIKELY, POSSIBLE, Sign, ended, hits
from ._spark_slots import more_than_slots

_LATE, _IN_IT = "a rank did not arrive at the meeting", "a rank stands in the meeting"
_STEPS = (
    "rankscope diagnose   # on the host of the missing rank",
    "echo $MASTER_ADDR $MASTER_PORT $WORLD_SIZE $RANK   # on every node",
)
# What keeps a node from starting anything.
_NODE_SHORT = r"Memory cgroup out of memory|eviction manager|(?:Disk|Memory)Pressure|No space left"
_SIGNS = (
    Sign(r"\b(?:tasks?|workers?|processes) (?:that )?(?:did not|have not|has not|haven't) (?:yet )?(?:reach|reached|connect|connected|join|joined|arrive|arrived)|Permission denied \(publickey|Are you sure you want to continue connecting|Host key verification failed", "a worker did not come to the meeting"),
    Sign(r"Barrier timed out(?! ?\. Id: (?!\S*(?:[Cc]onnect|[Ii]nit|WaitForAll)))[^\n]*", "a barrier of the coordination service was not reached by all", POSSIBLE),
    Sign(r"TPU backend initialization is taking more than|Did you run your code on all TPU hosts|Expected \d+ threads to join the rendezvous, but not all|Barrier timed out\. Id: \S*(?:[Cc]onnect|[Ii]nit|WaitForAll)|tasks? (?:that )?(?:are|is) not at the barrier|[Cc]oordination service[^\n]*(?:not (?:all|yet)|timed out|DEADLINE)|DEADLINE_EXCEEDED:[^\n]*(?:(?<!triggered the )Barrier(?! timed out\. Id: (?!\S*(?:[Cc]onnect|[Ii]nit|WaitForAll)))|GetKeyValue|connect)|Timed out waiting for (?:all )?(?:clients|tasks|workers|processes|replicas)|waiting for all (?:participants|replicas|workers) to (?:join|arrive)", "a host or process of the job was not started, or did not come", POSSIBLE),
    Sign(r"\bnever (?:started|came up|launched|scheduled)|\b(?:still (?:being )?|image is being )(?:pull(?:ing|ed)|starting|waiting for resources)|\b(?:jobs?|pods?|workers?|nodes?|ranks?|replicas?)\b[^\n]{0,30}\bstill queued\b|queued and waiting for resources|waiting for (?:resources|allocation)|Waiting for job \d+ to start|\b(?:ranks?|workers?|pods?|nodes?|replicas?|jobs?|tasks?)\b(?:(?![,;] (?!which|that|who))[^\n]){0,40}\bnot (?:yet )?(?:started|launched|scheduled)\b", "a rank was not started", until=r"has been allocated resources"),
    Sign(r"not enough slots available|No available node types|cannot be scheduled|insufficient (?:nvidia\.com/gpu|resources|cpu)|placement group[^\n]{0,60}(?:pending|not ready|timed out|infeasible)|\bPending\b[^\n]{0,40}pods?|pods?\b[^\n]{0,60}\b(?:Pending|ImagePullBackOff|ContainerCreating|CrashLoopBackOff|Init:)", "a rank could not be started", until=PLACED, unless=(_NODE_SHORT,)),
    Sign(r"\b(?:one|some|two|\d+)\b[^\n]{0,30}(?:nodes?|ranks?|workers?|pods?|processes)\b[^\n]{0,40}(?:never|not|did(?:n't| not)|fail\w* to|yet to)[^\n]{0,30}(?:start|launch|join|arriv|connect|register|come up|reach)\w*", "somebody did not arrive", POSSIBLE, prose=True),
    Sign(r"init_process_group\((?:[^()\n]{0,200}\n){0,12}?[^()\n]{0,200}\brank ?= ?(?:[\w.]*\.)?local_rank\b", "the local rank is passed as the rank, so that nodes claim the same ones", anywhere=(r"--?nnodes[= ](?:[2-9]|\d\d)|\b(?:two|2|several|multi\w*)[- ](?:nodes?|machines?|hosts?)\b|node_rank[= ][1-9]",)),
    Sign(r"\bonly (?:\d+|one|two|three|four|half|some)\b[^\n]{0,30}\b(?:processes|workers|ranks|nodes|tasks|of them)\b[^\n]{0,30}\b(?:started|launched|running|exists?|spawned|came)\b|\bwaiting for \d+ more\b", "fewer were started than are waited for", unless=(r"\b(?:persistent|cooperative|mega)[- ]?kernels?\b|\bthread ?blocks?\b|\bCTAs?\b",), prose=True),
    Sign(r"\b(?:waiting|waits?|blocked|stuck|hang\w*|hung|stands?|stays?|sits?|stops?)\b[^\n]{0,40}(?:init_process_group|new_group|rendezvous|_store_based_barrier|init_device_mesh|ncclCommInitRank|Monitored(?:Training)?Session\b|managed_session|wait_for_session|all (?:nodes|ranks|workers|peers) to (?:join|connect|arrive))", "ranks wait in the meeting", POSSIBLE, prose=True),
    Sign(r"\b(?:no|without|lacks?|missing|neither)\b[^\n]{0,12}--?nnodes\b|--?nnodes\b[^\n]{0,40}\b(?:missing|not (?:given|passed|set)|absent)\b", "the launcher is not told that there are other nodes", anywhere=(r"\b(?:num_nodes|nnodes|nodes?)\b\W{0,3}(?:[2-9]|two|three|four)|\b(?:[2-9]|two|three|four) (?:nodes|pods|machines|hosts)\b",), prose=True),
    Sign(r"\b(?:nnodes|nproc[_-]per[_-]node|world[_ ]size|WORLD_SIZE|node[_ ]rank)\b[^\n]{0,60}(?:wrong|mismatch|differ|expect\w*|but only|instead of|not equal)", "counts do not fit", prose=True),
    Sign(r"CreateSession still waiting for response from worker|Waiting for \d+ local, [1-9]\d* remote core engine proc|barrier stage that requires more slots|step creation (?:temporarily|still) disabled|Only \d+/\d+ workers arrived|ranks? \d[\d, ]* (?:has|have) not (?:joined|connected|registered) (?:yet|so far)", "some of those who are waited for have not come", passing=True, until=r"Start(?:ing)? master session|READY from \w+ core engine|Application startup complete|step created"),
    # Spark's scheduler of stages, while the cluster has no place for what has to start together.
    Sign(r"\b[Bb]arrier stage in job \d{1,9} requires (?P<slots>\d{1,9}) slots, but only (?!(?P=slots)\b)\d{1,9} are available", "the cluster has no place for the workers", passing=True, until=r"\bStarting task \d|\bRunning task \d|\bFinished task \d"),
    Sign(r"(?:ORTE|PRTE) was unable to reliably start|\bdaemon has unexpectedly failed after launch|ssh exited with exit code \d+|(?:orted|prted|hydra_pmi_proxy|hydra_bstrap_proxy|pmi_proxy|dask-worker|torchrun|deepspeed)(?:: | - |: orden |: Befehl )?(?:command )?not found", "the processes of a host could not be started", anywhere=(r"\b(?:_store_based_barrier|init_process_group|_create_c10d_store|_rendezvous|init_distributed|PMIx?_Fence|MPI_Init\w*|ompi_mpi_init) \(",)),
    Sign(r"^\S+ +(?:<none> +)?0/\d+ +(?:Pending|ContainerCreating|PodInitializing|ImagePullBackOff|ErrImagePull|Init:\S+|Unschedulable|CreateContainerConfigError) ", "a pod of the job does not run", also=(r"^\S+ +([1-9]\d*)/\1 +Running\b",)),
    # The init container of the training operator's workers looks up the master's name, and fails when that does not come.
    Sign(r"Back-off restarting failed container init-pytorch\b", "the workers' init container waits for the name of a master that does not come", POSSIBLE, until=r"Started container pytorch\b"),
    Sign(r"\bno (?:\w+ )?(?:pod|replica|process|container|service)\b[^\n]{0,40}\b(?:master|launcher|head|chief|leader|driver|worker)\b[^\n]{0,16}\b(?:in the list|(?:is|are) (?:listed|there)|exists?|(?:was|were) (?:ever )?created|to be seen|appears?)|\b(?:master|launcher|head|chief|leader|driver)\b[^\n]{0,12}\b(?:pod|replica|job)s?\b[^\n]{0,12}\b(?:(?:is|are|was|were|has|have) )?(?:never|not)(?: been| get\w*)? (?:created|started|scheduled|there)\b", "a part of the job that the others wait for was never created", prose=True),
    Sign(r"Back-off pulling image|ErrImagePull|[Pp]od ?[Gg]roup is not ready|gang unschedulable|Unable to create step for job|Task launch for Step\w*=\S+ failed|allocated for this job are already filled|\d\+ pending placement groups", "a rank could not be started", until=PLACED),
    Sign(r"\bEI0015\b|topo exchange server get socket timeout|[Tt]imed out waiting for [^\n]{0,24}(?:executors|engine core processes|slots|agents|nodes) to (?:start|register|join|connect|be\w* \w+)|Timed out after \S+ (?:s|sec\w*|seconds) waiting for \d+ \w+ to (?:register|join|start|connect)", "somebody did not come to the meeting"),
    Sign(r"[Ww]aiting for (?:all )?(\d+) (?:\w+ ){0,2}?(?:workers?|ranks?|nodes?|executors?|slots?|replicas?|peers?|clients?|members?|hosts?)\b[^\n]{0,16}\b(?:got|only|have|but|registered|joined|connected|arrived|so far)\W+(?!\1\b)\d+|[Ww]aiting for \d+ (?:more )?(?:of|/) ?\d+ (?:\w+ )?(?:workers?|ranks?|nodes?|executors?|replicas?|peers?|clients?|members?|hosts?)", "fewer came than are waited for", passing=True),
    Sign(r"(?:ORTE|PRTE) was unable to reliably start|\bdaemon has unexpectedly failed after launch", "the processes of a host could not be started", POSSIBLE, unless=(r"No route to host|[Ff]irewall",), until=r"\bReason:\s+MPIJobSucceeded\b"),
    Sign(r"Connecting to rank \d+ failed, waiting for (?:[4-9]\d\d|\d{4,}) milliseconds", "a peer does not listen yet", POSSIBLE, until=r"Connected to rank \d"),
    Sign(r"RendezvousTimeoutError|[Rr]endezvous[^\n]{0,30}(?:timed|times) out|Timed out[^\n]{0,40}(?:waiting for|joining)[^\n]{0,40}(?:clients|workers|nodes|peers|rendezvous)", "the meeting timed out"),
    Sign(r"client socket has timed out after|failed to connect to \[?[\w.:-]+\]?:\d+ \(errno", "the meeting point was not reached", POSSIBLE),
    Sign(r"\b(?:PMIx_Fence\w*|ompi_mpi_init|P?MPI_Init\w*|MPID_Init|PMI2?_KVS_Fence|PMI_Barrier|bootstrapRoot|ncclCommInitRank\w*) ?\(", _IN_IT, POSSIBLE),
    Sign(r"(?:_store_based_barrier|init_process_group|_rendezvous|next_rendezvous|_new_process_group_helper|new_group) \(", _IN_IT, POSSIBLE),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    for judge in _JUDGES:
        if (fact := judge(case)) is not None:
            yield of_fact(RULE, fact, _STEPS)
            return
    found = list(hits(case, _SIGNS))
    only_inside = all(hit.sign.says == _IN_IT for hit in found)
    if found and not (only_inside and _past_it(case)):
        made = finding(RULE, case, found, _LATE, _STEPS)
        yield _of_the_missing(case, made) if only_inside else made


def _past_it(case: Case) -> bool:
    """Whether most ranks that were seen wait in calls of the job: they have met, and who stands in a meeting is in a later one."""
    seen = [doing for doing in doings(case) if doing.account and doing.account.seen and of_ranks(doing)]
    meeting = in_kind(seen, WaitKind.RENDEZVOUS.value)
    return 0 < len(meeting) < len(in_kind(seen, *WAITING))


def _of_the_missing(case: Case, made: Finding) -> Finding:
    """Who stands in the meeting is not at fault, but one of few that nobody shows may be."""
    shown = RankSet(case.by_rank)
    missing = RankSet(range(case.world_size or 0)) - shown if not case.snapshot.live else RankSet()
    if len(missing) >= len(shown):
        missing = RankSet()  # somebody looked at a few of many
    title = f"{ranks_phrase(missing)}, of which nothing is shown, did not arrive at the meeting" if missing else _LATE
    return replace(made, ranks=missing, processes=(), title=title)


def _standing(case: Case) -> Fact | None:
    """Ranks that stand before the meeting in which others stand."""
    if case.snapshot.live:
        return None
    met = {event.text for event in events(case, "store.barrier_waiting") if came_later(case, event)}
    found = [doing for doing in doings(case) if doing.kind != "unknown" and _is_rank(doing) and doing.text not in met]
    meeting = in_kind(found, WaitKind.RENDEZVOUS.value)
    named = any(
        doing.ranks for doing in meeting
    )  # then a dump without a number beside them is no rank's, as the launcher's
    others = [
        doing
        for doing in found
        if doing not in meeting and not _left_by_error(doing) and not (named and _unnumbered(doing))
    ]
    late = RankSet(rank for doing in others for rank in doing.ranks)
    fewer = len(others) <= len(meeting) or 0 < len(late) < sum(map(size, meeting))
    if not meeting or not others or not fewer:
        return None
    who = ranks_phrase(late) if late else "a rank"
    title = f"{who} {verb('stand', len(late) or 1)} before the meeting, in which the others wait"
    if in_kind(others, WaitKind.COLLECTIVE.value) == others:  # of a group that it has
        title = f"{who} {verb('stand', len(late) or 1)} in {others[0].op}, while the others wait in a meeting"
    # Who left by an error of its own was kept away by that.
    sure = POSSIBLE if any(doing.kind == "exception" for doing in others) else LIKELY
    apart = seen_apart(case) and moved(case) is None
    where = tuple(f"{doing.text}: {doing.site}" if doing.text and doing.site else doing.text for doing in others[:2])
    return Fact(title, where, sure, late, compared=apart)


# What a rank says that was in the meeting, or past it, when its store went away.
_OF_STORE = regex(
    r"store->get|\bDist(?:Network|Store)Error|recvValue|sendBytes|recvVector|TCPStore|Socket Timeout|"
    r"Connection (?:reset|closed)|Broken pipe|connect\(\) timed out|client socket",
    re.I,
)


def _unnumbered(doing: Doing) -> bool:
    """Whether it is the stack of one process whose number nobody tells."""
    return not doing.ranks and not doing.count and doing.account is not None and bool(doing.account.seen)


def _left_by_error(doing: Doing) -> bool:
    return doing.kind == "exception" and _OF_STORE.search(doing.text) is not None


def _is_rank(doing: Doing) -> bool:
    account = doing.account
    return bool(doing.ranks or doing.count or (account and (account.seen or account.who.count)))


# A scheduler says so also while it makes room; what was scheduled then has its devices.
_NO_DEVICES = Sign(
    r"Waiting for creating a placement group|barrier task ?set requires \d+ slots, while the total number of available slots|No available node types can fulfill|current node has no \w+ available|\b\d+ Insufficient (?:nvidia\.com/gpu|cpu|memory)",
    "the workers wait for devices",
    until=PLACED,
)


def _resources(case: Case) -> Fact | None:
    """A framework that says again and again that it waits for the devices of its workers."""
    for account in accounts(case):
        line = account.find(_NO_DEVICES.pattern)
        if line is not None and not ended(account, _NO_DEVICES):
            return Fact("the workers wait for devices that are not free", (line,))
    return None


# In this order: whom a count names, before what stacks show, before what the code says.
_JUDGES = (
    few_in_store, gang_incomplete, key_missing, tasks_missing, communicator_incomplete, _standing, few_counted, few_started, _resources,
    own_port, waits_first, more_parties, nodes_alike, another_node, more_than_slots,
)  # fmt: skip
RULE = make_rule(__name__, __doc__, "rank-never-joined", 55, check)
