"""Groups are made by some ranks only, or with other members on each.

## What it means
`new_group` is a collective of the whole world: all ranks call it, in one order and with the same members, also those who will not belong to the group. Where each
rank creates just its own group, ranks wait in the barrier that follows a creation for ranks that create another.

## How it is recognised
Code that calls `new_group` below a test of membership, or with members that are computed from the rank; stacks or words that say that ranks create groups of
other members while they stand in `new_group` or its barrier.

## What to do
Let every rank create all groups and keep its own:
`groups = [dist.new_group(members) for members in all_members]; mine = groups[index]`; or `dist.new_subgroups_by_enumeration(…)`;
or `use_local_synchronization=True`, which asks only the members.

## How to prevent it
Create groups once, at the start, from one table that is the same on all ranks (`init_device_mesh`). Cases: https://github.com/pytorch/pytorch/issues/25390,
https://github.com/sgl-project/sglang/pull/15805
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.pasted_code import Line, sections
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding, simple
from ._signs import LIKELY, Sign, hits
from ._wordings import HALTS

_STEPS = ("groups = [dist.new_group(members) for members in all_members]   # on every rank, in one order",)
_MAKES = regex(
    r"(?<!def )\b(?:new_group|new_process_group|Create_group|Split|create_group|ProcessGroup)\(\s*(?P<members>[^()]*)"
)
_GROUP = r"new_group|new_process_group|_new_group_with_tag|create_group|process group|communicator|sub-?group"
_SIGNS = (
    Sign(r"\b(?:ranks?|process(?:es)?|nodes?|stages?)\b[^\n]{0,60}\b(?:create[sd]?|make|made|creating|called|calls?)\b[^\n]{0,60}\b(?:different|own|another|other)\b[^\n]{0,30}\b(?:groups?|members|lists?|communicators?)\b", "ranks create groups of other members", anywhere=(_GROUP, HALTS + r"|new_group \("), prose=True),
    Sign(rf"\b(?:different|another|other|not the same|inconsistent)\b[^\n]{{0,20}}\border\b[^\n]{{0,60}}(?:{_GROUP}|groups? creation|creat\w+ (?:of )?groups?)|(?:{_GROUP})[^\n]{{0,60}}\b(?:different|another|other|not the same|inconsistent)\b[^\n]{{0,20}}\border\b", "groups are created in different orders", anywhere=(HALTS,), prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    if any(one.find(HALTS + r"|Wait timeout|timed? ?out|new_group \(") for one in accounts(case)):
        for account in accounts(case):
            lines = account.code
            if (line := _below_a_test(lines) or _from_the_rank(lines)) is not None:
                title = "each rank creates only its own group, which all ranks must create"
                yield simple(RULE, title, LIKELY, [line], _STEPS)
                return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, "ranks create groups of other members, or in another order", _STEPS)


def _below_a_test(lines: Sequence[Line]) -> str | None:
    """A group that is created below a condition on the rank."""
    for section in sections(lines):
        if section.who in ("one", "rest") and not section.otherwise:
            for line in section.body:
                if _MAKES.search(line):
                    return line
    return None


def _from_the_rank(lines: Sequence[Line]) -> str | None:
    """A group whose members were looked up by the rank of the one who creates it."""
    for at, line in enumerate(lines):
        made = _MAKES.search(line.text)
        name = re.match(r"[A-Za-z_]\w*", made["members"].split(",")[0].split("=")[-1].strip()) if made else None
        if name is None or _in_a_loop_over(lines, at, name.group()):
            continue
        before = [one.text for one in lines[max(0, at - 12) : at]]
        assigned = [text for text in before if re.match(rf"{name.group()} ?(?:=|\+=)", text)]
        chosen = any(re.match(r"(?:while|for|if)\b.*\brank\b.*\bin\b|.*\brank\b ?(?://|%|-)", text) for text in before)
        if assigned and (chosen or re.search(r"(?<!n)(?<!_)rank\b(?! in)", assigned[-1].split("=", 1)[-1])):
            return line.text
    return None


def _in_a_loop_over(lines: Sequence[Line], at: int, name: str) -> bool:
    """Whether the call stands in a loop that goes through all groups."""
    return any(
        re.match(rf"for .*\b{name}\b.* in ", one.text) and one.depth < lines[at].depth for one in lines[:at]
    ) or bool(re.search(rf"\bfor\b.*\b{name}\b.*\bin\b", lines[at].text))


RULE = make_rule(__name__, __doc__, "collective-mismatch", 42, check)
