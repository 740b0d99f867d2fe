"""torchrun's ``error.json``: what ``@record`` writes for a failed worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..model.evidence.events import Event
from .events import python
from .records import Record, read_all

NAME = "torchrun error file"


def recognises(text: str) -> bool:
    """Whether a text is such a file: one object, and not one a line as collectors write them."""
    if "\n{" in text.lstrip():
        return False
    return text.lstrip()[:1] == "{" and '"message"' in text[:200] and ("py_callstack" in text or "timestamp" in text)


def read(text: str) -> Iterator[Record]:
    """The exception, with its frames and the time it happened."""
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
    for record in read_all(python.Reader(), text):
        if isinstance(record, Event):
            yield Event(record.event, line=1, at_s=at_s, text=record.text, fields=record.fields)
