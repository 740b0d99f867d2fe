"""Commands that are shown can be pasted where they are read: beside the job, on a login node, or with only a file."""

from __future__ import annotations

import shlex

import pytest

from rankscope.analysis.commands import addressed
from rankscope.model.address import Address
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind, State
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Job

RANK = Process(ProcessRef("node2", 39, 1), Role.RANK, rank=5)
WORKER = Process(ProcessRef("node2", 41, 1), Role.DATALOADER_WORKER, rank=5, owner=39)
LAUNCHER = Process(ProcessRef("node2", 30, 1), Role.LAUNCHER)

SSH = Address("'ssh:node[1-3]'", "--sudo", "login", "ssh:{host}")
SLURM = Address("slurm:7", "", "login", "", "srun --jobid=7 -w {host} sh -c {command}")
BESIDE = Address("", "", "node2", "ssh:{host}")
FILE = Address("job.snap", live=False)


def shown(step: str, to: Address, *processes: Process) -> str:
    finding = Finding("r", "c", Kind.CAUSE, Certainty.LIKELY, "t", RankSet([5]), processes or (RANK,), next=(step,))
    told = Diagnosis(Job("torchrun"), State.STUCK, 6, RankSet(range(6)), ("node2",), None, (finding,),
                     roster={RANK.ref: 5}, next=(step,))  # fmt: skip
    done = addressed(told, to)
    assert done.next == done.findings[0].next
    return done.next[0]


@pytest.mark.parametrize(
    ("step", "to", "pasted"),
    [
        ("rankscope stacks pid:39 --source", BESIDE, "rankscope stacks pid:39 --source"),
        ("rankscope stacks pid:39 --source", SSH, "rankscope stacks ssh:node2 --ranks 5 --sudo --source"),
        ("rankscope stacks pid:39 --raw", SLURM, "rankscope stacks slurm:7 --ranks 5 --raw"),
        ("rankscope stacks pid:39 --raw", FILE, "rankscope stacks job.snap --ranks 5 --raw"),
        ("rankscope stacks --source", SSH, "rankscope stacks 'ssh:node[1-3]' --sudo --source"),
        ("rankscope diagnose --sweeps 3", SLURM, "rankscope diagnose slurm:7 --sweeps 3"),
        ("rankscope diagnose --sweeps 3", FILE, "rankscope diagnose --sweeps 3"),
        ("rankscope diagnose ssh:node9 --deadline 60", SSH, "rankscope diagnose ssh:node9 --sudo --deadline 60"),
        ("sudo -E rankscope diagnose    # as root", SLURM, "rankscope diagnose slurm:7 --sudo   # as root"),
        ("sudo -E rankscope diagnose    # as root", BESIDE, "sudo -E rankscope diagnose   # as root"),
        ("rankscope stacks --ranks A,B --locals   # src, dst", BESIDE, "rankscope stacks --ranks 5 --locals   # src, dst"),
        ("rankscope doctor", Address("ssh:node1", "--sudo --follow-hosts"), "rankscope doctor ssh:node1 --sudo"),
        ("kill -CONT 39", BESIDE, "kill -CONT 39"),
        ("kill -CONT 39", SSH, "ssh node2 'kill -CONT 39'"),
        ("kill -CONT 39", SLURM, "srun --jobid=7 -w node2 sh -c 'kill -CONT 39'"),
        ("kill -CONT 39", Address("", "", "node1", "ssh:{host}"), "ssh node2 'kill -CONT 39'"),
        ("gdb -p PID -batch   # who holds it", SSH, "ssh node2 'gdb -p 39 -batch'   # who holds it"),
        ("py-spy dump --pid PID", BESIDE, "py-spy dump --pid 39"),
        ("DataLoader(…, num_workers=0)   # to confirm", SSH, "DataLoader(…, num_workers=0)   # to confirm"),
        ("look for the first exception in its log", SSH, "look for the first exception in its log"),
        ("rankscope diagnose   (on its host)", BESIDE, "rankscope diagnose   # on its host"),
    ],
)  # fmt: skip
def test_a_step_reads_as_its_reader_can_paste_it(step: str, to: Address, pasted: str) -> None:
    assert shown(step, to) == pasted


def test_a_placeholder_becomes_the_process_that_the_finding_is_about() -> None:
    assert shown("rankscope stacks pid:CHILD --native", BESIDE) == "rankscope stacks pid:39 --native"


def test_a_helper_is_found_through_the_rank_that_it_serves() -> None:
    assert shown("rankscope stacks pid:41 --raw", SSH, RANK, WORKER) == (
        "rankscope stacks ssh:node2 --ranks 5 --children --sudo --raw"
    )
    assert shown("rankscope stacks pid:30", SSH, LAUNCHER) == "rankscope stacks ssh:node2 --children --sudo"


def test_what_runs_on_another_host_is_one_word_for_ssh() -> None:
    step = "cat /proc/39/wchan; ls -l '/proc/39/fd'"
    assert shlex.split(shown(step, SSH)) == ["ssh", "node2", step]


def test_a_host_that_does_not_answer_is_pinged_from_here() -> None:
    silent = Process(ProcessRef("node3", 0), Role.RANK, rank=5)
    assert shown("ping -c 3 node3", SSH, silent) == "ping -c 3 node3"
