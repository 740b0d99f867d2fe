"""The commands of a diagnosis, made ready to paste where it is read: on the right host, of the right process.

A rule writes a step as if it stood beside the process: ``rankscope stacks pid:4711 --raw``, ``kill -CONT 4711``, ``gdb -p
PID   # who holds it``. Whoever reads it may sit on a login node, or have only a file. So each step is read as words and

- a placeholder in capitals (``pid:CHILD``, ``-p PID``, ``--ranks A,B``) becomes the process or the ranks of its finding;
- a command of ours gets the target that leads there: ``rankscope stacks slurm:7 --ranks 5 --raw``;
- a command of the system is run on the host of its process: ``ssh node2 'kill -CONT 4711'``;
- what is no command at all (code to change, advice) stays as it is.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator

from ..model.address import Address
from ..model.diagnosis import Diagnosis, Finding
from ..model.process import Process
from ..model.ranks import RankSet

# Tools that say something only on the host of the process they are asked about.
_TOOLS = frozenset(
    "cat cuda-gdb curl df dmesg echo fuser gdb ip kill ls lslocks lsof nvidia-smi pgrep ping ps py-spy pystack ss strace sudo"
    .split()
)  # fmt: skip
_OF_A_HOST = re.compile(r"grep .*/(?:proc|sys|var/log)/")
_PID = re.compile(r"\bpid:(\d+|[A-Z]+\b)")
_PLACE = re.compile(r"(?<=--pid |-ABRT )[A-Z]+\b|(?<=-p )[A-Z]+\b|(?<=/proc/)PID\b")
_RANKS = re.compile(r"(?<=--ranks )[A-Z]+(?:,[A-Z]+)*\b")
_REMARK = re.compile(r"\s{2,}(?:#\s*|\()(.*?)\)?$")


def addressed(diagnosis: Diagnosis, to: Address) -> Diagnosis:
    """The diagnosis with every step as its reader can paste it."""
    findings = tuple(
        dataclasses.replace(one, next=tuple(_step(step, one, diagnosis, to) for step in one.next))
        for one in diagnosis.findings
    )
    steps = dict.fromkeys(_steps(diagnosis, findings, to))
    return dataclasses.replace(diagnosis, findings=findings, next=tuple(steps))


def _steps(diagnosis: Diagnosis, findings: tuple[Finding, ...], to: Address) -> Iterator[str]:
    """The steps of the whole diagnosis; one that several findings share is one for each of their processes."""
    made: dict[str, list[str]] = {}
    for old, new in zip(diagnosis.findings, findings):
        for step, ready in zip(old.next, new.next):
            made.setdefault(step, []).append(ready)
    for step in diagnosis.next:
        yield from made.get(step) or [_step(step, None, diagnosis, to)]


def _step(step: str, finding: Finding | None, diagnosis: Diagnosis, to: Address) -> str:
    """One step: its command for the reader, its remark behind ``#``."""
    found = _REMARK.search(step)
    command, remark = (step[: found.start()], found[1]) if found else (step, "")
    if command.split(" ", 1)[0] not in _TOOLS | {"rankscope"} and not _OF_A_HOST.match(command):
        return step
    if command.startswith("sudo -E rankscope ") and to.target and to.live:
        command = _as_root_there(command, to)
    if finding is not None and finding.ranks:
        command = _RANKS.sub(str(finding.ranks), command)
    about = _about(command, finding)
    ours = command.startswith("rankscope ")
    command = _ours(command, about, diagnosis, to) if ours else _theirs(command, about, to)
    return f"{command}   # {remark}" if remark else command


def _as_root_there(command: str, to: Address) -> str:
    """A command as root: root here is not root there, so that ``--sudo`` takes the place of sudo."""
    sudo = [] if "--sudo" in to.options else ["--sudo"]
    return " ".join([*command.split()[2:], *sudo])


def _about(command: str, finding: Finding | None) -> Process | None:
    """The process that a step is about: the one whose pid it names, else the first of its finding."""
    known = [one for one in finding.processes if one.ref.pid] if finding is not None else []
    words = set(re.findall(r"\d+", command))
    return next((one for one in known if str(one.ref.pid) in words), known[0] if known else None)


def _ours(command: str, about: Process | None, diagnosis: Diagnosis, to: Address) -> str:
    """A command of our own: with the target that leads to this process from where the reader is."""
    verb = command.split()[1] if len(command.split()) > 1 else ""
    named = _PID.search(command)
    elsewhere = about is not None and bool(to.here) and about.ref.host != to.here
    if not to.target and not elsewhere:
        return _PID.sub(f"pid:{about.ref.pid}", command) if named and about is not None else command
    if verb not in ("stacks", "diagnose", "doctor") or (not to.live and verb != "stacks"):
        return command
    if verb == "doctor":  # it walks the way to hosts that are named, and to no others
        to = dataclasses.replace(to, options=" ".join(word for word in to.options.split() if word != "--follow-hosts"))
    target = _target(about if named else None, diagnosis, to)
    if named:
        return _PID.sub(lambda _: target, command, count=1)
    rest = command.split()[2:]
    if rest and not rest[0].startswith("-") and ":" in rest[0]:
        return " ".join(["rankscope", verb, rest[0], *to.options.split(), *rest[1:]])
    return " ".join(["rankscope", verb, target, *rest]).rstrip()


def _target(about: Process | None, diagnosis: Diagnosis, to: Address) -> str:
    """The target of a step, as narrow as can be."""
    whole = to.target or to.host.format(host=about.ref.host if about else "")
    if about is None:
        return f"{whole} {to.options}".strip()
    narrow = to.host.format(host=about.ref.host) if to.host else whole
    return f"{narrow}{_who(about, diagnosis)} {to.options}".strip()


def _who(about: Process, diagnosis: Diagnosis) -> str:
    """The options that choose a process of a job among the others."""
    rank = diagnosis.roster.get(about.ref)
    if rank is not None:
        return f" --ranks {RankSet([rank])}"
    owner = about.rank
    return f" --ranks {RankSet([owner])} --children" if owner is not None else " --children"


def _theirs(command: str, about: Process | None, to: Address) -> str:
    """A command of the system: with the pid, and on the host of the process."""
    if about is None:
        return command
    command = _PLACE.sub(str(about.ref.pid), command)
    if not to.here or about.ref.host == to.here:
        return command
    return to.shell.format(host=about.ref.host, command=shlex.quote(command))


def of_file(diagnosis: Diagnosis, path: str) -> Diagnosis:
    """The diagnosis of a snapshot file, with commands that read the same file."""
    return addressed(diagnosis, Address(shlex.quote(path), live=False))
