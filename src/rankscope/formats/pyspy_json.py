"""``py-spy dump --json``: a list of threads, or an object with one per process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..model.evidence.stacks import Frame, Local, PythonThread, Stack, Trust
from ..model.gap import Gap, Why
from ..model.patterns import regex
from .records import Dump, Record

NAME = "py-spy dump --json"

_BEGIN = regex(r"[\[{]")
# One that breaks off is a list of processes of threads of frames of locals; what is no JSON is not tried at every bracket.
_MOST_BROKEN = 16


def recognises(text: str) -> bool:
    """Whether a text is such JSON."""
    head = text[:4000]
    return head.lstrip()[:1] in ("[", "{") and '"frames"' in head and '"thread_id"' in head


def read(text: str) -> Iterator[Record]:
    """All threads; several documents may follow each other, what is no thread is left out. Of one that breaks off, what is whole
    in it counts."""
    decoder, at, broken, torn = json.JSONDecoder(), 0, 0, False
    while found := _BEGIN.search(text, at):
        try:
            body, at = decoder.raw_decode(text, found.start())
            torn = False
        except (ValueError, RecursionError):
            at, broken, torn = found.end(), broken + 1, True
            if broken == _MOST_BROKEN:
                break
            continue
        yield from _threads(body)
    if torn:
        yield Gap("", Why.DAMAGED, f"{NAME}: it breaks off")


def _threads(body: Any) -> Iterator[Record]:
    for item in body if isinstance(body, list) else [body]:
        if isinstance(item, list) or (isinstance(item, dict) and "threads" in item):
            yield from _threads(item if isinstance(item, list) else item["threads"])
        elif isinstance(item, dict) and isinstance(item.get("frames"), list):
            yield _dump(item)


def _dump(item: dict[str, Any]) -> Dump:
    raw = [frame for frame in item["frames"] if isinstance(frame, dict)][:2048]
    frames = [_frame(frame) for frame in reversed(raw)]
    thread = PythonThread(
        tid=_int(item.get("os_thread_id")), stack=Stack(frames), name=_text(item.get("thread_name")),
        trust=Trust.REPORTED, holds_gil=item.get("owns_gil") is True,
        active=item["active"] if isinstance(item.get("active"), bool) else None,
        locals=tuple(_locals(list(reversed(raw)))),
    )  # fmt: skip
    native = any(frame.library is not None for frame in frames)
    info = item.get("process_info")
    command = _text(info.get("command_line")) if isinstance(info, dict) else None
    return Dump(thread, NAME, native=native, pid=_int(item.get("pid")), command=command)


def _frame(frame: dict[str, Any]) -> Frame:
    file = _text(frame.get("filename")) or _text(frame.get("short_filename")) or ""
    python = (
        file.endswith((".py", ".pyx"))
        or file.startswith("<")
        or (frame.get("is_shim_entry") is not None and not frame.get("module"))
    )
    library = None if python else _text(frame.get("module")) or None
    return Frame(_text(frame.get("name")) or "?", file, _int(frame.get("line")) or 0, library)


def _locals(frames: list[dict[str, Any]]) -> Iterator[Local]:
    for depth, frame in enumerate(frames):
        held = frame.get("locals")
        for item in held if isinstance(held, list) else ():
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                yield Local(depth, item["name"][:100], str(item.get("repr"))[:200])


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(value: Any) -> str | None:
    return value[:4096] if isinstance(value, str) else None
