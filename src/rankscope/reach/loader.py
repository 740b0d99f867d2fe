"""Receives the agent on a node and starts it there. This text travels in the command line; any Python 3 can read it.

One line of JSON tells what is wanted. A shared installation at the same place is read when every file of it has the same
content as the sender's and belongs to root or to us; else the agent is asked for and sent. Either way it is held in memory
and imported from there: no byte touches the node's disks.
"""

import base64
import hashlib
import importlib.util
import io
import json
import marshal
import os
import select
import signal
import stat
import sys
import zlib
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

    Head = dict[str, Any]
    Program = dict[str, tuple[bytes, bool]]

WORD = "rankscope-agent 1 "
OLDEST = (3, 9)
PLACE = "<rankscope-agent>/"
SHARED_S = 1.0  # an installation on a dead server costs no more than this
LIMIT = 64 << 20
CODE_AT = 16  # bytes of a cached file before its code (PEP 552)


class Files:
    """Imports what is held in memory: name of a file -> its source, or the code that was made of it."""

    held = {}  # type: Program

    def __init__(self, path: str) -> None:
        if not path.startswith(PLACE):
            raise ImportError(path)
        self.folder = path[len(PLACE) :]

    def find_spec(self, name: str, target: object = None) -> "ModuleSpec | None":
        file = self.file_of(name)
        if not file:
            return None
        spec = ModuleSpec(name, self, origin=PLACE + file, is_package=file.endswith("/__init__.py"))  # type: ignore[arg-type]
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(PLACE + name.replace(".", "/"))
        return spec

    def file_of(self, name: str) -> str:
        stem = name.replace(".", "/")
        return next((file for file in (stem + "/__init__.py", stem + ".py") if file in self.held), "")

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: "types.ModuleType") -> None:
        file = self.file_of(module.__name__)
        code, made = self.held[file]
        exec(marshal.loads(code) if made else compile(code, PLACE + file, "exec", 0, True), module.__dict__)

    def iter_modules(self, prefix: str = "") -> "Iterator[tuple[str, bool]]":
        """What pkgutil asks of a place that holds modules."""
        for file in self.held:
            stem, package = (file[:-12], True) if file.endswith("/__init__.py") else (file[:-3], False)
            folder, _, name = stem.rpartition("/")
            if folder == self.folder:
                yield prefix + name, package


def main(words: "list[str]") -> None:
    signal.alarm(30)
    if sys.version_info < OLDEST:
        say("refuse only Python %d.%d" % sys.version_info[:2])
        return
    stream = io.BytesIO(base64.b64decode("".join(words))) if words else sys.stdin.buffer
    head = json.loads(stream.readline().decode())
    signal.alarm(int(head["alarm_s"]))
    errand = head["errand"]
    program, tool = arrived(head, stream) if head.get("all") else shared_or_sent(head, errand, stream)
    if tool:
        errand["py_spy"] = "/proc/%d/fd/%d" % (os.getpid(), keep(tool))
    Files.held = program
    sys.dont_write_bytecode = True
    sys.path_hooks.insert(0, Files)
    sys.path.insert(0, PLACE)
    from rankscope.probe.agent import main

    main(json.dumps(errand))
    # What an interpreter does in order to end costs a tenth of the whole.
    os._exit(0)


def say(text: str) -> None:
    sys.stdout.write(WORD + text + "\n")
    sys.stdout.flush()


def arrived(head: "Head", stream: "BinaryIO") -> "tuple[Program, bytes]":
    """Everything came along, unasked."""
    pieces = {kind: piece(stream) for kind in head["all"]}
    kind = "code" if same_python(head) and "code" in pieces else "source"
    return unpacked(head, pieces[kind], kind), pieces.get("tool", b"")


def shared_or_sent(head: "Head", errand: "Head", stream: "BinaryIO") -> "tuple[Program, bytes]":
    """What is installed here, where it is the same; the sender holds the line, and sends what we ask for."""
    kind = "code" if same_python(head) and head["code"] else "source"
    files, tool, errand["installation"] = shared(head, kind)
    errand["line"] = True
    if not files and not head["may_send_code"]:
        kind = "source"
    wanted = ([] if files else [kind]) + (["tool"] if head.get("tool") and not tool else [])
    if wanted:
        say("want " + ",".join(wanted))
    program = named(head, files, kind) if files else unpacked(head, piece(stream), kind)
    return program, piece(stream) if "tool" in wanted else tool


def same_python(head: "Head") -> bool:
    return bool(head["magic"] == importlib.util.MAGIC_NUMBER.hex())


def piece(stream: "BinaryIO") -> bytes:
    """The length of what follows, and then that many packed bytes."""
    size = int(stream.readline() or -1)
    data = stream.read(size) if 0 <= size <= LIMIT else b""
    if len(data) != size:
        sys.exit("rankscope-agent: the program arrived in part")
    return zlib.decompress(data)


def unpacked(head: "Head", data: bytes, kind: str) -> "Program":
    """The files of a program, from their sizes and what is in them."""
    sizes, _, data = data.partition(b"\n")
    return named(head, cut(data, json.loads(sizes.decode())), kind)


def named(head: "Head", files: "list[bytes]", kind: str) -> "Program":
    return {name: (data, kind == "code") for name, data in zip(head["files"], files)}


def cut(data: bytes, sizes: "list[int]") -> "list[bytes]":
    """Pieces of these sizes."""
    out, at = [], 0
    for size in sizes:
        out.append(data[at : at + size])
        at += size
    return out


def keep(data: bytes) -> int:
    """A file that has no place on any disk."""
    file = os.memfd_create("py-spy")
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    return file


def shared(head: "Head", kind: str) -> "tuple[list[bytes], bytes, str]":
    """The files of the installation here, its py-spy, and a word on it, read by a child: a dead file server must not hold
    us up."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        tell(theirs, head, kind)
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
        tool = read_files([head["tool"]["path"]], head["tool"]["hash"])[0] if head.get("tool") else b""
    except (OSError, ValueError):
        pass
    with os.fdopen(pipe, "wb") as out:
        out.write(json.dumps([[len(data) for data in files], len(tool), why]).encode() + b"\n")
        out.write(b"".join(files) + tool)
    os._exit(0)


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


if __name__ == "__main__":
    main(sys.argv[2:])
