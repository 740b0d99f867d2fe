"""Workers that a job on Spark waits for and its cluster has no place for: all of them have to run at one time."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re

from ...analysis.accounts import Account, accounts, steps_at_end
from ...analysis.case import Case
from ...analysis.file_lines import lines_by_file
from ...model.patterns import regex
from ._before_meeting import number
from ._findings import Fact
from ._wordings import HALTS

# So many threads, and so many tasks at one time, has a driver without a cluster (spark.apache.org, "Master URLs").
_LOCAL = regex(r"\blocal\[ ?(\d{1,6})(?: ?, ?\d{1,6})?\]")
# How trainers on Spark call the tasks that have to meet (XGBoost's numWorkers and num_workers, LightGBM's numTasks, TorchDistributor's
# num_processes, spark-tensorflow-distributor's num_slots, Horovod's num_proc).
_ASKED = regex(
    r"\b(?:set)?(?:num_?workers|n_?workers|num_?tasks|num_?processes|num_?slots|num_?proc)\b[\"']?(?: ?(?:=|:|->|,) ?|\( ?| )(\d{1,6})\b",
    re.IGNORECASE,
)
# A loader's workers are another thing.
_LOADS = r"\bDataLoader\b|\bdata ?loader"
# What a driver says that it waits for, and what is told of its executors.
_EXPECTED = regex(
    r"\b(?:expect(?:s|ing|ed)|waiting for|waits for)\W{1,3}(\d{1,6}) (?:\w+ )?(?:connections|workers|executors|tasks|participants)\b",
    re.IGNORECASE,
)
_EXECUTORS = regex(
    r"\b(?:number of executors|num[-_]executors|(?:spark\.)?executor[._]instances)\b\W{1,6}(\d{1,6})\b", re.IGNORECASE
)
_CORES = regex(r"\b(?:cores per executor|executor[-_.]cores)\b\W{1,6}(\d{1,6})\b", re.IGNORECASE)
# That what is shown is the end of it.
_ENDS = rf"{HALTS}|\blast (?:\w+ )?lines?\b|^last\b"


def more_than_slots(case: Case) -> Fact | None:
    """More workers are asked for, or expected by the driver, than the cluster runs tasks at one time, and it does not go on."""
    told = accounts(case)
    if not any(one.find(_ENDS) for one in told) or any(steps_at_end(case, name) for name in lines_by_file(case)):
        return None
    text = "\n".join(one.text for one in told)
    return _local(text, told) or _executors(text)


def _local(text: str, told: tuple[Account, ...]) -> Fact | None:
    slots, asked = number(_LOCAL, text), number(_ASKED, text)
    if not slots or not asked or asked <= slots or any(one.find(_LOADS) for one in told):
        return None
    title = f"{asked} workers have to meet, and Spark runs {slots} at one time (local[{slots}])"
    return Fact(title, (title,), compared=True)


def _executors(text: str) -> Fact | None:
    expected, executors = number(_EXPECTED, text), number(_EXECUTORS, text)
    slots = (executors or 0) * (number(_CORES, text) or 1)
    if not expected or not slots or expected <= slots:
        return None
    title = f"{expected} workers are expected, and there is room for {slots}"
    return Fact(title, (title,), compared=True)
