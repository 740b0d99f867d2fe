"""torchrun's ``error.json``: what ``@record`` writes for a failed worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from ..model.evidence.events import Event
from ..model.patterns import regex
from .lines import lines_of
from .records import Record
from .text import TextReader

NAME = "torchrun error file"

# The message of one is an object too (torch/distributed/elastic/multiprocessing/errors); in a line of a log it is a text.
_BEGINS = regex(r'\s*\{\s*"message"\s*:\s*\{\s*"(?:message|extraInfo)"')


def recognises(text: str) -> bool:
    """Whether a text, or the head of one, is such a file: one object, and not one a line as collectors write them."""
    return _BEGINS.match(text) is not None and "\n{" not in text.lstrip()


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
