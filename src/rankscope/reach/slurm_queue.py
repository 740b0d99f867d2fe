"""What Slurm says of a job: which one is meant, its state, and which of its nodes Slurm has given up (squeue(1), sinfo(1))."""

from __future__ import annotations

import getpass
import os
import re
import shutil

from ..errors import RankscopeError
from ..model.gap import Gap, Why
from ..probe import child
from .slurm_state import HERE, Job, not_running, nothing_yet

_JOB = re.compile(r"me|\d+(?:[_+]\d+)?")
_PAIR = re.compile(r"(?<!\S)(JobState|EndTime|NodeList)=(?!\(null\))(\S+)")
_FIELDS = "%A|%N|%T|%i|%u|%r|%j"
_TOOL_S = 10.0  # slurmctld answers in milliseconds, or is in trouble
_DOWN = ("down", "fail", "power", "unk", "inval")


def the_job(spec: str) -> list[Job]:
    """The parts of the one running job that is meant; raise RankscopeError where there is none, or one that is halted."""
    if not _JOB.fullmatch(spec):
        raise RankscopeError(
            f"this is not a Slurm job: {spec[:40]!r}", "", "slurm:2180718, slurm:12_3, slurm:12+1 or slurm:me"
        )
    who = ["-u", getpass.getuser()] if spec == "me" else ["-j", spec]
    told = tool("squeue", "-h", "-o", _FIELDS, *who)
    if told.status != 0:
        raise _refused(spec, told.errors.strip())
    lines = told.output.decode("utf-8", "replace").splitlines()
    chosen = choose(spec, [Job(*line.split("|", 6)) for line in lines if line.count("|") >= 6])
    nothing = next((why for job in chosen if (why := nothing_yet(job)) is not None), None)
    if nothing is not None:
        raise nothing
    return chosen


def _refused(spec: str, said: str) -> RankscopeError:
    """Why squeue told nothing: it knows no such job (any more), or it cannot work here."""
    if "Invalid job id" in said:
        because = "it has ended (sacct may still know it), or the number is another one"
        return RankscopeError(f"Slurm knows no job {spec}", because, "squeue --me")
    return RankscopeError("squeue gives no list of jobs here", said[:300].replace("\n", "\n           "),
                          "on a login node of that cluster, or ssh:HOSTS, which does without Slurm")  # fmt: skip


def choose(spec: str, jobs: list[Job]) -> list[Job]:
    """The one running job that is meant, as all of its parts; raise RankscopeError with the list when that is not clear."""
    running = [job for job in jobs if job.nodes and job.state in HERE]
    if spec == "me":  # a job that ends is meant only where no other is left
        running = [job for job in running if not job.ending] or running
    # The number of an array is also that of one of its tasks: not to be taken for it.
    exact = [job for job in running if spec == job.shown]
    if len(exact) == 1 or len(running) == 1:
        return exact or running
    if not running:
        raise not_running(spec, jobs, _requeued(jobs)) if jobs else not_running(spec, jobs, *_ended(spec))
    if len({job.shown.partition("+")[0] for job in running}) == 1 and all("+" in job.shown for job in running):
        return running
    lines = "\n           ".join(f"slurm:{job.shown}   {job.name} on {job.nodes}" for job in running[:20])
    more = f"\n           … and {len(running) - 20} more" if len(running) > 20 else ""
    what = f"slurm:{spec} stands for {len(running)} jobs; choose one"
    raise RankscopeError(what, lines + more, f"rankscope diagnose slurm:{running[0].shown}")


def _requeued(jobs: list[Job]) -> tuple[str, ...]:
    """Whether the first of these has run before, and when Slurm means to start it."""
    words = _said("squeue", "-h", "-j", jobs[0].id, "-O", "RestartCnt:20,StartTime:40").split()[:2]
    restarts, start = words if len(words) == 2 else ("", "")
    before = restarts.isdecimal() and restarts != "0"
    said = [f"it has run before, and was requeued {restarts} time{'s' * (restarts != '1')}"] * before
    return (*said, *([f"Slurm means to start it at {start}"] if start[:1].isdigit() else []))


def _ended(spec: str) -> tuple[list[str], str]:
    """What slurmctld still knows of a job for some minutes after its end, and the command that looks on where something of it
    may be left."""
    line = _said("scontrol", "show", "job", "-o", spec).partition("\n")[0] if spec != "me" else ""
    about, hint = dict(_PAIR.findall(line)), "squeue --me"
    if not about.get("JobState"):
        return [], hint
    nodes = about.get("NodeList", "")
    said = [f"Slurm says {about['JobState']} since {about.get('EndTime', '?')}; it ran on {nodes or 'no node'}"]
    drained = _said("sinfo", "-h", "-N", "-n", nodes, "-o", "%N|%T|%E") if nodes else ""
    for name, state, reason in (row.split("|", 2) for row in drained.splitlines() if row.count("|") >= 2):
        if reason.startswith("Kill task failed"):
            said.append(f"{name} is {state}: {reason}, so a process may be left there that cannot be killed")
            hint = f"rankscope diagnose ssh:{name}"
    return said, hint


def _said(name: str, *arguments: str) -> str:
    """What one of Slurm's commands can add, empty where it does not: what is known already is said all the same."""
    try:
        told = tool(name, *arguments)
    except RankscopeError:
        return ""
    return told.output.decode("utf-8", "replace") if told.status == 0 else ""


def tool(name: str, *arguments: str) -> child.Told:
    """What one of Slurm's own commands says; raise RankscopeError when there is none or it is silent."""
    path = shutil.which(name)
    if path is None:
        raise RankscopeError(
            f"{name} is not installed here", "this needs Slurm's own commands", "on a login node, or ssh:HOSTS"
        )
    told = child.run([path, *arguments], _TOOL_S, {**os.environ, "SLURM_TIME_FORMAT": "standard"})
    if told.status is None:
        raise RankscopeError(
            f"{name} gave no answer within {_TOOL_S:g} s", "slurmctld may be down", "ssh:HOSTS does without it"
        )
    return told


def given_up(nodes: str) -> dict[str, Gap]:
    """Nodes of the job that Slurm does not hear from any more; a star after the state means just that (sinfo(1))."""
    told = tool("sinfo", "-h", "-N", "-n", nodes, "-o", "%N|%T")
    found = {}
    for line in told.output.decode("utf-8", "replace").splitlines():
        name, _, state = line.strip().partition("|")
        if state.endswith("*") or state.lower().startswith(_DOWN):
            found[name] = Gap("host", Why.UNREACHABLE, f"Slurm says {state}: its slurmd does not answer", host=name)
    return found
