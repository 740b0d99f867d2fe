"""Sentences about ranks, taken apart: of whom each part speaks, and what it says.

``ranks 0-2 are in all_reduce, rank 3 in the loader`` and ``one rank in a barrier while the others reduce`` each say two things.
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from ..model.labels import Who, who
from ..model.patterns import regex
from ..model.ranks import RankSet

_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "fifteen": 15, "sixteen": 16, "both": 2,
}  # fmt: skip
_COUNTED = rf"(?:{'|'.join(_NUMBERS)}|\d{{1,6}})"
_BEING = r"(?:ranks?|workers?|process(?:es)?|gpus?|trainers?|actors?|peers?|members?)"
_SUBJECT = (
    rf"(?:(?P<list>(?:(?:all|the|global|local|world) )?(?:ranks?|TP|DP|PP|EP|workers?|process(?:es)?|stages?|nodes?|gpus?)[ #:_-]*\[?\d(?:[\d,\s-]*?[\d,-])??(?: (?:and|to|&) (?:rank )?\d+)?(?:\s{{0,2}}\])?(?: of \d+)?)"
    rf"|(?P<zero>(?:the )?(?:rank[ -]?zero|main process|master(?: rank| process)?|global zero))"
    rf"|(?P<rest>(?:(?:all|every|the|its) )*(?:other|remaining)(?: (?P<some>{_COUNTED}))?(?:(?: (?:trainer|trainers'|training|worker|data|pipeline|tensor|expert|inference|model|policy|local))? {_BEING}(?: stacks?)?)?|(?:(?:all|the) )*(?:(?P<more>{_COUNTED}) )?others|(?:all )?the rest(?: of the {_BEING})?|(?:its |all |the )*(?:(?P<mates>{_COUNTED}) )?(?:\w+ )?peers|every(?:body|one) else)"
    rf"|(?P<count>(?:(?:the|all) )*{_COUNTED} ?(?:[x×]\b|×)?(?: of (?:the )?{_COUNTED})?(?: {_BEING})?(?: on \w+)?))"
)
_VERB = (
    r"(?:stopped|stuck|in|is|are|at|waits?|waiting|blocked|hangs?|has|have|stands?|stays?|sits?|enters?|entered|"
    r"calls?|called|never|finish\w*|left|leaves?|did|does|do|was|were|"
    r"timed|reach\w*|behind|launch\w*|joined|joins?|not|inside|runs?|ran|goes|went|moved|already|still|returns?|returned|skips?|skipped|only|keeps?|spins?|issued?|issues|posts?|posted|makes?|made|execut\w+)"
)
_LEAD = r"(?:(?:\w+ ){1,3}(?:of|on|for|from) )??"
# What is said of whom; "[node7:3967920]" is the host and process that Open MPI puts before a line, "node7:3967:4011" what NCCL does.
_TELLS = regex(
    rf"^(?:[\w =./()+-]{{1,60}}: )??\W*{_LEAD}(?:only |while |whereas |but |and |then )*{_SUBJECT}(?:, (?:all|both|each|every) (?:its |the )?(?:ranks?|processes|workers))?(?:(?:[ ,]+pid[ =:]*\d+)?(?:[ ,]+\"?MainThread\"?)?\s*(?:\([^)]{{0,60}}\)\s*)?[:—–](?!\d+[\]:])\s*|\s+(?={_VERB}\b))(?P<said>.+)$",
    re.I | re.S,
)
_ANYBODY = re.sub(r"\?P<\w+>", "?:", _SUBJECT)
# Where one part of a sentence ends and somebody else is spoken of.
_PARTS = regex(
    rf"(?:[;,]|\.(?= )|\)|\b(?:while|whereas|but|(?<!\d )and|and(?! \d))\b)\s*(?:(?:while|whereas|but|and|then|only) )*(?={_LEAD}{_ANYBODY}\s*(?::|\(|{_VERB}\b))",
    re.I,
)
_MANY = 2  # others of whom nobody says how many are at least so many


@functools.lru_cache(maxsize=16384)
def sayings(line: str) -> tuple[tuple[Who, str], ...]:
    """Each subject of a line with what is said of it; nothing where a line speaks of no ranks."""
    return tuple(_sayings(line[:_LONGEST])) if _ANYONE.search(line) else ()


# A cheap look before the dear one, and a length beyond which no person writes a line.
_ANYONE = regex(
    r"rank|TP|DP|PP|EP|worker|process|stage|node|gpu|main|master|global|others?\b|remaining|rest\b|peers|else|"
    rf"\b{_COUNTED} (?:{_VERB[3:-1]})\b|\b{_COUNTED} of\b|\b{_COUNTED} {_BEING}",
    re.I,
)
_LONGEST = 2000


def _sayings(line: str) -> Iterator[tuple[Who, str]]:
    for part in _PARTS.split(line):
        found = _TELLS.match(part.strip())
        if found is not None:
            yield _who(found), found["said"].strip()


def _who(found: re.Match[str]) -> Who:
    if found["list"]:
        return who("ranks " + re.sub(r"^\D*", "", found["list"]).strip(" ,-[]"))
    if found["zero"]:
        return Who(ranks=RankSet([0]), text=found["zero"])
    if found["rest"]:
        return Who(count=_number(found["some"] or found["more"] or found["mates"]) or _MANY, text=found["rest"])
    return Who(
        count=_number(re.split(r"\s|(?<=\d)[x×]", re.sub("(?i)^(?:(?:the|all) )+", "", found["count"]))[0]) or 1,
        text=found["count"],
    )


def _number(word: str | None) -> int | None:
    if not word:
        return None
    return int(word) if word.isdigit() else _NUMBERS.get(word.lower())
