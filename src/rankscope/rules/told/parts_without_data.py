"""Some ranks have no data for a part of the model that is split over all of them.

## What it means
A batch without images never calls the vision tower, an expert without tokens is never run, a frozen branch is skipped. Where that part is sharded (FSDP, ZeRO-3) or
its gradients are reduced (DDP), running it is a collective: ranks that run it wait for those that do not.

## How it is recognised
Words of mixed data (text-only samples, batches without images or audio, experts that get no tokens) next to a hang or time-out of a job whose model is split; it works
when every batch has all kinds of data.

## What to do
Run the part on every rank: a dummy input whose result is multiplied by zero. DeepSpeed: `set_z3_leaf_modules(model, [ExpertClass])`. Or distribute so that all ranks
see the same kinds in one step; or do not shard the part by itself (wrap it with the root).

## How to prevent it
A test with one text-only sample on one rank. Cases: https://github.com/huggingface/transformers/issues/37186, https://github.com/deepspeedai/DeepSpeed/issues/5066
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._outcomes import cured_by
from ._signs import LIKELY, POSSIBLE, Sign
from ._wordings import HALTS

_SPLIT = (
    r"\b(?:FSDP\d?|fully_shard|Fully ?Sharded\w*|ZeRO\S*|zero[-_ ]?(?:stage)?[-_ ]?[23]|stage ?3|deep_?speed\w*|DDP|"
    r"EP\b|expert[- ]parallel|ranks?|_ALLGATHER_BASE|all_?gather\w*|Watchdog|multi[- ]?gpu|[2-9]\d?x? ?\w*gpus?)\b"
)
_KINDS = (
    r"(?:images?|videos?|audios?|speech|pixel_values|vision|visual|modalit\w+|screenshots?|pictures?|tokens?|points?|"
    r"labels?|boxes|annotations?|positives?)"
)
_STALL = HALTS + r"|stalls?\b|Watchdog|timed? ?out"
_SIGNS = (
    Sign(r"\b(?:text|image|video|audio|language)[- ]only\b", "samples of one kind only", LIKELY, anywhere=(_SPLIT, _STALL), unless=(r"out of memory|illegal memory|Xid",), prose=True),
    Sign(rf"\b(?:no|without|lacks?|lacking|missing|empty|zero|0)\b (?:any )?{_KINDS}\b[^\n]{{0,60}}\b(?:batch\w*|samples?|ranks?|gpus?|steps?|experts?|workers?)\b|\b(?:batch\w*|samples?|ranks?|gpus?|experts?)\b[^\n]{{0,60}}\b(?:no|without|lacks?|lacking|do(?:es)? not (?:have|contain|get|see)|don't (?:have|contain|get|see)|doesn't (?:have|contain|get|see)) (?:any )?{_KINDS}\b", "some ranks have no data of a kind", LIKELY, anywhere=(_SPLIT, _STALL), unless=(r"out of memory|illegal memory|Xid",), prose=True),
    Sign(cured_by(rf"\b(?:with|when|if|only)\b[^\n]{{0,12}}{_KINDS} in (?:every|each|all)\b|\b(?:every|each|all) (?:batch\w*|samples?) (?:has|have|contains?) (?:an? )?{_KINDS}|\bdummy (?:image|input|token|forward|expert)|fake (?:image|input|gradient)s?"), "it works when every rank has data of each kind", LIKELY, anywhere=(_SPLIT,), prose=True),
    Sign(r"\b(?:mixed|mixture of|heterogeneous|interleaved)\b[^\n]{0,30}\b(?:modalit\w+|batch\w*|data|samples)\b", "data of several kinds are mixed", POSSIBLE, anywhere=(_SPLIT, _STALL), prose=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "collective-missed-by-rank", 46, "some ranks have no data for a part of the model that all must run", _SIGNS,
    ("out = out + 0.0 * part(dummy).sum()   # on ranks without such data", "rankscope diagnose   # shows which ranks are in the part"),
)  # fmt: skip
