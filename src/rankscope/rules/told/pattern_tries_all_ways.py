"""A regular expression tries all ways to split a text.

## What it means
Where a repeated group holds another repeated group, a text that does not match in the end can be divided among them in more
ways than anybody counts: the time grows by a factor with each letter. Python's `re` has the interpreter's lock meanwhile, so
that no other thread of the process runs.

## How it is recognised
A pasted pattern in which repetitions are nested (`(a*)*`, `(\\w+)+`, brackets in optional brackets three deep), where somebody
says that it does not come back; or the words for it: catastrophic backtracking, an exponential regular expression, ReDoS.

## What to do
`py-spy dump --pid PID` twice: both end in the line that calls `match`, `search` or `sub`. Write the inner repetition so that
it cannot match what the outer one does, or make it possessive (`*+`, `(?>…)`: Python 3.11), or use an engine without
backtracking (`google-re2`). Limit the length of a text.

## How to prevent it
Try patterns with long texts that do not match. Mechanism: https://docs.python.org/3/howto/regex.html and
https://github.com/Python-Markdown/markdown/issues/1065
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, Hit, Sign, hits
from ._wordings import HALTS

_BUSY = r"\b(?:9\d|100)(?:\.\d)? ?%|\b(?:spins?|busy|minutes|hours|seconds)\b"
_SIGNS = (
    Sign(r"\b(?:catastrophic|exponential|runaway) (?:\w+ )?(?:backtracking|reg(?:ular )?ex\w*)|\bReDoS\b|\breg(?:ular )?ex\w*[^\n]{0,40}\b(?:catastrophic|exponential|backtrack\w*)|\bbacktrack\w*\b[^\n]{0,40}\b(?:for ?ever|exponential\w*)\b", "somebody tells of a pattern that tries all ways", anywhere=(rf"{HALTS}|{_BUSY}",), prose=True),
)  # fmt: skip
_STEPS = ("py-spy dump --pid PID   # twice: both end in match, search or sub",)

_GIVEN = regex(
    r"\b(?:re|regex)\.(?:compile|match|fullmatch|search|sub|subn|findall|finditer|split)\(|\b\w*(?:regex|pattern|_RE)\w* ?= ?[ru]{0,2}['\"]",
    re.IGNORECASE,
)
_LONGEST, _MOST = 2000, 40  # letters of a line, lines of a text
_ESCAPED = regex(r"\\{1,4}[^\\\n]")
_CLASS = regex(r"\[\^?[^\]\n]{0,200}\]")
# A repetition at the end of a group that is repeated; and groups that are repeated, three in each other.
_AT_THE_END = regex(r"(?<!\()[*+]\)[*+]")
_IN_EACH_OTHER = regex(r"(?:\)[*+][^()|\n]{0,60}){2}\)[*+]")


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    if found := [*hits(case, _SIGNS), *_nested(case)]:
        yield finding(RULE, case, found, "a regular expression tries all ways to split a text", _STEPS)


def _nested(case: Case) -> Iterator[Hit]:
    """A pasted pattern whose repetitions are nested, where somebody says that it does not come back."""
    told = accounts(case)
    if not any(one.find(HALTS, prose=True) for one in told):
        return
    for one in told:
        given = [event for event in one.events if event.event == "text.line" and _GIVEN.search(event.text[:_LONGEST])]
        line = next((event.text for event in given[:_MOST] if nests(event.text[:_LONGEST])), None)
        if line is not None:
            yield Hit(Sign("", "a pattern has repetitions inside of repetitions", LIKELY), one, line.strip()[:150])
            return


def nests(line: str) -> bool:
    """Whether a pattern in a line of code has a repetition in a repetition, of which a text can be given to either."""
    bare = _CLASS.sub("x", _ESCAPED.sub("x", line))
    return _AT_THE_END.search(bare) is not None or _IN_EACH_OTHER.search(bare) is not None


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 37, check)
