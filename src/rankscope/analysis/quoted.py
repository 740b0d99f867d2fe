"""Where the lines stand that a finding quotes: the file and the number of the line, so that its reader can open it there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..model.diagnosis import Finding, Reason
from ..model.evidence.events import Event
from ..model.patterns import regex
from .accounts import accounts
from .case import Case
from .remembered import remembered

# So many characters of a line find it, and so many must agree; fewer than the last may stand anywhere.
_KEY, _AGREE, _LEAST = 32, 100, 8
# A quote is the end of a sentence: ``the driver cannot open a GPU any more: Unable to determine …``.
_BEGINS = regex(r": ")
_MOST = 4  # colons of a sentence behind which a quote may begin
_FEW = 5000  # lines that are searched from end to end


def located(case: Case, finding: Finding) -> Finding:
    """A finding of saved evidence whose reasons tell where the lines stand that they quote, or whose stack it is."""
    reasons = tuple(_placed(case, one) for one in finding.because)
    return dataclasses.replace(finding, because=reasons) if reasons != finding.because else finding


def _placed(case: Case, reason: Reason) -> Reason:
    if reason.place or reason.process is not None:
        return reason
    found = next((event for quote in _quotes(reason.text) if (event := _quoted(case, quote)) is not None), None)
    if found is not None:
        return dataclasses.replace(reason, place=f"{found.file}:{found.line}")
    return dataclasses.replace(reason, place=reason.evidence) if reason.evidence in _subjects(case) else reason


def _quotes(text: str) -> Iterator[str]:
    """What may be the quote in a sentence: all of it, or what stands behind one of its first colons."""
    starts = [0, *(found.end() for found in _BEGINS.finditer(text))][: _MOST + 1]
    yield from (text[start:] for start in starts if len(text) - start >= _LEAST)


def _quoted(case: Case, quote: str) -> Event | None:
    """The first line of the evidence that is quoted so, or that has the quote behind its own head where there are not many."""
    event, agree = _first_lines(case).get(quote[:_KEY]), quote[:_AGREE]
    if event is not None and event.text.strip().startswith(agree):
        return event
    few = case.events if len(case.events) <= _FEW and len(quote) >= _KEY else ()
    return next((one for one in few if one.line > 0 and agree in one.text), None)


@remembered
def _first_lines(case: Case) -> dict[str, Event]:
    """By how they begin, the first line that begins so."""
    found: dict[str, Event] = {}
    for event in case.events:
        line = event.text.strip()
        if event.line > 0 and len(line) >= _LEAST:
            found.setdefault(line[:_KEY], event)
    return found


@remembered
def _subjects(case: Case) -> frozenset[str]:
    """The names of those whose stacks or lines were saved, where there are several."""
    labels = frozenset(one.label for one in accounts(case))
    return labels if len(labels) > 1 else frozenset()
