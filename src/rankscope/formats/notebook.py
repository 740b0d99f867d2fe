"""A notebook (Jupyter, nbformat 4): what its cells printed and raised; not their source, which says nothing of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .collected import Collected, each_line

_HEAD = 4096


def recognises(head: bytes) -> bool:
    """Does a file begin like a notebook?"""
    begin = head[:_HEAD].lstrip()
    return begin[:1] == b"{" and b'"cells"' in begin and b'"cell_type"' in head


def printed(data: bytes) -> list[Collected]:
    """The outputs in the order of the cells; none where it is damaged."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return [line for text in _outputs(body) for line in each_line(text)]


def _outputs(body: Any) -> Iterator[str]:
    for cell in _list(body, "cells"):
        for output in _list(cell, "outputs"):
            if isinstance(output, dict):
                data = output.get("data")
                yield _text(output.get("text"))
                yield _text(data.get("text/plain") if isinstance(data, dict) else None)
                yield "\n".join(map(_text, _list(output, "traceback")))


def _list(body: Any, key: str) -> list[Any]:
    held = body.get(key) if isinstance(body, dict) else None
    return held if isinstance(held, list) else []


def _text(held: Any) -> str:
    """nbformat's multi-line string: one, or a list of its lines."""
    parts = [held] if isinstance(held, str) else held if isinstance(held, list) else ()
    return "".join(part for part in parts if isinstance(part, str))
