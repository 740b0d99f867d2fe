"""What is saved: snapshot files, written with mode 0600 and in one piece, and anybody's evidence, read back."""

from __future__ import annotations

import os
from pathlib import Path

from .. import __version__
from ..errors import RankscopeError
from ..model import wire
from ..model.snapshot import Snapshot

_TRIED_BYTES = 64 << 10  # a quota that is used up is told by the first blocks


class Files:
    """The files of one command: the first job under the given name, further ones with a number before the suffix.

    The place is tried before anything is looked at: a look cannot be repeated when the job has died meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._count = path, 0
        if os.path.exists(path) and not os.path.isfile(path):
            raise _refused(path, "it is no regular file")
        part = _part(path)
        try:
            with os.fdopen(_opened(part), "wb") as file:
                file.write(bytes(_TRIED_BYTES))
        except OSError as error:
            raise _refused(path, error.strerror or str(error)) from error
        finally:
            _gone(part)

    def add(self, snapshot: Snapshot) -> str:
        """Write one more job and say which file has it now."""
        number = self._count + 1
        path = self._path if number == 1 else self._path.with_name(f"{self._path.stem}-{number}{self._path.suffix}")
        older = number > 1 and os.path.lexists(path)  # nobody asked for this name
        _write(path, snapshot)
        self._count = number
        return f"{path}{', in place of an older file' if older else ''}"


def _write(path: Path, snapshot: Snapshot) -> None:
    part = _part(path)
    try:
        # A name that is no UTF-8 may have come as lone surrogates, which no reader of JSON takes.
        with os.fdopen(_opened(part), "w", encoding="utf-8", errors="replace") as file:
            wire.write(snapshot, f"rankscope {__version__}", file.write)
        os.replace(part, path)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from error
    finally:
        _gone(part)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


def _opened(part: Path) -> int:
    return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _gone(part: Path) -> None:
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return  # the folder was not there, or is no folder: told already


def _refused(path: Path, because: str) -> RankscopeError:
    return RankscopeError(f"cannot write the snapshot {path}", because, "-o /tmp/job.snap")


def load(path: Path) -> Snapshot:
    """What was saved: a snapshot file, or the dumps and logs of anybody in a file or directory."""
    from ..formats.gather import gather

    if not os.access(path, os.R_OK):
        raise RankscopeError(f"cannot read {path}", "permission denied", f"ls -ld {path}")
    return gather((path,))
