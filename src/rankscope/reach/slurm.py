"""``slurm:JOBID``: the nodes of a Slurm job, reached by an overlapping step of the job itself; no ssh is needed.

A step is refused as a whole when one of its nodes is down, so nodes that Slurm has given up are not asked. Where our
installation lies with a file server, the step brings no agent, and those who do not find it there are asked once more.
"""

from __future__ import annotations

import time
from dataclasses import replace

from ..model.gap import Why
from . import hostnames, ssh
from .answers import Answers
from .ship import served
from .slurm_queue import given_up, the_job
from .slurm_step import Steps
from .transport import Call, Hosts, Options, Transport

_SSH_S = 2.0  # what must be left of the deadline to go another way


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
    ending = all(job.ending for job in jobs)
    return Hosts(living, tuple(dead.values()), numbers, parts, jobs[0].owner, slurm_ending=ending, whole=True)


def ask(call: Call, answers: Answers) -> None:
    """Start the step and take what comes; where the launch fails on some nodes, ask the living ones once more, and by ssh
    those that Slurm cannot start anything on: a dead slurmd is no dead node, and a job that ends takes no step."""
    end = time.monotonic() + call.deadline_s
    if call.hosts.slurm_ending:
        for name in call.hosts.names:
            answers.missing(name, Why.DENIED, "Slurm starts nothing in a job that is completing")
    said = _ask_by_steps(call, answers, end) if answers.waiting() else []
    for name in answers.waiting():
        if said:
            why, detail, hint = _of_srun(said[-1], call.hosts)
            answers.missing(name, why, detail, hint)
    _ask_by_ssh(call, answers, end)


def _ask_by_steps(call: Call, answers: Answers, end: float) -> list[str]:
    """Two tries at most; what srun said of itself."""
    names, bare = call.hosts.names, served()
    for _ in range(2):
        steps = Steps(call, answers)
        steps.run(names, end, bare)
        failed = {name: detail for listen in steps.listeners for name, detail in listen.failed.items()}
        for name, detail in failed.items():
            answers.missing(name, Why.UNREACHABLE, f"Slurm cannot start a task there: {detail or 'no answer'}")
        left = tuple(name for name in answers.waiting() if name in names)
        silent = left and not any(answers.inboxes[name].answered for name in names)
        if not (failed and silent and end - time.monotonic() > 1.0 and answers.complete):
            break
        names = left
    return [line for listen in steps.listeners for line in listen.said]


def _of_srun(said: str, hosts: Hosts) -> tuple[Why, str, str]:
    """Why no step could be started, from the last words of srun."""
    if "ermission denied" not in said:
        return Why.FAILED, said[:200], ""
    nodes = hostnames.fold(hosts.names)
    owner, job = hosts.slurm_owner or "OWNER", hosts.slurm_job[0]
    hint = f"sudo -u {owner} -E rankscope diagnose slurm:{job}   # or as root: rankscope diagnose 'ssh:{nodes}' --sudo"
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


TRANSPORT = Transport("slurm", "slurm:JOBID", find, ask)
