"""``slurm:JOBID``: the nodes of a Slurm job, reached by an overlapping step of the job itself; no ssh is needed.

``--overlap`` shares what the job's own step holds, ``--gres=none`` leaves its devices alone (srun(1)); without the first
the step would wait for ever behind the one that hangs. Slurm older than 20.11 overlaps by default and has no such option.
A step is refused as a whole when one of its nodes is down, so nodes that Slurm has given up are not asked. The agent
travels in the arguments: srun brings standard input to nobody while one of the nodes is silent (seen with 22.05). What is
too large for that goes to standard input, of nodes that have answered before.
"""

from __future__ import annotations

import functools
import os
import re
import selectors
import signal
import subprocess
import time
from dataclasses import replace

from ..model.gap import Why
from . import hostnames, ssh
from .answers import Answers
from .ship import as_arguments, script
from .slurm_queue import given_up, the_job, tool
from .transport import Call, Hosts, Options, Transport

_OVERLAP = (20, 11)
_SSH_S = 2.0  # what must be left of the deadline to go another way
_ARGUMENTS = 1 << 20  # the kernel takes two megabytes with a stack limit of eight (execve(2)), and base64 adds a third
_NODE_FAILED = re.compile(r"(?:Task launch for .* failed on node|launch failed on node|error: Node) ([^\s:]+)[: ]*(.*)")


def find(spec: str, options: Options) -> Hosts:
    """The nodes of a running job, of all its parts when it is heterogeneous; those that Slurm says are down are gaps."""
    jobs = the_job(spec)
    nodes = {job.id: hostnames.expand(job.nodes) for job in jobs}
    dead = given_up(",".join(job.nodes for job in jobs))
    living = tuple(dict.fromkeys(name for names in nodes.values() for name in names if name not in dead))
    leader, plus, _ = jobs[0].shown.partition("+")
    # A step of a heterogeneous job is started by its leader's number (srun(1), --het-group).
    numbers = (leader, *nodes) if plus else (jobs[0].id,)
    parts = tuple((job.shown.partition("+")[2], nodes[job.id]) for job in jobs) if plus else ()
    numbers = tuple(dict.fromkeys(numbers))
    return Hosts(living, tuple(dead.values()), numbers, parts, jobs[0].owner, whole=True)


def version() -> tuple[int, int]:
    """The installed Slurm, (0, 0) where it does not say."""
    words = tool("srun", "--version").output.decode("utf-8", "replace").split()
    numbers = re.match(r"(\d+)\.(\d+)", words[-1]) if words else None
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def step(call: Call, names: tuple[str, ...], release: tuple[int, int], part: str = "") -> list[str]:
    """The command that starts one agent on each node, inside the job (or a part of it)."""
    options = call.options
    line = (f"{options.env_setup} && " if options.env_setup else "") + script(options.remote_python, options.sudo)
    group = [f"--het-group={part}"] if part else []
    source = "all" if _is_large(call) else "none"
    overlap = ["--overlap"] if release >= _OVERLAP or release == (0, 0) else []
    return [
        "srun", f"--jobid={call.hosts.slurm_job[0]}", *group, *overlap,
        "--gres=none", f"--nodes={len(names)}", f"--ntasks={len(names)}", "--ntasks-per-node=1", "--cpus-per-task=1",
        f"--nodelist={','.join(names)}", "--label", f"--input={source}", "--mpi=none", "--cpu-bind=none",
        "--kill-on-bad-exit=0", "--wait=0", "--quiet", "--job-name=rankscope", "--chdir=/", "--export=ALL", "sh", "-c",
        f"echo rankscope-node $SLURMD_NODENAME; {line}", "sh",
        *([] if _is_large(call) else as_arguments(call.parcel.whole())),
    ]  # fmt: skip


def _is_large(call: Call) -> bool:
    """Whether a parcel is more than arguments may hold; only nodes that have answered already are sent one."""
    return len(call.parcel.whole()) > _ARGUMENTS


def _input(call: Call) -> int:
    """Where srun reads from: nothing, or a large parcel in a file that has no name."""
    if not _is_large(call):
        return os.open(os.devnull, os.O_RDONLY)
    file = os.memfd_create("rankscope-parcel")
    view = memoryview(call.parcel.whole())
    while view:
        view = view[os.write(file, view) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file


def ask(call: Call, answers: Answers) -> None:
    """Start the step and take what comes; where the launch fails on some nodes, ask the living ones once more, and by ssh
    those that Slurm cannot start anything on: a dead slurmd is no dead node."""
    end = time.monotonic() + call.deadline_s
    said = _ask_by_steps(call, answers, end) if call.hosts.names else []
    for name in answers.waiting():
        if said:
            why, detail, hint = _of_srun(said[-1], call.hosts)
            answers.missing(name, why, detail, hint)
    _ask_by_ssh(call, answers, end)


def _ask_by_steps(call: Call, answers: Answers, end: float) -> list[str]:
    """Two tries at most; what srun said of itself."""
    release, names = version(), call.hosts.names
    for _ in range(2):
        commands = [step(call, mine, release, part) for part, mine in _parts(call.hosts, names)]
        listeners = [Listener(answers) for _ in commands]
        _run_steps(commands, call, answers, listeners, end)
        failed = {name: detail for listen in listeners for name, detail in listen.failed.items()}
        for name, detail in failed.items():
            answers.missing(name, Why.UNREACHABLE, f"Slurm cannot start a task there: {detail or 'no answer'}")
        left = tuple(name for name in answers.waiting() if name in names)
        silent = left and not any(answers.inboxes[name].answered for name in names)
        if not (failed and silent and end - time.monotonic() > 1.0 and answers.complete):
            break
        names = left
    return [line for listen in listeners for line in listen.said]


def _of_srun(said: str, hosts: Hosts) -> tuple[Why, str, str]:
    """Why no step could be started, from the last words of srun."""
    if "ermission denied" not in said:
        return Why.FAILED, said[:200], ""
    nodes = hostnames.fold(hosts.names)
    hint = f"sudo -u {hosts.slurm_owner or 'OWNER'}, or rankscope diagnose 'ssh:{nodes}' --sudo"
    return Why.DENIED, "Slurm lets nobody but the owner of a job start a step in it", hint


def _ask_by_ssh(call: Call, answers: Answers, end: float) -> None:
    """The other way to nodes that Slurm has lost; where that fails as well, both reasons count."""
    left = end - time.monotonic()
    lost = {name: gap for name, gap in answers.gaps.items() if not answers.inboxes[name].answered}
    if not lost or left < _SSH_S or not answers.complete:
        return
    answers.gaps = {name: gap for name, gap in answers.gaps.items() if name not in lost}
    ssh.ask(replace(call, hosts=Hosts(tuple(lost)), deadline_s=left), answers)
    for name, gap in lost.items():
        told = answers.gaps.get(name)
        if not answers.inboxes[name].ended and told is not None:
            # A name that ssh does not know says nothing of the node.
            why = gap.why if told.why in (Why.MISSING, Why.FAILED) else told.why
            answers.gaps[name] = replace(
                gap, why=why, detail=f"{gap.detail}; by ssh: {told.detail}", hint=gap.hint or told.hint
            )


def _parts(hosts: Hosts, names: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """The steps to start: one for the job, or one for each part of a heterogeneous one that has nodes to be asked."""
    parts = hosts.slurm_parts or (("", names),)
    mine = [(part, tuple(name for name in theirs if name in names)) for part, theirs in parts]
    return [(part, theirs) for part, theirs in mine if theirs]


class Listener:
    """Sorts the labelled lines of srun to the nodes they come from: each task first says which node it is on."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._nodes: dict[bytes, str] = {}
        self.failed: dict[str, str] = {}
        self.said: list[str] = []

    def output(self, line: bytes) -> None:
        label, colon, rest = line.partition(b": ")
        if not colon or not label.strip().isdigit():
            return
        if rest.startswith(b"rankscope-node "):
            self._nodes[label.strip()] = rest.split()[1].decode("ascii", "replace") if len(rest.split()) > 1 else ""
        else:
            self._answers.feed(self._nodes.get(label.strip(), ""), rest)

    def errors(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        found = _NODE_FAILED.search(text)
        if found:
            self.failed[found[1]] = found[2][:200]
        label, colon, rest = text.partition(": ")
        if text and not (colon and label.isdigit()):
            self.said = [*self.said[-20:], text]
        elif rest:
            self._answers.feed(self._nodes.get(label.encode(), ""), rest.encode())


def _run_steps(commands: list[list[str]], call: Call, answers: Answers, listeners: list[Listener], end: float) -> None:
    """Run srun until it ends, every node has answered, or the deadline has come; then end our steps, and only those."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.extend(map(functools.partial(_start, call), commands))
        _converse(dict(zip(processes, listeners)), call, answers, end)
    except KeyboardInterrupt:
        answers.complete = False
    finally:
        for process in processes:
            _end(process)


def _start(call: Call, command: list[str]) -> subprocess.Popen[bytes]:
    file = _input(call)
    try:
        return subprocess.Popen(
            command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    finally:
        os.close(file)


def _converse(processes: dict[subprocess.Popen[bytes], Listener], call: Call, answers: Answers, end: float) -> None:
    rest: dict[int, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for process, listen in processes.items():
            for stream, take in ((process.stdout, listen.output), (process.stderr, listen.errors)):
                assert stream is not None
                selector.register(stream, selectors.EVENT_READ, take)
        while selector.get_map() and answers.waiting() and (left := end - time.monotonic()) > 0:
            for key, _ in selector.select(min(left, 0.2)):
                chunk = os.read(key.fd, 1 << 16)
                *lines, rest[key.fd] = (rest.get(key.fd, b"") + chunk).split(b"\n")
                for line in lines:
                    key.data(line)
                if not chunk:
                    selector.unregister(key.fileobj)
            if answers.begun():
                call.idle()
            waiting = answers.waiting()
            if waiting:
                call.progress(f"{hostnames.fold(waiting)}: waiting, {max(0.0, left):.0f} s left")


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


TRANSPORT = Transport("slurm", "slurm:JOBID", find, ask)
