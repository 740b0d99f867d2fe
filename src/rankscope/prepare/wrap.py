"""Wrappers around the functions of torch.distributed: they note a call, let it through, and note that it is over.

Whatever fails in here is swallowed, and the call goes through as if it were not wrapped.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import threading
import weakref
from typing import Any, Callable

from ..model import calls_file as layout
from . import server
from .notes import Notes

_OPS = {name: number for number, name in enumerate(layout.OPS) if name}
_OPS.update(isend=_OPS["send"], irecv=_OPS["recv"])
_here = threading.local()
_works: dict[int, tuple[Any, int]] = {}  # unfinished asynchronous calls, by the identity of their handle
_notes: list[Notes | None] = [None]


def wrap(module: Any) -> None:
    """Put wrappers in place of the functions, here and in the package that copied them."""
    package = sys.modules.get("torch.distributed")
    for name, op in _OPS.items():
        original = getattr(module, name, None)
        if original is None or hasattr(original, "__rankscope__"):
            continue
        made = _wrapped(original, op, module)
        setattr(module, name, made)
        if getattr(package, name, None) is original:
            setattr(package, name, made)
    _wrap_start(module, package)
    _wrap_wait()
    os.register_at_fork(after_in_child=_forget)


def _notes_of(module: Any) -> Notes:
    """The notes of this process, begun when the first call is made."""
    notes = _notes[0]
    if notes is None:
        notes = _notes[0] = Notes(module)
        atexit.register(_tidy, os.getpid())
    return notes


def _tidy(pid: int) -> None:
    if os.getpid() == pid and _notes[0] is not None:
        _notes[0].ring.remove()


def _forget() -> None:
    """A forked child begins notes of its own, when it makes a call."""
    _notes[0] = None
    _works.clear()
    server.forget()


def _wrapped(original: Callable[..., Any], op: int, module: Any) -> Callable[..., Any]:
    places = {name: place for place, name in enumerate(inspect.signature(original).parameters)}

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        number = 0
        try:
            if not getattr(_here, "inside", False):
                notes = _notes_of(module)
                number = notes.begin(op, places, args, kwargs, sys._getframe(1))
        except Exception:
            number = 0
        if not number:
            return original(*args, **kwargs)
        _here.inside = True
        result = None
        try:
            result = original(*args, **kwargs)
        finally:
            _here.inside = False
            _after(notes, number, result)
        return result

    call.__rankscope__ = True  # type: ignore[attr-defined]
    return call


def _after(notes: Notes, number: int, result: Any) -> None:
    """It returned: over, or going on by itself with a handle to wait on."""
    try:
        if hasattr(result, "wait"):
            key = id(result)
            notes.ring.goes_on(number)
            _works[key] = (weakref.ref(result, lambda _: _works.pop(key, None)), number)
        else:
            notes.ring.ends(number)
    except Exception:  # noqa: S110  (never the job's trouble)
        pass


def _wrap_wait() -> None:
    """Waiting on a handle is what a hung asynchronous call looks like."""
    work: Any = getattr(sys.modules.get("torch._C._distributed_c10d"), "Work", None)
    original = getattr(work, "wait", None)
    if original is None or hasattr(original, "__rankscope__"):
        return

    @functools.wraps(original)
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        number = _number_of(self)
        if not number:
            return original(self, *args, **kwargs)
        _stamp("waits", number)
        try:
            result = original(self, *args, **kwargs)
        except BaseException:
            _stamp("waits_no_more", number)
            raise
        _stamp("ends", number)
        _works.pop(id(self), None)
        return result

    wait.__rankscope__ = True  # type: ignore[attr-defined]
    work.wait = wait


def _number_of(work: Any) -> int:
    known = _works.get(id(work))
    return known[1] if known is not None and known[0]() is work else 0


def _stamp(what: str, number: int) -> None:
    try:
        notes = _notes[0]
        if notes is not None:
            getattr(notes.ring, what)(number)
    except Exception:  # noqa: S110  (never the job's trouble)
        pass


def _wrap_start(module: Any, package: Any) -> None:
    """The server starts once the process has joined a job, so that loaders and launchers have none."""
    original = module.init_process_group
    if hasattr(original, "__rankscope__"):
        return

    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        try:
            path = server.start()
            if path:
                _notes_of(module).ring.text("server", path, path)
        except Exception:  # noqa: S110  (never the job's trouble)
            pass
        return result

    init_process_group.__rankscope__ = True  # type: ignore[attr-defined]
    module.init_process_group = init_process_group
    if getattr(package, "init_process_group", None) is original:
        package.init_process_group = init_process_group
