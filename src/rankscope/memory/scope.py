"""Whose local variables are worth reading: the job's own, and those of the few libraries that say who waits for whom."""

from __future__ import annotations

import functools

_INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python", "<frozen ")
# In these the locals name a rank, a peer, a worker, a key or a child, or how long somebody is ready to wait.
_TELLING = (
    "/torch/distributed/",
    "/torch/multiprocessing/",
    "/torch/utils/data/",
    "/torch/utils/file_baton.py",
    "/multiprocessing/",
    "/subprocess.py",
    "/filelock/",
    "/concurrent/futures/",
    "/distributed/lock.py",
    "/distributed/semaphore.py",
)


# Paths of lock files, addresses of meeting points and names of process groups are no secrets and decide who is to blame: (file,
# function) → the local that holds it, the attribute of it where the local is an object, and what it is told as, with its type.
_TOLD = {
    ("/torch/utils/file_baton.py", "wait"): ("self", "lock_file_path", "lock file", "path"),
    ("/filelock/_api.py", "acquire"): ("lock_filename", "", "lock file", "path"),
    ("/filelock/_api.py", "_poll_until_acquired"): ("lock_filename", "", "lock file", "path"),
    ("/filelock/_core/_acquire.py", "_poll_until_acquired"): ("lock_filename", "", "lock file", "path"),  # since 4.0
    ("/filelock/_async_lock/_acquire.py", "_async_poll_until_acquired"): ("lock_filename", "", "lock file", "path"),
    ("/torch/distributed/distributed_c10d.py", "init_process_group"): ("init_method", "", "meeting point", "address"),
    ("/torch/distributed/distributed_c10d.py", "_new_process_group_helper"): ("group_name", "", "group name", "name"),
}


def told(file: str, function: str) -> tuple[str, str, str, str] | None:
    """Where a frame of this function keeps what it waits at, and how that is called; None for all others."""
    for (suffix, name), place in _TOLD.items():
        if file.endswith(suffix) and function.rsplit(".", 1)[-1] == name:
            return place
    return None


def names_group(file: str) -> bool:
    """Whether calls in this file are given a process group, and its module knows the ranks of each."""
    return file.endswith("/torch/distributed/distributed_c10d.py")


# What a job calls the number of a process in it; read of every frame, since a process without it is nobody.
IDENTITY = frozenset({"rank", "global_rank", "world_rank", "local_rank"})


@functools.lru_cache(maxsize=65536)
def installed(file: str) -> bool:
    """Whether a file belongs to an installed library or to the interpreter, by its path."""
    return any(part in file for part in _INSTALLED)


@functools.lru_cache(maxsize=65536)
def telling(file: str) -> bool:
    """Whether the locals of code in this file are worth reading."""
    return not installed(file) or any(part in file for part in _TELLING)
