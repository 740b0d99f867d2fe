"""Sends and receives that recorders show as not complete, rank by rank in their order: who waits for whom."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.patterns import regex
from ...model.ranks import number_of

# As torchfrtrace prints an entry, and as the recorder names one (``nccl:send 0->1``, ``nccl:recv 1<-0``).
_ENTRY = regex(
    r"\b(?P<call>send|recv)(?:\(s=(?P<source>\d{1,7}),? d=(?P<target>\d{1,7})\b|[ :]{1,2}(?P<me>\d{1,7}) ?(?:->|<-) ?(?P<peer>\d{1,7})\b)"
    r"(?:(?!\b(?:send|recv)\b)[^\n|]){0,200}?\b(?P<state>started|scheduled|completed)\b"
)
# Of sends and receives in one group call no order is told: their entries are never started by themselves.
_GROUPED = r"\bcoalesced\b"


@dataclass(frozen=True)
class Message:
    """A send or receive of a rank, as its recorder has it."""

    owner: int
    peer: int
    sends: bool
    started: bool
    text: str

    @property
    def end(self) -> tuple[int, int, bool]:
        """Which end of which messages it is."""
        return self.owner, self.peer, self.sends

    @property
    def other_end(self) -> tuple[int, int, bool]:
        return self.peer, self.owner, not self.sends


def circle(case: Case) -> list[Message]:
    """What the ranks have begun that wait for each other in a circle: of each message the other end is not begun."""
    if any(account.find(_GROUPED) for account in accounts(case)):
        return []
    begun = [one for one in _messages(case) if one.started]
    ends = {one.end for one in begun}
    waits = [one for one in begun if one.other_end not in ends]
    while len(left := _pruned(waits)) < len(waits):
        waits = left
    return waits


def behind(case: Case, waits: list[Message]) -> bool:
    """Whether of every message that is waited for the other end stands in its rank's queue, behind what that rank waits for."""
    queued = {one.end for one in _messages(case) if not one.started}
    return all(one.other_end in queued for one in waits)


def _pruned(waits: list[Message]) -> list[Message]:
    """Without those who wait for somebody that waits for nobody, and those for whom nobody waits."""
    waiting, awaited = {one.owner for one in waits}, {one.peer for one in waits}
    return [one for one in waits if one.peer in waiting and one.owner in awaited]


def _messages(case: Case) -> list[Message]:
    """All that are not complete, each once."""
    lines = [event.text for account in accounts(case) if account.find(_HAS) for event in account.named("text.line")]
    return list(dict.fromkeys(one for line in lines for found in _ENTRY.finditer(line) for one in _message(found)))


_HAS = r"\b(?:send|recv)(?:\(s=|[ :]{1,2}\d)"


def _message(found: re.Match[str]) -> Iterator[Message]:
    sends = found["call"] == "send"
    ends = (found["source"], found["target"]) if sends else (found["target"], found["source"])
    owner, peer = (number_of(end or "") for end in (ends if found["source"] else (found["me"], found["peer"])))
    if owner is not None and peer is not None and found["state"] != "completed":
        yield Message(owner, peer, sends, found["state"] == "started", found.group())
