"""A worker of a boosting job holds no part of the data, and the others wait for it in their meeting.

## What it means
XGBoost on Dask trains on those workers that hold partitions of the input. They meet at a tracker, which waits for a number of workers: one that got no rows,
or has left, does not come, and the others stand in the start of their communicator.

## How it is recognised
`0 feature is supplied` or `has an empty DMatrix` from one worker of several, or stacks of `dispatched_train` that end in the start of the communicator
(`RabitContext`, `CommunicatorContext`, `rabit.init`, `collective.init`), and nothing goes on.

## What to do
Repartition, so that each worker holds rows (`df.repartition(npartitions=k * workers)`, `client.rebalance()`, `client.has_what()` shows who holds what), and
persist the input before training. A worker that left is told in the scheduler's log.

## How to prevent it
At least as many partitions as workers, none of them empty. Mechanism: https://github.com/dmlc/xgboost/pull/6677,
https://github.com/dmlc/xgboost/issues/9419
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._signs import LIKELY, POSSIBLE, Sign
from ._wordings import HALTS

_ON_WORKERS = r"\b(?:dask\w*|dispatched_train|rabit\w*|tracker|spark|ray)\b"
_STANDS = HALTS + r"|\b(?:waits?|waiting)\b"
_SIGNS = (
    Sign(r"\b0 feature is supplied\b", "a worker has no rows", LIKELY, anywhere=(_ON_WORKERS, _STANDS)),
    Sign(r"\bhas an empty DMatrix\b|\bno (?:local )?(?:data|partitions?|rows)\b[^\n]{0,24}\b(?:on|for) (?:\w+ ){0,2}worker", "a worker has no rows", POSSIBLE, anywhere=(r"dispatched_train|\brabit\w*|xgboost", HALTS)),
    Sign(r"\bdispatched_train\b[^\n]*(?:\n[^\n]*){0,3}?\b(?:RabitContext|CommunicatorContext|rabit\.init|collective\.init)\b|\b(?:RabitContext|CommunicatorContext|rabit\.init|collective\.init)\b[^\n]*(?:\n[^\n]*){0,3}?\bdispatched_train\b", "a worker stands in the start of its communicator", POSSIBLE, anywhere=(_STANDS,)),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "rank-never-joined", 43, "a worker without data does not come to the meeting of the others", _SIGNS,
    ("client.has_what()   # which worker holds which partitions", "df = df.repartition(npartitions=4 * len(client.scheduler_info()['workers']))"),
)  # fmt: skip
