"""Stacks in the middle of a text: frames that somebody pasted without a header, and tracebacks of those who only waited.

A traceback says where a program stood. That is where it failed, unless its error is that a wait took too long or was
interrupted: then it is where it waited, as a stack would show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..model.evidence.events import Event
from ..model.evidence.stacks import Frame, Stack
from ..model.patterns import regex

# Dask's dashboard shows the source behind the name, in one line.
_FRAME = regex(
    r'^(?P<indent>[\s|+]*)File "(?P<file>[^"]+)", line (?P<line>\d+|\?+)(?:, in (?P<name>\S+)(?:\s.*)?)?\s*$'
)
_ERROR = regex(
    r"^[\s|+]*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Expired|Failed)\b(?::|\s*$)"
)
_WAITED = regex(
    r"[Tt]ime[ds]?[ -]?out|[Tt]imed? out|Timeout|Watchdog|KeyboardInterrupt|SIGINT|SIGTERM|SignalException|DistBackendError|"
    r"DistStoreError|[Cc]onnection (?:closed|reset)|closed by peer|NCCL (?:error|communicator)|ncclRemoteError|aborted"
)
# … but who asked a server over HTTP, and gave up, has failed.
GAVE_UP = regex(
    r"^[\s|+]*(?:requests|urllib3|httpx|aiohttp|botocore|http\.client|huggingface_hub)\.[\w.]{1,80}: .{0,300}?"
    r"(?:Max retries exceeded|Connection aborted|[Cc]onnection (?:reset|refused|closed|broken)|(?:Remote|Server )[Dd]isconnected)"
)
_FEWEST = 2  # frames that make a stack; a single one may belong to a warning


@dataclass
class _Run:
    """Frames of one source while its lines come in."""

    frames: list[Frame] = field(default_factory=list)
    indent: int = 0


def stacks_told(events: Iterable[Event]) -> dict[int | None, Stack]:
    """Where each rank that a text speaks of was waiting, by the last such passage; None stands for who has no number."""
    found: dict[int | None, Stack] = {}
    open_: dict[int | None, _Run] = {}
    for event in events:
        if event.event != "text.line":
            continue
        run = open_.setdefault(event.rank, _Run())
        for stack in _fed(run, event.text):
            found[event.rank] = stack
    for rank, run in open_.items():
        found.update((rank, stack) for stack in _ended(run))
    return found


def _fed(run: _Run, text: str) -> Iterator[Stack]:
    """Takes one line; yields the stack that it ends."""
    if frame := _FRAME.match(text):
        number = int(frame["line"]) if frame["line"].isdigit() else 0
        if len(run.frames) < 2048:
            run.frames.append(Frame(frame["name"] or "<module>", frame["file"], number))
        run.indent = len(frame["indent"])
    elif not run.frames or _goes_on(run, text):
        return
    elif _ERROR.match(text) and (not _WAITED.search(text) or GAVE_UP.match(text)):
        run.frames = []
    else:
        yield from _ended(run)


def _goes_on(run: _Run, text: str) -> bool:
    """Whether a line is the source of the last frame, its marks, or an omission."""
    bare = text.strip().strip("|").strip()
    if not bare or set(bare) <= set("^~-. "):
        return True
    return len(text) - len(text.lstrip(" |")) > run.indent and not _ERROR.match(text)


def _ended(run: _Run) -> Iterator[Stack]:
    frames, run.frames = run.frames, []
    if len(frames) >= _FEWEST:
        yield Stack(frames)
