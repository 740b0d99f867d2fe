"""All ranks call a collective, but type, size, dtype, order or root differ.

## What it means
The ranks meet in one call and bring different things. NCCL then waits for ever or reads too much; gloo aborts; PyTorch's DETAIL mode says what differs.

## How it is recognised
`Detected mismatch between collectives` or `inconsistent collective` with two fingerprints; gloo's `op.preamble.length <= op.nbytes. A vs B`; time-outs at one
sequence number with different operations or sizes; `message truncated`, `Mismatched collective detected`; recorders that differ at one number; two ranks that print
other shapes, block sizes or numbers of parameters; one `opCount` with different counts in NCCL's log; different types or roots; a compiled program of which few hosts print another fingerprint than most.
All wait in an exchange of what a compiler has tuned, or in a meeting whose name each rank drew for itself. The same frames on two ranks with another count, root or tag; it works with `gc.disable()` where an object's end is a call of all ranks.

## What to do
`TORCH_DISTRIBUTED_DEBUG=DETAIL` names both sides. Find what makes the sequence of calls depend on local data: a modality that a batch lacks, dropped samples,
experts without tokens, keys logged on some ranks. Pad, use dummy inputs times zero, broadcast the decision.

## How to prevent it
Make the calls a function of shared data only. Case: https://github.com/modelscope/ms-swift/pull/9443
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding, of_fact
from ._outcomes import cured_by
from ._sides import apart
from ._signs import POSSIBLE, Sign, hits
from ._wordings import HALTS

_STEPS = ("TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …   # names both sides", "rankscope analyze DUMPS…")
_TITLE = "ranks call the same collective with different arguments, or in a different order"
_CALLS = r"all_?reduce|broadcast|all_?gather|reduce_?scatter|all_?to_?all|collective|gather|scatter|reduce"
_TYPES = r"float32|float16|bfloat16|float64|fp32|fp16|bf16|int64|int32|int8|uint8|half|long"
# Calls of all ranks, as programs and message layers name them.
_EXCHANGE = rf"\b(?:P?MPI[RCD]?I?_\w+|ncclComm\w*|PetscComm\w*|{_CALLS})\b"
_SIGNS = (
    Sign(r"\bsame (?:sequence number|seq\w*)\b[^\n]{0,40}\bone (?:is )?in (?:an? |the )?(\w+)\b[^\n]{0,80}\bothers? (?:are )?in (?:an? |the )?(?!\1\b)\w+", "ranks make different calls under one number"),
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
    Sign(r"\b(?:shapes?|sizes?|dtypes?|numel|input[_ ]split\w*|tensor counts?|roots?|src|order of [^\n,;]{0,40}|sequence of (?:the )?collectives?)\b[^\n]{0,50}\b(?:differ(?:s|ed|ent)?|mismatch\w*|not (?:the same|equal|identical)|inconsistent|disagrees?|diverge[sd]?)\b(?! from (?:the |those |what )(?:shapes?|sizes?|dtypes?|ones|that|the|a|an|\w+ (?:expects?|writes?|reads?|needs?|declares?|reports?))\b(?![^\n]{0,60}\b(?:ranks?|peers?|others?|process(?:es)?|gpus?|node)\b))", "ranks bring different shapes or orders", prose=True),
    Sign(r"\b(?:prefix|suffix|key|name|tag|file ?name|uuid|hash|token)(?:_\w+)?\b[^\n]{0,16}\b(?:differs?|is (?:different|another|not the same|random)|is drawn)\b[^\n]{0,24}\b(?:from rank to rank|(?:between|across|among) (?:the |all )?(?:ranks|processes|gpus)|(?:on|for|in|per|by) (?:each|every) (?:rank|process|gpu))", "the ranks wait for each other under names that differ: each stands in a meeting of its own", anywhere=(r"\b(?:all|every|each|both) (?:\w+ )?(?:ranks?|processes|gpus?|workers?)\b[^\n]{0,40}(?:barrier|gather|broadcast|rendezvous|reduce|\bwait)",), prose=True),
    Sign(r"(?m:^)(?P<words>[^\n]{0,40}\b(?i:shapes?|sizes?)\b[^\n]{0,12}?torch\.Size\()\[(?P<size>\d+)[^\n]*\n(?:[^\n]*\n){0,4}?(?P=words)\[(?!(?P=size)\b)\d", "one print before a gather shows tensors of two sizes", anywhere=(r"\ball_?gather|\bgather\w*\(", HALTS + r"|\bnever (?:appears|comes)|both (?:ranks|processes|GPUs)")),
    Sign(r"\b(?:unused|missing|no) (?:parameters?|gradients?|grads?|tokens?|images?|modalit\w+)[^\n]{0,60}(?:on|for|in) (?:(?:one|some|a|this|that|its|each) )?(?:local |own )?(?:ranks?|batch(?:es)?|gpus?|workers?|micro-?batch(?:es)?)\b", "a rank lacks what others have", POSSIBLE, prose=True),
    Sign(r"Expected to have finished reduction in the prior iteration|Parameter indices which did not receive grad", "gradients of some parameters are missing", POSSIBLE),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    if (fact := apart(case)) is not None:
        yield of_fact(RULE, fact, _STEPS)
    elif found := list(hits(case, _SIGNS)):
        yield finding(RULE, case, found, _TITLE, _STEPS)


RULE = make_rule(__name__, __doc__, "collective-mismatch", 44, check)
