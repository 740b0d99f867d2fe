"""C and C++ frames of all threads, the interpreter's and others, through pystack; else through ``py-spy --native``.

Native stacks can only be had by stopping the process, so this engine is never a default: it is asked for by name or by
``--native``, works in a child with a deadline, and does not touch a process that has a thread in state D, is stopped,
frozen or traced already. A tool that is killed while it holds such a process can leave it stopped for good.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...memory import tasks
from ...model.evidence.stacks import Frame, NativeStacks, PythonStacks, PythonThread, Stack, Trust
from ...model.evidence.threads import Threads
from ...model.gap import Gap, Why
from ...model.process import ProcessRef
from .. import child
from ..engine import StackOptions
from . import pyspy

NAME = "pystack"
_NATIVE, _PYTHON = NativeStacks.KIND, PythonStacks.KIND  # type: ignore[attr-defined]
_STOP_BIT = 1 << 18  # SIGSTOP is 19; the masks of status count from 1
# What pystack calls the frames of the interpreter itself: to leave out, and to put Python frames in the place of.
_IGNORED, _EVALUATES = 0, 1

# Runs in the child: pystack's records as JSON, and how long it held the process.
_SCRIPT = """
import json, sys, time
from pystack.engine import NativeReportingMode, get_process_threads
from pystack.types import frame_type
pid, native = int(sys.argv[1]), sys.argv[2] == "native"
began = time.monotonic()
mode = NativeReportingMode.ALL if native else NativeReportingMode.OFF
threads = list(get_process_threads(pid, stop_process=native, native_mode=mode, locals=not native))
took = time.monotonic() - began
def python(frame):
    where = frame.code
    return [where.scope, where.filename, where.location.lineno, bool(frame.is_entry), bool(frame.is_shim)]
def held(frame):
    both = {**frame.arguments, **frame.locals}
    return [frame.code.filename, [[name, text] for name, text in both.items() if len(text) <= 100]]
def other(frame, version):
    return [frame.symbol, frame.path, frame.linenumber, frame.library, frame_type(frame, version).value]
json.dump({"took_s": took, "threads": [{
    "tid": each.tid, "name": each.name, "gil": each.holds_the_gil > 0, "version": each.python_version,
    "python": [python(frame) for frame in each.all_frames],
    "held": [held(frame) for frame in each.all_frames if not frame.is_shim],
    "native": [other(frame, each.python_version) for frame in each.native_frames]} for each in threads]}, sys.stdout)
"""


def make(proc: str = "/proc") -> PystackEngine:
    """The engine for the processes under this proc."""
    return PystackEngine(proc)


def installed() -> bool:
    """Whether pystack is installed beside us; it is not loaded into our own process."""
    return importlib.util.find_spec("pystack") is not None


class PystackEngine:
    """Runs pystack in a child and joins its native frames with the Python frames between them."""

    name = NAME

    def __init__(self, proc: str) -> None:
        self._proc = proc

    def stacks(
        self, ref: ProcessRef, kernel: Threads | None, before: PythonStacks | None, options: StackOptions
    ) -> PythonStacks | NativeStacks | Gap:
        """Read one process; with native frames it stands still meanwhile, and the answer says for how long."""
        what = _NATIVE if options.native else _PYTHON
        looked = pyspy.look(self._proc, ref.pid)
        if all(task.state in pyspy.ENDED for task in looked.values()):
            return Gap(what, Why.GONE, "the process ended", process=ref)
        refusal = self._refusal(ref.pid, looked, kernel, options)
        if refusal:
            return Gap(what, Why.SKIPPED, refusal, process=ref)
        if not installed():
            if options.native:
                return pyspy.make(self._proc).stacks(ref, kernel, before, options)
            return Gap(what, Why.MISSING, "pystack is not installed", "pip install 'rankscope[native]'", ref)
        answer = self._run(ref, what, looked, options)
        if isinstance(answer, Gap) and options.native and left_stopped(self._proc, ref.pid):
            return Gap(what, answer.why, f"{answer.detail}; the process is stopped now", f"kill -CONT {ref.pid}", ref)
        return answer

    def _refusal(self, pid: int, looked: dict[int, tasks.Task], kernel: Threads | None, options: StackOptions) -> str:
        reason = pyspy.refusal(self._proc, pid, looked, kernel) if options.native else ""
        if reason:
            return f"it was not paused for native frames: {reason}"
        ours, its = (_namespace(self._proc, each) for each in ("self", str(pid)))
        if ours and its and ours != its:
            return "its files are in another mount namespace: run rankscope inside the container for native frames"
        return ""

    def _run(
        self, ref: ProcessRef, what: str, looked: dict[int, tasks.Task], options: StackOptions
    ) -> PythonStacks | NativeStacks | Gap:
        mode = "native" if options.native else "python"
        try:
            told = child.run([sys.executable, "-I", "-c", _SCRIPT, str(ref.pid), mode], options.deadline_s)
        except OSError as error:
            return Gap(what, Why.FAILED, f"pystack cannot be started: {error.strerror}", process=ref)
        if told.status is None:
            return Gap(what, Why.TIMEOUT, f"pystack gave no answer within {told.took_s:.1f} s", process=ref)
        if told.status:
            return self._gap(ref, what, told.errors)
        try:
            said = json.loads(told.output)
            threads = _threads(said["threads"], looked, pyspy.look(self._proc, ref.pid), options)
            paused_ms = float(said["took_s"]) * 1e3
            version = next((_version(each["version"]) for each in said["threads"]), None)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return Gap(what, Why.DAMAGED, f"pystack's answer cannot be read: {type(error).__name__}", process=ref)
        return NativeStacks(threads, NAME, paused_ms) if options.native else PythonStacks(threads, NAME, version)

    def _gap(self, ref: ProcessRef, what: str, errors: str) -> Gap:
        if not os.path.exists(f"{self._proc}/{ref.pid}"):
            return Gap(what, Why.GONE, "the process ended", process=ref)
        last = errors.strip().rsplit("\n", 1)[-1][:200]
        denied = "not permitted" in last or "ermission" in last
        hint = "run as the job's user or root (rankscope explain ptrace)" if denied else ""
        return Gap(what, Why.DENIED if denied else Why.FAILED, f"pystack: {last}", hint, ref)


def left_stopped(proc: str, pid: int) -> bool:
    """Whether a thread of a process is stopped, or will stop all of them as soon as it comes back from state D.

    An attach sends SIGSTOP to one thread; when the tool dies before that is taken, it stays pending (ptrace(2)). A
    process that was stopped before is never attached to, so what is stopped now was left so.
    """
    for path in Path(proc, str(pid), "task").glob("*/status"):
        try:
            status = dict(
                line.split(":\t", 1) for line in path.read_text(errors="replace").splitlines() if ":\t" in line
            )
            pending = int(status.get("SigPnd", "0"), 16) | int(status.get("ShdPnd", "0"), 16)
        except (OSError, ValueError):
            continue
        if status.get("State", "").startswith("T") or pending & _STOP_BIT:
            return True
    return False


def _namespace(proc: str, pid: str) -> str:
    try:
        return os.readlink(f"{proc}/{pid}/ns/mnt")
    except OSError:
        return ""


def _threads(
    said: list[dict[str, Any]], before: dict[int, tasks.Task], after: dict[int, tasks.Task], options: StackOptions
) -> tuple[PythonThread, ...]:
    """pystack's threads as ours; it knows them by their ids inside their own pid namespace, and by the kernel's names."""
    outer = {task.inner: task.tid for task in before.values()}
    threads = []
    for each in said:
        tid = outer.get(each["tid"], each["tid"])
        exact = options.native or tasks.slept(before.get(tid), after.get(tid))
        active = before[tid].state == "R" if tid in before else None
        stack = Stack(join(each["python"], each["native"]))
        trust = Trust.EXACT if exact else Trust.LIKELY
        held = tuple(
            local
            for depth, (file, pairs) in enumerate(() if options.native else each["held"])
            for local in pyspy.glimpses(depth, file, pairs, options)
        )
        threads.append(PythonThread(tid, stack, None, trust, bool(each["gil"]), active, held, each["name"] or None))
    return tuple(threads)


def _version(numbers: Sequence[int] | None) -> str | None:
    return ".".join(map(str, numbers)) if numbers else None


def join(python: Sequence[Sequence[Any]], native: Sequence[Sequence[Any]]) -> Iterator[Frame]:
    """One stack, root first: each native frame that evaluates Python gives way to the Python frames it evaluates.

    Both lists are root first. One call of the evaluator runs several Python frames; the first of them is an entry.
    """
    groups: list[list[Frame]] = []
    for name, file, line, entry, shim in python:
        if entry or shim or not groups:
            groups.append([])
        if not shim:
            groups[-1].append(Frame(name, file, max(int(line), 0)))
    groups = [group for group in groups if group]
    places = [index for index, frame in enumerate(native) if frame[4] == _EVALUATES]
    if len(places) != len(groups):
        # They do not pair: all Python frames stand where the innermost evaluator does.
        groups, places = [[frame for group in groups for frame in group]], places[-1:] or [-1]
    if places == [-1]:
        yield from groups[0]
    at = dict(zip(places, groups))
    for index, (symbol, path, line, library, kind) in enumerate(native):
        if index in at:
            yield from at[index]
        elif kind not in (_IGNORED, _EVALUATES):
            yield Frame(symbol, path, max(int(line), 0), library)
