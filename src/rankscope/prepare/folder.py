"""The folder for files and sockets of prepared processes: one a user, readable by nobody else."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

from ..model.calls_file import SUFFIX


def folder() -> str:
    """``$XDG_RUNTIME_DIR/rankscope``, else ``rankscope-UID`` among the temporary files.

    Raises OSError when it is not ours alone.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = os.path.join(base, "rankscope") if base and os.access(base, os.W_OK) else ""
    path = path or os.path.join(tempfile.gettempdir(), f"rankscope-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    about = os.lstat(path)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise PermissionError(f"{path} is not a folder of ours alone")
    return path


def started(pid: int | str = "self") -> int:
    """When a process began, in ticks since boot (proc(5), field 22 of stat); 0 where there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def name(ending: str) -> str:
    """A path for this process: its pid, when it began, and an ending."""
    return os.path.join(folder(), f"{os.getpid()}-{started()}{ending}")


def sweep_out() -> None:
    """Take away what processes left that ended without a chance to tidy up."""
    with contextlib.suppress(OSError):
        home = folder()
        for entry in os.listdir(home):
            stem = entry.partition(".")[0]
            pid, _, began = stem.partition("-")
            if entry.endswith((SUFFIX, ".sock")) and pid.isdigit() and began.isdigit() and started(pid) != int(began):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(home, entry))
