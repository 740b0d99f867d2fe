"""A worker's input is at its end while the others are in the collective of one more step.

## What it means
The workers of a TensorFlow job meet in each step. One of them has fewer batches than the others: its iterator is at its end, the step that the others
have begun cannot be made, and the collective is aborted on all of them, or waits for ever.

## How it is recognised
`Aborting RingReduce with Out of range: End of sequence`, an operation of `collective_ops.cc` that fails with `OUT_OF_RANGE`, or Keras' `Your input ran out of
data` beside a job of several workers that stands still. The line `StartAbort Out of range: End of sequence` alone is no trouble: it ends each epoch of a healthy run.

## What to do
Give `steps_per_epoch`, `repeat()` the dataset and drop what does not fill a batch (`drop_remainder=True`), so that all workers make the same steps.
Count the batches of each worker before the loop.

## How to prevent it
Shard by examples, not by files (`AutoShardPolicy.DATA`), with a number of examples that the workers divide.
Mechanism: https://github.com/tensorflow/tensorflow/issues/33531; healthy warnings: https://github.com/tensorflow/tensorflow/issues/22484
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._signs import Sign
from ._wordings import HALTS

_AT_END = r"(?:Out of range|OUT_OF_RANGE)\b[^\n]{0,40}End of sequence"
_SEVERAL = (
    r"MultiWorkerMirrored\w*|CollectiveAllReduce\w*|TF[_ ]CONFIG|\bnum_workers ?= ?[2-9]|ParameterServerStrategy|"
    r"/task:[1-9]"
)
_SIGNS = (
    Sign(rf"Aborting Ring(?:Reduce|Gather|Alg)\w* with {_AT_END}", "the ring is aborted, since the input of a worker is at its end", passing=True),
    Sign(rf"OP_REQUIRES failed at collective_ops\.cc:\d+ : {_AT_END}", "a collective fails, since the input of a worker is at its end", passing=True),
    Sign(r"\b[Yy]our input ran out of data; interrupting training|\b[Yy]our dataset ran out of data", "the input of a worker ran out of data", anywhere=(_SEVERAL, HALTS), passing=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "collective-missed-by-rank", 43, "the input of a worker ended while the others were in one more step", _SIGNS,
    ("dataset = dataset.repeat().batch(n, drop_remainder=True); model.fit(…, steps_per_epoch=steps)",),
)  # fmt: skip
