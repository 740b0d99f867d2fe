"""Lines of source files that a process names, read as if by the process's own user inside its own root.

The job is not trusted: a path may name a device, a pipe, a link out of its container, or a file system that does not
answer. So the file is opened in a child that can be abandoned, below /proc/PID/root (openat2(2), RESOLVE_IN_ROOT), with the
rights of the job's user, and only if it is a regular file of a sane size.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable

from ..model.evidence.source import Place
from ..model.evidence.space import Mount
from . import mounts, procfs
from .abandon import Answer, Blocked, Send, guarded

SIZE_LIMIT = 4 << 20
DEADLINE_S, TOTAL_S = 1.5, 2.5  # of one place, and of all of them together
_LINE_LIMIT = 300
_LINKS_LIMIT = 40
_OPENAT2 = 437  # the same number on every architecture (syscalls(2))
_NO_MAGICLINKS, _IN_ROOT = 0x02, 0x10


@dataclass(frozen=True)
class Lines:
    """Numbered lines around a place, or the reason why there are none. ``newer``: the file changed after the process began."""

    lines: tuple[tuple[int, str], ...] = ()
    missing: str = ""
    newer: bool = False


def read(places: Sequence[Place], around: int = 2, proc: str = "/proc") -> dict[Place, Lines]:
    """The lines around each place; what blocks is left behind and reported."""
    return dict(each(places, around, proc))


def each(
    places: Sequence[Place], around: int = 2, proc: str = "/proc", idle: Callable[[], None] = lambda: None
) -> Iterator[tuple[Place, Lines]]:
    """The lines around each place as they come, never for long: a verdict may wait for them. ``idle`` is called in between."""
    end = time.monotonic() + TOTAL_S
    blocked: list[Place] = []  # a child that takes over knows on what the one before it was left behind
    todo = dict.fromkeys(places)
    for answer in guarded(
        tuple(todo), lambda place, send: _look(proc, place, around, blocked, send),
        lambda _: max(0.1, min(DEADLINE_S, end - time.monotonic())), idle,
    ):  # fmt: skip
        del todo[answer.step]
        yield answer.step, _taken(answer)
        if isinstance(answer.said, Blocked):
            blocked.append(answer.step)
        if time.monotonic() > end:
            break
    yield from ((place, Lines(missing=f"{place.file} was not read: others took too long")) for place in todo)


def _taken(answer: Answer[Place]) -> Lines:
    if isinstance(answer.said, Blocked):
        return Lines(missing=f"reading {answer.step.file} did not end: {answer.said.reason}")
    said = json.loads(answer.said)
    return Lines(tuple((n, text) for n, text in said["lines"]), said["missing"], said["newer"])


def _look(proc: str, place: Place, around: int, blocked: Sequence[Place], send: Send) -> None:
    """Runs in the guarded child."""
    said = Lines()
    try:
        if any(_as_slow(proc, place, other) for other in blocked):
            raise ValueError(f"{place.file} was not read: it lies where reading did not end")
        said = _lines(proc, place, around)
    except OSError as error:
        said = Lines(missing=f"{place.file}: {error.strerror or error}")
    except ValueError as error:
        said = Lines(missing=str(error))
    send(json.dumps({"lines": said.lines, "missing": said.missing, "newer": said.newer}).encode())


def _as_slow(proc: str, place: Place, other: Place) -> bool:
    """Whether a place is of the same file as one that blocked, or of the same mount, where that is another machine's."""
    if place.file == other.file:
        return True
    mount, blocking = (_mount(proc, one) for one in (place, other))
    return mount is not None and mount == blocking and bool(mounts.SERVED.match(mount.kind))


def _mount(proc: str, place: Place) -> Mount | None:
    """The mount of a file by its name alone: nothing on it is touched."""
    try:
        return mounts.read(f"{proc}/{place.ref.pid}").of_path(_path(proc, place))
    except OSError:
        return None


def _path(proc: str, place: Place) -> str:
    """The file of a place, from the root of its process."""
    return place.file if place.file.startswith("/") else f"{os.readlink(f'{proc}/{place.ref.pid}/cwd')}/{place.file}"


def _lines(proc: str, place: Place, around: int) -> Lines:
    now = procfs.stat(proc, place.ref.pid)
    if now.started != place.ref.started:
        raise ValueError("the process ended")
    if not place.file or place.file.startswith("<"):
        raise ValueError(f"{place.file or 'the frame'} has no file")
    data, changed = bytes_of(proc, place.ref.pid, _path(proc, place), SIZE_LIMIT)
    text = data.decode("utf-8", "replace")
    began = procfs.began_s(proc, now.started)
    first = max(1, place.line - around)
    chosen = text.split("\n")[first - 1 : place.line + around]
    if not chosen or place.line < 1:
        raise ValueError(f"{place.file} has no line {place.line}")
    return Lines(tuple(enumerate((line[:_LINE_LIMIT].rstrip() for line in chosen), first)), newer=changed > began + 1)


@contextlib.contextmanager
def _rights_of(proc: str, pid: int) -> Iterator[None]:
    """As root, open files with no more rights than the process has (its file system ids, proc(5))."""
    if os.geteuid() != 0:
        yield
        return
    said = dict(
        line.split(":", 1)
        for line in procfs.read(f"{proc}/{pid}/status").decode("utf-8", "replace").splitlines()
        if line.startswith(("Uid:", "Gid:", "Groups:"))
    )
    uid, gid = int(said["Uid"].split()[3]), int(said["Gid"].split()[3])
    groups = os.getgroups()
    os.setgroups([int(group) for group in said.get("Groups", "").split()][:64])
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def text_of(proc: str, pid: int, path: str) -> str:
    """A small text file as a process would see it; raise OSError or ValueError when there is none to read."""
    return bytes_of(proc, pid, path, SIZE_LIMIT)[0].decode("utf-8", "replace")


def bytes_of(proc: str, pid: int, path: str, limit: int) -> tuple[bytes, float]:
    """A file as a process would see it, and when it was last changed; raise OSError or ValueError as above."""
    with opened(proc, pid, path) as handle:
        return _content(handle, path, limit)


@contextlib.contextmanager
def opened(proc: str, pid: int, path: str) -> Iterator[int]:
    """A handle (O_PATH) of a file or folder as a process would see it, with the rights of its user for as long as it is held."""
    root = os.open(f"{proc}/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _rights_of(proc, pid):
            handle = open_below(root, path)
            try:
                yield handle
            finally:
                os.close(handle)
    finally:
        os.close(root)


def names_in(proc: str, pid: int, folder: str) -> list[str]:
    """What a folder holds, as a process would see it; raise OSError when there is none to read."""
    with opened(proc, pid, folder) as handle:
        readable = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return os.listdir(readable)
    finally:
        os.close(readable)


def _content(handle: int, path: str, limit: int) -> tuple[bytes, float]:
    """The bytes of a regular file, and when it was last changed."""
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{path} is no regular file")
    if about.st_size > limit:
        raise ValueError(f"{path} is too large to be read ({about.st_size} bytes)")
    file = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        parts, size = [], 0
        while size < limit and (chunk := os.read(file, 1 << 18)):
            parts.append(chunk)
            size += len(chunk)
        return b"".join(parts), about.st_mtime
    finally:
        os.close(file)


class _How(ctypes.Structure):
    """struct open_how of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_below(root: int, path: str) -> int:
    """A handle (O_PATH) of a file, with every link and every ``..`` resolved as if ``root`` were ``/``."""
    libc = ctypes.CDLL(None, use_errno=True)
    how = _How(os.O_PATH | os.O_CLOEXEC, 0, _IN_ROOT | _NO_MAGICLINKS)
    got: int = libc.syscall(
        ctypes.c_long(_OPENAT2), ctypes.c_int(root), ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )  # fmt: skip
    if got >= 0:
        return got
    failed = ctypes.get_errno()
    if failed in (errno.ENOSYS, errno.EPERM):  # older than Linux 5.6, or a seccomp filter that does not know it
        return walk_below(root, path)
    raise OSError(failed, os.strerror(failed))


def walk_below(root: int, path: str) -> int:
    """Open a path below ``root`` one component at a time, and never leave it: what openat2 does at once."""
    line = [os.dup(root)]
    todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
    links = 0
    try:
        while todo:
            part = todo.pop()
            if part == "..":
                if len(line) > 1:
                    os.close(line.pop())
                continue
            here = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=line[-1])
            if not stat.S_ISLNK(os.fstat(here).st_mode):
                line.append(here)
                continue
            target = os.readlink("", dir_fd=here)
            os.close(here)
            links += 1
            if links > _LINKS_LIMIT:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            while target.startswith("/") and len(line) > 1:
                os.close(line.pop())
            todo.extend(one for one in reversed(target.split("/")) if one not in ("", "."))
        return os.dup(line[-1])
    finally:
        for handle in line:
            os.close(handle)
