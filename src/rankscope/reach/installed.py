"""The first half of what travels in the command line: what is installed on the node, where it is the same as the sender's.

An installation at the same place is read when every file of it has the same content as the sender's and belongs to root or
to us. A child reads it, since a dead file server must not hold anybody up. Any Python 3 can read this text; ``loader.py``
follows it.
"""

import hashlib
import json
import os
import select
import signal
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Head = dict[str, Any]

SHARED_S = 1.0  # an installation on a dead server costs no more than this
LIMIT = 64 << 20
CODE_AT = 16  # bytes of a cached file before its code (PEP 552)


def shared(head: "Head", kind: str) -> "tuple[list[bytes], bytes, str]":
    """The files of the installation here, its py-spy, and a word on it, read by a child: a dead file server must not hold
    us up."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        try:
            tell(theirs, head, kind)
        finally:
            os._exit(0)
    os.close(theirs)
    told = heard(ours)
    os.close(ours)
    if told is None:
        os.kill(child, signal.SIGKILL)
        return [], b"", "it does not answer"
    os.waitpid(child, 0)
    line, _, data = told.partition(b"\n")
    sizes, tool, why = json.loads(line.decode() or '[[], 0, "it could not be read"]')
    *files, spy = cut(data, [*sizes, tool])
    return files, spy, why


def cut(data: bytes, sizes: "list[int]") -> "list[bytes]":
    """Pieces of these sizes."""
    out, at = [], 0
    for size in sizes:
        out.append(data[at : at + size])
        at += size
    return out


def heard(pipe: int) -> "bytes | None":
    """All that is said, None when nothing more came for a moment."""
    told = []  # type: list[bytes]
    while select.select([pipe], [], [], SHARED_S)[0]:
        data = os.read(pipe, 1 << 20)
        if not data:
            return b"".join(told)
        told.append(data)
    return None


def tell(pipe: int, head: "Head", kind: str) -> None:
    """In the child: say what is here, or why it is not to be used."""
    files, tool, why = [], b"", "used"
    try:
        files = read_files([os.path.join(head["home"], name) for name in names(head, kind)], head[kind])
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
    try:
        tool = read_files([head["tool"]["path"]], head["tool"]["hash"])[0] if head["tool"] else b""
    except (OSError, ValueError):
        pass
    with os.fdopen(pipe, "wb") as out:
        out.write(json.dumps([[len(data) for data in files], len(tool), why]).encode() + b"\n")
        out.write(b"".join(files) + tool)


def names(head: "Head", kind: str) -> "list[str]":
    """The files to read: sources, or what this Python keeps of them."""
    files = head["files"]  # type: list[str]
    if kind == "source":
        return files
    folders = [file.rpartition("/") for file in files]
    return ["%s/__pycache__/%s.%s.pyc" % (f, name[:-3], sys.implementation.cache_tag) for f, _, name in folders]


def read_files(paths: "list[str]", wanted: str) -> "list[bytes]":
    """The content of some files; raise ValueError where others could have written them, or it is not what is wanted."""
    trusted, out = set(), []  # type: set[str], list[bytes]
    for path in paths:
        folder = os.path.dirname(path)
        if folder not in trusted:
            check(os.path.realpath(folder), trusted)
            trusted.add(folder)
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or not ours(about):
                raise ValueError("others than root and we may write there")
            data = file.read(LIMIT)
        out.append(data[CODE_AT:] if path.endswith(".pyc") else data)
    if digest(out) != wanted:
        raise ValueError("it is another version")
    return out


def digest(files: "Iterable[bytes]") -> str:
    whole = hashlib.sha256()
    for data in files:
        whole.update(b"%d\n" % len(data) + data)
    return whole.hexdigest()


def check(folder: str, trusted: "set[str]") -> None:
    """Every folder down to this one belongs to root or to us; what is not ours may not be exchanged by others."""
    while folder not in trusted:
        about = os.stat(folder)
        if not ours(about, stat.S_ISVTX):
            raise ValueError("others than root and we may write there")
        trusted.add(folder)
        folder = os.path.dirname(folder)


def ours(about: os.stat_result, unless: int = 0) -> bool:
    return about.st_uid in (0, os.getuid()) and (not about.st_mode & 0o022 or bool(about.st_mode & unless))
