"""The commands of a diagnosis, made ready to paste where it is read: on the right host, of the right process.

A rule writes a step as if it stood beside the process (``rankscope stacks pid:4711 --raw``, ``kill -CONT 4711``, ``gdb -p
PID``). Whoever reads it may sit on a login node, or have only a file.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Address:
    """Where the reader of a diagnosis is, and how the job is reached from there.

    ``target`` is the target as a shell reads it, empty for a job beside the reader; ``options`` come behind it. ``here``
    is the reader's own host. ``host`` says how one host alone is looked at ({host} stands for it; empty: only the whole
    target), ``shell`` how a command is run there ({host}, {command}).
    """

    target: str = ""
    options: str = ""
    here: str = ""
    host: str = ""
    shell: str = "ssh {host} {command}"
    live: bool = True


def addressed(diagnosis: Diagnosis, to: Address) -> Diagnosis:
    """The diagnosis with every step as its reader can paste it."""
    steps = {id(one): tuple(_step(step, one, diagnosis, to) for step in one.next) for one in diagnosis.findings}
    new: dict[str, dict[str, None]] = {}
    for one in diagnosis.findings:
        for old, step in zip(one.next, steps[id(one)]):
            new.setdefault(old, {})[step] = None
    return dataclasses.replace(
        diagnosis,
        findings=tuple(dataclasses.replace(one, next=steps[id(one)]) for one in diagnosis.findings),
        next=tuple(dict.fromkeys(_all(diagnosis, new, to))),
    )


def _all(diagnosis: Diagnosis, new: dict[str, dict[str, None]], to: Address) -> Iterator[str]:
    for old in diagnosis.next:
        yield from new.get(old) or (_step(old, None, diagnosis, to),)


def _step(step: str, finding: Finding | None, diagnosis: Diagnosis, to: Address) -> str:
    """One step: its command for the reader, its remark behind ``#``."""
    found = _REMARK.search(step)
    command, remark = (step[: found.start()], found[1]) if found else (step, "")
    if command.split(" ", 1)[0] not in _TOOLS | {"rankscope"} and not _OF_A_HOST.match(command):
        return step
    if command.startswith("sudo -E rankscope ") and to.target and to.live:
        words = command.split()[2:]  # root here is not root there
        return _step(
            " ".join([*words, *(["--sudo"] if "--sudo" not in to.options else [])])
            + "".join(f"   {one}" for one in _remarks(remark)),
            finding,
            diagnosis,
            to,
        )
    about = _about(command, finding)
    if finding is not None and finding.ranks:
        command = _RANKS.sub(str(finding.ranks), command)
    ours = command.startswith("rankscope ")
    command = _ours(command, about, diagnosis, to) if ours else _theirs(command, about, to)
    return "   ".join([command, *_remarks(remark)])


def _remarks(remark: str) -> list[str]:
    return [f"# {remark}"] if remark else []


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
