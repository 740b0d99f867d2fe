"""py-spy as a reader of stacks: one child for each process, with a deadline, and by default without pausing anybody.

It knows Python versions that our own reader does not, and is the cross-check for those that both know.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...memory import interpreter, scope, source, tasks
from ...model.evidence.stacks import Frame, Local, NativeStacks, PythonStacks, PythonThread, Stack, Trust
from ...model.evidence.threads import Threads
from ...model.gap import Gap, Why
from ...model.process import ProcessRef
from .. import child, procfs
from ..engine import StackOptions

NAME = "py-spy"
_WHAT = PythonStacks.KIND  # type: ignore[attr-defined]
VALUE_LIMIT = 100
_GLIMPSE = re.compile(r"^(?:[-+]?[\d.]+(?:e[-+]?\d+)?|nan|-?inf|True|False|None)$")
ENDED = ("Z", "X")
_TRACER = re.compile(rb"^TracerPid:\s*(\d+)", re.MULTILINE)
_UNSAFE = {"D", "T", "t"}
_WORDS = (
    ("permission denied", Why.DENIED, "run as the job's user or root (rankscope explain ptrace)"),
    ("operation not permitted", Why.DENIED, "run as the job's user or root (rankscope explain ptrace)"),
    ("failed to find python version", Why.UNSUPPORTED, ""),
    ("failed to find a python interpreter", Why.UNSUPPORTED, ""),
)


def make(proc: str = "/proc") -> PySpyEngine:
    """The engine for the processes under this proc."""
    return PySpyEngine(proc, executable())


# A py-spy that came with the agent, where there is one.
brought = ""


def executable() -> str | None:
    """The py-spy that was brought along, else the one installed beside us, else the first on the path."""
    if brought:
        return brought
    beside = Path(sys.executable).parent / "py-spy"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")


class PySpyEngine:
    """Runs ``py-spy dump`` and reads what it says."""

    name = NAME

    def __init__(self, proc: str, program: str | None) -> None:
        self._proc, self._program = proc, program

    def stacks(
        self, ref: ProcessRef, kernel: Threads | None, before: PythonStacks | None, options: StackOptions
    ) -> PythonStacks | NativeStacks | Gap:
        """Read one process; pause it only when allowed, and never while one of its threads cannot be paused."""
        if self._program is None:
            return Gap(_WHAT, Why.MISSING, "py-spy is not installed", "pip install py-spy", ref)
        looked = look(self._proc, ref.pid)
        if all(task.state in ENDED for task in looked.values()):
            return Gap(_WHAT, Why.GONE, "the process ended", process=ref)
        pausing = options.pause or options.native
        if pausing:
            reason = refusal(self._proc, ref.pid, looked, kernel)
            if reason:
                return Gap(_WHAT, Why.SKIPPED, f"it was not paused: {reason}", process=ref)
        return self._dump(ref, looked, options, pausing)

    def _dump(
        self, ref: ProcessRef, looked: dict[int, tasks.Task], options: StackOptions, pausing: bool
    ) -> PythonStacks | NativeStacks | Gap:
        assert self._program is not None
        arguments = [self._program, "dump", "--json", "--pid", str(_living(ref.pid, looked))]
        arguments += [] if options.native else ["--locals"]
        arguments += ["--native"] if options.native else []
        arguments += [] if pausing else ["--nonblocking"]
        try:
            told = child.run(arguments, options.deadline_s, {"PATH": "/usr/bin:/bin", "RUST_BACKTRACE": "0"})
        except OSError as error:
            return Gap(_WHAT, Why.MISSING, f"py-spy cannot be started: {error.strerror}", process=ref)
        if told.status != 0:
            return _gap(ref, told, self._proc)
        # Exactly how long it held the process is its secret; the process stood still for no longer than this.
        paused_ms = told.took_s * 1e3 if pausing else 0.0
        after = look(self._proc, ref.pid)
        try:
            said = json.loads(told.output)
            if not isinstance(said, list):
                raise TypeError("no list of threads")
            ids = _ids(self._proc, ref.pid, looked, said)
            threads = parse(said, ids, looked, after, options, paused=pausing)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Gap(_WHAT, Why.DAMAGED, f"py-spy's answer cannot be read: {type(error).__name__}", process=ref)
        if options.native:
            return NativeStacks(threads, NAME, paused_ms)
        return PythonStacks(threads, NAME, paused_ms=paused_ms)


def look(proc: str, pid: int) -> dict[int, tasks.Task]:
    try:
        return tasks.read(proc, pid)
    except OSError:
        return {}


def _living(pid: int, looked: dict[int, tasks.Task]) -> int:
    """The process by a thread that lives: when the main thread has exited, only its sisters lead to the memory."""
    alive = [tid for tid, task in looked.items() if task.state not in ENDED]
    return pid if pid in alive or not alive else alive[0]


def refusal(proc: str, pid: int, looked: dict[int, tasks.Task], kernel: Threads | None) -> str:
    """Why a process must not be attached to; an attach would hang, fail, or leave it stopped for good.

    The kernel is asked again where it has not said so before: that evidence may be missing because the process stands still.
    """
    path = f"{proc}/{pid}"
    tracer = kernel.tracer if kernel is not None else _tracer(path)
    if tracer:
        return f"process {tracer} traces it"
    if kernel.frozen if kernel is not None else procfs.frozen(path):
        return "its cgroup is frozen"
    states = {task.state for task in looked.values()} & _UNSAFE
    return f"a thread of it is in state {min(states)}" if states else ""


def _tracer(path: str) -> int:
    try:
        found = _TRACER.search(procfs.read(f"{path}/status"))
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def _gap(ref: ProcessRef, told: child.Told, proc: str) -> Gap:
    if not os.path.exists(f"{proc}/{ref.pid}"):
        return Gap(_WHAT, Why.GONE, "the process ended", process=ref)
    if told.status is None:
        return Gap(_WHAT, Why.TIMEOUT, f"py-spy gave no answer within {told.took_s:.1f} s", process=ref)
    for words, why, hint in _WORDS:
        if words in told.errors.lower():
            return Gap(_WHAT, why, f"py-spy: {_first_line(told.errors)}", hint, ref)
    return Gap(_WHAT, Why.FAILED, f"py-spy: {_first_line(told.errors)}", process=ref)


def _first_line(errors: str) -> str:
    return errors.strip().split("\n", 1)[0][:200]


def _ids(proc: str, pid: int, looked: dict[int, tasks.Task], said: list[dict[str, Any]]) -> dict[int, int]:
    """Our ids of the threads by what py-spy calls them; up to 3.10 it tells the C library's handle of a thread only."""
    outer = {task.inner: task.tid for task in looked.values()}
    ids = {}
    try:
        with source.ProcessMemory(proc, _living(pid, looked)) as memory:
            for each in said:
                state = interpreter.ThreadState(0, each["thread_id"], each["os_thread_id"] or 0, 0, 0)
                ids[state.ident] = outer.get(interpreter.find_native(memory, state, frozenset(outer)), 0)
    except OSError:
        return {}
    return {ident: tid for ident, tid in ids.items() if tid}


def parse(
    said: list[dict[str, Any]],
    ids: dict[int, int],
    before: dict[int, tasks.Task],
    after: dict[int, tasks.Task],
    options: StackOptions,
    paused: bool,
) -> tuple[PythonThread, ...]:
    """Turn ``py-spy dump --json`` into threads; one that slept all the while, or was paused, was read exactly."""
    threads = []
    for each in said:
        tid = ids.get(each["thread_id"])
        exact = paused or (tid is not None and tasks.slept(before.get(tid), after.get(tid)))
        frames = list(reversed(each["frames"]))
        threads.append(
            PythonThread(
                tid,
                Stack(_frame(frame) for frame in frames),
                each["thread_name"],
                Trust.EXACT if exact else Trust.LIKELY,
                bool(each["owns_gil"]),
                each["active"],
                tuple(_locals(frames, options)),
            )
        )
    return tuple(sorted(threads, key=lambda thread: thread.tid or 0))


def _frame(frame: dict[str, Any]) -> Frame:
    library = frame["module"] if frame["module"] and not frame["filename"].endswith(".py") else None
    return Frame(frame["name"], frame["filename"], max(int(frame["line"]), 0), library)


def _locals(frames: list[dict[str, Any]], options: StackOptions) -> Iterator[Local]:
    for depth, frame in enumerate(frames):
        held = ((each["name"], each["repr"] or "") for each in frame["locals"] or ())
        yield from glimpses(depth, frame["filename"], held, options)


def glimpses(depth: int, file: str, held: Iterable[tuple[str, str]], options: StackOptions) -> Iterator[Local]:
    """Those of a frame's locals that our own reader would tell: scalars of frames whose locals mean something."""
    for name, text in held if scope.telling(file) else ():
        wanted = options.locals or name in scope.IDENTITY or scope.installed(file)
        if wanted and (_GLIMPSE.match(text) or (options.strings and text[:1] in ('"', "'"))):
            yield Local(depth, name, text[:VALUE_LIMIT])
