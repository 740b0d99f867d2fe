"""Receives the agent on a node and starts it there: the second half of what travels in the command line.

One line of JSON tells what is wanted. A shared installation is used where there is the same (``installed.py``); else what
came along, or the agent is asked for and sent. Either way it is held in memory and imported from there: no byte touches the
node's disks.
"""

import base64
import importlib.util
import io
import json
import marshal
import os
import signal
import sys
import zlib
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Iterator
    from typing import BinaryIO

    from .installed import LIMIT, Head, cut, shared

    Program = dict[str, tuple[bytes, bool]]

WORD = "rankscope-agent 1 "
OLDEST = (3, 9)
PLACE = "<rankscope-agent>/"


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
    program, tool = obtained(head, errand, stream)
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


def obtained(head: "Head", errand: "Head", stream: "BinaryIO") -> "tuple[Program, bytes]":
    """What is installed here, where it is the same; else what came along, or comes when we ask for it."""
    sent = head.get("sent")  # None: the sender holds the line
    kind = "code" if same_python(head) and head["code"] else "source"
    files, tool, errand["installation"] = shared(head, kind)
    errand["line"] = sent is None
    if not files and not head["may_send_code"]:
        kind = "source"
    lacks = ([] if files else [kind]) + (["tool"] if head["tool"] and not tool else [])
    if set(lacks) - set(sent or ()):
        say("want " + ",".join(lacks))
        if sent is not None:
            sys.exit(0)
    arrived = {one: piece(stream) for one in (lacks if sent is None else sent)} if lacks else {}
    program = named(head, files, kind) if files else unpacked(head, arrived[kind], kind)
    return program, tool or arrived.get("tool", b"")


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


def keep(data: bytes) -> int:
    """A file that has no place on any disk."""
    file = os.memfd_create("py-spy")
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    return file


if __name__ == "__main__":
    main(sys.argv[2:])
