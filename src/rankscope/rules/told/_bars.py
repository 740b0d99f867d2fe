"""Progress bars that show somebody at work: they have run for minutes, or for as long as the limit that expired."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.patterns import regex
from ._lines import events


def busy_bars(case: Case) -> Iterator[str]:
    """Progress bars that are not done and have run for minutes, or for as long as a shorter limit allows: somebody works."""
    last: dict[str, tuple[int, str]] = {}
    limit = _limit(case)
    long = min(_LONG_S, limit or _LONG_S)
    over = any(one.find(_LEFT_EARLY) for one in accounts(case))
    for event in events(case, "progress.bar"):
        percent, elapsed = event.fields.get("percent"), _seconds(str(event.fields.get("elapsed", "")))
        label = str(event.fields.get("label", ""))[:60].strip() or "progress"
        if percent == 100:
            last[label] = (0, "")
        # A bar of the same name that has run for less is that of another rank.
        elif isinstance(percent, int) and elapsed >= last.get(label, (0, ""))[0]:
            # Items of a data set that is prepared, and long to go: the limit may expire long before.
            ahead = _seconds(_TO_GO.search(event.text)[1]) if _ITEMS.search(event.text) else 0  # type: ignore[index]
            stands = _OF_STEPS.match(label) is not None and elapsed < _NEARLY * limit
            # Its first step has not been made, or its loop was left before its end: who has the bar waits, too.
            own = label == "progress" or _OF_STEPS.match(label) is not None
            stands = stands or (own and (over or _NOTHING_DONE.search(event.text) is not None))
            # It ran long before the wait began of which the limit expired: it counts the steps that all make.
            stands = stands or (own and not ahead and 0 < _LONG_BEFORE * limit < elapsed)
            last[label] = (
                0 if stands else max(elapsed, ahead),
                f"{label} {percent}% after {event.fields.get('elapsed')}",
            )
    for elapsed, text in (*last.values(), *_without_an_end(case)):
        if elapsed >= long:
            yield text


def _without_an_end(case: Case) -> Iterator[tuple[int, str]]:
    """Bars of a data set that is read or made, of which nobody knows how much is to come."""
    last: dict[str, tuple[int, str]] = {}
    for event in events(case, "text.line"):
        if _RATE not in event.text:
            continue  # most lines: the pattern looks behind every word
        for found in _NO_TOTAL.finditer(event.text[:_LONGEST]):
            label, elapsed = found["label"].strip(), found["elapsed"]
            last[label] = (_seconds(elapsed), f"{label}: {found['done']} {found['what']} after {elapsed}")
    yield from last.values()


_RATE = "/s]"
_LONGEST = 2000  # characters of a line
# tqdm's form where it has no total.
_NO_TOTAL = regex(
    r"(?P<label>\b[A-Za-z][\w .()-]{2,60}): (?P<done>\d+) ?(?P<what>examples|files|shards|docs|lines|rows|samples) "
    r"\[(?P<elapsed>[\d:]+), "
)


_LONG_S = 240
_NOTHING_DONE = regex(r"\b0/\d+ \[[\d:]+<\?")
_LEFT_EARLY = (
    r"^Training completed\. Do not forget to share your model"  # transformers/trainer.py, at the end of its loop
)
_OF_STEPS = regex(r"(?:train|epoch|step|iter|fit|sft|grpo|ppo|pretrain)\w*\b", re.IGNORECASE)
_LONG_BEFORE = 2.0  # limits
_NEARLY = 0.8  # of the limit: a bar of steps that stopped long before it expired is of those who wait


def _limit(case: Case) -> float:
    """The limit that expired, in seconds; 0 where none is told."""
    told = [event.fields.get("timeout_ms") for event in events(case, "torch.watchdog_timeout")]
    return max((one / 1000 for one in told if isinstance(one, int)), default=0.0)


_ITEMS = regex(r"\d:\d\d<(?:\d+:)?\d+:\d\d, [^\]]*(?:examples|files|shards|docs|lines|rows|tokens|samples|MB|GB)/s")
_TO_GO = regex(r"<((?:\d+:)?\d+:\d\d)")


def _seconds(text: str) -> int:
    total = 0
    for part in text.split(":"):
        total = total * 60 + (int(part) if part.isdigit() else 0)
    return total
