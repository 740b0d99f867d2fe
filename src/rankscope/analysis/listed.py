"""Stacks that somebody listed: one frame a line, in a tool's words or nearly so, without its headers.

``name (file.py)``, ``#3 ns::name(args) at file.cc:9``, ``ns::Class::name``: two such lines in a row are a stack. Which end
is the deepest is told by the frames themselves: a program begins in ``main`` or ``<module>`` and ends in a wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..model.evidence.stacks import Frame, Stack
from ..model.patterns import regex
from ..model.repeated import of_texts
from .frame_tables import WaitKind
from .frames import kind_of, plain_name

_PYTHON = regex(
    r"^\W{0,8}(?P<name><?[A-Za-z_][\w.<>]*>?) "
    r"\((?P<file><?[^()\s]+?(?:\.pyx?|\.pxi|\.pyc|_bootstrap(?:_external)?>))(?::(?P<line>\d+|\?))?\)(?:\s.*)?$"
)
_NATIVE = regex(
    r"^\W{0,4}(?P<number>#\d+\s+)?(?:0x[0-9a-f]+ in )?(?P<name>[A-Za-z_~][\w:~.@]*(?:<[^()]*>[\w:~]*)?)"
    r"(?P<rest>\s*\(.*\))?(?: const)?(?:\s+(?:from|at|in|\+)\s.*|\s*\[0x\w+\])?\s*$"
)
_OF_LIBRARY = regex(
    r"^\W{0,8}(?P<name>[A-Za-z_~][\w:~.@<>, *&]*) \((?P<library>[\w./@+-]*\.so(?:\.[\w.]*)?)(?::\d+)?\)$"
)
# Dots and dashes are no letters either.
_GAP = regex(r"^\W*(?:(?:\(garbage collect\w*\)|<signal handler called>)\W*)?$")
_ROOTS = regex(
    r"^(?:<module>|_?main|__libc_start_main\w*|_start|start_thread|clone3?|_bootstrap(?:_inner)?|thread_start|"
    r"run_forever|Py_RunMain|Py_BytesMain)$"
)
_WAITS = {
    WaitKind.LOCK,
    WaitKind.CONDITION,
    WaitKind.GIL,
    WaitKind.PIPE,
    WaitKind.SOCKET,
    WaitKind.CHILD,
    WaitKind.SLEEP,
    WaitKind.DEVICE,
    WaitKind.QUEUE,
    WaitKind.COLLECTIVE,
    WaitKind.P2P,
    WaitKind.IMPORT_LOCK,
    WaitKind.FILE_LOCK,
    WaitKind.INPUT,
}
_FEWEST, _MOST = 2, 512


def stacks_listed(lines: Iterable[str]) -> tuple[Stack, ...]:
    """The stacks in a text, root first, in the order in which they stand there."""
    return tuple(_upright(run) for run in _runs(lines) if any(map(_known, run)))


_ARROW = regex(r"\s(?:->|→|=>|<-|←|<=|<)\s")


@of_texts
def _arrowed(line: str) -> tuple[Frame, ...]:
    """The frames of a line that shows a stack with arrows, deepest first; none where it is no stack."""
    parts = [part.strip(" .,;`") for part in _ARROW.split(line[:800])]
    frames = [frame for part in parts if (frame := _frame(re.sub(r"^[^:]{0,40}(?<!:): (?!:)", "", part))) is not None]
    if len(parts) < 3 or len(frames) < len(parts) - 1:
        return ()
    return tuple(frames if re.search(r"<-|←|<=|\s<\s", line) else frames[::-1])


def _runs(lines: Iterable[str]) -> Iterator[Sequence[Frame]]:
    run: list[Frame] = []
    for line in lines:
        if arrowed := _arrowed(line):
            yield arrowed
            continue
        frame = _frame(line)
        if frame is not None and len(run) < _MOST:
            run.append(frame)
        elif not _GAP.match(line) or not line.strip():
            if len(run) >= _FEWEST:
                yield run
            run = []
    if len(run) >= _FEWEST:
        yield run


@of_texts
def _frame(line: str) -> Frame | None:
    """The frame that a line shows, None where it shows none."""
    text = line[:400]
    if found := _PYTHON.match(text):
        number = found["line"] or ""
        return Frame(found["name"], found["file"], int(number) if number.isdigit() else 0)
    if found := _OF_LIBRARY.match(text):
        return Frame(found["name"], "", 0, found["library"])
    found = _NATIVE.match(text)
    if found is None:
        return None
    name = plain_name(found["name"])
    if found["number"] or "::" in name or name.startswith(("Py", "_Py")) or kind_of(Frame(name, "", 0)) is not None:
        return Frame(name, "", 0)
    return None


def _known(frame: Frame) -> bool:
    return bool(frame.file) or kind_of(frame) is not None


def _upright(run: Sequence[Frame]) -> Stack:
    """The frames root first: turned round where the list began with the deepest."""
    first, last = run[0], run[-1]
    if _ROOTS.match(first.function) or (_waits(last) and not _waits(first)):
        return Stack(run)
    return Stack(reversed(run))


def _waits(frame: Frame) -> bool:
    return kind_of(frame) in _WAITS
