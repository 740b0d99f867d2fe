"""A rank did not arrive at init_process_group, new_group or the rendezvous.

## What it means
The others meet and count; one is missing. It was never started, is still importing or downloading, stands before the call, or looks for another address.

## How it is recognised
The store counts fewer clients than the world has (`2/4 clients joined`), or waits for a key that ends in the missing rank; some ranks print `Init START` and never `Init COMPLETE`;
ranks stand in `init_process_group` or the rendezvous; a counter of those who came stands below the number expected; the launcher starts fewer
processes than the world has; a gang scheduler, or the init container of the workers, waits for pods that nobody has created; the local rank is passed as the rank on several nodes; a scheduler or Ray still waits for devices.

## What to do
Find the process of the rank that is named: does it run, what is its stack? Compare `--nnodes`, `--nproc-per-node`, `WORLD_SIZE` and the node list with what was started; check that
`MASTER_ADDR:MASTER_PORT` is the same everywhere and can be reached.

## How to prevent it
One launcher for all nodes; a short time-out for the first meeting.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts, line_at
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks, seen_apart
from ...analysis.frame_tables import WaitKind
from ...analysis.looked_twice import moved
from ...analysis.pasted_code import code_in, sections
from ...analysis.remembered import remembered
from ...model.diagnosis import Finding
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import finding, simple
from ._lines import events
from ._roll_call import WAITING
from ._signs import LIKELY, POSSIBLE, Sign, ended, hits
from ._wordings import HALTS

_LATE, _IN_IT = "a rank did not arrive at the meeting", "a rank stands in the meeting"
_STEPS = (
    "rankscope diagnose   # on the host of the missing rank",
    "echo $MASTER_ADDR $MASTER_PORT $WORLD_SIZE $RANK   # on every node",
)
_PLACED = r"Successfully assigned|\bScheduled\b|\bStarted container|placement group (?:is )?(?:created|ready)|\b1/1 +Running\b|\b0/1 +Completed\b"
# What keeps a node from starting anything.
_NODE_SHORT = r"Memory cgroup out of memory|eviction manager|(?:Disk|Memory)Pressure|No space left"
_SIGNS = (
    Sign(r"\b(?:tasks?|workers?|processes) (?:that )?(?:did not|have not|has not|haven't) (?:yet )?(?:reach|reached|connect|connected|join|joined|arrive|arrived)|Permission denied \(publickey|Are you sure you want to continue connecting|Host key verification failed", "a worker did not come to the meeting"),
    Sign(r"Barrier timed out(?! ?\. Id: (?!\S*(?:[Cc]onnect|[Ii]nit|WaitForAll)))[^\n]*", "a barrier of the coordination service was not reached by all", POSSIBLE),
    Sign(r"TPU backend initialization is taking more than|Did you run your code on all TPU hosts|Expected \d+ threads to join the rendezvous, but not all|Barrier timed out\. Id: \S*(?:[Cc]onnect|[Ii]nit|WaitForAll)|tasks? (?:that )?(?:are|is) not at the barrier|[Cc]oordination service[^\n]*(?:not (?:all|yet)|timed out|DEADLINE)|DEADLINE_EXCEEDED:[^\n]*(?:(?<!triggered the )Barrier(?! timed out\. Id: (?!\S*(?:[Cc]onnect|[Ii]nit|WaitForAll)))|GetKeyValue|connect)|Timed out waiting for (?:all )?(?:clients|tasks|workers|processes|replicas)|waiting for all (?:participants|replicas|workers) to (?:join|arrive)", "a host or process of the job was not started, or did not come", POSSIBLE),
    Sign(r"\bnever (?:started|came up|launched|scheduled)|\b(?:still (?:being )?|image is being )(?:pull(?:ing|ed)|starting|waiting for resources)|\b(?:jobs?|pods?|workers?|nodes?|ranks?|replicas?)\b[^\n]{0,30}\bstill queued\b|queued and waiting for resources|waiting for (?:resources|allocation)|Waiting for job \d+ to start|\b(?:ranks?|workers?|pods?|nodes?|replicas?|jobs?|tasks?)\b[^\n]{0,40}\bnot (?:yet )?(?:started|launched|scheduled)\b", "a rank was not started", until=r"has been allocated resources"),
    Sign(r"not enough slots available|No available node types|cannot be scheduled|insufficient (?:nvidia\.com/gpu|resources|cpu)|placement group[^\n]{0,60}(?:pending|not ready|timed out|infeasible)|\bPending\b[^\n]{0,40}pods?|pods?\b[^\n]{0,60}\b(?:Pending|ImagePullBackOff|ContainerCreating|CrashLoopBackOff|Init:)", "a rank could not be started", until=_PLACED, unless=(_NODE_SHORT,)),
    Sign(r"\b(?:one|some|two|\d+)\b[^\n]{0,30}(?:nodes?|ranks?|workers?|pods?|processes)\b[^\n]{0,40}(?:never|not|did(?:n't| not)|fail\w* to|yet to)[^\n]{0,30}(?:start|launch|join|arriv|connect|register|come up|reach)\w*", "somebody did not arrive", POSSIBLE, prose=True),
    Sign(r"init_process_group\((?:[^()\n]{0,200}\n){0,12}?[^()\n]{0,200}\brank ?= ?(?:[\w.]*\.)?local_rank\b", "the local rank is passed as the rank, so that nodes claim the same ones", anywhere=(r"--?nnodes[= ](?:[2-9]|\d\d)|\b(?:two|2|several|multi\w*)[- ](?:nodes?|machines?|hosts?)\b|node_rank[= ][1-9]",)),
    Sign(r"\bonly (?:\d+|one|two|three|four|half|some)\b[^\n]{0,30}\b(?:processes|workers|ranks|nodes|tasks|of them)\b[^\n]{0,30}\b(?:started|launched|running|exists?|spawned|came)\b|\bwaiting for \d+ more\b", "fewer were started than are waited for", unless=(r"\b(?:persistent|cooperative|mega)[- ]?kernels?\b|\bthread ?blocks?\b|\bCTAs?\b",), prose=True),
    Sign(r"\b(?:waiting|waits?|blocked|stuck|hang\w*|hung|stands?|stays?|sits?|stops?)\b[^\n]{0,40}(?:init_process_group|new_group|rendezvous|_store_based_barrier|init_device_mesh|ncclCommInitRank|all (?:nodes|ranks|workers|peers) to (?:join|connect|arrive))", "ranks wait in the meeting", POSSIBLE, prose=True),
    Sign(r"\b(?:nnodes|nproc[_-]per[_-]node|world[_ ]size|WORLD_SIZE|node[_ ]rank)\b[^\n]{0,60}(?:wrong|mismatch|differ|expect\w*|but only|instead of|not equal)", "counts do not fit", prose=True),
    Sign(r"CreateSession still waiting for response from worker|Waiting for \d+ local, [1-9]\d* remote core engine proc|barrier stage that requires more slots|step creation (?:temporarily|still) disabled|Only \d+/\d+ workers arrived|ranks? \d[\d, ]* (?:has|have) not (?:joined|connected|registered) (?:yet|so far)", "some of those who are waited for have not come", passing=True, until=r"Start(?:ing)? master session|READY from \w+ core engine|Application startup complete|step created"),
    Sign(r"(?:ORTE|PRTE) was unable to reliably start|\bdaemon has unexpectedly failed after launch|ssh exited with exit code \d+|(?:orted|prted|hydra_pmi_proxy|hydra_bstrap_proxy|pmi_proxy|dask-worker|torchrun|deepspeed)(?:: | - |: orden |: Befehl )?(?:command )?not found", "the processes of a host could not be started", anywhere=(r"\b(?:_store_based_barrier|init_process_group|_create_c10d_store|_rendezvous|init_distributed|PMIx?_Fence|MPI_Init\w*|ompi_mpi_init) \(",)),
    Sign(r"^\S+ +(?:<none> +)?0/\d+ +(?:Pending|ContainerCreating|PodInitializing|ImagePullBackOff|ErrImagePull|Init:\S+|Unschedulable|CreateContainerConfigError) ", "a pod of the job does not run", also=(r"^\S+ +([1-9]\d*)/\1 +Running\b",)),
    # The init container of the training operator's workers looks up the master's name, and fails when that does not come.
    Sign(r"Back-off restarting failed container init-pytorch\b", "the workers' init container waits for the name of a master that does not come", POSSIBLE, until=r"Started container pytorch\b"),
    Sign(r"\bno (?:\w+ )?(?:pod|replica|process|container|service)\b[^\n]{0,40}\b(?:master|launcher|head|chief|leader|driver|worker)\b[^\n]{0,16}\b(?:in the list|(?:is|are) (?:listed|there)|exists?|(?:was|were) (?:ever )?created|to be seen|appears?)|\b(?:master|launcher|head|chief|leader|driver)\b[^\n]{0,12}\b(?:pod|replica|job)s?\b[^\n]{0,12}\b(?:(?:is|are|was|were|has|have) )?(?:never|not)(?: been| get\w*)? (?:created|started|scheduled|there)\b", "a part of the job that the others wait for was never created", prose=True),
    Sign(r"Back-off pulling image|ErrImagePull|[Pp]od ?[Gg]roup is not ready|gang unschedulable|Unable to create step for job|Task launch for Step\w*=\S+ failed|allocated for this job are already filled|\d\+ pending placement groups", "a rank could not be started", until=_PLACED),
    Sign(r"\bEI0015\b|topo exchange server get socket timeout|[Tt]imed out waiting for [^\n]{0,24}(?:executors|engine core processes|slots|agents|nodes) to (?:start|register|join|connect|be\w* \w+)|Timed out after \S+ (?:s|sec\w*|seconds) waiting for \d+ \w+ to (?:register|join|start|connect)", "somebody did not come to the meeting"),
    Sign(r"[Ww]aiting for (?:all )?(\d+) (?:\w+ ){0,2}?(?:workers?|ranks?|nodes?|executors?|slots?|replicas?|peers?|clients?|members?|hosts?)\b[^\n]{0,16}\b(?:got|only|have|but|registered|joined|connected|arrived|so far)\W+(?!\1\b)\d+|[Ww]aiting for \d+ (?:more )?(?:of|/) ?\d+ (?:\w+ )?(?:workers?|ranks?|nodes?|executors?|replicas?|peers?|clients?|members?|hosts?)", "fewer came than are waited for", passing=True),
    Sign(r"(?:ORTE|PRTE) was unable to reliably start|\bdaemon has unexpectedly failed after launch", "the processes of a host could not be started", POSSIBLE, unless=(r"No route to host|[Ff]irewall",), until=r"\bReason:\s+MPIJobSucceeded\b"),
    Sign(r"Connecting to rank \d+ failed, waiting for (?:[4-9]\d\d|\d{4,}) milliseconds", "a peer does not listen yet", POSSIBLE, until=r"Connected to rank \d"),
    Sign(r"RendezvousTimeoutError|[Rr]endezvous[^\n]{0,30}timed out|Timed out[^\n]{0,40}(?:waiting for|joining)[^\n]{0,40}(?:clients|workers|nodes|peers|rendezvous)", "the meeting timed out"),
    Sign(r"client socket has timed out after|failed to connect to \[?[\w.:-]+\]?:\d+ \(errno", "the meeting point was not reached", POSSIBLE),
    Sign(r"\b(?:PMIx_Fence\w*|ompi_mpi_init|P?MPI_Init\w*|MPID_Init|PMI2?_KVS_Fence|PMI_Barrier|bootstrapRoot|ncclCommInitRank\w*) ?\(", _IN_IT, POSSIBLE),
    Sign(r"(?:_store_based_barrier|init_process_group|_rendezvous|next_rendezvous|_new_process_group_helper|new_group) \(", _IN_IT, POSSIBLE),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    for judge in (
        _counted,
        _gang,
        _key,
        _initialising,
        _standing,
        _too_few,
        _started,
        _resources,
        _own_port,
        _waits_first,
    ):
        made = judge(case)
        if made is not None:
            yield made
            return
    found = list(hits(case, _SIGNS))
    if found and not (all(hit.sign.says == _IN_IT for hit in found) and _past_it(case)):
        made = finding(RULE, case, found, _LATE, _STEPS)
        yield _of_the_missing(case, made) if all(hit.sign.says == _IN_IT for hit in found) else made


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


def _counted(case: Case) -> Finding | None:
    for event in events(case, "store.clients_missing", "store.barrier_timeout", "store.barrier_waiting"):
        joined, world = event.fields.get("joined"), event.fields.get("expected", event.fields.get("world_size"))
        if isinstance(joined, int) and isinstance(world, int) and joined < world and not _completed(case, event):
            return simple(RULE, f"only {joined} of {world} arrived", LIKELY, [event.text], _STEPS)
    return None


def _completed(case: Case, waiting: Event) -> bool:
    """Whether some rank told later, or in another file, that all had come to the barrier that a line waits in."""
    last = _met(case).get(waiting.fields.get("key"), {})
    return bool(last.keys() - {waiting.file}) or last.get(waiting.file, 0) > waiting.line


@remembered
def _met(case: Case) -> dict[object, dict[str, int]]:
    """Per barrier of the store that all came to, the last line of each file that tells so."""
    found: dict[object, dict[str, int]] = {}
    for event in events(case, "store.barrier_met"):
        lines = found.setdefault(event.fields["key"], {})
        lines[event.file] = max(event.line, lines.get(event.file, 0))
    return found


# kube-batch and Volcano: how many pods of a gang there are, in which states, and how many it needs at least.
_GANG = regex(r"tasks in gang unschedulable: [^\n]*?not ready, (?P<states>[^\n]*?)(?P<least>\d+) minAvailable")
_IN_STATE = regex(r"\b(\d+) [A-Z][A-Za-z]+\b")


def _gang(case: Case) -> Finding | None:
    """A gang that waits for pods which nobody has created."""
    for account in accounts(case):
        found = list(_GANG.finditer(account.said))
        if not found or ended(account, Sign(_GANG.pattern, "", until=_PLACED)):
            continue
        have, least = sum(map(int, _IN_STATE.findall(found[-1]["states"]))), int(found[-1]["least"])
        if have < least:
            title = (
                f"{have} of the {least} pods that have to start together are there, and none starts without the others"
            )
            line = line_at(account.said, found[-1].start())
            return replace(simple(RULE, title, LIKELY, [line], _STEPS), compared=True)
    return None


def _key(case: Case) -> Finding | None:
    said = [
        event for event in events(case, "store.key_wait_timeout") if isinstance(event.fields.get("missing_rank"), int)
    ]
    ranks = RankSet(event.fields["missing_rank"] for event in said if isinstance(event.fields["missing_rank"], int))
    if not ranks:
        return None
    return simple(
        RULE,
        f"{ranks_phrase(ranks)} never came to init_process_group: the others wait for its key",
        LIKELY,
        [said[0].text],
        _STEPS,
        ranks,
    )


def _initialising(case: Case) -> Finding | None:
    """A communicator of which some members began or finished the initialisation and others did not."""
    comms: dict[object, tuple[set[int], set[int], int]] = {}
    for event in events(case, "nccl.comm_init_start", "nccl.comm_init_complete"):
        number, size = event.fields.get("comm_id", event.fields.get("nranks")), event.fields.get("nranks")
        if event.rank is None or not isinstance(size, int):
            continue
        started, done, _ = comms.setdefault(number, (set(), set(), size))
        (done if event.event.endswith("complete") else started).add(event.rank)
    for started, done, size in comms.values():
        absent = RankSet(range(size)) - RankSet(started | done)
        unfinished = RankSet(started - done) if done else RankSet()
        if unfinished and len(unfinished) <= size // 2:
            return simple(
                RULE,
                f"{ranks_phrase(unfinished)} began to initialise a communicator and never finished",
                LIKELY,
                ["the others report Init COMPLETE"],
                _STEPS,
                unfinished,
            )
        if absent and started and len(absent) <= size // 2 and not done:
            return simple(
                RULE,
                f"{ranks_phrase(absent)} never began to initialise the communicator of {size}",
                POSSIBLE,
                ["the others report Init START"],
                _STEPS,
                absent,
            )
    return None


def _standing(case: Case) -> Finding | None:
    met = {event.text for event in events(case, "store.barrier_waiting") if _completed(case, event)}
    found = [doing for doing in doings(case) if doing.kind != "unknown" and _is_rank(doing) and doing.text not in met]
    meeting = in_kind(found, WaitKind.RENDEZVOUS.value)
    others = [doing for doing in found if doing not in meeting and not _left_by_error(doing)]
    if not meeting or case.snapshot.live:
        return None
    late = RankSet(rank for doing in others for rank in doing.ranks)
    if others and (len(others) <= len(meeting) or (late and len(late) < sum(map(_size, meeting)))):
        title = f"{ranks_phrase(late) if late else 'a rank'} stands before the meeting, in which the others wait"
        # Who left by an error of its own was kept away by that.
        sure = POSSIBLE if any(doing.kind == "exception" for doing in others) else LIKELY
        found_apart = simple(RULE, title, sure, [doing.text for doing in others[:2]], _STEPS, late)
        return replace(found_apart, compared=seen_apart(case) and moved(case) is None)
    return None


def _size(doing: Doing) -> int:
    return len(doing.ranks) or doing.count or 1


# What a rank says that was in the meeting, or past it, when its store went away.
_OF_STORE = regex(
    r"store->get|\bDist(?:Network|Store)Error|recvValue|sendBytes|recvVector|TCPStore|Socket Timeout|Connection (?:reset|closed)|Broken pipe|connect\(\) timed out|client socket",
    re.I,
)


def _left_by_error(doing: Doing) -> bool:
    return doing.kind == "exception" and _OF_STORE.search(doing.text) is not None


def _is_rank(doing: Doing) -> bool:
    account = doing.account
    return bool(doing.ranks or doing.count or (account and (account.seen or account.who.count)))


# A scheduler says so also while it makes room; what was scheduled then has its devices.
_NO_DEVICES = Sign(
    r"Waiting for creating a placement group|barrier task ?set requires \d+ slots, while the total number of available slots|No available node types can fulfill|current node has no \w+ available|\b\d+ Insufficient (?:nvidia\.com/gpu|cpu|memory)",
    "the workers wait for devices",
    until=_PLACED,
)


def _resources(case: Case) -> Finding | None:
    """A framework that says again and again that it waits for the devices of its workers."""
    for account in accounts(case):
        line = account.find(_NO_DEVICES.pattern)
        if line is not None and not ended(account, _NO_DEVICES):
            return simple(RULE, "the workers wait for devices that are not free", LIKELY, [line], _STEPS)
    return None


# A port that each process finds for itself.
_OWN_PORT = regex(
    r"MASTER_PORT['\"]?\]? ?=.*(?:free_port|find_port|open_port|random|randint|getsockname|unused_port)|tcp://.*(?:free_port|find_port|open_port|randint)",
    re.I,
)


def _own_port(case: Case) -> Finding | None:
    """Code in which every process chooses the port of the meeting by itself, right before it goes there."""
    for account in accounts(case):
        lines = [line.text for line in code_in([event.text for event in account.events])]
        for at, line in enumerate(lines):
            near = " ".join(itertools.takewhile(lambda one: not one.startswith("def "), lines[at : at + 8]))
            if _OWN_PORT.search(line) and re.search(r"init_process_group\(|init_distributed|TCPStore\(", near):
                return simple(RULE, "each process chooses another port to meet at", LIKELY, [line], _STEPS)
    return None


_BLOCKS = regex(r"\.(?:wait|result|get|join|recv|communicate)\(|rpc_sync\(|\binput\(|sleep\(|while .*:$")
_JOINS = regex(r"(?<!def )\b(?:init_process_group|new_group|init_rpc|init_distributed|TCPStore|hvd\.init|barrier)\(")


def _waits_first(case: Case) -> Finding | None:
    """Code in which one rank waits for something before it goes to the meeting of all."""
    if not any(one.find(HALTS) for one in accounts(case)):
        return None
    for account in accounts(case):
        for section in sections(code_in([event.text for event in account.events])):
            waits = next((line for line in section.body if _BLOCKS.search(line)), None)
            joins = next((line for line in section.after if _JOINS.search(line)), None)
            if section.who == "one" and waits and joins and "init" in joins:
                return simple(RULE, "one rank waits before it joins", LIKELY, [waits, f"then: {joins}"], _STEPS)
    return None


_WORLD = regex(r"\b(?:--)?world[-_ ]?size[ =:]{1,3}(\d+)\b|\bworld of (?:size )?(\d+)\b", re.IGNORECASE)
_PER_NODE = regex(
    r"--n(?:um)?_?proc(?:es(?:ses)?)?[-_]?(?:per[-_](?:node|machine))?[ =](\d+)\b|\bnprocs ?= ?(\d+)", re.IGNORECASE
)
_NODES = regex(r"--n?nodes[ =](\d+)\b|--num_machines[ =](\d+)\b", re.IGNORECASE)


def _started(case: Case) -> Finding | None:
    """A command that starts fewer processes than the size of the world that the program asks for."""
    text = "\n".join(account.said for account in accounts(case))
    world, each = _number(_WORLD, text), _number(_PER_NODE, text)
    if world and each and world > each * (_number(_NODES, text) or 1):
        title = f"a world of {world} is asked for, and {each} processes are started on a node"
        return simple(RULE, title, LIKELY, [title], _STEPS)
    return None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return next((int(one) for one in found.groups() if one), None) if found else None


_ARRIVED = regex(
    r"(?<!#)(?<!iteration )(?<!step )(?<!epoch )(?<!batch )(?<!rank )(?<!worker )(?<!process )(?<!task )(?<!node )(?<!host )\b(?P<have>\d{1,6}) ?(?:of|/|out of) ?(?P<want>\d{1,6}) (?:\w+ ){0,2}(?:workers?|ranks?|nodes?|clients?|peers?|processes|members?|hosts?|agents?|pods?|replicas?|tasks?)?"
    r"(?: (?:are|is|have|has))? ?(?:ready|joined|connected|arrived|registered|up|started|running|checked in)\b(?!\W?[=:])(?! (?:and|or) queued| (?:tasks?|jobs?|requests?|slots?)\b)|"
    r"\b(?:ready|joined|connected|arrived|registered|alive)\W{1,3}(?P<have_>\d{1,6}) ?(?:of|/) ?(?P<want_>\d{1,6})\b",
    re.IGNORECASE,
)


def _too_few(case: Case) -> Finding | None:
    """A counter of those who came that stands below the number of those expected."""
    for account in accounts(case):
        found = list(_ARRIVED.finditer(account.said))
        if not found:
            continue
        last = found[-1]
        have, want = int(last["have"] or last["have_"]), int(last["want"] or last["want_"])
        if have < want:
            return simple(RULE, f"only {have} of {want} arrived", LIKELY, [line_at(account.said, last.start())], _STEPS)
    return None


RULE = make_rule(__name__, __doc__, "rank-never-joined", 55, check)
