"""Of a named function of the program it is said that some ranks are in it, and another one never calls it.

## What it means
Not only `all_reduce` is a meeting: a function of the program that exchanges something is one as well. Some ranks have entered it and wait there, another
one has taken a different way and gets on with something else. It will never come.

## How it is recognised
Two sentences about one function: ranks that are in it, and ranks that never call, enter or reach it. Nobody has failed.

## What to do
Look at the condition above the call on the rank that does not make it: most often a message, flag or counter that it has read earlier or later than the others.
`rankscope diagnose` shows both ways side by side.

## How to prevent it
Decide together: reduce or broadcast the condition, then let all ranks take the branch or none.
Mechanism: https://github.com/CobayaSampler/cobaya/pull/317
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.accounts import PROSE_LINES, Account, accounts
from ...analysis.case import Case
from ...analysis.sayings import sayings
from ...model.diagnosis import Finding
from ...model.labels import Who
from ...model.patterns import regex
from ...model.ranks import ranks_phrase
from ...model.repeated import found_in
from .. import make_rule
from ._findings import simple
from ._lines import events
from ._signs import LIKELY
from ._wordings import OVER

_STEPS = ("rankscope diagnose   # shows the last common call and the first different line",)
# A name that only a program has: with an underscore, a dot or brackets.
_NAME = r"[`'\"]?(?P<name>(?:[A-Za-z_]\w*\.)*(?:[A-Za-z]\w*_\w+|[A-Za-z_]\w*(?=\(\))|(?<=\.)[A-Za-z_]\w*))"
_ARE_IN = (
    r"(?:(?:is|are|then|now|all|both|already|still|wait(?:s|ing)?|stand(?:s|ing)?|sit(?:s|ting)?|hangs?|"
    r"block(?:s|ed)?|stuck|stopped|remain(?:s|ing)?|stays?) )*"
    rf"(?:in|inside(?: of)?|at|enter(?:s|ed)?|reach(?:es|ed)?|call(?:s|ed)?|have (?:entered|called|reached)) {_NAME}"
)
_IN = regex(rf"^{_ARE_IN}", re.I)
_NEVER = regex(
    r"\b(?:never|(?:does|did|do|has|have|is|are|was|were)(?: not|n't)|fails? to)\b(?: (?:even|ever|yet|been))? ?"
    r"(?P<verb>call\w*|enter\w*|reach\w*|get\w*(?: (?:to|into))?|join\w*|arriv\w*|come\w*(?: to)?|inside|in|there|"
    r"do(?:es)?(?=\s*(?:$|[;.,])))?\b(?: (?:in|at|to))?(?P<what>[^\n;.,]{0,60})",
    re.I,
)
_IT = regex(r"^\W*(?:(?:it|this|that|there)\b)?\W*(?:$|(?:and|but)\b)", re.I)
_FAILED = regex(r"\b(?:[A-Z]\w*(?:Error|Exception)\b|exception|traceback|killed|crash\w*|died|exit(?:s|ed) with)")
# Who is spoken of with other words than numbers.
_ALL_BUT = regex(
    rf"^\W*(?:all|every|each)\b[^\n;]{{0,40}}?\b(?:but|except)\b[^\n;]{{0,20}}? (?={_ARE_IN.replace('?P<name>', '?:')})",
    re.I,
)
_NTH = regex(
    r"(?:^|[,;.] |\b(?:while|but|and) )(?:only )?(?P<who>the (?:second|third|fourth|fifth|sixth|seventh|eighth|last|remaining)(?: one| rank| process| worker| chain)?) (?P<said>(?:never|does|did|has|is)\b[^\n]*)",
    re.I,
)


@dataclass(frozen=True)
class _There:
    """Ranks that are in a function."""

    who: Who
    name: str
    line: str


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or case.collectives or events(case, "python.exception"):
        return
    there: list[_There] = []
    told = [one for account in accounts(case) for one in _told(account)]
    for who, words, line in told:
        if (found := _IN.match(words)) and not OVER.search(words):
            there.append(_There(who, found["name"], line))
    for who, words, line in told:
        if (others := _whom(who, words, there)) is not None and not _FAILED.search(line):
            yield _finding(who, words, others)
            return


def _told(account: Account) -> Iterator[tuple[Who, str, str]]:
    """Of whom something is said, what, and in which line: by the sentence, or by the heading it stands below."""
    for line in account.said.splitlines()[:PROSE_LINES]:
        spoken = list(sayings(line))
        if found := _ALL_BUT.match(line):
            spoken.append((Who(text=line[: found.end()].strip()), line[found.end() :]))
        if found_in(line, _NTH) and (found := _NTH.search(line)):
            spoken.append((Who(count=1, text=found["who"]), found["said"]))
        if not spoken and (account.ranks or account.who.count):
            spoken.append((account.who, line.strip()))
        yield from ((who, words, line) for who, words in spoken)


def _whom(who: Who, words: str, there: list[_There]) -> _There | None:
    """Those who are in the function that a subject, another one, is said never to enter."""
    found = _NEVER.search(words) if found_in(words, _NEVER) else None
    if found is None or not found["verb"] or OVER.search(words):
        return None
    for one in reversed(there):
        name = one.name.rsplit(".", 1)[-1]
        meant = _IT.match(found["what"]) or re.search(rf"\b{re.escape(name)}\b", found["what"])
        if meant and one.who != who and not (one.who.ranks & who.ranks):
            return one
    return None


def _finding(who: Who, words: str, others: _There) -> Finding:
    name = ranks_phrase(who.ranks) if who.ranks else who.text
    because = [others.line, f"{name}: {words}"]
    title = f"{name} never came to {others.name}, in which the others are"
    return simple(RULE, title, LIKELY, because, _STEPS, who.ranks)


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 43, check)
