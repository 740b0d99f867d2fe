"""The commands of a diagnosis, made ready to paste where it is read: on the right host, of the right process.

A rule writes a step as if it stood beside the process: ``Step("kill -CONT 4711", ref)``, and where it means the finding as
a whole, or gives advice, as text: ``rankscope stacks --source``, ``gdb -p PID   # who holds it``. Whoever reads it may sit on a
login node, or have only a file. So

- a placeholder in capitals (``pid:CHILD``, ``-p PID``, ``--ranks A,B``) becomes the process or the ranks of its finding;
- a command of ours gets the target that leads there: ``rankscope stacks slurm:7 --ranks 5 --raw``;
- a command of the system is run on the host of its process: ``ssh node2 'kill -CONT 4711'``;
- of a file, what only the living process can answer says where to ask: ``on node2, while it runs: kill -CONT 4711``; of texts
  that people saved this is so of stacks as well, since they have no more of them than was judged;
- what is no command at all (code to change, advice) stays as it is.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator

from ..model.address import Address
from ..model.diagnosis import Diagnosis, Finding, Step
from ..model.patterns import regex
from ..model.process import UNKNOWN_HOST, Process, ProcessRef, Role
from ..model.ranks import RankSet, ranks_phrase
from ..model.snapshot import FILES

# Tools that say something only on the host of the process they are asked about.
_TOOLS = frozenset(
    "cat cuda-gdb curl df dmesg du echo findmnt fuser gdb getent ibstat ip ipcs journalctl kill ls lslocks lsof mount nc nft "
    "nsenter nvidia-smi pgrep ping prlimit ps py-spy pystack rm ss strace sudo sysctl".split()
)
_FROM_HERE = frozenset({"rankscope", "srun", "ssh"})
_OF_A_HOST = regex(r"grep .*/(?:proc|sys|var/log)/")
_PID = regex(r"\bpid:(\d+|[A-Z]+\b)")
_PLACE = regex(r"(?<=--pid |-ABRT )[A-Z]+\b|(?<=-p )[A-Z]+\b|(?<=/proc/)PID\b")
_RANKS = regex(r" --ranks [A-Z]+(?:,[A-Z]+)*\b")
_REMARK = regex(r"\s{2,}(?:#\s*(?P<told>.*)|\((?P<aside>.*?)\)?)$")
_FEW = 8  # more ranks are no help to somebody who may look at one of them
_WITH_MORE = (" --raw", " --children", " --children --raw")  # a dump has all that a tree folds
_NOT_HERE = "on the host of the missing"
_ALIVE = regex(r" --(?:source|native)\b")  # what no file has: the program's own files, frames that were not taken


def addressed(diagnosis: Diagnosis, to: Address) -> Diagnosis:
    """The diagnosis with every step as its reader can paste it."""
    findings = tuple(
        dataclasses.replace(one, next=tuple(_step(step, one, diagnosis, to) for step in one.next))
        for one in diagnosis.findings
    )
    steps = dict.fromkeys(_steps(diagnosis, findings, to))
    whole = tuple(step for step in steps if not any(f"{step}{more}" in steps for more in _WITH_MORE))
    return dataclasses.replace(diagnosis, findings=findings, next=whole)


def of_files(diagnosis: Diagnosis, path: str = "") -> Diagnosis:
    """The diagnosis of saved evidence, with commands that read the same file where it is one."""
    return addressed(diagnosis, Address(shlex.quote(path) if path else "", live=False))


def typed(line: str) -> bool:
    """Whether a step is a command, which must stay one line to be pasted, and no advice."""
    return line.split(" ", 1)[0] in _TOOLS | _FROM_HERE or bool(_OF_A_HOST.match(line))


def _steps(diagnosis: Diagnosis, findings: tuple[Finding, ...], to: Address) -> Iterator[Step | str]:
    """The steps of the whole diagnosis; one that several findings share is one for each of their processes."""
    made: dict[Step | str, list[Step | str]] = {}
    for old, new in zip(diagnosis.findings, findings):
        for step, ready in zip(old.next, new.next):
            made.setdefault(step, []).append(ready)
    for step in diagnosis.next:
        yield from made.get(step) or [_step(step, None, diagnosis, to)]


def _step(step: Step | str, finding: Finding | None, diagnosis: Diagnosis, to: Address) -> str:
    """One step: its command for the reader, its remark behind ``#``."""
    meant = step if isinstance(step, Step) else _meant(step, finding, diagnosis)
    if meant is None:
        return str(step)
    command, about = meant.command, _process(meant.about, finding)
    # Of all ranks where nobody knows which.
    command = _RANKS.sub(f" --ranks {finding.ranks}" if finding is not None and finding.ranks else "", command)
    if meant.remark.startswith(_NOT_HERE) and not to.target:
        return str(meant)  # no process of this host leads there
    if command.startswith("sudo -E rankscope ") and to.live and (to.target or _elsewhere(about, to)):
        command = _as_root_there(command, to)
    if not to.live and diagnosis.job.launcher == FILES and command.startswith("rankscope stacks"):
        return _of_the_living(Step(command, about.ref if about else None, meant.remark), finding, about)
    if command.startswith("rankscope ") and not _of_a_stranger(command, about):
        command = _ours(command, about, diagnosis, to)
    else:
        command = _theirs(command, about, to)
    return str(Step(command, remark=meant.remark))


def _meant(text: str, finding: Finding | None, diagnosis: Diagnosis) -> Step | None:
    """A step that a rule wrote as text: a command about the first process of its finding, or else about the job's only host."""
    found = _REMARK.search(text)
    command, remark = (text[: found.start()], found["told"] or found["aside"] or "") if found else (text, "")
    if not typed(command):
        return None
    known = [one.ref for one in finding.processes if one.ref.pid] if finding is not None else []
    numbers = set(re.findall(r"\d+", command))
    about = next((ref for ref in known if str(ref.pid) in numbers), known[0] if known else None)
    if about is None and diagnosis.hosts and command.split(" ", 1)[0] not in _FROM_HERE:
        if len(diagnosis.hosts) > 1:
            return Step(command, None, remark or "on the hosts of the job")
        about = ProcessRef(diagnosis.hosts[0], 0)
    return Step(command, about, remark)


def _process(about: ProcessRef | None, finding: Finding | None) -> Process | None:
    """The process that a step is about, as its finding knows it."""
    known = finding.processes if finding is not None else ()
    return next((one for one in known if one.ref == about), Process(about, Role.OTHER) if about is not None else None)


def _elsewhere(about: Process | None, to: Address) -> bool:
    """Whether a process runs on another host than the reader's."""
    return about is not None and about.ref.host != UNKNOWN_HOST and bool(to.here) and about.ref.host != to.here


def _of_a_stranger(command: str, about: Process | None) -> bool:
    """Whether a command names a process of the same host that is no member of the job: no target leads to it from elsewhere."""
    named = _PID.search(command)
    return about is not None and named is not None and named[1].isdigit() and int(named[1]) != about.ref.pid


def _as_root_there(command: str, to: Address) -> str:
    """A command as root: root here is not root there, so that ``--sudo`` takes the place of sudo."""
    sudo = [] if "--sudo" in to.options else ["--sudo"]
    return " ".join([*command.split()[2:], *sudo])


def _whose(finding: Finding | None, about: Process | None) -> str:
    """Whose stacks are asked for, where no number tells."""
    if about is not None and about.ref.numbered:
        return ""
    if finding is not None and 0 < len(finding.ranks) <= _FEW:
        return f"of {ranks_phrase(finding.ranks)} "
    return f"of {about.label} " if about is not None and about.label else ""


def _of_the_living(step: Step, finding: Finding | None, about: Process | None) -> str:
    """A look at stacks, of a process whose saved texts have no more of them than was judged."""
    pid = str(about.ref.pid) if about is not None and about.ref.numbered else "PID"
    named = (
        step.command
        if _PID.search(step.command)
        else f"rankscope stacks pid:{pid}{step.command[len('rankscope stacks') :]}"
    )
    there = _where(pid, about) if about is not None else ""
    when = "" if there else f"{_whose(finding, about)}while it runs"
    return str(Step(f"{there}{_PID.sub(f'pid:{pid}', named)}", remark="; ".join(filter(None, (when, step.remark)))))


def _ours(command: str, about: Process | None, diagnosis: Diagnosis, to: Address) -> str:
    """A command of our own: with the target that leads to this process from where the reader is."""
    verb = command.split()[1] if len(command.split()) > 1 else ""
    named = _PID.search(command)
    if not to.target and not _elsewhere(about, to):
        if named is None or about is None:
            return _of_the_job(command, diagnosis, to)
        if not about.ref.numbered:  # nobody but we would know the number
            return (
                _PID.sub(f"--ranks {about.rank}" if about.rank is not None else "", command).replace("  ", " ").rstrip()
            )
        return _theirs(_PID.sub(f"pid:{about.ref.pid}", command), about, to)
    if verb not in ("stacks", "diagnose", "doctor") or (not to.live and verb != "stacks"):
        return command
    if not to.live:
        command = _ALIVE.sub("", command)
    if verb == "doctor":  # it walks the way to hosts that are named, and to no others
        to = dataclasses.replace(to, options=" ".join(word for word in to.options.split() if word != "--follow-hosts"))
    # Only stacks chooses among the processes of a job.
    target = _narrow(about, diagnosis, to) if about is not None and named and verb == "stacks" else _whole(about, to)
    if named:
        if _CHILDREN in target:
            command = command.replace(_CHILDREN, "")  # it is asked for once
        return _PID.sub(lambda _: target, command, count=1)
    rest = command.split()[2:]
    if rest and not rest[0].startswith("-") and ":" in rest[0]:
        return " ".join(["rankscope", verb, rest[0], *to.options.split(), *rest[1:]])
    return " ".join(["rankscope", verb, target, *rest]).rstrip()


def _of_the_job(command: str, diagnosis: Diagnosis, to: Address) -> str:
    """A command about the whole job of the reader's own host: without a target it would be about every job there."""
    words, root = command.split(), diagnosis.job.root
    bare = words[1:2] in (["stacks"], ["diagnose"]) and (len(words) == 2 or words[2].startswith("-"))
    # Each of its processes leads to the job; some launchers have none of their own.
    known = [root] if root is not None else sorted(diagnosis.roster, key=lambda ref: ref.pid)
    here = next((ref for ref in known if ref.host == to.here), None)
    if not bare or not to.live or here is None:
        return command
    return " ".join([*words[:2], f"pid:{here.pid}", *words[2:]])


def _whole(about: Process | None, to: Address) -> str:
    """The target of a step about the whole job, as far as it can be reached."""
    target = to.target or to.host.format(host=about.ref.host if about else "")
    return f"{target} {to.options}".strip()


def _narrow(about: Process, diagnosis: Diagnosis, to: Address) -> str:
    """The target of a step about one process, as narrow as can be."""
    target = to.host.format(host=about.ref.host) if to.host else to.target
    return f"{target}{_who(about, diagnosis)} {to.options}".strip()


_CHILDREN = " --children"


def _who(about: Process, diagnosis: Diagnosis) -> str:
    """The options that choose a process of a job among the others."""
    rank = diagnosis.roster.get(about.ref)
    if rank is not None:
        return f" --ranks {RankSet([rank])}"
    owner = about.rank
    return f" --ranks {RankSet([owner])}{_CHILDREN}" if owner is not None else _CHILDREN


def _theirs(command: str, about: Process | None, to: Address) -> str:
    """A command of the system: with the pid, and on the host of the process."""
    if about is None:
        return command
    if not about.ref.numbered:
        return re.sub(rf"(?<![\w.]){about.ref.pid}(?![\w.])", "PID", command)
    if about.ref.pid:  # 0 is the host as a whole
        command = _PLACE.sub(str(about.ref.pid), command)
    if not to.live:
        return f"{_where(command, about)}{command}"
    return to.shell.format(host=about.ref.host, command=shlex.quote(command)) if _elsewhere(about, to) else command


def _where(command: str, about: Process) -> str:
    """Where, and in whose lifetime, a command is typed that a file cannot answer."""
    if about.ref.host == UNKNOWN_HOST:
        return ""
    alive = ", while it runs" if str(about.ref.pid) in re.findall(r"\d+", command) else ""
    return f"on {about.ref.host}{alive}: "
