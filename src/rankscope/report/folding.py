"""Long runs of frames on few lines: what the job itself wrote is shown, what libraries do inside is folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..analysis.frames import plain_name
from ..analysis.origin import Origin, module_path, origin
from ..model.evidence.stacks import Frame
from .plain import clean

_RUNTIME = re.compile(r"^(lib)?(c|pthread|stdc\+\+|python[\d.]*\w?)$|^ld-linux")


@dataclass(frozen=True)
class Run:
    """Some frames that are shown as one piece of text; ``first`` and ``last`` count within what was folded."""

    text: str
    first: int
    last: int
    user: bool


def fold(frames: Sequence[Frame], names: dict[str, str]) -> Iterator[Run]:
    """The runs of frames in order. ``names`` gives the short name of each of the job's own files."""
    at = 0
    for (home, _), group in groupby(enumerate(frames), key=lambda item: _key(item[1], item[0])):
        held = [frame for _, frame in group]
        yield from _own(held, at, names) if not home else (_library(home, held, at),)
        at += len(held)


def _key(frame: Frame, at: int) -> tuple[str, int]:
    kind = origin(frame)
    if kind is Origin.NATIVE:
        home = _soname(frame.library or "")
        # Who asks for native frames wants to see them, but not how the C library and the interpreter start and wait.
        return home, -1 if _RUNTIME.match(home) else at
    if kind is Origin.STDLIB:
        return "python", -1
    if kind is Origin.LIBRARY:
        return re.sub(r"\.py$", "", module_path(frame.file).split("/", 1)[0]), -1
    return "", -1


def _own(frames: list[Frame], at: int, names: dict[str, str]) -> Iterator[Run]:
    """Each frame for itself; one that calls itself again and again is shown once."""
    for frame, group in groupby(frames):
        times = len(list(group))
        where = names.get(frame.file, frame.file)
        again = f" ×{times}" if times > 1 else ""
        yield Run(clean(f"{frame.function} ({where}:{frame.line}){again}"), at, at + times - 1, True)
        at += times


def _library(home: str, frames: list[Frame], at: int) -> Run:
    last = frames[-1]
    if last.library is not None:
        place = f"{last.file.rsplit('/', 1)[-1]}:{last.line}" if last.file and last.line else ""
    else:
        place = f"{module_path(last.file).removeprefix(home + '/')}:{last.line}"
    count = f"{len(frames)} frames" if len(frames) > 2 else ""
    about = ", ".join(word for word in (place, count) if word)
    names = list(map(_name, (frames[0], last) if len(frames) > 1 else (last,)))
    text = f"{home}: {' … '.join(names)}" + (f" ({about})" if about else "")
    return Run(clean(text, 300), at, at + len(frames) - 1, False)


def _name(frame: Frame) -> str:
    return plain_name(frame.function) or frame.function if frame.library is not None else frame.function


def _soname(library: str) -> str:
    return re.sub(r"(?:\.cpython-[\w-]*|\.abi3)?\.so[\d.]*$", "", library.rsplit("/", 1)[-1]) or "native"


def short_names(files: Iterable[str]) -> dict[str, str]:
    """The last parts of each path, as many as tell it from the others."""
    out: dict[str, str] = {}
    for file in sorted(set(files)):
        parts = file.split("/")
        keep = 1
        while keep < len(parts) and any(
            other != file and other.split("/")[-keep:] == parts[-keep:] for other in set(files)
        ):
            keep += 1
        out[file] = "/".join(parts[-keep:])
    return out
