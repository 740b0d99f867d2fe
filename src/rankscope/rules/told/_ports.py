"""At which port a job meets, for the commands that ask about it."""

from __future__ import annotations

from collections.abc import Iterable

from ...analysis.case import Case
from ...model.evidence.environ import Environ
from ...model.patterns import regex

USUAL = "29500"  # torchrun's own, and the one in torch's examples
# As sockets, torch's store and people write it: ``[::ffff:10.0.0.1]:25205``, ``node1:29500``, ``port: 18479``, ``port 1234``.
_PORT = regex(r"\bport[:=]? {0,2}(\d{4,5})\b|(?<=[\w\]]):(\d{4,5})\b(?![:.]\d)")
_SOURCE = regex(r"\.(?:c|cc|cpp|cu|h|hpp|py|pyx|rs|go):\d{1,6}\b")  # a line of a program is no port


def asking(steps: Iterable[str], case: Case, lines: Iterable[str]) -> tuple[str, ...]:
    """These steps with the port of which the lines speak, or else the one that all ranks were given, instead of the usual one."""
    port = _of(lines) or _given(case)
    return tuple(step.replace(USUAL, port) for step in steps) if port else tuple(steps)


def _of(lines: Iterable[str]) -> str:
    """The only port in these lines; "" for none, and where they speak of several."""
    found = {one for line in lines for pair in _PORT.findall(_SOURCE.sub("", line)) for one in pair if one}
    return found.pop() if len(found) == 1 else ""


def _given(case: Case) -> str:
    known = (member.latest(Environ) for member in case.by_rank.values())
    found = {one.values.get("MASTER_PORT", "") for one in known if one} - {""}
    return found.pop() if len(found) == 1 and all(map(str.isdigit, found)) else ""
