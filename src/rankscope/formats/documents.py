# ruff: noqa: E501  (a row of a pattern is one line)
"""Documents: texts that lie beside the evidence and say nothing of the job: program sources, change logs, manuals.

They are full of the words that rules look for, in no role. Most of their lines are those of a source or sentences, and next to
none shows a mark of running: time stamps, levels, steps, frames, shares of a bar. A person's report is short.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model.evidence.events import Event
from ..model.patterns import regex
from ..model.repeated import found_in, of_texts

# A report or a pasted example is shorter; more lines than this are a file of its own.
LONG = 100
_SOURCE = regex(
    r"\s*(?=\S)(?:def |class |import |from \S+ import|return\b|@\w|#|//|/?\*+(?:\s|/|$)|\.\. |\"\"\"|'''|"
    r"(?:el)?if .*[:{]$|else\b ?[:{]?$|for .*[:{]$|with .*:$|"
    r"while .*[:{]$|try:|except\b.*:$|[\])}]+[;,:]?$|</?\w|\w[\w.]* ?[-+|]?= |#include|.*[;{]$)"
)  # fmt: skip
_SENTENCE = regex(r"(?:[A-Za-z(`\"][A-Za-z’)`\"'-]{0,40}[,;:.]? ){5}|^\s*(?:#{1,6} |[*-] |[|>]|\d{1,3}\. |={3,}|-{3,})")
_RUNNING = regex(
    r"^\s*\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d|\b\d\d:\d\d:\d\d\b|^\s*\[\s*\d+\.\d{3,}\]|"
    r"^\[?(?:INFO|DEBUG|WARN(?:ING)?|ERROR|CRITICAL)\b|^[WEIF]\d{4} |"
    r"\d%\||\bit/s\b|^Traceback |^\s+File \"[^\"]+\", line \d|^(?:Process|Thread|Current thread) (?:0x)?\d|\bRank ?\d|"
    r"\brank\W{0,2}\d|"
    r"\b(?:step|epoch|iter(?:ation)?)\W{0,3}\d"
)  # fmt: skip


# The head of a table of processes, which stands at its top; its rows have neither time stamps nor steps.
_TOP = 8
_PROCESSES = regex(r"^\s*(?:[A-Z%]+ +){0,30}PID +(?:[A-Z%+]+ +){0,30}(?:CMD|COMMAND)\b|^top - \d")

DOCUMENT = "the source of a program or a manual, not what a job said; if it does speak of the job, give that part alone"


def is_document(events: Sequence[Event], frames: int = 0) -> bool:
    """Whether the lines of a text, of which some are frames, are a source or manual and not what a job or its user said."""
    said = [event for event in events if event.event == "text.line" and event.text.strip()]
    if len(said) < LONG or any(_PROCESSES.match(event.text) for event in said[:_TOP]):
        return False
    source = sum(_is_source(event.text) for event in said)
    written = sum(_is_source(event.text) or found_in(event.text, _SENTENCE) for event in said)
    running = frames + sum(
        event.at_s is not None or event.rank is not None or found_in(event.text, _RUNNING) for event in said
    )
    return 2 * written > len(said) > 50 * running or 2 * source > len(said) > 10 * running


@of_texts
def _is_source(line: str) -> bool:
    return _SOURCE.match(line) is not None


# Under such headings one reads what may happen in general and what to do then, not what happened.
_MANUAL = regex(
    r"#{1,4} +(?:\S+ ){0,3}?(?:trouble-?shooting|runbook|play-?book|faq|frequently asked questions|usage|"
    r"install(?:ation|ing)?|quick ?start|getting started|"
    r"change ?log|release notes|added|changed|fixed|removed|deprecated|security|bug ?fixes|new features|known (?:issues|limitations|problems)|"
    r"common (?:\w+ )?(?:errors|problems|issues|pitfalls|failures|hangs)|contributing|configuration|"
    r"requirements|on-?call|when (?:\w+ ){1,3}(?:hangs?|fails?|dies|crashes)|how to\b.*|what to do\b.*|(?:\[?v?\d+\.\d+(?:\.\d+)?\w*\]?)(?: [-–(].*)?|what .*\b(?:usually|typically|often) (?:means?|meant)\b.*)(?: \([^)\n]*\))?\W*$",
    re.IGNORECASE,
)
# The head of a table of messages and of what they stand for.
_MEANINGS = regex(
    r"\|[^|]*\| *(?:what it )?(?:usually|typically|often|mostly|means?|meaning|(?:usual|likely|typical) (?:cause|reason)s?)[^|]{0,20}\|",
    re.IGNORECASE,
)
_HEADING = regex(r"#{1,4} +\S")
# Rules of Prometheus (prometheus.io/docs, "Alerting rules"): a name, and the expression that is watched.
_ALERT = regex(r"\s*- alert: ?\S")
_CONDITION = regex(r"\s*expr: ?\S")


def is_manual(events: Sequence[Event], frames: int = 0) -> bool:
    """Whether a text, however short, is a manual or change log by its headings: no report of somebody, who tells of one case.

    Most of its headings say so, or a table tells what messages stand for, and there is no dump and no line that a program has
    printed; or it is a list of alerts, with what is to raise them.
    """
    said = [event.text for event in events if event.event == "text.line"]
    if sum(_ALERT.match(text) is not None for text in said) > 1 and any(map(_CONDITION.match, said)):
        return True
    headings = [text for text in said if _HEADING.match(text)]
    manual = sum(_MANUAL.match(text) is not None for text in headings)
    explains = 2 * manual > len(headings) or (len(headings) > 1 and any(map(_MEANINGS.match, said)))
    printed = any(event.at_s is not None or _PRINTED.search(event.text) for event in events)
    return explains and not frames and not printed


_PRINTED = regex(
    r"^\s*\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d|^\s*\[?\d\d:\d\d:\d\d|^\s*\[\s*\d+\.\d{3,}\]|"
    r"^\[?(?:INFO|DEBUG|WARN(?:ING)?|ERROR|CRITICAL)\b|^[WEIF]\d{4} |^Traceback |^\s+File \"|"
    r"^(?:Process|Thread|Current thread) (?:0x)?\d|\bit/s\b"
)
