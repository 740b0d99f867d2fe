"""No mechanism is recognised, but the evidence reads like that of known cases.

## What it means
None of the other rules found its mechanism in what was saved. Its words – functions on the stacks, messages of programs, what was tried – are still
those of known public cases of one class, and not those of healthy runs. It is a guess by resemblance: no chain of waiting was seen.

## How it is recognised
Every word of the evidence adds a little for or against each class; how much was learned from cases whose truth is known (`corpus/`, with the
threads they are from; `analysis/likeness`). Only where no other rule names a cause that is at least as near, never of a running job, and not
where the words are rather those of a healthy run; where no word tells of any trouble, half as near to one is enough. Not of plain lists
(files, mounts, packages), nor of a log in which steps stand behind every trouble. Of public threads that were not learned from, about seven in ten read like their own class.
Where the evidence has words that only one known thread has, and is much like it, it is taken for the same trouble: the step "read how it went where the same was seen" names that thread.

## What to do
See how probable it is (the line "how probable by words alone", with the next classes), and take it as the first page to open: `rankscope explain CLASS` says how the class is recognised and what decides. Then gather what would show the
mechanism: stacks of all ranks and their helpers, twice, while it stands (`rankscope diagnose`, or `py-spy dump` of every process).

## How to prevent it
Saved stacks of all ranks instead of one error text: `rankscope snapshot -o job.snap` while the job hangs.
"""

# ruff: noqa: E501  (a page has long lines)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.at_work import clear, nothing_but_recovered, steps_behind_all
from ...analysis.case import Case
from ...analysis.dumped import dumped
from ...analysis.endings import ended_well, says_it_halts
from ...analysis.file_lines import lines_by_file
from ...analysis.likeness import likeness, table, telling, threads
from ...analysis.listings import heads_of_inventory
from ...analysis.order import GUESS, SLOW
from ...analysis.stalls_over import stall_over
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.patterns import regex
from .. import Rule
from ._asked_to_end import asked_to_end
from ._lines import events
from ._wordings import tells_trouble, troubled

# How probable a healthy run may be where nothing tells of trouble. Of what this costs, three in five were right, and two in
# five of the healthy texts of this kind that were accused no longer are (known cases that were left out).
_WELL_IF_UNTROUBLED = 0.07
# So many classes are told with their probability, and one that is at least so probable beside the first is worth its page.
_SHOWN, _NEARLY = 3, 0.5


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or ended_well(case) or clear(case) or (cls := likeness(case).nearest) is None:
        return
    untroubled = not troubled(case) and (
        likeness(case).healthy > _WELL_IF_UNTROUBLED
        or events(case, "python.ignored")
        or _all_came_back(case)
        or nothing_but_recovered(case)
        or (cls not in SLOW and _only_the_first(case))
    )
    same = likeness(case).thread
    at_work = _keeps_coming(case) or steps_behind_all(case) or _past_a_stall(case) or _watches_itself(case)
    quiet = untroubled or at_work or _only_lists(case) or dumped(case)
    if same is None and quiet:
        return  # of whole dumps the words are those of any program (docs/adr/0007)
    if cls == "dead-rank" and asked_to_end(case):
        return  # its words are those of an end that somebody asked for
    said, weights = likeness(case).words, table.weights()
    ranking = likeness(case).ranking()
    (_, first), (second, chance) = [one for one in ranking if one[0] != table.HEALTHY][:2]
    steps = [f"rankscope explain {cls}   # how this class is recognised, and what decides"]
    if chance > first * _NEARLY:
        steps.append(f"rankscope explain {second}   # nearly as probable")
    if same is not None:
        steps.insert(0, f"read how it went where the same was seen: {same.link}")
    elif thread := threads.most_alike(threads.threads(), weights, cls, said):
        steps.append(f"compare with the known case that is most alike: {thread.link}")
    learned = weights.cases[weights.classes.index(cls)]
    because = f"the words that say so most: {', '.join(telling(weights, said, cls))} (learned from {learned} cases)"
    probable = ", ".join(f"{name} {share:.0%}" for name, share in ranking[:_SHOWN])
    yield Finding(
        RULE.id, cls, Kind.CAUSE, Certainty.POSSIBLE, f"it reads like known cases of {cls}", because=(Reason(because),),
        against=("no mechanism of this class was recognised", f"how probable by words alone: {probable}"), next=tuple(steps),
    )  # fmt: skip


def _keeps_coming(case: Case) -> bool:
    """Whether somebody tells that what a program delivers comes at its usual rate, and nobody that any of it stands."""
    told = accounts(case)
    return any(one.find(_COMES, prose=True) for one in told) and not any(
        one.ranks or one.stacks or one.find(_STANDS) for one in told
    )


def _only_the_first(case: Case) -> bool:
    """Whether somebody tells of the first of several calls or steps, and that the later ones are fast: it was a start."""
    told = accounts(case)
    return any(one.find(_FIRST, prose=True) for one in told) and any(one.find(_FAST, prose=True) for one in told)


_FIRST = r"\b(?:first|1st|initial)\b"
_FAST = (
    r"\b(?:later|subsequent|following|further|next|second|repeated|all other)\b[^\n]{0,60}\b"
    r"(?:fast|quick(?:ly)?|immediate(?:ly)?|at once|instant(?:ly|aneous)?|as usual|\d{1,3}(?:\.\d{1,6})? ?(?:ms|us|µs))(?!\w)"
)


def _past_a_stall(case: Case) -> bool:
    """Whether all that is told of is a stall that everybody got past, and nobody says that it hangs."""
    told = any(stall_over(case, event) for event in case.events)
    return told and nothing_but_recovered(case) and not any(says_it_halts(one.label) for one in accounts(case))


_COMES = (
    r"\b(?:batch(?:es)?|steps|samples|items|rows|records|results|messages|answers|tokens|frames)\b[^\n]{0,24}\b(?:keeps?|go(?:es)? on|continues?) (?:to )?(?:com(?:e|ing)|arriv(?:e|ing)|flow(?:ing)?)\b|"
    r"\b(?:batch(?:es)?|steps|samples|items|rows|records|results|messages|answers|tokens|frames)\b[^\n]{0,40}\bat (?:the|its|their|a) (?:normal|usual|full|expected|same) (?:rate|speed|pace)\b"
)
_STANDS = r"\b(?:hangs?|hung|stuck|freez\w+|dead-?lock\w*|stall\w*|\w+Error|Traceback|killed|timed? ?out|blocked)\b"


def _watches_itself(case: Case) -> bool:
    """Whether all that gevent's watch over its greenlets shows as blocked is its own pause between two looks."""
    told = [(one, len(_BLOCKED.findall(one.said))) for one in accounts(case)]
    own = all(number == len(_WATCH.findall(one.said)) for one, number in told)
    halts = any(says_it_halts(line) for one, _ in told for line in (one.label, *one.said.splitlines()))
    return own and any(number for _, number in told) and not halts


_BLOCKED = regex(r"^[^\S\n]{0,8}Blocked Stack \(for thread id [^)\n]{1,40}\):", re.M)
# What it writes (gevent/_monitor.py, ignore_current_greenlet_blocking): all frames are its own.
_WATCH = regex(
    rf"{_BLOCKED.pattern}(?:\n\s{{0,16}}File \"[^\"\n]{{0,400}}?gevent/_monitor\.py\"[^\n]{{0,200}}(?:\n(?!\s{{0,16}}File )[^\S\n]{{1,16}}\S[^\n]{{0,400}})?){{1,8}}(?!\n\s{{0,16}}File )",
    re.M,
)


def _only_lists(case: Case) -> bool:
    """Whether all that is told is what there is (packages, files, mounts, sockets), and neither a stack nor a word about it."""
    told = ([event.text for event in said if event.text.strip() and not _complains_barely(event.text)]
            for said in lines_by_file(case).values())  # fmt: skip
    heads = [heads_of_inventory(lines) for lines in told if lines]
    beside = [line for found in heads for line in found or ()] + [one.label for one in accounts(case)]
    return (
        bool(heads)
        and None not in heads
        and not any(map(tells_trouble, beside))
        and not any(one.stacks for one in accounts(case))
    )


def _all_came_back(case: Case) -> bool:
    """Whether a trace shows that each system call came back: then nobody is seen to wait, and its words are those of strace(1)."""
    calls = (event for said in lines_by_file(case).values() for event in said if _CAME_BACK.match(event.text))
    return any(calls) and not events(case, "strace.blocked")


_CAME_BACK = regex(r"(?:\[pid +\d+\] |\d+ +)?(?:[\d:.]+ )?(?:\w+\(.*|<\.\.\. \w+ resumed>.*)\) += ")


def _complains_barely(text: str) -> bool:
    """Whether a line says that something hangs, and no more."""
    return len(text.split()) <= _BARE and says_it_halts(text)


_BARE = 2  # words

RULE = Rule(GUESS, "", check, __doc__, order=900)
