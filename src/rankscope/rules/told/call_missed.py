"""Some ranks call a collective that the others do not call, or not as often.

## What it means
The ranks took different paths: a call under `if rank == 0`, a decision from local files or caches, an empty batch, an exception that leaves a function before its
closing barrier, an uneven number of batches. The ranks that call wait for those that do not.

## How it is recognised
Code that calls a collective under a condition of one rank (also `state_dict()` of split parameters, `save_checkpoint`, `self.log(sync_dist=True)`); DETAIL mode with a call of
its own on one rank; ranks that left a routine by an error before its closing barrier; a stall report; a one-element all-reduce (a barrier or flag) that times out.
Some ranks are in a call that the others have left. A stall report is none where somebody tells that the calls came to their end and the job went on. A rank that saves after the last step waits alone, and its output holds only the configuration.

## What to do
Look at the branch between the last common call and the first different line (`rankscope diagnose` shows both). No collective behind a rank-local condition: reduce or
broadcast the condition first; let idle ranks take part; catch, exchange flags, and fail together.

## How to prevent it
Equal step counts (`drop_last`, padding, `Join`); save and log on all ranks where the library does it collectively.
Cases: https://github.com/speechbrain/speechbrain/issues/2401, https://github.com/sgl-project/sglang/issues/30760
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts, compiled
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Finding
from ...model.ranks import RankSet
from .. import make_rule
from ._findings import finding, simple
from ._fingerprints import lonely_call
from ._lines import events
from ._roll_call import WAITING
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._together import of_all, standing_together
from ._wordings import HALTS, OVER, halted, routine

_STEPS = (
    "rankscope diagnose   # shows the last common call and the first different line",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …",
)
_CALLS = (
    r"barrier|all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter|gather|scatter|reduce|wait_for_everyone"
)
_STALLS = Sign(
    r"submitted to be reduced, gathered or broadcasted by subset of ranks|Stalled (?:ops|ranks)|\[(?:missing|ready) ranks: ",
    "a stall report says that only part of the ranks submitted a tensor",
    speaker=False,
    passing=True,
)
_SIGNS = (
    Sign(r"OOM: Ran out of memory with exception|attempting to recover from OOM in (?:forward|backward)", "a rank that ran out of memory leaves out a step that the others make", speaker=True),
    Sign(r"\b(?:some|one|a|two|three|most|half|the other|other|rank \d+|\d+)(?: of the)?(?: other)?(?: ranks?| gpus?| processes| workers?)? (?:has|have|had) left the loop\b", "ranks have left the loop in which others wait", anywhere=(HALTS,), prose=True),
    Sign(r"out of memory, skipping (?:the )?batch|skipp?(?:ing|ed) (?:the )?(?:batch|step|update|backward)[^\n]{0,40}(?:on|in|at)? ?(?:this |one |rank)?", "a rank skips a step that the others make", anywhere=(r"all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|hang|stuck|timeout|timed out|collective|wait",), prose=True),
    # The coordination service of jax and tensorflow: all but those of the start are barriers of the program.
    Sign(r"Barrier timed out\. Id: (?!\S*(?:[Cc]onnect|[Ii]nit|WaitForAll))\S+", "a barrier of the program was not reached by all tasks", POSSIBLE, speaker=False),
    _STALLS,
    Sign(r"\b(?:only|just) (?:on |by )?(?:the )?(?:rank ?(?:0|zero)|main process|master|global[_ ]zero|one rank|some ranks|part of the ranks|rank \d+)\b[^\n]{0,60}(?:call|enter|reach|issue|execut|run|save|join|broadcast|reduc|gather|barrier|log|valid|eval)", "a collective is called on some ranks only", prose=True),
    Sign(r"\b(?:the )?(?:other|remaining) (?:ranks|processes|GPUs|workers)\b\s{1,8}(?:do|does|did)(?: not|n't) (?:run|call|make|execute|take part in|go into|issue|(?:take|enter|come into) (?=(?:that|this|the) (?:branch|path|block|section|side|function)\b)) ?(?:that|this|the|it|any)\b", "one rank makes a call that the others do not make", anywhere=(HALTS + r"|\bwaits? in (?:an? |the )?\w*(?:collective|reduce|gather|barrier|broadcast)",), prose=True),
    Sign(r"\b(?:output|checkpoint|model|save|result)s?[_ ]?(?:dir\w*|folder)\b[^\n]{0,40}\b(?:holds?|contains?|has|shows?)\b[^\n]{0,20}\bonly\b[^\n]{0,40}\b(?:config|json|tokenizer|empty|index|optimizer|one shard)", "a rank saves in a call of all ranks that the others do not make", anywhere=(r"OpType=_?(?:ALLGATHER|ALLREDUCE|BROADCAST|GATHER)\w*", r"\b(?:last|final) (?:training )?(?:step|epoch|batch)|(?:bar|progress) (?:is )?complete|100 ?%|\b(?:training|all steps) (?:is |are )?(?:done|finished|complete)", r"Watchdog caught|Timeout\(ms\)"), unless=(r"No space left|[Dd]isk quota|\bstate D\b|nfs|lustre",), prose=True),
    Sign(rf"\b(?:{_CALLS})\w*\b[^\n]{{0,60}}\b(?:below|under|inside|within|behind|guarded by|in the branch|only (?:if|when))\b[^\n]{{0,40}}\b(?:(?:local_|global_|world_)?rank ?== ?0|is_(?:local_|world_|global_)?(?:main_process|zero|process_zero)|is_master|is_rank_(?:zero|0)|get_rank\(\) ?== ?0)", "a collective stands in a section of one rank only", anywhere=(HALTS,), prose=True),
    Sign(rf"\b(?:some|part|a few|half|most|two|three|one|\d+)(?: of (?:the |them)?)? ?(?:ranks?|gpus?|processes|nodes?)? (?:is|are|stands?|sits?|waits?|remains?|hangs?)\b[^\n]{{0,20}}\b(?:{_CALLS})\w*\b[^\n]{{0,60}}\b(?:others?|rest)\b (?:(?:have|has|are|is|had) )?(?:already )?(?:left|past|passed|beyond|behind|returned|gone (?:on|past)|out of|skipped|never entered|not in)\b", "some ranks are in a collective that the others have left", prose=True),
    Sign(r"if (?:\w+\.)*(?:local_?)?(?:rank == 0|rank==0|is_global_zero|is_main_process|is_master|is_rank_zero|get_rank\(\) == 0|is_local_main_process)(?![^\n]*(?:\n[^\n]*)?\b(?:TCPStore|HashStore|start_server)\()", "a section belongs to one rank only", POSSIBLE, anywhere=(HALTS,)),
    Sign(r"\b(?:never|not|did(?:n't| not)|does(?:n't| not)|fails? to|without|skip\w*|miss\w*|left|leave\w*|bypass\w*|exit\w* early|return\w* early|early (?:return|exit)|break\w* out)\b[^\n]{0,40}\b(?:call|enter|reach|join|issue|participat|arriv|post|the (?:barrier|collective|all_?reduce|loop)|before the (?:barrier|collective))\w*[^\n]{0,60}(?:barrier|collective|all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter|exchange|sync\w*)", "ranks do not reach a collective", prose=True),
    Sign(r"\b(?:skip\w*|miss(?:es|ed|ing)|omit\w*|bypass\w*|lacks?)\b[^\n]{0,50}(?:barrier|collective|all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter)", "ranks skip a collective", prose=True),
    Sign(r"\b(?:uneven|unequal|different (?:number|count|amount)s? of|(?<!with )(?<!with a )fewer(?! than (?:\d|a\b|an\b|one\b))|(?<!or )(?<!and )(?<!nothing )(?<!no )(?<!any )(?<!push )(?<!put )(?<!send )(?<!feed )(?<!with )more(?! than (?:\d|a\b|an\b|one\b))|one (?:more|less|extra|fewer)|extra\b|odd number of|not (?:evenly )?divisible|ran? out of|runs? out of|exhaust\w*)[^\n]{0,40}(?:batch\w*|steps?|iterations?|samples?|data|calls?|micro-?batch\w*|collectives?|barriers?|shards?|epochs?|all_?reduces?|all_?gathers?)[^\n]{0,60}", "ranks make a different number of steps", anywhere=(r"rank|gpu|worker|ddp|hang|stuck|timeout",), prose=True),
    Sign(r"\b(?:collective|all_?reduce|barrier|operation|op|launched|seq\w*)[^\n]{0,30}(?:counts?|counters?|numbers?) (?:differ|are different|diverge|do not match)|(?:launched|issued|completed|executed|enqueued)[^\n]{0,20}\d+[^\n]{0,40}(?:others?|rest|peers?|rank \d+)[^\n]{0,20}\d+", "the ranks' counts of calls differ", prose=True),
    Sign(r"\branks? ?\d+\b[^\n]{0,120}\bearly[- ]stop\w*|\bearly[- ]stop\w*[^\n]{0,120}\b(?:on|only|by) (?:one |a |some )?ranks?\b", "a rank stops early", anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:thread|rank|process|stage|worker)s?\b[^\n]{0,20}\b(?:not|nowhere) (?:in|inside|at) (?:the |that )?\w*(?:gather|reduce|barrier|broadcast|scatter|all_?to_?all)\w*\b(?! ?(?:group|list|pg|comm))", "a rank is not in the call in which others stand", anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:once|twice|\w+ times|not at all|never)\b[^\n]{0,20}\bon (?:the )?(?:rank|gpu|process|worker)\b[^\n]{0,120}\b(?:once|twice|\w+ times|not at all|never)\b[^\n]{0,20}\bon\b", "ranks make a call a different number of times", prose=True),
    Sign(r"\b(?:out[- ]of[- ](?:sync|step|lock-?step)|de-?sync\w*|diverge[sd]?|divergen\w+|lock-?step)\b", "the ranks' sequences of calls part", anywhere=(r"ranks?\b|workers?\b|replicas?\b", r"all_?reduce|all_?gather|all_?to_?all|reduce_?scatter|broadcast|barrier|collective|gather"), prose=True),
    Sign(r"\b(?:missing|absent|not joined|has not joined|have not joined|did not join|not yet (?:entered|joined)|INCOMPLETE|not communicating)[^\n]{0,40}rank(?!s?[\"']?\W{1,3}(?:none|null|\[\s*\]|\{\}))", "a report names ranks that are absent"),
)  # fmt: skip


# The weakest of causes: any reason that keeps a rank away looks like this from the other side.
ONE_SIDE = "ranks wait in a collective, and what the others do is not shown"


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives:
        return  # who stands where is known there, and other rules ask the graph and the recorders
    for judge in (_fingerprints, _left_by_exception, _barrier):
        made = judge(case)
        if made is not None:
            yield made
            return
    found = [hit for hit in hits(case, _SIGNS) if hit.sign is not _STALLS or not _went_through(case)]
    lonely = _only_waiting(case)
    if lonely is not None and all(hit.sign.certainty is POSSIBLE for hit in found):
        yield lonely
    elif found:
        yield finding(RULE, case, found, "some ranks call a collective that the others do not call", _STEPS)


# What somebody tells of calls that were only late: they came to their end, and the job went on.
_WENT_ON = (
    r"\b(?:pending|stalled|waiting|delayed|outstanding|missing|those|these|all|the) (?:operations?|ops|tensors?|reductions?|"
    r"calls?|ranks?) (?:(?:are|were|have|had|then|later|all|been|eventually) ){0,3}"
    r"(?:completed?|finish(?:ed)?|went through|came through|came|arrived?|done|caught up)\b|"
    r"\b(?:program|training|job|run|it|steps?|everything) (?:(?:then|always|simply|just|still) ){0,2}"
    r"(?:(?:ran|runs|went|goes|moves|moved|carries|carried) on|continue[sd]|resume[sd]|proceed(?:s|ed))\b(?! (?:to|until|till|for)\b)"
)
_STAYS = (
    r"\b(?:hangs?|hung|stuck|freez\w+|froze\w*|dead-?lock(?:s|ed)?|for ?ever|never|kill(?:s|ed)?|"
    r"(?:does|do|did)(?:n't| not) (?:go|return|come|end|finish|complete|continue)|no (?:more|further))\b"
)


def _went_through(case: Case) -> bool:
    """Whether somebody tells that what a stall report spoke of came to its end, and nobody that it stands."""
    told = accounts(case)
    return any(one.find(_WENT_ON, prose=True) for one in told) and not any(one.find(_STAYS, prose=True) for one in told)


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


# An option names a time-out and a collective, and says of neither that it happens.
_OPTION = r"(?<!\S)--[\w-]+"


def _stands(doing: Doing) -> bool:
    """Whether it is said, not only mentioned, that somebody is in the call."""
    words = f"{doing.account.label if doing.account else ''} {compiled(_OPTION).sub('', doing.text)}"
    said = compiled(r"stuck|hang|hung|wait|block|never|times? ?out|timed out|frozen|freez").search(words)
    return bool(doing.account and doing.account.seen) or bool(
        said and not routine(doing.text) and not OVER.search(doing.text)
    )


def _left_by_exception(case: Case) -> Finding | None:
    """Ranks failed inside a routine that ends with a barrier, and the others wait in that barrier."""
    found = [doing for doing in doings(case) if of_ranks(doing)]
    waiting = [
        doing
        for doing in in_kind(found, *WAITING, WaitKind.CHECKPOINT.value)
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


def _barrier(case: Case) -> Finding | None:
    """A one-element all-reduce timed out: a barrier or flag that part of the ranks enter."""
    for event in events(case, "torch.watchdog_timeout"):
        if event.fields.get("numel_in") == 1 and event.fields.get("op") in ("ALLREDUCE", "BARRIER", "BROADCAST"):
            title = "a barrier or flag (one element) timed out: only part of the ranks entered it"
            # The very first call stands as well where nothing comes through at all.
            sure = POSSIBLE if event.fields.get("seq") == 1 else LIKELY
            return simple(RULE, title, sure, [event.text], _STEPS, against=("a rank that is only late looks the same",))
    maybe = events(case, "nccl.maybe_hanging")
    if maybe:
        return simple(RULE, "NCCL guesses that calls do not match", POSSIBLE, [maybe[0].text], _STEPS)
    return None


def _only_waiting(case: Case) -> Finding | None:
    """Nothing but ranks that wait in a collective: whoever is not seen may be missing from it.

    Where the ranks that were seen are the first of all, without a gap, and stand in one place, nobody is known to be away.
    """
    together = standing_together(case)
    seen = sorted(rank for doing in together for rank in doing.ranks)
    if together and all(map(of_all, together)):
        return None
    if len(seen) > 2 and seen == list(range(len(seen))) and len(seen) == (case.world_size or len(seen)):
        return None
    found = [doing for doing in in_kind(doings(case), *WAITING) if doing.account and _stands(doing)]
    timeouts = events(case, "torch.watchdog_timeout", "gloo.op_timeout")
    if not timeouts and not (found and halted(case)):
        return None
    if not timeouts and all(doing.kind == WaitKind.BACKWARD.value for doing in found) and not _of_many(case):
        return None
    because = [doing.site or doing.text for doing in found[:2]] + [event.text for event in timeouts[:2]]
    steps = ("rankscope analyze with the stacks or logs of all ranks, also of those that say nothing", *_STEPS)
    return simple(
        RULE,
        ONE_SIDE,
        POSSIBLE,
        because,
        steps,
        against=("one side of the story: the reason may be any that keeps a rank away",),
    )


# A backward pass waits for others only where there are others.
_MANY = (
    r"\branks?\b|\bDDP\b|distributed|nccl|rccl|gloo|torchrun|horovod|deepspeed|fsdp|all_?reduce|world_?size|mpirun|"
    r"multi-?(?:gpu|node)|\bnodes?\b"
)


def _of_many(case: Case) -> bool:
    """Whether anything tells of more than one rank, or of something that does not go on."""
    return any(one.ranks or one.find(_MANY) or one.find(HALTS, prose=True) for one in accounts(case))


# Each of these tells where the ranks are.
_BETTER = ("calls-counted", "ranks-stand-apart", "groups-in-cycle")
RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 46, check, yields_to=_BETTER)
