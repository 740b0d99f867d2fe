"""What is saved: snapshot files, written with mode 0600 and in one piece, and anybody's evidence, read back."""

from __future__ import annotations

import os
from pathlib import Path

from .. import __version__
from ..errors import RankscopeError
from ..model import wire
from ..model.snapshot import Snapshot


def write(path: Path, snapshots: list[Snapshot]) -> None:
    """One file per job: the first under the given name, further ones with a number before the suffix."""
    for number, snapshot in enumerate(snapshots):
        name = path if number == 0 else path.with_name(f"{path.stem}-{number + 1}{path.suffix}")
        _write(name, snapshot)


def _write(path: Path, snapshot: Snapshot) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
            wire.write(snapshot, f"rankscope {__version__}", file.write)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RankscopeError(
            f"cannot write the snapshot {path}", error.strerror or str(error), "-o /tmp/job.snap"
        ) from error


def load(path: Path) -> Snapshot:
    """What was saved: a snapshot file, or the dumps and logs of anybody in a file or directory."""
    from ..formats.gather import gather

    if not os.access(path, os.R_OK):
        raise RankscopeError(f"cannot read {path}", "permission denied", f"ls -ld {path}")
    return gather((path,))
