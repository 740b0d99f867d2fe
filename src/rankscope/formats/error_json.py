"""torchrun's ``error.json``: what ``@record`` writes for a failed worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..model.evidence.events import Event
from ..model.patterns import regex
from .collected import opened
from .lines import lines_of
from .records import Record
from .text import TextReader

NAME = "torchrun error file"

_BEGINS = regex(r'\s*\{(?:[^{}]{0,200}[{,])?\s*"message"\s*:')


def recognises(text: str) -> bool:
    """Whether a text is such a file: one object, and not one a line as collectors and programs write them to a log."""
    if _BEGINS.match(text) is None or "\n{" in text.lstrip():
        return False
    return "py_callstack" in text or ("timestamp" in text and opened(text.strip()) is None)


def read(text: str) -> Iterator[Record]:
    """What it tells of the failure, the exception with its frames above all, and the time it happened."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return
    message: Any = body.get("message") if isinstance(body, dict) else None
    extra: Any = message.get("extraInfo") if isinstance(message, dict) else None
    stack = extra.get("py_callstack") if isinstance(extra, dict) else None
    when = str(extra.get("timestamp", "")) if isinstance(extra, dict) else ""
    at_s = float(when) if when.isascii() and when.isdigit() and len(when) < 12 else None
    said = message.get("message") if isinstance(message, dict) else message
    text = stack if isinstance(stack, str) else said if isinstance(said, str) else ""
    reader = TextReader(small=False)
    for record in chain(chain.from_iterable(map(reader.take, lines_of(text))), reader.close()):
        if isinstance(record, Event):
            yield Event(record.event, line=1, rank=record.rank, at_s=at_s, text=record.text, fields=record.fields)
