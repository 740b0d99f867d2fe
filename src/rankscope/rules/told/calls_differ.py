"""All ranks call a collective, but type, size, dtype, order or root differ.

## What it means
The ranks meet in one call and bring different things. NCCL then waits for ever or reads too much; gloo aborts; PyTorch's DETAIL mode says what differs.

## How it is recognised
`Detected mismatch between collectives` or `inconsistent collective` with two fingerprints; gloo's `op.preamble.length <= op.nbytes. A vs B`; time-outs at one
sequence number with different operations or sizes; `message truncated`, `Mismatched collective detected`; recorders that differ at one number; two ranks that print
other shapes, block sizes or numbers of parameters; one `opCount` with different counts in NCCL's log; different types or roots.
All wait in an exchange of what a compiler has tuned, or in a meeting whose name each rank drew for itself. The same frames on two ranks with another count, root or tag; it works with `gc.disable()` where an object's end is a call of all ranks.

## What to do
`TORCH_DISTRIBUTED_DEBUG=DETAIL` names both sides. Find what makes the sequence of calls depend on local data: a modality that a batch lacks, dropped samples,
experts without tokens, keys logged on some ranks. Pad, use dummy inputs times zero, broadcast the decision.

## How to prevent it
Make the calls a function of shared data only. Case: https://github.com/modelscope/ms-swift/pull/9443
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._findings import finding, simple
from ._fingerprints import lonely_call
from ._lines import events, said_by_ranks
from ._outcomes import cured_by
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._timeouts import day, timeouts
from ._wordings import HALTS, halted

_STEPS = ("TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …   # names both sides", "rankscope analyze DUMPS…")
# Calls in which every rank brings as many elements as the others.
_EVEN = {
    "ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE_COALESCED", "ALLGATHER", "REDUCE_SCATTER",
}  # fmt: skip
_CALLS = r"all_?reduce|broadcast|all_?gather|reduce_?scatter|all_?to_?all|collective|gather|scatter|reduce"
_TYPES = r"float32|float16|bfloat16|float64|fp32|fp16|bf16|int64|int32|int8|uint8|half|long"
# Calls of all ranks, as programs and message layers name them.
_EXCHANGE = rf"\b(?:P?MPI[RCD]?I?_\w+|ncclComm\w*|PetscComm\w*|{_CALLS})\b"
_SIGNS = (
    Sign(r"DDP expects same model across all ranks|has inconsistent \d+ params|appears not to match (?:sizes|strides) of the same param|Split sizes doesn't match total dim|Tensors must have (?:same|identical) (?:size|shape|number of elements)|inconsistent tensor size|Tensor list input to scatter/gather must match|All tensor operands to scatter/gather must have the same|invalid tensor size at index|Mismatched (?:all_?reduce|all_?gather|broadcast|data types?|\w+ operations?|\w+ tensor shapes|root rank)|Inconsistent (?:tensor )?(?:shape|size|dtype|type)s?\b[^\n]{0,40}(?:rank|process)", "the library says that the ranks' tensors differ"),
    Sign(r"\b\w+Error: [^\n]*\b(?:differ\w*|inconsistent|mismatch\w*|not the same) (?:across|between|among) (?:the |all |different )?(?:GPUs|ranks|processes|workers|devices)\b", "a check of the program says that the ranks bring different things"),
    Sign(rf"^(?=[^\n]*\branks?\b)(?=[^\n]*(?:{_CALLS}))[^\n]*\b({_TYPES})\b[^\n]*\b(?!\1\b)(?:{_TYPES})\b", "ranks bring different types", prose=True),
    Sign(rf"\branks? ?\d+\b[^\n]{{0,80}}(?:{_CALLS})\([^\n)]{{0,80}}\b(?:src|root|dst) ?= ?(\d+)[^\n]{{0,80}}(?:\n[^\n]{{0,80}})?\branks? ?\d+\b[^\n]{{0,80}}(?:{_CALLS})\([^\n)]{{0,80}}\b(?:src|root|dst) ?= ?(?!\1\b)\d", "ranks name different roots", prose=True),
    Sign(r"\b(?:same|identical|equal)\b[^\n]{0,120}\bbut\b[^\n]{0,60}\b\w*(?:count|size|numel|len|length|shape|type|root|src|tag)\b ?(?:=|is|of) ?\d", "two ranks stand in one call with different arguments", anywhere=(_EXCHANGE,), prose=True),
    # Metrics of samples as they are: each rank pads to the longest of its own batch.
    Sign(cured_by(r"\b(?:mean|sum|scalars?|pad\w*|max_length|fixed (?:length|size|shape)|same (?:length|size|shape))\b[^\n]{0,40}\b(?:before|ahead of|instead of) (?:the )?\w*gather\w*"), "it works when what is gathered has one size on all ranks", prose=True),
    # Objects whose end is a call of all ranks (communicators, PETSc's) and which each rank's collector frees when it likes.
    Sign(cured_by(r"\bgc\.(?:disable|freeze)\(\)|\bgc\.disable\b"), "it works when the collector does not run: objects whose end is a call of all ranks are freed by each at another moment", anywhere=(_EXCHANGE + r"|\bmpi(?:exec|run)\b[^\n]* -(?:np?|c) ?[1-9]",), unless=(r"\b(?:mutex|[Rr]?[Ll]ock(?:ed)?|GIL)\b|\bslow(?:er)?\b",), prose=True),
    # XLA's processes share what they have tuned under keys that are made from the program (xla/service/gpu/autotuning).
    Sign(r"\b(?:\w*Autotun\w*|\w*ConfigAssigner)::", "all wait for what another has tuned, under keys made from the program: each compiles another program", also=(r"\b(?:Blocking)?(?:KeyValue(?:Try)?Get|GetKeyValue)\b",), anywhere=(r"\b(?:all|every|each|both)\b",)),
    Sign(r"arguments for collective communication are inconsistent between ranks|CMD information \w+ check fail", "the library compares what the ranks call, and it differs"),
    Sign(r"GLOBAL:COLLECTIVE:\w*(?:MISMATCH|INVALID_PARAMETER)|\bCollective Checking: [^\n]*Inconsistent", "a checker of MPI's calls says that they differ"),
    Sign(r"\b(?:COLLECTIVE_TYPE|SIZE_OR_SYNTAX|COLLECTIVE_DTYPE)_MISMATCH\b|Input/output mismatch in the collective|\bCollective (?:type|dtype) mismatch", "the analysis of the recorders says that calls differ"),
    Sign(r"\bdisagreement between rank ?\d+ and rank ?\d+|sync_global_devices name mismatch|is joining a group with size ?\d+, but that group has size|Shape mismatch in the collective instance", "the library compares what the ranks bring, and it differs"),
    Sign(r"Mismatched collective|[Mm]ismatch between collectives|inconsistent collective", "the library says that calls differ", unless=(r"CollectiveFingerPrint",)),
    Sign(r"^(?![^\n]*bootstrap\.cc)[^\n]*?(?:message truncated|receiv\w+ \d+ bytes instead of \d+)|\btruncated; \d+ bytes received but buffer size is \d+|MPI_ERR_TRUNCATE|buffer sizes? (?:do(?:es)? not|don't) match|size mismatch[^\n]{0,40}(?:collective|all_?gather|all_?reduce|rank|recv)", "a rank received more or less than it expected"),
    Sign(r"^(?![^\n]*This may indicate that different ranks)[^\n]*?\b(?:ranks?|workers?|processes)\b[^\n]{0,80}\b(?:different|differing|unequal|mismatch\w*)\b[^\n]{0,40}\b(?:shapes?|sizes?|dtypes?|numel|splits?|lengths?|roots?|buckets?|tensors?|number of (?:tensors|buckets|params|parameters|experts|gradients|elements))", "ranks bring different shapes", prose=True),
    Sign(r"\b(?:shapes?|sizes?|dtypes?|numel|input[_ ]split\w*|tensor counts?|roots?|src|order of [^\n,;]{0,40}|sequence of (?:the )?collectives?)\b[^\n]{0,50}\b(?:differ(?:s|ed|ent)?|mismatch\w*|not (?:the same|equal|identical)|inconsistent|disagrees?|diverge[sd]?)\b", "ranks bring different shapes or orders", prose=True),
    Sign(r"\b(?:prefix|suffix|key|name|tag|file ?name|uuid|hash|token)(?:_\w+)?\b[^\n]{0,16}\b(?:differs?|is (?:different|another|not the same|random)|is drawn)\b[^\n]{0,24}\b(?:from rank to rank|(?:between|across|among) (?:the |all )?(?:ranks|processes|gpus)|(?:on|for|in|per|by) (?:each|every) (?:rank|process|gpu))", "the ranks wait for each other under names that differ: each stands in a meeting of its own", anywhere=(r"\b(?:all|every|each|both) (?:\w+ )?(?:ranks?|processes|gpus?|workers?)\b[^\n]{0,40}(?:barrier|gather|broadcast|rendezvous|reduce|\bwait)",), prose=True),
    Sign(r"(?m:^)(?P<words>[^\n]{0,40}\b(?i:shapes?|sizes?)\b[^\n]{0,12}?torch\.Size\()\[(?P<size>\d+)[^\n]*\n(?:[^\n]*\n){0,4}?(?P=words)\[(?!(?P=size)\b)\d", "one print before a gather shows tensors of two sizes", anywhere=(r"\ball_?gather|\bgather\w*\(", HALTS + r"|\bnever (?:appears|comes)|both (?:ranks|processes|GPUs)")),
    Sign(r"\b(?:unused|missing|no) (?:parameters?|gradients?|grads?|tokens?|images?|modalit\w+)[^\n]{0,60}(?:on|for|in) (?:one|some|a|rank|this) ?(?:rank|ranks|batch|gpu|worker)?", "a rank lacks what others have", POSSIBLE, prose=True),
    Sign(r"Expected to have finished reduction in the prior iteration|Parameter indices which did not receive grad", "gradients of some parameters are missing", POSSIBLE),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    for judge in (_fingerprints, _gloo, _watchdogs, _logged, _told_apart):
        made = judge(case)
        if made is not None:
            yield made
            return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(
            RULE,
            case,
            found,
            "ranks call the same collective with different arguments, or in a different order",
            _STEPS,
        )


def _fingerprints(case: Case) -> Finding | None:
    said = events(case, "torch.detail_mismatch")
    if not said or lonely_call(said) is not None:
        return None
    sides: dict[int, str] = {}
    for event in said:
        for rank, prefix in ((event.rank, ""), (event.fields.get("other"), "other_")):
            if isinstance(rank, int):
                shape = event.fields.get(prefix + "shape") or ()
                sides[rank] = f"{event.fields.get(prefix + 'op')} {list(shape) if isinstance(shape, tuple) else shape}"
    odd = minority(sides)
    what = "; ".join(f"rank {rank}: {text}" for rank, text in sorted(sides.items())[:4])
    who = f"{ranks_phrase(odd)} {verb('differ', len(odd))}" if odd else "ranks differ"
    return simple(
        RULE,
        f"{who} in what the collective is called with ({what})",
        LIKELY,
        [event.text for event in said[:2]],
        _STEPS,
        odd,
    )


def minority(sides: dict[int, str]) -> RankSet:
    """The ranks that do what fewest do; nobody when there is a tie."""
    counts = Counter(sides.values()).most_common()
    if len(counts) < 2 or counts[0][1] == counts[-1][1]:
        return RankSet()
    return RankSet(rank for rank, text in sides.items() if text != counts[0][0])


def _gloo(case: Case) -> Finding | None:
    said = events(case, "gloo.size_enforce")
    if not said:
        return None
    fields = said[0].fields
    title = f"two ranks meet in a call with different sizes: {fields.get('received')} against {fields.get('expected')} bytes"
    aborted = [
        event
        for event in events(case, "elastic.root_cause", "elastic.worker_failed")
        if event.fields.get("exitcode") == -6
    ]
    ranks = RankSet([event.rank for event in aborted if event.rank is not None][:1])
    against = ("the rank that aborts has the smaller buffer; it may be the innocent one",)
    return simple(RULE, title, LIKELY, [said[0].text], _STEPS, ranks, against=against)


def _watchdogs(case: Case) -> Finding | None:
    """Time-outs at one number with different operations, or with sizes of which one is odd."""
    groups: dict[tuple[object, object, str], dict[int, str]] = {}
    for event in timeouts(case):
        if event.rank is not None and "seq" in event.fields:
            call = (event.fields.get("pg"), event.fields["seq"], day(event))
            groups.setdefault(call, {})[event.rank] = str(event.fields.get("op"))
    for (_, seq, _), sides in groups.items():
        if len(set(sides.values())) > 1:
            odd = minority(sides)
            ops = ", ".join(sorted(set(sides.values())))
            title = (
                f"{ranks_phrase(odd) if odd else 'ranks'} {verb('call', len(odd))} another operation at #{seq}: {ops}"
            )
            lines = [f"#{seq}: rank {rank} {op}" for rank, op in sorted(sides.items())[:4]]
            return simple(RULE, title, Certainty.LIKELY, lines, _STEPS, odd)
    return _sizes(case)


def _sizes(case: Case) -> Finding | None:
    """Time-outs of one operation at one number, of one group as far as it is named, with different sizes."""
    meetings: dict[object, dict[int, str]] = {}
    for event in timeouts(case):
        told, size = event.fields, event.fields.get("numel_in")
        if event.rank is not None and isinstance(size, int) and told.get("op") in _EVEN:
            meetings.setdefault((told.get("pg"), told.get("seq"), told.get("op")), {})[event.rank] = str(size)
    for (_, seq, op), sides in (
        (key, sides) for key, sides in {**meetings, **_empty(case)}.items() if isinstance(key, tuple)
    ):
        if len(set(sides.values())) == 2 and not _flag_against_data(sides.values()):
            odd = minority(sides)
            title = f"ranks call {op} #{seq} with different sizes: {', '.join(sorted(set(sides.values())))} elements"
            lines = [f"#{seq}: rank {rank} {size} elements" for rank, size in sorted(sides.items())[:4]]
            against = ("ranks of different groups may rightly differ; the message does not name the group",)
            return simple(RULE, title, LIKELY, lines, _STEPS, odd, against=against)
    return None


_DATA = 1000  # elements; so many are no flag


def _flag_against_data(sizes: Iterable[str]) -> bool:
    """Whether one side brings a flag of one element and the other data: those are two calls, not one with other sizes."""
    counts = sorted(map(int, sizes))
    return counts[0] == 1 and counts[-1] > _DATA


def _empty(case: Case) -> dict[object, dict[int, str]]:
    """Exchanges of all with all to which some ranks brought nothing, and the others one and the same size."""
    meetings: dict[object, dict[int, str]] = {}
    for event in events(case, "torch.watchdog_timeout"):
        told, size = event.fields, event.fields.get("numel_in")
        if event.rank is not None and isinstance(size, int) and str(told.get("op")).startswith("ALLTOALL"):
            meetings.setdefault((told.get("pg"), told.get("seq"), told.get("op")), {})[event.rank] = str(size)
    return {key: sides for key, sides in meetings.items() if "0" in sides.values()}


def _logged(case: Case) -> Finding | None:
    """NCCL's own log: one number of communicators of one size, with different calls or counts."""
    calls: dict[tuple[object, object], dict[tuple[str | None, int | None], tuple[str, object]]] = {}
    comms: dict[tuple[str | None, int | None, object], set[object]] = {}
    for event in events(case, "nccl.coll"):
        told, who = event.fields, (event.host, event.pid)
        comms.setdefault((*who, told.get("nranks")), set()).add(told.get("comm"))
        calls.setdefault((told.get("nranks"), told.get("op_count")), {})[who] = str(told.get("op")), told.get("count")
    if any(len(own) > 1 for own in comms.values()):
        return None  # numbers of several communicators of one size cannot be told apart
    for (_, number), sides in calls.items():
        if len(set(sides.values())) > 1 and not any(op in ("Send", "Recv") for op, _ in sides.values()):
            lines = [f"pid {pid}: {op} of {count}" for (_, pid), (op, count) in list(sides.items())[:4]]
            return simple(RULE, f"processes call different things at opCount {number}", LIKELY, lines, _STEPS)
    return None


_PROGRESS = regex(r"\b(\d+) ?/ ?(?!\1\b)\d+\b|\d%\||Watchdog caught|WorkNCCL\(")
_NUMBERS = regex(r"\d+(?:\.\d+)?")
# What must be the same on all ranks, or the calls made of it are not.
_MADE_OF = regex(
    r"\b(?:\w*shapes?|\w*sizes?|numel|lengths?|len|blocks?|blocksizes|buckets?|operands?|param\w*|experts?|dtypes?|splits?|hash|fingerprint|checksum)\b",
    re.IGNORECASE,
)


def _told_apart(case: Case) -> Finding | None:
    """Two ranks that print the same words about what their calls are made of, with other numbers."""
    if not halted(case):
        return None
    by_words: dict[str, dict[int, str]] = {}
    for rank, said, line in said_by_ranks(case):
        # Numbers of lines, of time-outs and of a progress are no sizes.
        places = ".py" in line or ".cc" in line or ".cpp" in line or _PROGRESS.search(line)
        if not places and _MADE_OF.search(re.sub(r"([a-z])([A-Z])|_", r"\1 \2", said)):
            by_words.setdefault(_NUMBERS.sub("#", said), {})[rank] = said
    for words, sides in by_words.items():
        if len(set(sides.values())) > 1 and words.count("#") < 12:
            odd = minority(sides)
            lines = [f"rank {rank}: {said}" for rank, said in sorted(sides.items())[:4]]
            return simple(RULE, "ranks differ in what their calls are made of", LIKELY, lines, _STEPS, odd)
    return None


RULE = make_rule(__name__, __doc__, "collective-mismatch", 44, check)
