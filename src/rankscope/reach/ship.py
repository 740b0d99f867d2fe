"""The agent as one file, and the line of shell that receives and starts it on a node with nothing installed.

The loader travels in the command; it reads one line (how many bytes follow, and the errand) and the archive from its
standard input (or from its arguments, where an engine brings input to nobody while one node is silent), keeps the archive
in memory (memfd_create(2)) and imports from there: no byte touches the node's disks. Behind the archive py-spy may travel,
and is started from memory the same way.
"""

from __future__ import annotations

import base64
import functools
import importlib.machinery
import importlib.util
import io
import json
import marshal
import zipfile
import zlib
from pathlib import Path

from ..probe.agent import MARK, PROTOCOL

ROOMS = ("model", "memory", "probe")
SHEBANG = b"#!/usr/bin/env python3\n"
# The oldest Python the agent runs on; an older one is told apart before it meets newer syntax.
OLDEST = (3, 9)
_ARGUMENT = 120_000
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = "from rankscope.probe.agent import main\n\nmain()\n"

# Runs on any Python 3.
_LOADER = """
import sys,os,io,json,signal,base64,zlib
signal.alarm(30)
if sys.version_info<%(oldest)r:
    sys.stdout.write("%(mark)s %(protocol)d refuse only Python %%d.%%d\\n"%%sys.version_info[:2]);sys.exit(0)
i=io.BytesIO(base64.b64decode("".join(sys.argv[2:]))) if sys.argv[2:] else sys.stdin.buffer
h=json.loads(i.readline())
signal.alarm(int(h["alarm_s"]))
b=i.read(h["size"])
t=i.read(h.get("tool",0))
if len(b)!=h["size"] or len(t)!=h.get("tool",0):sys.exit("%(mark)s: the program arrived in part")
def keep(b,n):
    f=os.memfd_create(n)
    m=memoryview(zlib.decompress(b))
    while m:m=m[os.write(f,m):]
    return f
sys.dont_write_bytecode=True
sys.path.insert(0,"/proc/self/fd/%%d"%%keep(b,"rankscope-agent"))
if t:h["errand"]["py_spy"]="/proc/%%d/fd/%%d"%%(os.getpid(),keep(t,"py-spy"))
from rankscope.probe.agent import main
main(json.dumps(h["errand"]))
"""


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
def program(bytecode: bool = False) -> bytes:
    """The same as one compressed stream. ``bytecode`` adds what our own version of Python made of the sources: a node with
    the same version need not compile them again, which is half of what the agent costs there; others pass it over.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as pack:
        for name, path in _files().items():
            _add(pack, name, path.read_bytes(), zipfile.ZIP_STORED)
            if bytecode:
                _add(pack, f"{name}c", _compiled(name, path), zipfile.ZIP_STORED)
    return zlib.compress(out.getvalue(), 6)


def _compiled(name: str, path: Path) -> bytes:
    """The bytecode of a file, from the installation's own cache where it has one, with a head that asks for no check
    against the source (PEP 552)."""
    module = name[: -len(".py")].replace("/", ".")
    code = importlib.machinery.SourceFileLoader(module, str(path)).get_code(module)
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def _add(pack: zipfile.ZipFile, name: str, data: bytes, how: int) -> None:
    about = zipfile.ZipInfo(name, _EPOCH)
    about.compress_type = how
    about.external_attr = 0o644 << 16
    pack.writestr(about, data)


def pyz() -> bytes:
    """The archive as a program that can be carried to a node by hand: ``python3 rankscope-agent.pyz '{}'``."""
    return SHEBANG + archive()


def parcel(errand: dict[str, object], alarm_s: int, bytecode: bool = False, tool: bytes = b"") -> bytes:
    """What is written to the loader's standard input."""
    pack = program(bytecode)
    head = {"size": len(pack), "tool": len(tool), "alarm_s": alarm_s, "errand": {**errand, "alarm_s": alarm_s}}
    return json.dumps(head).encode() + b"\n" + pack + tool


def as_arguments(data: bytes) -> list[str]:
    """A parcel as arguments of the script; one argument may have 128 KiB (execve(2), MAX_ARG_STRLEN)."""
    text = base64.b64encode(data).decode()
    return [text[at : at + _ARGUMENT] for at in range(0, len(text), _ARGUMENT)]


def loader() -> str:
    """The Python that receives the parcel: one word without quotes, so that it survives any shell on its way."""
    source = _LOADER % {"mark": MARK, "protocol": PROTOCOL, "oldest": OLDEST}
    return base64.b64encode(source.encode()).decode()


def script(python: str = "", sudo: bool = False) -> str:
    """A line for ``sh`` without single quotes. ``python`` is the user's own words and goes in as it is.

    Without ``python`` the first interpreter on the node's path that is not too old is taken, else one that a job of the
    same user runs; as root nobody else's interpreter is ever started.
    """
    prefix = "sudo -n " if sudo else ""
    start = f'-I -S -c "import base64,sys;exec(base64.b64decode(sys.argv[1]))" {loader()} "$@"'
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
