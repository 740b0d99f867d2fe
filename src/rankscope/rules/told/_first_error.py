"""The earliest exception that is nobody else's: those that only pass on what happened elsewhere come after it."""

# ruff: noqa: E501  (a list of words is one line)
from __future__ import annotations

import re
from collections.abc import Mapping

from ...analysis.accounts import outlived
from ...analysis.case import Case
from ...analysis.clocks import offsets, source_of
from ...analysis.endings import went_on
from ...analysis.papers import papers
from ...analysis.passages import GAVE_UP
from ...model.evidence.events import Event
from ...model.patterns import regex
from ._lines import events

# Exceptions that only pass on what happened elsewhere.
_CASCADE = regex(
    r"Connection (?:closed|reset|refused)|closed by peer|Broken pipe|ChildFailedError|DistBackendError|DistStoreError|"
    r"DistNetworkError|NCCL (?:error|communicator)|ncclRemoteError|ncclSystemError|"
    r"Timed out|timed? ?out|Timeout|Watchdog|gloo|SIGTERM|SignalException|KeyboardInterrupt|ProcessExitedException|"
    r"ProcessRaisedException|CalledProcessError|Engine core|EngineDead|ActorDied|ActorUnavailable|"
    r"ActorHandleNotFound|StreamClosed|CommClosed|ChildProcessError|RayActorError|RayTaskError|WorkerCrashed|EOFError|"
    r"Rendezvous|wait timeout|Exception ignored|monitoredBarrier|collective|shutdown|Event loop is closed|\bpeer|"
    r"remote|"
    # Who started it tells that it went, and not why.
    r"\b(?:scheduler|worker|engine|detokenizer|server|child|sub-?process)\w*(?: process)? (?:died|exited|crashed|ended|terminated)\b[^\n]{0,60}\bexit ?code|"
    # A check that compares the ranks says that they differ, not that one of them fails.
    r"\b(?:differ\w*|inconsistent|mismatch\w*|not the same) (?:across|between|among) (?:the |all |different )?(?:GPUs|ranks|processes|workers|devices)\b|"
    r"error code(?: is|:) ?(?:107019|107020|507046|507047|507048)\b",  # CANN's rt_error_codes.h: a wait, task, stream, event, FFTS+ timed out
    re.I,
)  # fmt: skip


def first_error(case: Case) -> Event | None:
    """The earliest exception that is not a consequence of another; by time where lines have one, else by order."""
    said = [
        event
        for event in events(case, "python.exception")
        if event.file not in papers(case) and not (consequence(event) or outlived(case, event) or went_on(case, event))
    ]
    if len(said) < 2:
        return said[0] if said else None
    logged = {(one.file, one.line): one.at_s for one in case.events if one.at_s is not None}
    times = [event.at_s or _logged_with(event, logged) for event in said]
    if None in times:
        return said[0]
    ahead = offsets(case.events)
    return min(zip(said, times), key=lambda pair: (pair[1] or 0.0) - ahead.get(source_of(pair[0]), 0.0))[0]


def _logged_with(event: Event, logged: Mapping[tuple[str, int], float | None]) -> float | None:
    """The time of the line that a traceback follows: ``logging.exception`` writes the two as one record."""
    began = event.fields.get("began")
    return logged.get((event.file, began - 1)) if isinstance(began, int) else None


_HANDLED = regex(r"\bWARN(?:ING)?\b|\b(?:skipp|ignor|retry|continu)(?:ing|ed)\b|\bretried\b|\bskip\b", re.I)
# They end nothing, or are words of the kernel's file systems, which only look like names of errors.
_NO_ERRORS = ("Exception", "SystemExit", "StopIteration", "LustreError", "LNetError")


def consequence(event: Event) -> bool:
    """Whether an exception only passes on what happened elsewhere, ends nothing, or was dealt with."""
    text = f"{event.fields.get('type')}: {event.fields.get('message')}"
    if _HANDLED.search(event.text):
        return True  # the program said so and went on
    kind = str(event.fields.get("type", "")).rsplit(".", 1)[-1]
    passed_on = _CASCADE.search(text) is not None and GAVE_UP.match(text) is None
    return passed_on or kind.endswith("Warning") or kind in _NO_ERRORS
