"""A step of srun beside a job's own: its command, what its lines say of which node, and its end.

``--overlap`` shares what the job's own step holds, ``--gres=none`` leaves its devices alone (srun(1)); without the first
the step would wait for ever behind the one that hangs. Slurm older than 20.11 overlaps by default and has no such option.
The agent travels in the arguments: srun brings standard input to nobody while one of the nodes is silent (seen with 22.05).
What is too large for that goes to standard input, of nodes that have answered before.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time

from ..probe.child import leaving_with_us
from ..probe.post import WANT
from . import hostnames
from .answers import Answers
from .ship import as_arguments, script
from .slurm_queue import tool
from .transport import Call, Hosts

_OVERLAP = (20, 11)
_ARGUMENTS = 1 << 20  # the kernel takes two megabytes with a stack limit of eight (execve(2)), and base64 adds a third
_NODE_FAILED = re.compile(r"(?:Task launch for .* failed on node|launch failed on node|error: Node) ([^\s:]+)[: ]*(.*)")
_NOISE = "lacks support for cpu binding"  # what srun says of --cpu-bind=none where it would bind nothing anyway
_TICK_S = 0.2


def version() -> tuple[int, int]:
    """The installed Slurm, (0, 0) where it does not say."""
    words = tool("srun", "--version").output.decode("utf-8", "replace").split()
    numbers = re.match(r"(\d+)\.(\d+)", words[-1]) if words else None
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def step(call: Call, names: tuple[str, ...], release: tuple[int, int], part: str = "", bare: bool = False) -> list[str]:
    """The command that starts one agent on each node, inside the job (or a part of it); ``bare`` brings only the errand."""
    options = call.options
    line = (f"{options.env_setup} && " if options.env_setup else "") + script(options.remote_python, options.sudo)
    group = [f"--het-group={part}"] if part else []
    large = not bare and is_large(call)
    overlap = ["--overlap"] if release >= _OVERLAP or release == (0, 0) else []
    parcel = call.parcel.bare() if bare else call.parcel.whole()
    return [
        "srun", f"--jobid={call.hosts.slurm_job[0]}", *group, *overlap,
        "--gres=none", f"--nodes={len(names)}", f"--ntasks={len(names)}", "--ntasks-per-node=1", "--cpus-per-task=1",
        f"--nodelist={','.join(names)}", "--label", f"--input={'all' if large else 'none'}", "--mpi=none", "--cpu-bind=none",
        "--kill-on-bad-exit=0", "--wait=0", "--quiet", "--job-name=rankscope", "--chdir=/", "--export=ALL", "sh", "-c",
        f"echo rankscope-node $SLURMD_NODENAME; {line}", "sh", *([] if large else as_arguments(parcel)),
    ]  # fmt: skip


def is_large(call: Call) -> bool:
    """Whether a parcel is more than arguments may hold; only nodes that have answered already are sent one."""
    return len(call.parcel.whole()) > _ARGUMENTS


def parts(hosts: Hosts, names: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """The steps to start: one for the job, or one for each part of a heterogeneous one that has nodes to be asked."""
    known = hosts.slurm_parts or (("", names),)
    mine = [(part, tuple(name for name in theirs if name in names)) for part, theirs in known]
    return [(part, theirs) for part, theirs in mine if theirs]


class Listener:
    """Sorts the labelled lines of srun to the nodes they come from: each task first says which node it is on.

    ``lacking`` are nodes that ended because nothing was sent, and what they need is not installed there.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._nodes: dict[bytes, str] = {}
        self.failed: dict[str, str] = {}
        self.lacking: set[str] = set()
        self.said: list[str] = []

    def output(self, line: bytes) -> None:
        """Take a line of a task's standard output."""
        label, colon, rest = line.partition(b": ")
        if not colon or not label.strip().isdigit():
            return
        node = self._nodes.get(label.strip(), "")
        if rest.startswith(b"rankscope-node "):
            self._nodes[label.strip()] = rest.split()[1].decode("ascii", "replace") if len(rest.split()) > 1 else ""
        elif rest.startswith(WANT):
            self.lacking.add(node)
        else:
            self._answers.feed(node, rest)

    def errors(self, line: bytes) -> None:
        """Take a line of standard error: a task's, or of srun itself."""
        text = line.decode("utf-8", "replace").strip()
        found = _NODE_FAILED.search(text)
        if found:
            self.failed[found[1]] = found[2][:200]
        label, colon, rest = text.partition(": ")
        if _NOISE in text:
            return
        if text and not (colon and label.isdigit()):
            self.said = [*self.said[-20:], text]
        elif rest:
            self._answers.feed(self._nodes.get(label.encode(), ""), rest.encode())


class Steps:
    """Steps that run at the same time, until they end, every node has answered, or the deadline has come."""

    def __init__(self, call: Call, answers: Answers) -> None:
        self._call, self._answers, self._release = call, answers, version()
        self._selector = selectors.DefaultSelector()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._rest: dict[int, bytes] = {}
        self._asked_again: set[str] = set()
        self.listeners: list[Listener] = []

    def run(self, names: tuple[str, ...], end: float, bare: bool) -> None:
        """Ask these nodes; then end our steps, and only those."""
        try:
            self._start(names, bare)
            self._converse(end)
        except KeyboardInterrupt:
            self._answers.complete = False
        finally:
            self._selector.close()
            for process in self._processes:
                _end(process)

    def _start(self, names: tuple[str, ...], bare: bool = False) -> None:
        for part, mine in parts(self._call.hosts, names):
            listen = Listener(self._answers)
            self.listeners.append(listen)
            file = os.open(os.devnull, os.O_RDONLY) if bare or not is_large(self._call) else _held(self._call)
            try:
                process = subprocess.Popen(
                    step(self._call, mine, self._release, part, bare), stdin=file, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, start_new_session=True, preexec_fn=leaving_with_us(),
                )  # fmt: skip
            finally:
                os.close(file)
            self._processes.append(process)
            for stream, take in ((process.stdout, listen.output), (process.stderr, listen.errors)):
                assert stream is not None
                self._selector.register(stream, selectors.EVENT_READ, take)

    def _converse(self, end: float) -> None:
        while self._selector.get_map() and self._answers.waiting() and (left := end - time.monotonic()) > 0:
            heard = self._hear(min(left, _TICK_S))
            if not heard or not self._selector.get_map():  # who lacks something mostly says so with the others
                self._serve_lacking()
            if self._answers.begun():
                self._call.idle()
            waiting = self._answers.waiting()
            if waiting:
                self._call.progress(f"{hostnames.fold(waiting)}: waiting, {max(0.0, left):.0f} s left")

    def _hear(self, wait_s: float) -> bool:
        ready = self._selector.select(wait_s)
        for key, _ in ready:
            chunk = os.read(key.fd, 1 << 16)
            *lines, self._rest[key.fd] = (self._rest.get(key.fd, b"") + chunk).split(b"\n")
            for line in lines:
                key.data(line)
            if not chunk:
                self._selector.unregister(key.fileobj)
        return bool(ready)

    def _serve_lacking(self) -> None:
        """Bring everything to nodes that have not what they should have; nobody waits for those that are silent."""
        lacking = {name for listen in self.listeners for name in listen.lacking} - self._asked_again
        if lacking:
            self._asked_again |= lacking
            self._start(tuple(name for name in self._call.hosts.names if name in lacking))


def _held(call: Call) -> int:
    """A large parcel in a file that has no name, for srun to read from."""
    file = os.memfd_create("rankscope-parcel")
    view = memoryview(call.parcel.whole())
    while view:
        view = view[os.write(file, view) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _end(process: subprocess.Popen[bytes]) -> None:
    """End srun, which ends the step's tasks; ask, then insist."""
    for word in (None, signal.SIGTERM, signal.SIGKILL):
        if word is not None and process.poll() is None:
            os.killpg(process.pid, word)
        try:
            process.wait(0.2 if word is None else 1.0)
            break
        except subprocess.TimeoutExpired:
            continue
    for stream in (process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            stream.close()
