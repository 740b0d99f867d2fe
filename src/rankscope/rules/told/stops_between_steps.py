"""A job of several ranks stops where an epoch, an evaluation or a save begins or ends.

## What it means
Between two epochs the ranks do what they do nowhere else: evaluate, save, compare a metric with the best, count batches, log. There one of them takes another path: it
has a batch more or less, saves because its own metric is better, evaluates alone, or makes a collective call that belongs to rank 0.

## How it is recognised
The job runs well until its counter stands at the end or the start of an epoch, at the last batch, or at the step of an evaluation or checkpoint, and then nothing
happens; nobody reports an error. It is a weak sign: where stacks, recorders or other messages say more, they decide.

## What to do
Stacks of all ranks while it stands (`rankscope diagnose`) show which of them is elsewhere. Then check the usual ones: batches per rank (`drop_last`, sampler,
an iterable dataset), what is monitored (`sync_dist=True`), code below `if rank == 0`, saving of split parameters.

## How to prevent it
Equal numbers of steps; decisions from reduced values; evaluation and saving on all ranks. Case: https://github.com/Lightning-AI/pytorch-lightning/issues/5865
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._outcomes import cured_by
from ._signs import POSSIBLE, Sign
from ._wordings import HALTS

_MANY = (
    r"\b(?:DDP|ddp\w*|distributed|FSDP|ZeRO\S*|deepspeed|torchrun|nproc\w*|"
    r"[2-9]\d? ?[x×]? ?(?:\w+ )?(?:gpus?|ranks|processes|nodes)|multi[- ]?(?:gpu|node)|ranks?|accelerate|all_?reduce|"
    r"NCCL|Watchdog|both GPUs|world_size|horovod)\b"
)
_PLACE = (
    r"(?:\b(?:end|last (?:\w+ )?(?:step|batch|iteration)|start|beginning|final (?:step|batch|iteration)|completion) (?:of|in) (?:the |an? |each |every |its |one )?(?:\w+ )?(?:epochs?|validation|evaluation|training epoch)\b|"
    r"\b(?:after|before|during|when|while|at|on|in)\b[^\n.]{0,24}\b(?:validat\w+|evaluat\w+|eval\b|sav(?:e|es|ing)\b|checkpoint\w*|sanity check\w*|logging|metrics?|early stopping|(?:next|new|second|first|last) (?:epoch|evaluation|validation|batch)))"
)
_STOPS = (
    r"\b(?:hangs?|hung|hanging|stuck|freez\w+|froze\w*|stops?|stalls?|deadlock\w*|stands? still|blocks?|"
    r"never (?:returns?|continues?|starts?)|nothing\b|does not move|no longer moves)\b"
)
_ELSE = (
    r"data ?loader worker|pt_data_worker|out of memory|illegal memory|Xid|No space left|exitcode|SIGKILL|"
    r"Address already in use|Connection refused|P2P_DISABLE|IB_DISABLE|\bfork(?:s|ed|ing)\b"
)
_SIGNS = (
    Sign(rf"{_STOPS}[^\n]{{0,60}}{_PLACE}|{_PLACE}[^\n]{{0,60}}{_STOPS}|\balways\b[^\n]{{0,20}}{_PLACE}", "it stops where an epoch, an evaluation or a save begins or ends", POSSIBLE, anywhere=(_MANY, HALTS + r"|100 ?%"), unless=(_ELSE,), prose=True),
    Sign(r"^(?=[^\n]*\b(?:Epoch|Training|Train|Iteration)\b)[^\n]*(?:\b(?:[1-9]\d*)\b[^\n|]{0,12}: +0%\|[^\n]*\| 0/\d+ \[|: +100%\|[^\n]*\| (\d+)/\1 \[|:? +99%\|)", "the counter stands between two epochs", POSSIBLE, anywhere=(_MANY, HALTS + r"|\b(?:at|to) 100 ?%"), unless=(_ELSE, r"Traceback")),
    Sign(r"(?:Validation|Validating|Evaluat\w*|Eval|Testing|Validation DataLoader 0|Sanity Checking)[^\n|]{0,30}: +(?:100|9\d)%\|", "the counter stands at the end of an evaluation", POSSIBLE, anywhere=(_MANY, HALTS), unless=(_ELSE, r"Traceback")),
    Sign(r"\b(?:only )?(?:\d+|one|two|three|four|five|six|seven|some|half) (?:of (?:the )?\w+ )?(?:ranks|processes|gpus|workers)\b[^\n]{0,20}\b(?:print(?:s|ed)?|finish(?:es|ed)?|reach(?:es|ed)?|complete[sd]?|log(?:s|ged)?|get|got|pass(?:es|ed)?|leave|left|are done|report(?:s|ed)?|return(?:s|ed)?)\b", "only part of the ranks got to a place", POSSIBLE, anywhere=(HALTS,), unless=(_ELSE,), prose=True),
    Sign(r"\b(?:the )?(?:first|one|main|rank ?\d+|process ?\d+|some)\b(?: (?:process|rank|worker|gpu|of (?:them|the \w+)))?[^\n;]{0,80}\b(?:stops?|finish(?:es|ed)|exits?|leaves?|left|ends?|tests?|testing|breaks?|reached|returns?|done)\b[^\n]{0,60}[;,.][^\n]{0,12}\b(?:second|others?|rest|rank ?\d+|process ?\d+|remaining)\b[^\n]{0,40}\b(?:starts?|continues?|goes? on|waits?|still|enters?|next|epoch|stays?|keeps?)\b", "some ranks have left the loop, the others go on in it", POSSIBLE, unless=(_ELSE,), prose=True),
    Sign(cured_by(r"\b(?:without|no|disabl\w+|skip\w*|commenting out|remov\w+|turn\w* off)\b[^\n]{0,24}\b(?:validation|evaluation|eval|checkpoint\w*|sav(?:e|ing)|logging|metrics?|early stopping|callback\w*|limit_val_batches|do_eval)\b|limit_val_batches ?= ?0|eval(?:uation)?_strategy ?= ?[\"']?no|save_strategy ?= ?[\"']?no"), "it works without evaluating, saving or logging", POSSIBLE, anywhere=(_MANY,), prose=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "collective-missed-by-rank", 50, "the ranks part between two epochs, at an evaluation or a save", _SIGNS,
    ("rankscope diagnose   # stacks of all ranks while it stands", "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …"),
)  # fmt: skip
