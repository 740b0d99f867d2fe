"""A launcher that was told by SIGTERM to end its job: by a scheduler, a time limit or a person, for a reason it does not know.

torchrun passes the signal on to its ranks and ends itself with an exception (torch/distributed/elastic/multiprocessing/api.py).
"""

from __future__ import annotations

from ...analysis.case import Case
from ...analysis.remembered import remembered
from ._signs import Hit, Sign, hits
from ._wordings import HALTS

# SIGINT and SIGTERM, with which people and schedulers end a job that they want no more.
ASKED = r"(?:2|15|Signals\.SIG(?:INT|TERM))"
_TOLD = r"got signal: (?:15|Signals\.SIGTERM)\b|Received (?:15|Signals\.SIGTERM) death signal"
_OTHERS = (
    r"\b(?:killed|lost|other|remaining) (?:node|host|agent|pod)s?\b|Connection (?:closed|reset) by (?:remote )?peer"
)
# Others that are left miss its ranks.
MISSED = Sign(_TOLD, "the launcher got a signal and ended its ranks", anywhere=(rf"{HALTS}|{_OTHERS}",))
_ASKED_TO_END = Sign(_TOLD, "the launcher got SIGTERM and ended its ranks", unless=(rf"{HALTS}|{_OTHERS}",))


@remembered
def asked_to_end(case: Case) -> tuple[Hit, ...]:
    """Where a launcher says so, and nobody is seen to miss its ranks."""
    return tuple(hits(case, (_ASKED_TO_END,)))
