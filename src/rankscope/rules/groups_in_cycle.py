"""Ranks wait for each other in a cycle over groups; nobody is simply absent.

## What it means
Some ranks entered group A first and then B, others B first and then A. Each group is half full, and everybody waits for somebody who waits.

## How it is recognised
Ranks stand in collectives of different groups; the recorder shows (A, n) joined by one side and (B, m) by the other; a report says that each waits for the
other. Or several threads or streams of a process use several communicators at once, and the devices run kernels of different ones.

## What to do
One global order of groups (`rankscope analyze DUMPS…` prints the cycle); no rank-local choice of which group goes first; groups with own streams only
where they cannot wait for each other.

## How to prevent it
Issue collectives of all groups from one thread in the order of the program.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from ..analysis.accounts import accounts
from ..analysis.case import Case
from ..model.diagnosis import Finding
from ._text import HALTS, LIKELY, POSSIBLE, Sign, finding, hits, make_rule, simple

_NAMES = r"(?:TP|DP|PP|EP|CP|SP|tensor|data|pipeline|expert|context|mesh_\w+|dp\w*|tp\w*|ep\w*|pp\w*|intra|inter|row|col(?:umn)?|default_pg|replicate|shard)"
_CALL = r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier"
# Two branches of the code: a collective and then a message in one, the other end of the message and then the collective in the other.
_WHOLE = rf"^[^\n]*\b(?:{_CALL}|reduce|gather|scatter)\w*\([^\n]*\n"
_MESSAGE = r"^[^\n]*\bi?%s\([^\n]*\n"
_ELSE = r"(?:[^\n]*\n){0,3}?^[ \t]*(?:else|elif)\b[^\n]*\n"
_BRANCHES = "|".join(
    first + _ELSE + second
    for one, other in ((_MESSAGE % "send", _MESSAGE % "recv"), (_MESSAGE % "recv", _MESSAGE % "send"))
    for first, second in ((_WHOLE + one, other + _WHOLE), (one + _WHOLE, _WHOLE + other))
)
_SIGNS = (
    Sign(r"\bgroup (\w+)\b[^\n]{0,160}\bgroup (?!\1\b)\w+\b[^\n]{0,160}\b(?:needs?|waits? for|requires?)\b|\bgroup (\w+) (?:needs?|waits? for)[^\n]{0,160}\bgroup (?!\2\b)\w+ (?:needs?|waits? for)", "two groups need each other's members"),
    Sign(r"\b(?:communicator|comm|group|pg)s? ?[#:]?((?!is\b|are\b)\w+)\b[^\n]{0,120}\b(?:communicator|comm|group|pg)s? ?[#:]?(?!\1\b)(\w+)\b[^\n]{0,120}(?:\n[^\n]{0,200}){0,4}?\n[^\n]{0,120}\b(?:communicator|comm|group|pg)s? ?[#:]?\2\b[^\n]{0,120}\b(?:communicator|comm|group|pg)s? ?[#:]?\1\b", "the ranks use the groups in opposite orders", prose=True),
    Sign(rf"\b(?:{_CALL}) (?:of|on|over|in) (?:the )?(\w+)\b[^\n]{{0,120}}\b(?:{_CALL}) (?:of|on|over|in) (?:the )?(?!\1\b)(\w+)\b(?:\n[^\n]{{0,200}}){{0,4}}?\n[^\n]{{0,120}}\b(?:{_CALL}) (?:of|on|over|in) (?:the )?\2\b[^\n]{{0,120}}\b(?:{_CALL}) (?:of|on|over|in) (?:the )?\1\b", "the ranks use the groups in opposite orders", prose=True),
    Sign(r"\b\w+[ _](?:group|pg|comm)\b[^\n]{0,30}\b(?:contains?|includes?|needs?)\b[^\n]{0,20}\branks? ?\d", "each group has members that stand in the other", prose=True),
    Sign(_BRANCHES, "one branch calls a collective before its send, the other receives before the collective", anywhere=(HALTS,)),
    Sign(r"circular(?:ly)? (?:wait|dependency|deadlock)|cyclic wait|wait(?:s|ing)? (?:for each other )?in a (?:cycle|circle|ring)|deadlock cycle|each (?:group|side|half) (?:is )?wait\w*", "the evidence itself speaks of a cycle", anywhere=(r"\b(?:tp|dp|pp|ep|rank)s?\b|group|pg\b|communicator|comm\b|collective|all_?reduce|all_?gather",), prose=True),
    Sign(rf"\b{_NAMES}[ _-]?(?:group|pg|comm\w*)\b[^\n]*(?:all_?\w+|reduce\w*|broadcast|barrier|collective)", "ranks stand in different groups", LIKELY, anywhere=(r"(?:half|other (?:group|order|half)|other way (?:a)?round|vice versa|opposite order|different order|inverse order|before the other|first the|order of (?:the )?groups?|interleav\w+)",)),
    Sign(r"\bgroups?\b[^\n]{0,80}(?:opposite|different|inverse|reverse) order|(?:opposite|different|inverse|reverse|inconsistent|swapped)\b[^\n]{0,30}order[^\n]{0,60}(?:groups?|communicators?|comms?|process groups?|collectives on)|two (?:process groups|communicators)[^\n]{0,80}(?:order|interleav|deadlock|concurrent)", "groups are used in different orders", prose=True),
    Sign(r"\b(?:before|first|ahead of)\b[^\n]{0,80}(?:the other way (?:a)?round|vice versa|the reverse|opposite)", "the ranks take turns in different orders", anywhere=(r"groups?\b|communicators?|all_?reduce|all_?gather|collective|sync_\w+",), prose=True),
    Sign(r"\b(?:two|several|multiple|different|separate|both|another|second|\d+)\b (?:\w+ )?(?:communicators?|comms?|process groups?|groups|ProcessGroups?|ncclComm\w*)\b", "several communicators are used at once",
         anywhere=(r"concurrent\w*|simultaneous\w*|at (?:the same time|once)|in parallel|overlap\w*|(?:own|different|separate|one|two|multiple|each|both)\b[^\n]{0,30}\b(?:threads?|streams?)|interleav\w+|side stream", HALTS + r"|\bworks (?:with|when|if)\b"),
         unless=(r"\bCommAbort|destroy_process_group|Xid|out of memory",), prose=True),
    Sign(r"\b(?:runs?|launched|executes?|in|holds?|resident)\b[^\n]{0,30}(?:kernel|collective|all_?reduce)[^\n]{0,30}(?:communicator|comm|group|pg) ?(?!of\b|s\b)\w+[^\n]{0,60}(?:,|;|while|and)[^\n]{0,60}(?:communicator|comm|group|pg) ?(?!of\b|s\b)\w+", "devices run kernels of different communicators", anywhere=(HALTS,), prose=True),
    Sign(r"multiple (?:communicators|process groups)[^\n]{0,60}(?:concurrent|deadlock|same time)|collectives on (?:two|different|multiple) (?:communicators|groups)[^\n]{0,60}(?:concurrent|deadlock|overlap)", "several groups are used at once", POSSIBLE, prose=True),
)  # fmt: skip

_TITLE = "ranks wait for each other in a cycle over groups"
_STEPS = ("rankscope analyze DUMPS…   # prints the cycle", "issue the groups in one global order")


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live and (told := _crosswise(case)) is not None:
        yield simple(RULE, _TITLE, LIKELY, told, _STEPS)
        return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


_NAME = re.compile(
    r"\b[A-Za-z]\w*[_-]\w+\b|\b[A-Za-z]+\d\w*\b|\b(?:group|comm|communicator|pg|mesh|stream) \w+\b|\b[A-Z]\b", re.I
)
_SHORT = 400


def _crosswise(case: Case) -> list[str] | None:
    """Two subjects of whom the same is told with two names in exchanged places: one holds the first and waits for the second."""
    told = [
        " ".join(one.said.split()) for one in accounts(case) if one.said and len(one.said) < _SHORT and not one.stacks
    ]
    for texts in _of_the_same_words(text for text in told if _WAITS.search(text)):
        for mine, yours in itertools.combinations(texts, 2):
            names = dict.fromkeys(found.group() for found in _NAME.finditer(mine))
            if any(_exchanged(mine, *pair) == yours for pair in itertools.combinations(names, 2)):
                return [mine, yours]
    return None


def _of_the_same_words(texts: Iterable[str]) -> Iterable[list[str]]:
    """Different texts together whose words are the same in another order; of a thousand ranks few pairs are left to compare."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(tuple(sorted(re.findall(r"\w+", text))), []).append(text)
    return alike.values()


_WAITS = re.compile(
    r"\b(?:waits?|waiting|queued|blocked|pending|behind|needs?|next|then|before|holds?|not yet)\b", re.I
)


def _exchanged(text: str, first: str, second: str) -> str:
    return re.sub(
        rf"\b(?:{re.escape(first)}|{re.escape(second)})\b", lambda found: second if found[0] == first else first, text
    )


RULE = make_rule(__name__, __doc__, "collective-cycle", 43, check)
