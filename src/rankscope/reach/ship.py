"""The agent as one parcel, and the line of shell that receives and starts it on a node with nothing installed.

The loader (``installed.py`` and ``loader.py``) travels in the command. It reads the errand from its standard input, looks
whether our own installation is there as well, and asks for what it has not got; where a node cannot ask back (arguments of
srun, which brings input to nobody while one node is silent) everything comes along, unless every node should see our
installation. The program is held in memory and imported from there, py-spy is started from memory (memfd_create(2)): no
byte touches the node's disks.
"""

from __future__ import annotations

import base64
import functools
import importlib.machinery
import importlib.util
import io
import json
import marshal
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from ..probe import mounts
from ..probe.post import MARK, PROTOCOL
from .installed import CODE_AT, digest
from .loader import OLDEST

ROOMS = ("model", "memory", "probe")
SHEBANG = b"#!/usr/bin/env python3\n"
_ARGUMENT = 120_000
_HEAD = struct.Struct("<III")  # flags, time and size of the source
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = "from rankscope.probe.agent import main\n\nmain()\n"
_HOME = Path(__file__).resolve().parents[2]


@functools.cache
def _files() -> dict[str, Path]:
    """The rooms that run beside a sick process: what each file is called in the archive, and where it is here."""
    home = Path(__file__).resolve().parent.parent
    files = {"rankscope/__init__.py": home / "__init__.py"}
    for room in ROOMS:
        for path in (home / room).rglob("*.py"):
            files[f"rankscope/{path.relative_to(home).as_posix()}"] = path
    return dict(sorted(files.items()))


@functools.cache
def archive() -> bytes:
    """The rooms as one zip file; equal sources give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compresslevel=9) as pack:
        for name, path in _files().items():
            _add(pack, name, path.read_bytes(), zipfile.ZIP_DEFLATED)
        _add(pack, "__main__.py", _MAIN.encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


@functools.cache
def _codes() -> tuple[bytes, ...]:
    """What our own version of Python made of the sources, from the installation's own cache where it has one."""
    kept = _kept()
    return kept or tuple(_code(name, path) for name, path in _files().items())


def _code(name: str, path: Path) -> bytes:
    module = name[: -len(".py")].replace("/", ".")
    return marshal.dumps(importlib.machinery.SourceFileLoader(module, str(path)).get_code(module))


@functools.cache
def _kept() -> tuple[bytes, ...]:
    """The code of all files as the installation keeps it (__pycache__); empty where a file has none, or one out of date."""
    try:
        return tuple(map(_kept_code, _files().values()))
    except (OSError, ValueError, NotImplementedError):
        return ()


def _kept_code(path: Path) -> bytes:
    """The code behind the head of a cached file that names the time and size of its source (PEP 552)."""
    data = Path(importlib.util.cache_from_source(str(path))).read_bytes()
    about = path.stat()
    right = (0, int(about.st_mtime) & 0xFFFFFFFF, about.st_size & 0xFFFFFFFF)
    if data[:4] != importlib.util.MAGIC_NUMBER or _HEAD.unpack_from(data, 4) != right:
        raise ValueError(f"{path} has changed")
    return data[CODE_AT:]


@functools.cache
def _sources() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in _files().values())


@functools.cache
def _digests() -> dict[str, str]:
    """What tells whether an installation is the same as ours."""
    return {"source": digest(_sources()), "code": digest(_kept()) if _kept() else ""}


@functools.cache
def _tool_digest(packed: bytes) -> str:
    return digest([zlib.decompress(packed)])


@functools.cache
def _packed(kind: str) -> bytes:
    """The program as the loader takes it: ``source`` for any Python, ``code`` for ours, which starts twice as fast."""
    files = _sources() if kind == "source" else _codes()
    return zlib.compress(json.dumps([len(data) for data in files]).encode() + b"\n" + b"".join(files), 6)


def _add(pack: zipfile.ZipFile, name: str, data: bytes, how: int) -> None:
    about = zipfile.ZipInfo(name, _EPOCH)
    about.compress_type = how
    about.external_attr = 0o644 << 16
    pack.writestr(about, data)


def pyz() -> bytes:
    """The archive as a program that can be carried to a node by hand: ``python3 rankscope-agent.pyz '{}'``."""
    return SHEBANG + archive()


@dataclass(frozen=True)
class Parcel:
    """The errand, and how long the loader may live; ``tool`` is a py-spy to go along, packed, and where it is installed.

    ``bytecode`` lets a node with our version of Python ask for what ours made of the sources: it starts in half the time,
    for three times the bytes.
    """

    errand: dict[str, object]
    alarm_s: int
    tool: bytes = b""
    tool_path: str = ""
    bytecode: bool = True

    def whole(self) -> bytes:
        """Everything at once, for ways on which the node cannot ask back."""
        code = ["code"] if self.bytecode and _kept() else []
        kinds = ["source", *code, *(["tool"] if self.tool else [])]
        return _line({**self._head(), "sent": kinds}) + b"".join(self.piece(kind) for kind in kinds)

    def bare(self) -> bytes:
        """Nothing but the errand, for nodes that cannot ask back and should have all else: one that has not says so, and ends."""
        return _line({**self._head(), "sent": []})

    def opening(self) -> bytes:
        """What the node needs to know before it asks for what it has not got."""
        return _line(self._head())

    def piece(self, kind: str) -> bytes:
        """One thing that a node asks for: ``source``, ``code`` or ``tool``."""
        data = self.tool if kind == "tool" else _packed(kind)
        return b"%d\n" % len(data) + data

    def _head(self) -> dict[str, object]:
        return {
            "alarm_s": self.alarm_s, "errand": {**self.errand, "alarm_s": self.alarm_s},
            "files": list(_files()), "magic": importlib.util.MAGIC_NUMBER.hex(),
            "home": str(_HOME), "may_send_code": self.bytecode, **_digests(),
            "tool": {"path": self.tool_path, "hash": _tool_digest(self.tool)} if self.tool else None,
        }  # fmt: skip


def _line(body: dict[str, object]) -> bytes:
    return json.dumps(body).encode() + b"\n"


@functools.cache
def served() -> bool:
    """Whether our installation lies with a file server, where the nodes of a cluster find it as well."""
    try:
        mount = mounts.read("/proc/self").of_path(str(_HOME))
    except OSError:
        return False
    return mount is not None and mounts.SERVED.match(mount.kind) is not None


def as_arguments(data: bytes) -> list[str]:
    """A parcel as arguments of the script; one argument may have 128 KiB (execve(2), MAX_ARG_STRLEN)."""
    text = base64.b64encode(data).decode()
    return [text[at : at + _ARGUMENT] for at in range(0, len(text), _ARGUMENT)]


@functools.cache
def loader() -> str:
    """The program that receives the parcel: one word without quotes, so that it survives any shell on its way."""
    here = Path(__file__)
    text = b"\n\n".join(here.with_name(name).read_bytes() for name in ("installed.py", "loader.py"))
    return base64.b64encode(zlib.compress(text, 9)).decode()


def script(python: str = "", sudo: bool = False) -> str:
    """A line for ``sh`` without single quotes. ``python`` is the user's own words and goes in as it is.

    Without ``python`` the first interpreter on the node's path that is not too old is taken, else one that a job of the
    same user runs; as root nobody else's interpreter is ever started.
    """
    prefix = "sudo -n " if sudo else ""
    start = f'-I -S -c "import base64,sys,zlib;exec(zlib.decompress(base64.b64decode(sys.argv[1])))" {loader()} "$@"'
    if python:
        return f"exec {prefix}{python} {start}"
    names = " ".join(["python3", *(f"python3.{minor}" for minor in range(14, OLDEST[1] - 1, -1))])
    test = f'-I -S -c "import sys;sys.exit(sys.version_info<({OLDEST[0]},{OLDEST[1]}))" 2>/dev/null'
    ours = (
        'if [ "$(id -u)" != 0 ]; then for e in /proc/[0-9]*/exe; do p=$(readlink $e 2>/dev/null); case $p in '
        f'*/python3.9|*/python3.1[0-9]) "$p" {test} && exec {prefix}"$p" {start};; esac; done; fi; '
    )
    return (
        f"for p in {names}; do command -v $p >/dev/null 2>&1 && $p {test} && exec {prefix}$p {start}; done; "
        f"{'' if sudo else ours}echo {MARK} {PROTOCOL} refuse no Python {OLDEST[0]}.{OLDEST[1]} or newer on the path"
    )


def shell_line(python: str = "", env_setup: str = "", sudo: bool = False) -> str:
    """The command for a remote login shell of any kind; ``env_setup`` runs first, as the user wrote it."""
    setup = f"{env_setup} && " if env_setup else ""
    return f"{setup}exec sh -c '{script(python, sudo)}'"
