"""The ranks stand in different calls: some have gone another way.

## What it means
One party of ranks waits in one collective, the rest in another one or somewhere in the same loop. Their paths parted before that, at a condition that was
not the same on all of them. Nobody in the larger party is at fault;
of two parties as large as each other nobody is named.

## How it is recognised
Stacks in two groups (py-spy, pystack, gdb, a traceback of each rank), a roll call of a watchdog or of RAS, or a sentence: "seven ranks in
all_reduce, one in broadcast". Or somebody has sorted the stacks of all ranks ("ranks with 1: …, ranks with 0: …"), which is possible at most. Or the last word of a rank is that it leaves out a step, in which others, whose logs say nothing of it, were seen to wait.
Or Horovod's stall report lists gradients that some ranks lack, and something else that only the others lack. Or some are at the end of their program, in MPI_Finalize or an exit handler, while others wait in a collective. All stand; nobody has failed, and nobody is in a loader or at a prompt.

## What to do
Compare the two stacks from the outside in: the last common frame holds the branch (`rankscope analyze STACKS…` prints it). Look there for `if rank == 0`, a
file that exists for some, an empty batch, an exception that was caught. Decide on one rank and broadcast the decision, or reduce the condition first.

## How to prevent it
No collective below a condition that is local to a rank; idle ranks take part with a dummy. Mechanism: https://github.com/EleutherAI/sparsify/pull/5
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, gathered, in_kind, of_ranks, seen_apart, size, way
from ...analysis.dumped import one_look
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import has
from ...analysis.looked_twice import came_through, moved
from ...analysis.saying import saying
from ...analysis.stalls_over import stall_over
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._findings import simple
from ._roll_call import WAITING, blames_another, roll_call
from ._signs import LIKELY, POSSIBLE
from ._together import left_early, scattered

_STEPS = (
    "rankscope diagnose   # shows the last common call and the first different line",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return  # who stands where is known there
    if came_through(case):
        return  # the ranks were met at different places of a loop that goes on
    if any(one.find(_PROMPT) or _OF_THREADS.search(one.label) for one in accounts(case)):
        return  # who stands elsewhere waits for a person, or is a thread beside others
    found = _roll_call(case) or _left_out(case) or _out_of_the_step(case) or _two_places(case) or _parties(case)
    if found is not None:
        # Who moves between two looks was only met in different places of one loop.
        apart = (seen_apart(case) or _raised_apart(case)) and moved(case) is None
        yield replace(
            found, compared=(apart or found.compared) and not (found.certainty is POSSIBLE and one_look(case))
        )


def _raised_apart(case: Case) -> bool:
    """Whether several ranks left tracebacks in one console: these are compared as well. A person who stops a job meets its
    ranks anywhere."""
    raised = (event for event in case.events if event.event == "python.exception" and event.fields.get("frames"))
    return len({one.rank for one in raised if one.rank is not None and one.fields["type"] != "KeyboardInterrupt"}) > 1


def _roll_call(case: Case) -> Finding | None:
    placed = roll_call(case)
    if not placed:
        return None
    odd = min(placed, key=size)
    title = f"{_name(odd)} {verb('stand', size(odd))} elsewhere than the others"
    return simple(RULE, title, LIKELY, [f"{_name(doing)}: {doing.text}" for doing in placed[:3]], _STEPS, odd.ranks)


def _left_out(case: Case) -> Finding | None:
    """A rank whose last word is that it leaves out a step, while others, which say nothing of it, were seen to wait in that step."""
    last = {event.rank: event for event in case.events if event.event == "text.line" and event.rank is not None}
    told = {event.rank for event in saying(case, _LEAVES_OUT) if event.rank is not None}
    out = RankSet(rank for rank in told if _LEAVES_OUT.search(last[rank].text))
    seen = [one for one in doings(case) if one.account is not None and one.account.seen and one.ranks]
    waiting = [one for one in in_kind(seen, *WAITING, WaitKind.DEVICE.value) if not one.ranks & out]
    others = RankSet(rank for rank in last if rank is not None) - out
    if not out or len(told) > len(out) or not others or len(others) < len(out) or not waiting:
        return None
    title = f"{ranks_phrase(out)} left out a step, while others are in {waiting[0].op} of it"
    return simple(RULE, title, LIKELY, [*(last[rank].text for rank in out), waiting[0].site][:4], _STEPS, out)


def _out_of_the_step(case: Case) -> Finding | None:
    """Parties in Horovod's newest report: of the gradients that one lacks, and of something else that the other lacks, as the
    average of a metric at the end of an epoch. Who lacks the gradients has left the steps, or has not begun with them; but one that broadcasts its
    start has begun anew."""
    for account in accounts(case):
        told = "\n".join(said.text for said in account.events if not stall_over(case, said))
        *before, report = _REPORT.split(told)
        lacks = [(int(found["rank"]), found["names"]) for found in _LACKS.finditer(report)] if before else []
        steps = RankSet(rank for rank, names in lacks if _GRADIENT.search(names))
        other = RankSet(
            rank for rank, names in lacks if not _GRADIENT.search(names) and "broadcast" not in names.lower()
        )
        if not steps or not other or steps & other or {len(steps), len(other)} == {1}:
            continue
        odd = min(steps, other, key=len) if len(steps) != len(other) else RankSet()
        title = f"{ranks_phrase(steps)} {verb('lack', len(steps))} gradients, and {ranks_phrase(other)} what these have called instead"
        because = [f"rank {rank} lacks {names[:100]}" for rank, names in lacks[:4]]
        return replace(simple(RULE, title, LIKELY, because, _STEPS, odd), compared=True)
    return None


_REPORT = regex(r"(?:Missing|Stalled) ranks:")
_LACKS = regex(r"^(?:\[\d{1,6}\]<std(?:err|out)>: ?)?(?P<rank>\d{1,6}): \[(?P<names>[^\]\n]{1,2000})\]", re.MULTILINE)
# How Horovod's optimizers call what they reduce: of Keras and TensorFlow, and by the names of parameters in PyTorch.
_GRADIENT = regex(r"Distributed\w{0,40}_Allreduce/|\bgrad(?:ient)?s?_|\ballreduce\.[\w.]{1,200}\.(?:weight|bias)\b")
# What loops say of a loss that is no number, of a batch that is empty or does not fit, before they go on with the next one.
_LEAVES_OUT = regex(
    r"\bskipp(?:ing|ed)\b(?! (?:iterations|steps|batches)\b ?[:=])[^\n]{0,80}\b(?:batch|step|update|backward|sample|iteration|gradients?)\b|"
    r"\b(?:loss|gradients?|batch|sample|step|iteration)\b[^\n]{0,80}\bskipp(?:ing|ed)\b(?! (?:iterations|steps|batches)\b ?[:=])",
    re.IGNORECASE,
)
# A debugger's loop that reads commands (pdb.py).
_PROMPT = r"\b(?:interaction|cmdloop)\b[^\n]{0,24}\bi?pdb\.py\b"
# Whose lines tell of threads in one process.
_OF_THREADS = regex(r"^(?:\w+ )?threads of\b", re.IGNORECASE)
_EVERYONE = regex(r"\b(?:all|every|each|both) (?:\w+ )?(?:ranks?|gpus?|process(?:es)?|nodes?)\b", re.IGNORECASE)


def _table_of_all(doing: Doing) -> bool:
    """Whether it is what a tool shows of the calls of all ranks: that stands nowhere itself, whatever its first row names."""
    account = doing.account
    return account is not None and not account.seen and not doing.ranks and _RECORDERS.search(account.label) is not None


_RECORDERS = regex(
    r"\b(?:torchfrtrace|fr[ _]trace|flight[ _-]?recorders?|ncclras|nccl[ _-]ras)\b|\bnccl[ _]trace[ _]rank",
    re.IGNORECASE,
)


def _everyone(doing: Doing) -> bool:
    """Whether it is told of all ranks alike: two such remarks are of the same ones."""
    label = doing.account.label if doing.account else ""
    return bool(_EVERYONE.search(label) or _EVERYONE.search(doing.text))


def _two_places(case: Case) -> Finding | None:
    """Subjects in different collectives, or in a collective and somewhere that is not waiting for anybody."""
    known = [one for one in doings(case) if one.account is not None and of_ranks(one) and not _table_of_all(one)]
    found = gathered(known)
    waiting = in_kind(found, *WAITING)
    return (
        _at_the_end(case)
        or _other_calls(waiting)
        or _two_ways(known)
        or _serving(found, waiting)
        or _elsewhere(case, found, waiting)
        or _stuck(found)
        or _not_there(found, waiting)
    )


# A party of ranks by what they have in common, and the function in which all of it stands.
_PARTY = regex(
    r"^\W{0,4}(?:the )?(?:ranks?|gpus?|processes|workers) (?:with|where|in which|for which|of which|whose|that|which) [^:\n]{1,60}"
    r"(?::|->|=>| (?:stand|stay|wait|are|hang)s? in) ?(?P<place>[A-Za-z_][\w.:]{2,120})(?:\(\))?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_OF_ALL = regex(
    r"\b(?:stacks?|dumps?|places?|where)\b[^\n]{0,24}\b(?:all|each|every|both|the)\b[^\n]{0,12}\b(?:ranks?|gpus?|processes|workers)\b",
    re.I,
)


def _parties(case: Case) -> Finding | None:
    """Somebody has sorted the stacks of all ranks, and has found them in two places, each of ranks with something in common."""
    for one in accounts(case):
        rows = list(_PARTY.finditer(one.said))
        if len({row["place"] for row in rows}) > 1 and _OF_ALL.search(f"{one.label}\n{one.said}"):
            because = [row.group().strip() for row in rows[:4]]
            title = "the ranks stand in two places, by something that is not the same on all of them"
            return simple(RULE, title, POSSIBLE, because, _STEPS)
    return None


def _at_the_end(case: Case) -> Finding | None:
    """Ranks at the end of their program, while others wait in a call."""
    if (left := left_early(case)) is None:
        return None
    odd, there = left
    title = f"{_name(odd)} {verb('are', size(odd))} at the end of the program, while others wait in {there.op}"
    return simple(RULE, title, LIKELY, [odd.site, there.site], _STEPS, odd.ranks)


def _other_calls(waiting: list[Doing]) -> Finding | None:
    """Ranks that wait in different calls; who only tells of "a collective" may mean that of the others."""
    waiting = [doing for doing in waiting if doing.op != "collective" or (doing.account and doing.account.seen)]
    looked = RankSet(rank for doing in waiting if doing.account and doing.account.seen for rank in doing.ranks)
    # What words beside the stacks of some ranks say is said of the same ones.
    waiting = [one for one in waiting if not one.ranks or one.ranks - looked or (one.account and one.account.seen)]
    places = {doing.site: doing for doing in waiting}
    if len(places) < 2 or len({_signature(doing) for doing in waiting}) < 2 or all(map(_everyone, waiting)):
        return None
    because = [f"{_name(doing)}: {doing.site}" for doing in places.values()][:4]
    if _evenly(waiting):
        who = "two ranks stand in different collectives" if sum(map(size, waiting)) == _PAIR else _HALVES
        title = " and ".join(f"{_name(doing)} in {_call_of(doing, waiting)}" for doing in waiting)
        return simple(RULE, f"{who}: {title}", LIKELY, because, _STEPS)
    odd = _odd(waiting)
    title = f"{_name(odd)} {verb('stand', size(odd))} in another collective ({odd.op}) than the others"
    return simple(RULE, title, LIKELY, because, _STEPS, odd.ranks)


def _call_of(doing: Doing, waiting: Sequence[Doing]) -> str:
    """The call in which it waits, and by which function of its own it came there where others are in such a call too."""
    own = _own_part(way(doing), [way(one) for one in waiting]) if len({one.op for one in waiting}) == 1 else []
    return f"{doing.op} of {own[0]}" if own else doing.op


def _evenly(waiting: Sequence[Doing]) -> bool:
    """Whether there are two parties, as large as each other."""
    return len(waiting) == _PAIR and size(waiting[0]) == size(waiting[1])


def _serving(found: list[Doing], waiting: list[Doing]) -> Finding | None:
    """Ranks that wait for their next piece of work, while others wait in a call."""
    idle = [one for one in in_kind(found, *_RESTS) if _SERVES & set(way(one))]
    if not waiting or not idle:
        return None
    title = f"{_name(idle[0])} {verb('wait', size(idle[0]))} for work, while others are in {waiting[0].op}"
    return simple(RULE, title, LIKELY, [waiting[0].site, idle[0].site], _STEPS, idle[0].ranks)


def _elsewhere(case: Case, found: list[Doing], waiting: list[Doing]) -> Finding | None:
    """Ranks in a library or at their device, which came from where others went to a call."""
    other = in_kind(found, WaitKind.LIBRARY.value, WaitKind.DEVICE.value)
    other = [doing for doing in other if doing.account is not None and doing.account.seen]
    if not waiting or not other or not _shares_a_caller(waiting, other) or scattered(found, waiting):
        return None
    odd = min(other, key=size)
    title = f"{_name(odd)} {verb('are', size(odd))} in {odd.op}, while the others are in {waiting[0].op}: their paths parted"
    sure = POSSIBLE if one_look(case) else LIKELY
    return simple(RULE, title, sure, [waiting[0].site, odd.site], _STEPS, odd.ranks, against=_MAY_BE_SLOWER)


def _stuck(found: list[Doing]) -> Finding | None:
    """Groups of ranks of which somebody says that they are stuck in different places."""
    stuck = [doing for doing in found if doing.text.lower().startswith(_STUCK)]
    if len({doing.text for doing in stuck}) < 2 or blames_another(stuck):
        return None
    title, odd = "groups of ranks stand in two different places", min(stuck, key=size)
    return simple(RULE, title, LIKELY, [doing.text for doing in stuck[:4]], _STEPS, odd.ranks)


_STUCK = ("stuck in", "hangs in", "blocked in", "waiting in")
_MAY_BE_SLOWER = ("it may only be slower: look again",)
_PAIR = 2  # ranks or parties: of two equal ones nobody can say who stands where all should
_HALVES = "half of the ranks stand in one call and half in another"

_RESTS = (
    WaitKind.QUEUE.value,
    WaitKind.IDLE.value,
    WaitKind.SOCKET.value,
    WaitKind.CONDITION.value,
    WaitKind.PIPE.value,
)
# Loops of servers in which a rank waits for its next piece of work.
_SERVES = {
    "worker_busy_loop", "run_busy_loop", "_process_input_queue", "recv_requests", "recv_reqs", "_execute_model_loop", "start_worker_execution_loop",
    "event_loop_normal", "event_loop_overlap", "remote_worker_loop", "main_loop", "serve_forever",
}  # fmt: skip


def _two_ways(found: list[Doing]) -> Finding | None:
    """Subjects in one and the same wait, to which different functions of the program led them."""
    standing = [one for one in in_kind(found, *WAITING, WaitKind.DEVICE.value) if one.ranks and way(one)]
    ways = {way(one): one for one in standing}
    if len(ways) < 2 or len(standing) < len(found) or any(one in two or two in one for one, two in _pairs(ways)):
        return None
    if len({one.op for one in standing}) > 1:
        return None
    odd = min(ways.values(), key=size)
    because = [f"{_name(one)}: {' < '.join(_own_part(path, ways))}" for path, one in list(ways.items())[:4]]
    parties = gathered(standing)
    if _evenly(parties):
        title = f"{_HALVES}: {' and '.join(f'{_name(one)} came to {one.op} by its own way' for one in parties)}"
        return simple(RULE, title, LIKELY, because, _STEPS)
    title = f"{_name(odd)} came to {odd.op} by another way than the others"
    return simple(RULE, title, LIKELY, because, _STEPS, odd.ranks)


def _pairs(ways: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Each two ways as text: of a longer and a shorter excerpt of one stack, one is in the other."""
    told = [" < ".join(reversed(one)) for one in ways]
    return itertools.combinations(told, 2)


def _own_part(path: tuple[str, ...], ways: Iterable[tuple[str, ...]]) -> list[str]:
    """The functions of a way that not all ways have, deepest first."""
    common = set.intersection(*(set(one) for one in ways))
    return [name for name in reversed(path) if name not in common][:4]


def _not_there(found: list[Doing], waiting: list[Doing]) -> Finding | None:
    """Ranks of whom is told what they did instead of the call in which the others wait: they are through, or had nothing to do."""
    away = [doing for doing in in_kind(found, "unknown", "done", WaitKind.EXIT.value) if _tells_of(doing)]
    there = [doing for doing in waiting if doing not in away]
    others = [doing for doing in found if doing not in away and doing not in there]
    if not away or not there or blames_another(found) or others or not _told_of_each(found):
        return None
    if any(_ALIKE.search(doing.text) or (_everyone(doing) and _alike(doing)) for doing in away):
        return None
    odd = min(away, key=size)
    if any(odd.ranks & doing.ranks for doing in there):
        return None  # of one rank two things are told, and of nobody where he is instead
    through = odd.kind == "done" or _THROUGH.search(odd.account.said if odd.account else odd.text) is not None
    title = f"not in the {there[0].op} in which the others wait: {_name(odd)}"
    because = [f"{_name(doing)}: {doing.text}" for doing in (odd, there[0])]
    return simple(RULE, title, LIKELY if through else POSSIBLE, because, _STEPS, odd.ranks)


def _alike(doing: Doing) -> bool:
    """Whether what a subject is called says that it is the same of them all."""
    return doing.account is not None and _ALIKE.search(doing.account.label) is not None


def _told_of_each(found: list[Doing]) -> bool:
    """Whether there is one account per group of ranks, and none of them a log that goes on."""
    labels = [doing.account.label for doing in found if doing.account is not None]
    return len(set(labels)) > 1 and not any(_STEPS_ON.search(doing.account.said) for doing in found if doing.account)


_STEPS_ON = regex(r"\b(?:epoch|step|iter\w*) \d+ (?:done|finished|loss|took)\b", re.I)


def _tells_of(doing: Doing) -> bool:
    """Whether somebody wrote down of ranks what they do, rather than a log or a table of theirs."""
    account = doing.account
    if account is None or _TOOLS.search(account.label):
        return False
    return not account.stacks and bool(account.prose.split("\n\n", 2)[-1].strip())


# What tools show of devices, connections and hosts is told of no rank; names that are words are a tool's before an option.
_TOOLS = regex(
    r"\b(?:nvidia|rocm|amd|npu|xpu)-smi\b|\b(?:gpustat|nvtop|dmesg|iostat|netstat|ifconfig|ethtool|ibstat\w*|ibv_devinfo|lspci|"
    r"tcpdump|conntrack)\b|^\W*(?:sudo )?(?:ss|ip|lsof|df|free|mount|vmstat|mpstat|sar|top|ping|rdma) -",
    re.IGNORECASE,
)
# Somebody says that these are where the others are.
_ALIKE = regex(r"\b(?:same|identical|equal|alike|likewise)\b(?! (?:process|machine|node|host|code|script))", re.I)
_THROUGH = regex(
    r"\b(?:finished|done|(?<!last )completed|through|not (?:in|inside|at|entered|joined)|"
    r"no (?:tokens?|gradients?|grads?|data|batch\w*|samples?|requests?|work|inputs?|images?|experts?)|"
    r"0 (?:tokens?|samples?|requests?|batches)|empty|skip\w*|"
    r"next (?:step|iteration|batch|epoch|loop)|already|left|returned|idle|went on|goes on|moved on|ahead|earlier|returns? early|alive)\b",
    re.I,
)


def _shares_a_caller(some: list[Doing], others: list[Doing]) -> bool:
    """Whether stacks of both groups come from the same function of the program."""
    return bool(_callers(some) & _callers(others))


def _callers(found: list[Doing]) -> set[str]:
    """The functions of their stacks, without frames that have no name: those are alike everywhere."""
    names = {frame.function for doing in found if doing.account for seen in doing.account.seen for frame in seen.stack}
    return names - {"??"}


def _odd(waiting: Sequence[Doing]) -> Doing:
    """Who differs most: in the call that fewest stand in, then in the smaller group, then who left the common way first."""
    sizes: Counter[str] = Counter()
    for doing in waiting:
        sizes[doing.op] += size(doing)
    return min(waiting, key=lambda one: (sizes[one.op], size(one), _shared(one, waiting)))


def _shared(one: Doing, others: Sequence[Doing]) -> int:
    """How many of its outermost functions it has in common with the others, added up."""
    mine = way(one)
    pairs = (zip(mine, way(other)) for other in others if other is not one)
    return sum(sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], both)) for both in pairs)


def _signature(doing: Doing) -> str:
    """Where a subject waits; what the backward pass starts by itself is one place, however deep one could look."""
    if doing.account is None or not doing.account.seen:
        return doing.op
    in_backward = any(has(seen.stack, WaitKind.BACKWARD) is not None for seen in doing.account.seen)
    return WaitKind.BACKWARD.value if in_backward and not _USERS_HOOK.search(doing.site) else doing.site


# Collectives that Python code calls during the backward pass stand where it wrote them.
_USERS_HOOK = regex(r"\b(?:all_reduce|all_gather\w*|reduce_scatter\w*|broadcast|barrier|all_to_all\w*)\b")


def _name(doing: Doing) -> str:
    if doing.ranks or doing.account is None:
        return ranks_phrase(doing.ranks) if doing.ranks else "a group of ranks"
    pid = doing.account.refs[0].spoken if len(doing.account.refs) == 1 else ""
    return pid or doing.account.label


# The counts say it already, or nobody is absent: those that stand elsewhere wait for these.
RULE = make_rule(
    __name__, __doc__, "collective-missed-by-rank", 45, check, yields_to=("calls-counted", "groups-in-cycle")
)
