"""Torch's worker server on a socket that only this user can reach: it answers while other threads hang."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
from typing import Any

from . import folder

_SERVERS: list[Any] = []
_LONGEST = 107  # of a path in sockaddr_un (unix(7))


def start() -> str:
    """Start it, where this torch has one; the path of its socket, or an empty string."""
    made = getattr(sys.modules.get("torch._C._distributed_c10d"), "_WorkerServer", None)
    if made is None or _SERVERS:
        return ""
    path = folder.name(".sock")
    if len(path) > _LONGEST:
        return ""
    _SERVERS.append(made(path))
    os.chmod(path, 0o600)
    atexit.register(_stop, path, os.getpid())
    return path


def _stop(path: str, pid: int) -> None:
    if os.getpid() == pid:
        with contextlib.suppress(Exception):
            _SERVERS.pop().shutdown()
        with contextlib.suppress(OSError):
            os.unlink(path)


def forget() -> None:
    """In a forked child: the server's threads are not here, so its destructor, which waits for them, must never run."""
    for server in _SERVERS:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    _SERVERS.clear()
