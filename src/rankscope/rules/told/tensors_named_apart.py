"""Ranks wait for each other with tensors that the others call by another name, so that they never meet.

## What it means
Horovod puts calls together by the name of their tensor, not by their order. Where each side waits with a name that the other side does not have, nobody can come.

## How it is recognised
Horovod's newest stall report lists tensors that some ranks submitted and others lack, and the ranks that lack one tensor have no part in those that lack another.
Or each of two ranks lacks calls of one kind, and the kinds differ (one broadcasts its start again, the other reduces).
A report in which the same ranks lack everything tells of a call that they missed instead.

## What to do
Compare the names on both sides. Names made from a counter, a device number (`tower_0`), a layer's own numbering or the order of creation differ as soon as one rank makes
something more. Give the tensors names of your own (`hvd.allreduce(t, name=…)`), the same on all ranks.

## How to prevent it
Build the model and the optimizer by the same calls in the same order on every rank.
"""

# ruff: noqa: E501  (the page)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.stalls_over import stall_over
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY

_STEPS = ("grep -A20 'Stalled\\|Missing ranks' LOG   # which names which ranks lack", "rankscope analyze LOGS…")
# Horovod's list of tensors that wait: a tensor and who has or lacks it, or (from 0.19 on) a rank and the tensors that it lacks.
_STALLED = regex(r"(?P<name>[\w./:]+) \[(?P<how>ready|missing) ranks: ?(?P<ranks>[\d, ]+)\]")
_LACKS = regex(r"^(?P<rank>\d+): \[(?P<names>[^\]\n]+)\]", re.MULTILINE)

_KIND = regex(r"all_?reduce|all_?gather|broadcast|all_?to_?all|reduce_?scatter", re.IGNORECASE)


def check(case: Case) -> Iterator[Finding]:
    for account in accounts(case):
        lines = "\n".join(said.text for said in account.events if not stall_over(case, said))
        _, *reports = re.split("Stalled (?:ops|ranks)|Missing ranks", lines)
        tensors = _waiting_tensors(reports[-1]) if reports else {}
        if any(how == other and not mine & theirs for how, mine in tensors for other, theirs in tensors):
            title = "ranks wait with tensors that the others do not have: they name theirs differently"
            against = ("ranks that stand in different calls of the program leave such a report too",)
            yield simple(RULE, title, LIKELY, list(tensors.values())[:4], _STEPS, against=against)
            return
        if reports and (apart := _kinds_apart(reports[-1])):
            title = "ranks wait in calls of different kinds, each in one that the others do not make"
            yield simple(RULE, title, LIKELY, apart, _STEPS)
            return


def _kinds_apart(report: str) -> list[str]:
    """Two ranks of which each lacks calls of one kind, and the kinds differ; lists that are cut short show that too."""
    lacks = [(found["rank"], found["names"]) for found in _LACKS.finditer(report)]
    kinds = [({kind.lower().replace("_", "") for kind in _KIND.findall(names)}, rank, names) for rank, names in lacks]
    for mine, rank, names in kinds:
        for theirs, other, others in kinds:
            if rank != other and mine and theirs and not mine & theirs:
                return [f"rank {rank} lacks {names[:120]}", f"rank {other} lacks {others[:120]}"]
    return []


def _waiting_tensors(report: str) -> dict[tuple[str, frozenset[str]], str]:
    """Who has, or lacks, tensors of Horovod's report, with one of them for each such set of ranks."""
    lists = [(found["rank"], found["names"].split(", ")) for found in _LACKS.finditer(report)]
    lacks: dict[str, set[str]] = {}
    for rank, names in () if "..." in report else lists:  # a list that is cut short says nothing of the rest
        for name in names:
            lacks.setdefault(name, set()).add(rank)
    who = {
        ("missing", frozenset(ranks)): f"{name}: missing on {', '.join(sorted(ranks))}" for name, ranks in lacks.items()
    }
    for found in _STALLED.finditer(report):
        ranks = frozenset(re.findall(r"\d+", found["ranks"]))
        who[found["how"], ranks] = f"{found['name']}: {found['how']} on {', '.join(sorted(ranks))}"
    return who


RULE = make_rule(__name__, __doc__, "collective-mismatch", 44, check)
