"""A patient's evidence as people save it: a dump of py-spy for each process, the process table, and the console."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

from . import reaping
from .patient import HOME, Patient

_SPY = pathlib.Path(sys.executable).parent / "py-spy"
_TABLE = ("ps", "-o", "pid,ppid,stat,wchan:24,etime,time,pcpu,args", "-p")
_WITHIN_S = 20.0  # a process in state D is not read at all


def save(running: Patient, name: str, folder: pathlib.Path, native: bool = False) -> None:
    """Write what can be seen of a patient now; what would name its sickness, its own name, is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    pids = sorted(reaping.marked(running.mark))
    _write(folder / "ps.txt", _out((*_TABLE, ",".join(map(str, pids)))), running, name)
    for pid in pids:
        said = _out((str(_SPY), "dump", *(["--native"] if native else []), "--pid", str(pid)))
        _write(folder / f"{_label(pid)}.txt", said, running, name)
    _write(folder / "console.txt", (running.place / "out.log").read_text(errors="replace"), running, name)


def _out(command: tuple[str, ...]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN_S, check=False).stdout
    except subprocess.TimeoutExpired:
        return ""


def _label(pid: int) -> str:
    """How somebody calls the file who looked into the process's environment."""
    try:
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        environment = []
    found = dict(pair.partition(b"=")[::2] for pair in environment)
    rank = os.fsdecode(found.get(b"RANK", found.get(b"OMPI_COMM_WORLD_RANK", b"")))
    return f"rank_{rank}_pid_{pid}" if rank else f"pid_{pid}"


def _write(path: pathlib.Path, said: str, running: Patient, name: str) -> None:
    if not said.strip():
        return
    for told, put in ((str(running.place), "/home/user/run"), (str(HOME), "/home/user/src"), (name, "job")):
        said = said.replace(told, put)
    path.write_text(re.sub(r"/tmp/job-\w+", "/home/user/run", said))
