"""A table of signs: wordings and frames that give a mechanism away, and who shows them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...analysis.accounts import Account, Mention, accounts, compiled, outlived, says
from ...analysis.case import Case
from ...analysis.listings import listings, pages
from ...analysis.long_past import long_past
from ...analysis.needles import possible
from ...analysis.recovered import recovered
from ...analysis.remembered import remembered
from ...analysis.trials import cured
from ...model.diagnosis import Certainty
from ...model.evidence.events import Event
from ...model.patterns import regex
from ._wordings import routine, troubled

LIKELY, POSSIBLE, CERTAIN = Certainty.LIKELY, Certainty.POSSIBLE, Certainty.CERTAIN


@dataclass(frozen=True)
class Sign:
    """One wording or frame that gives a mechanism away.

    ``pattern`` and all of ``also`` must be found in one subject, ``anywhere`` somewhere in the case, ``unless`` nowhere
    in it. ``speaker`` says that whoever shows the sign is at fault.
    """

    pattern: str
    says: str
    certainty: Certainty = LIKELY
    also: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    speaker: bool = True
    prose: bool = False  # it is understood from stacks and from what people write, not from logs
    passing: bool = False  # it is over where its log goes on with steps
    until: str = ""  # what ends it, where the same log tells so later
    cures: bool = False  # it is a change that somebody made, and counts where it ended the trouble

    @property
    def passes(self) -> bool:
        """Whether it is over where its log goes on with steps: also what people write, and what may be a sign.

        A program's own error is not: stdout is buffered and stderr is not, so that steps come out after it which were
        made before.
        """
        return self.passing or self.prose or self.certainty is POSSIBLE


@dataclass(frozen=True)
class Hit:
    """A sign that is there, in whose account, and the line that shows it."""

    sign: Sign
    account: Account
    line: str


def hits(case: Case, signs: Iterable[Sign], live_stacks: bool = False) -> Iterator[Hit]:
    """Every sign that is there, once per subject; of a live job the stacks count only for rules that ask for them."""
    asked = _everybody(case) if live_stacks or not case.snapshot.live else _texts(case)
    for sign in signs if asked.accounts else ():
        if _is_there(case, sign, asked):
            yield from (hit for one in asked.accounts if (hit := _hit(case, sign, one)) is not None)


def _is_there(case: Case, sign: Sign, asked: _Asked) -> bool:
    """Whether somebody shows a sign, in a case that allows it. First what is rarely there: a long log is searched for each
    pattern, and of a thousand ranks none need be asked for words that nobody has."""
    if not (troubled(case) if sign.cures else possible(sign.pattern, asked.grams)):
        return False
    found = asked.accounts
    return (
        any(_mention_of(one, sign) is not None for one in asked.who_may_show(sign))
        and not any(_speaks(one, pattern, _AGAINST) for pattern in sign.unless for one in found)
        and all(any(_speaks(one, pattern, _FOR) for one in found) for pattern in sign.anywhere)
    )


# What is installed everywhere says nothing of what went on: a package, loopback itself. Nor does a file system with room
# explain anything away; what kind of file system it is may tell something.
_INSTALLED = (
    r"[\w.-]+(?:\[[\w,-]+\])? ?==? ?v?\d+\.\S*|[A-Za-z][\w.-]* {2,}v?\d+(?:\.\w+)+(?: {2,}\S+){0,2}|"
    r"(?:127\.0\.0\.1|::1)\s+(?:localhost|ip6-)\b.*"
)
_FOR, _AGAINST = regex(rf"(?:{_INSTALLED})$"), regex(rf"(?:{_INSTALLED}|\S.* [0-8]?\d% +/\S*)$")


def _speaks(one: Account, pattern: str, beside: re.Pattern[str]) -> bool:
    """Whether a subject says something that bears on a sign, in more than lines that only list what is there (``beside``)."""
    first = one.mention(pattern)
    return first is not None and (
        not beside.match(first.line) or any(not beside.match(other.line) for other in one.mentions(pattern))
    )


def _hit(case: Case, sign: Sign, one: Account) -> Hit | None:
    """A sign in what one subject shows, unless that is over, a table's or ended."""
    said = _stated(one, sign)
    if said is None or not all(one.find(pattern) for pattern in sign.also):
        return None
    shown = _lines_of(one, sign)
    lines = [event for event in shown if not routine(event.text)] or shown
    if _only_listed(case, lines) or _over(case, lines, sign) or _ended(one, sign, lines):
        return None
    doubted = said.doubted or _may_be(case, lines)
    return Hit(replace(sign, certainty=POSSIBLE) if doubted else sign, one, said.line)


@dataclass(frozen=True)
class _Asked:
    """Subjects that are asked, and all that their texts are made of."""

    accounts: tuple[Account, ...]
    grams: frozenset[str]

    def who_may_show(self, sign: Sign) -> Iterator[Account]:
        """Those whose texts may have a sign: a thousand that say the same are asked as one. What ended a trouble is told by
        sentences, which are read anyhow."""
        for one, *others in self._kinds[sign.prose]:
            if sign.cures or one.may_mention(sign.pattern, sign.prose):
                yield from (one, *others)

    @functools.cached_property
    def _kinds(self) -> tuple[list[list[Account]], list[list[Account]]]:
        """The subjects by kinds: of their texts, and of what people wrote in them."""
        return self._by_kind(prose=False), self._by_kind(prose=True)

    def _by_kind(self, prose: bool) -> list[list[Account]]:
        kinds: dict[object, list[Account]] = {}
        for one in self.accounts:
            kinds.setdefault(one.kind(prose), []).append(one)
        return list(kinds.values())


@remembered
def _everybody(case: Case) -> _Asked:
    return _asked(accounts(case))


@remembered
def _texts(case: Case) -> _Asked:
    """Those that no process of a live job stands for."""
    return _asked(one for one in accounts(case) if not one.refs)


def _asked(found: Iterable[Account]) -> _Asked:
    them = tuple(found)
    return _Asked(them, frozenset().union(*(one.grams for one in them)))


def _stated(account: Account, sign: Sign) -> Mention | None:
    """Where it shows a sign in more than what a program announces at its start: what befell it may come later."""
    first = _mention_of(account, sign)
    if first is None or not routine(first.line):
        return first
    others = account.mentions(sign.pattern, sign.prose) if not sign.cures else ()
    return next((one for one in others if not routine(one.line)), None)


def _mention_of(account: Account, sign: Sign) -> Mention | None:
    """The line in which one subject shows a sign."""
    if not sign.cures:
        return account.mention(sign.pattern, sign.prose)
    line = cured(account, compiled(sign.pattern))
    return Mention(line) if line else None


def _lines_of(account: Account, sign: Sign) -> list[Event]:
    """The single lines that show a sign."""
    return [event for event in account.events if says(sign.pattern, event.text)]


def _over(case: Case, said: list[Event], sign: Sign) -> bool:
    """Whether every line that shows a sign was followed by more steps, of an error by the clock, or by what ends it."""
    return bool(said) and all(
        outlived(case, event, by_clock=not sign.passes) or recovered(case, event) for event in said
    )


def _only_listed(case: Case, said: list[Event]) -> bool:
    """Whether every line that shows a sign stands in a table of names or a list of changes."""
    return bool(said) and all(event.file in listings(case) for event in said)


def _may_be(case: Case, said: list[Event]) -> bool:
    """Whether every line that shows a sign tells of what may happen, or of days long before."""
    return bool(said) and all(event.file in pages(case) or long_past(case, event) for event in said)


def ended(account: Account, sign: Sign) -> bool:
    """Whether the same log tells later that what a sign shows has ended."""
    return _ended(account, sign, _lines_of(account, sign))


def _ended(account: Account, sign: Sign, said: list[Event]) -> bool:
    """The same, of the single lines that show the sign."""
    if not sign.until:
        return False
    last = {event.file: event.line for event in said}
    return bool(last) and last == {
        event.file: last[event.file]
        for event in account.events
        if event.line >= last.get(event.file, event.line + 1) and _ends_in(event, sign, last[event.file])
    }


def _ends_in(event: Event, sign: Sign, last: int) -> bool:
    """Whether a line tells of the end: a later one, or the same behind the sign."""
    behind = max((found.end() for found in compiled(sign.pattern).finditer(event.text)), default=0)
    return compiled(sign.until).search(event.text, behind if event.line == last else 0) is not None
