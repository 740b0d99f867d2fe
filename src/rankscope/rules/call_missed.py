"""Some ranks call a collective that the others do not call, or not as often.

## What it means
The ranks took different paths: a call under `if rank == 0`, a decision from local files or caches, an empty batch, an exception that leaves a function before its
closing barrier, an uneven number of batches. The ranks that call wait for those that do not.

## How it is recognised
Stacks in two groups, one of them already in the next step or in another collective; a roll call that names an odd rank; time-outs with different sequence
numbers; a report that some ranks did not join; a one-element all-reduce (a barrier or flag) that times out on some ranks only.

## What to do
Look at the branch between the last common call and the first different line (`rankscope diagnose` shows both). No collective behind a rank-local condition: reduce or
broadcast the condition first; let idle ranks take part; catch, exchange flags, and fail together.

## How to prevent it
Equal step counts (`drop_last`, padding, `Join`); save and log on all ranks where the library does it collectively.
Cases: https://github.com/speechbrain/speechbrain/issues/2401, https://github.com/sgl-project/sglang/issues/30760
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ..analysis.accounts import Doing, accounts, compiled, doings, gathered, in_kind, of_ranks
from ..analysis.case import Case
from ..analysis.frame_tables import Kind as Wait
from ..analysis.sayings import sayings
from ..model.diagnosis import Finding
from ..model.ranks import RankSet, ranks_phrase
from ._text import (
    BELOW_IT,
    HALTS,
    LIKELY,
    ONE_RANK,
    POSSIBLE,
    Sign,
    events,
    finding,
    halted,
    hits,
    make_rule,
    routine,
    simple,
)
from .calls_differ import lonely_call

_STEPS = (
    "rankscope diagnose   # shows the last common call and the first different line",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …",
)
_WAITING = (Wait.COLLECTIVE.value, Wait.BACKWARD.value)
# Calls that all ranks must make (of torch and of the trainers around it).
_COLLECTIVE_CALL = r"(?:(?:barrier|all_?reduce\w*|all_?gather\w*|broadcast\w*|reduce_scatter\w*|gather_object|gather_for_metrics|accelerator\.gather|wait_for_everyone|synchronize_between_processes|trainer\.save_checkpoint|full_optim_state_dict|consolidate_state_dict|new_group|trainer\.(?:test|validate))\(|self\.log(?:_dict)?\([^\n]*sync_dist ?= ?True)"
# Calls that are collective where the parameters are split over the ranks.
_GATHERS = r"(?:(?:\w*_)?state_dict|get_state_dict|save_model|save_checkpoint|save_pretrained|evaluate|validate|generate|forward|model)\("
_SPLIT = r"\b(?:FSDP\w*|Fully ?Sharded\w*|fully_shard\w*|ZeRO\S*|zero[-_ ]?(?:stage)?[-_ ]?[23]|stage3|deepspeed|DTensor|tensor[- ]parallel|GatheredParameters|SyncBatchNorm|DistributedDataParallel)\b"
_SIGNS = (
    Sign(r"out of memory, skipping (?:the )?batch|skipp?(?:ing|ed) (?:the )?(?:batch|step|update|backward)[^\n]{0,40}(?:on|in|at)? ?(?:this |one |rank)?", "a rank skips a step that the others make", anywhere=(r"all_?reduce|barrier|hang|stuck|timeout|timed out|collective|wait",), prose=True),
    Sign(r"submitted to be reduced, gathered or broadcasted by subset of ranks|Stalled (?:ops|ranks)|\[(?:missing|ready) ranks: ", "a stall report says that only part of the ranks submitted a tensor", speaker=False),
    Sign(r"\b(?:only|just) (?:on |by )?(?:the )?(?:rank ?(?:0|zero)|main process|master|global[_ ]zero|one rank|some ranks|part of the ranks|rank \d+)\b[^\n]{0,60}(?:call|enter|reach|issue|execut|run|save|join|broadcast|reduc|gather|barrier|log|valid|eval)", "a collective is called on some ranks only", prose=True),
    Sign(r"if (?:self\.|trainer\.|args\.|accelerator\.)?(?:local_?)?(?:rank == 0|rank==0|is_global_zero|is_main_process|is_master|is_rank_zero|get_rank\(\) == 0|is_local_main_process)", "a section belongs to one rank only", anywhere=(HALTS,)),
    Sign(ONE_RANK + BELOW_IT + _COLLECTIVE_CALL, "the code calls a collective on one rank only"),
    Sign(ONE_RANK + BELOW_IT + _GATHERS, "the code gathers what all ranks hold on one rank only", anywhere=(_SPLIT, HALTS)),
    Sign(r"\b(?:never|not|did(?:n't| not)|does(?:n't| not)|fails? to|without|skip\w*|miss\w*|left|leave\w*|bypass\w*|exit\w* early|return\w* early|early (?:return|exit)|break\w* out)\b[^\n]{0,40}\b(?:call|enter|reach|join|issue|participat|arriv|post|the (?:barrier|collective|all_?reduce|loop)|before the (?:barrier|collective))\w*[^\n]{0,60}(?:barrier|collective|all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter|exchange|sync\w*)", "ranks do not reach a collective", prose=True),
    Sign(r"\b(?:skip\w*|miss(?:es|ed|ing)|omit\w*|bypass\w*|lacks?)\b[^\n]{0,50}(?:barrier|collective|all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter)", "ranks skip a collective", prose=True),
    Sign(r"\b(?:uneven|unequal|different (?:number|count|amount)s? of|fewer|more|one (?:more|less|extra|fewer)|extra\b|odd number of|not (?:evenly )?divisible|ran? out of|runs? out of|exhaust\w*)[^\n]{0,40}(?:batch\w*|steps?|iterations?|samples?|data|calls?|micro-?batch\w*|collectives?|barriers?|shards?|epochs?|all_?reduces?|all_?gathers?)[^\n]{0,60}", "ranks make a different number of steps", anywhere=(r"rank|gpu|worker|ddp|hang|stuck|timeout",), prose=True),
    Sign(r"\b(?:collective|all_?reduce|barrier|operation|op|launched|seq\w*)[^\n]{0,30}(?:counts?|counters?|numbers?) (?:differ|are different|diverge|do not match)|(?:launched|issued|completed|executed|enqueued)[^\n]{0,20}\d+[^\n]{0,40}(?:others?|rest|peers?|rank \d+)[^\n]{0,20}\d+", "the ranks' counts of calls differ", prose=True),
    Sign(r"\branks? ?\d+\b[^\n]{0,120}\bearly[- ]stop\w*|\bearly[- ]stop\w*[^\n]{0,120}\b(?:on|only|by) (?:one |a |some )?ranks?\b", "a rank stops early", anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:once|twice|\w+ times|not at all|never)\b[^\n]{0,20}\bon (?:the )?(?:rank|gpu|process|worker)\b[^\n]{0,120}\b(?:once|twice|\w+ times|not at all|never)\b[^\n]{0,20}\bon\b", "ranks make a call a different number of times", prose=True),
    Sign(r"\b(?:out[- ]of[- ](?:sync|step|lock-?step)|de-?sync\w*|diverge[sd]?|divergen\w+|lock-?step)\b", "the ranks' sequences of calls part", anywhere=(r"ranks?\b|workers?\b|replicas?\b", r"all_?reduce|all_?gather|all_?to_?all|reduce_?scatter|broadcast|barrier|collective|gather"), prose=True),
    Sign(r"\b(?:missing|absent|not joined|has not joined|have not joined|did not join|not yet (?:entered|joined)|INCOMPLETE|not communicating)[^\n]{0,40}rank", "a report names ranks that are absent"),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return  # who stands where is known there, and other rules ask the graph and the recorders
    for judge in (
        _desync,
        _fingerprints,
        _sequence,
        _silent,
        _launched,
        _roll_call,
        _left_by_exception,
        _two_places,
        _lengths,
        _barrier,
    ):
        made = judge(case)
        if made is not None:
            yield made
            return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, "some ranks call a collective that the others do not call", _STEPS)


def _desync(case: Case) -> Finding | None:
    said = events(case, "torch.desync")
    if not said:
        return None
    missing = RankSet(rank for event in said for rank in _ints(event.fields.get("ranks")))
    number = said[0].fields.get("missing")
    return simple(
        RULE,
        f"{ranks_phrase(missing)} did not join collective #{number}",
        LIKELY,
        [event.text for event in said[:2]],
        _STEPS,
        missing,
    )


def _ints(value: object) -> tuple[int, ...]:
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, tuple) else ()


def _fingerprints(case: Case) -> Finding | None:
    said = events(case, "torch.detail_mismatch")
    lonely = lonely_call(said)
    if lonely is None:
        return None
    rank, op = lonely
    title = f"{'rank ' + str(rank) if rank is not None else 'one side'} calls {op} while the others are in another collective"
    return simple(
        RULE, title, LIKELY, [event.text for event in said[:2]], _STEPS, RankSet([rank] if rank is not None else [])
    )


def _sequence(case: Case) -> Finding | None:
    """Time-outs of one group at different numbers, or from all ranks but some."""
    seqs: dict[int, int] = {}
    lines = []
    for event in events(case, "torch.watchdog_timeout"):
        number = event.fields.get("seq")
        if event.rank is not None and isinstance(number, int) and event.rank not in seqs:
            seqs[event.rank] = number
            lines.append(event.text)
    if len(set(seqs.values())) > 1:
        low, high = min(seqs.values()), max(seqs.values())
        behind = RankSet(rank for rank, seq in seqs.items() if seq == low)
        return simple(
            RULE,
            f"{ranks_phrase(behind)} stand{'s' if len(behind) == 1 else ''} at #{low}, others at #{high}",
            LIKELY,
            lines[:3],
            _STEPS,
            behind,
        )
    missing = RankSet(range(max(seqs) + 1)) - RankSet(seqs) if len(seqs) > 2 else RankSet()
    if missing and len(missing) * 4 <= len(seqs) + 3:
        title = f"every rank but {missing} waits at #{next(iter(seqs.values()))}; {ranks_phrase(missing)} report{'s' if len(missing) == 1 else ''} nothing"
        return simple(RULE, title, LIKELY, lines[:3], _STEPS, missing)
    return None


def _silent(case: Case) -> Finding | None:
    """Ranks that report no time-out although the others of the same run do: they were not in the call."""
    said = events(case, "gloo.op_timeout", "torch.watchdog_timeout")
    waited = RankSet(event.rank for event in said if event.rank is not None)
    known = RankSet(
        event.rank
        for event in events(case, "elastic.failure", "elastic.root_cause", "gloo.op_timeout", "torch.watchdog_timeout")
        if event.rank is not None
    )
    missing = (known | RankSet(range(max(known, default=0) + 1))) - waited
    failed = RankSet(
        event.rank for event in events(case, "python.exception") if event.rank is not None and event.rank in missing
    )
    if len(waited) < 2 or not missing or failed or len(missing) > len(waited):
        return None
    title = f"{ranks_phrase(waited)} timed out in a collective; {ranks_phrase(missing)} {'was' if len(missing) == 1 else 'were'} not in it"
    return simple(RULE, title, LIKELY, [event.text for event in said[:3]], _STEPS, missing)


def _launched(case: Case) -> Finding | None:
    """NCCL's own count of launched operations, the last one per process of one communicator size."""
    last: dict[object, dict[tuple[str | None, int | None], tuple[int, str]]] = {}
    for event in events(case, "nccl.coll"):
        number = event.fields.get("op_count")
        if isinstance(number, int):
            who = (event.host, event.pid)
            before = last.setdefault(event.fields.get("nranks"), {}).get(who, (-1, ""))
            last[event.fields.get("nranks")][who] = max(before, (number, event.text))
    for counts in last.values():
        low, high = min(value[0] for value in counts.values()), max(value[0] for value in counts.values())
        behind = [who for who, value in counts.items() if value[0] == low]
        if low < high and len(counts) > 2 and len(behind) * 2 <= len(counts):
            names = ", ".join(f"pid {pid} on {host}" for host, pid in behind[:4])
            return simple(
                RULE, f"{names} launched up to #{low}, the others up to #{high}", LIKELY, [counts[behind[0]][1]], _STEPS
            )
    return None


def _roll_call(case: Case) -> Finding | None:
    """One account that says for several groups of ranks where each stands."""
    for known in _by_account(case).values():
        placed = [doing for doing in _latest(known) if _says_where(doing)]
        if len(placed) < 2 or len({_place(doing) for doing in placed}) < 2 or _blames_another(placed):
            continue
        if in_kind(placed, *_WAITING) or any(_HALTED.search(doing.text) for doing in placed):
            odd = min(placed, key=_size)
            title = f"{_name(odd)} stand{'s' if _size(odd) == 1 else ''} elsewhere than the others"
            because = [f"{_name(doing)}: {doing.text}" for doing in placed[:3]]
            return simple(RULE, title, LIKELY, because, _STEPS, odd.ranks)
    return None


def _latest(known: list[Doing]) -> list[Doing]:
    """Of a log that tells several things of the same ranks, the last."""
    return list({str(doing.ranks) if doing.ranks else (doing.text, doing.count): doing for doing in known}.values())


_HALTED = re.compile(
    r"\b(?:stopped|stuck|hangs?|hung|blocked|waits?|waiting|frozen|launched|up to (?:operation|#|seq)|behind)\b", re.I
)
_OVER = re.compile(r"\b(?:took|waited)\b", re.I)
_MEASURES = re.compile(r"\b(?:loss|time|memory|mem|tps|speed|lr|CPU)\b|\d ?(?:%|ms|s|GB|GiB|MiB)\b", re.I)


def _says_where(doing: Doing) -> bool:
    """Whether a sentence tells a place, not a measure, a row of a table or what is over."""
    if _OVER.search(doing.text):
        return False
    if doing.kind == "unknown":
        return (
            bool(re.search("[A-Za-z]{3}", doing.text)) and not _MEASURES.search(doing.text) and "pid" not in doing.text
        )
    return True


def _place(doing: Doing) -> str:
    """A place by the call, where one is named; otherwise by its words."""
    return doing.op if doing.kind in _WAITING and doing.op else doing.text.split("]", 1)[-1].strip().lower()


def _blames_another(found: list[Doing]) -> bool:
    return bool(in_kind(found, "exception", "dead", Wait.DATA.value, "silent", Wait.DEVICE.value, Wait.P2P.value))


def _by_account(case: Case) -> dict[str, list[Doing]]:
    out: dict[str, list[Doing]] = {}
    for doing in doings(case):
        if doing.account is not None and not doing.account.seen:
            out.setdefault(doing.account.label, []).append(doing)
    return {label: found for label, found in out.items() if len(found) > 1}


def _two_places(case: Case) -> Finding | None:
    """Subjects in different collectives, or in a collective and somewhere that is not waiting for anybody."""
    found = gathered(doing for doing in doings(case) if doing.account is not None and of_ranks(doing))
    waiting = in_kind(found, *_WAITING)
    places = {doing.site: doing for doing in waiting}
    if len(places) > 1 and len({_signature(doing) for doing in waiting}) > 1:
        odd = min(waiting, key=_size)
        because = [f"{doing.account.label if doing.account else ''}: {doing.site}" for doing in places.values()][:4]
        return simple(
            RULE,
            f"{_name(odd)} stand{'s' if _size(odd) == 1 else ''} in another collective ({odd.op}) than the others",
            LIKELY,
            because,
            _STEPS,
            odd.ranks,
        )
    other = in_kind(found, Wait.LIBRARY.value, Wait.DEVICE.value)
    other = [doing for doing in other if doing.account is not None and doing.account.seen]
    if waiting and other and _shares_a_caller(waiting, other):
        odd = min(other, key=_size)
        title = f"{_name(odd)} {'is' if _size(odd) == 1 else 'are'} in {odd.op}, while the others are in {waiting[0].op}: their paths parted"
        against = ("it may only be slower: look again",)
        return simple(RULE, title, LIKELY, [waiting[0].site, odd.site], _STEPS, odd.ranks, against=against)
    stuck = [
        doing for doing in found if doing.text.lower().startswith(("stuck in", "hangs in", "blocked in", "waiting in"))
    ]
    if len(stuck) > 1 and len({doing.text for doing in stuck}) > 1 and not _blames_another(stuck):
        odd = min(stuck, key=_size)
        return simple(
            RULE,
            "groups of ranks stand in two different places",
            LIKELY,
            [doing.text for doing in stuck[:4]],
            _STEPS,
            odd.ranks,
        )
    return None


def _stands(doing: Doing) -> bool:
    """Whether it is said, not only mentioned, that somebody is in the call."""
    words = f"{doing.account.label if doing.account else ''} {doing.text}"
    said = compiled(r"stuck|hang|hung|wait|block|never|times? ?out|timed out|frozen|freez").search(words)
    return bool(doing.account and doing.account.seen) or bool(
        said and not routine(doing.text) and not _OVER.search(doing.text)
    )


def _shares_a_caller(some: list[Doing], others: list[Doing]) -> bool:
    """Whether stacks of both groups come from the same function of the program."""
    return bool(_callers(some) & _callers(others))


def _callers(found: list[Doing]) -> set[str]:
    return {frame.function for doing in found if doing.account for seen in doing.account.seen for frame in seen.stack}


def _signature(doing: Doing) -> str:
    return doing.site if doing.account is not None and doing.account.seen else doing.op


def _size(doing: Doing) -> int:
    return len(doing.ranks) or doing.count or 1


def _name(doing: Doing) -> str:
    if doing.ranks or doing.account is None:
        return ranks_phrase(doing.ranks) if doing.ranks else "a group of ranks"
    pid = doing.account.refs[0].spoken if len(doing.account.refs) == 1 else ""
    return pid or doing.account.label


def _left_by_exception(case: Case) -> Finding | None:
    """Ranks failed inside a routine that ends with a barrier, and the others wait in that barrier."""
    found = [doing for doing in doings(case) if of_ranks(doing)]
    waiting = [
        doing
        for doing in in_kind(found, *_WAITING, Wait.CHECKPOINT.value)
        if "barrier" in doing.text.lower() or "barrier" in doing.op
    ]
    failed = [
        doing
        for doing in in_kind(found, "exception", "dead")
        if doing not in waiting
        and doing.account
        and doing.account.find(r"upload|save|checkpoint|s3|bucket|write|export|evaluat|metric|download|cache|log")
    ]
    if not waiting or not failed:
        return None
    if any(
        doing.account and doing.account.find(r"out of memory|SIGKILL|killed|segfault|illegal memory|Xid")
        for doing in failed
    ):
        return None
    ranks = RankSet(rank for doing in failed for rank in doing.ranks)
    return simple(
        RULE,
        "ranks left a routine by an error before its closing barrier, in which the others wait",
        LIKELY,
        [doing.text for doing in (*failed, *waiting)][:4],
        _STEPS,
        ranks,
    )


_LENGTH = re.compile(
    r"\b(?:(?P<count>\d+) (?:\w+ )?(?:batches|micro-?batches|steps|iterations|samples|shards|files)|(?:len\(\w*loader\w*\)|num_(?:batches|samples|steps)|(?:data ?)?(?:loader|set|sampler) (?:length|size)|batches|steps|iterations)\W{1,4}(?P<count_>\d+))\b",
    re.I,
)


def _lengths(case: Case) -> Finding | None:
    """Ranks that each say once how much they have to do, and it is not the same."""
    if not halted(case):
        return None
    said: dict[int, list[tuple[int, str]]] = {}
    for account in accounts(case):
        for line in account.said.splitlines():
            for subject, words in sayings(line) or ((account.who, line),):
                if len(subject.ranks) == 1 and (found := _LENGTH.search(words)):
                    number = int(found["count"] or found["count_"])
                    said.setdefault(next(iter(subject.ranks)), []).append((number, words))
    once = {rank: told[0] for rank, told in said.items() if len(told) == 1}
    if len(once) < 2 or len(once) < len(said) or len({number for number, _ in once.values()}) < 2:
        return None
    fewest = min(number for number, _ in once.values())
    short = RankSet(rank for rank, (number, _) in once.items() if number == fewest)
    because = [f"rank {rank}: {words}" for rank, (_, words) in sorted(once.items())[:4]]
    return simple(
        RULE, f"{ranks_phrase(short)} have less to do than the others: {fewest}", LIKELY, because, _STEPS, short
    )


def _barrier(case: Case) -> Finding | None:
    """A one-element all-reduce timed out: a barrier or flag that part of the ranks enter."""
    for event in events(case, "torch.watchdog_timeout"):
        if event.fields.get("numel_in") == 1 and event.fields.get("op") in ("ALLREDUCE", "BARRIER", "BROADCAST"):
            title = "a barrier or flag (one element) timed out: only part of the ranks entered it"
            return simple(
                RULE, title, LIKELY, [event.text], _STEPS, against=("a rank that is only late looks the same",)
            )
    maybe = events(case, "nccl.maybe_hanging")
    if maybe:
        return simple(RULE, "NCCL guesses that calls do not match", POSSIBLE, [maybe[0].text], _STEPS)
    return _only_waiting(case)


def _only_waiting(case: Case) -> Finding | None:
    """Nothing but ranks that wait in a collective: whoever is not seen may be missing from it."""
    found = [doing for doing in in_kind(doings(case), *_WAITING) if doing.account and _stands(doing)]
    timeouts = events(case, "torch.watchdog_timeout", "gloo.op_timeout")
    if not timeouts and not (found and halted(case)):
        return None
    because = [doing.site or doing.text for doing in found[:2]] + [event.text for event in timeouts[:2]]
    steps = ("rankscope analyze with the stacks or logs of all ranks, also of those that say nothing", *_STEPS)
    title = "ranks wait in a collective, and what the others do is not shown"
    return simple(
        RULE,
        title,
        POSSIBLE,
        because,
        steps,
        against=("one side of the story: the reason may be any that keeps a rank away",),
    )


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 45, check)
