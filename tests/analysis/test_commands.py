"""Commands that are shown can be pasted where they are read: beside the job, on a login node, or with only a file."""

from __future__ import annotations

import dataclasses
import shlex

import pytest

from rankscope.analysis.commands import addressed
from rankscope.model.address import Address
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind, State, Step
from rankscope.model.process import UNKNOWN_HOST, Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import FILES as SAVED_TEXTS
from rankscope.model.snapshot import Job

RANK = Process(ProcessRef("node2", 39, 1), Role.RANK, rank=5)
WORKER = Process(ProcessRef("node2", 41, 1), Role.DATALOADER_WORKER, rank=5, owner=39)
LAUNCHER = Process(ProcessRef("node2", 30, 1), Role.LAUNCHER)

SSH = Address("'ssh:node[1-3]'", "--sudo", "login", "ssh:{host}")
SLURM = Address("slurm:7", "", "login", "", "srun --jobid=7 -w {host} sh -c {command}")
BESIDE = Address("", "", "node2", "ssh:{host}")
FILE = Address("job.snap", live=False)
FILES = Address("", live=False)


def shown(
    step: Step | str,
    to: Address,
    *processes: Process,
    hosts: tuple[str, ...] = ("node2",),
    ranks: tuple[int, ...] = (5,),
    launcher: str = "torchrun",
) -> str:
    finding = Finding("r", "c", Kind.CAUSE, Certainty.LIKELY, "t", RankSet(ranks), processes, next=(step,))
    told = Diagnosis(Job(launcher), State.STUCK, 6, RankSet(range(6)), hosts, None, (finding,),
                     roster={RANK.ref: 5}, next=(step,))  # fmt: skip
    done = addressed(told, to)
    assert done.next == done.findings[0].next
    return str(done.next[0])


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
        ("rankscope stacks --ranks A,B --locals   # src, dst", BESIDE, "rankscope stacks pid:39 --ranks 5 --locals   # src, dst"),
        ("rankscope diagnose pid:39   # there (or slurm:JOBID)", BESIDE, "rankscope diagnose pid:39   # there (or slurm:JOBID)"),
        ("kill -CONT 39   (once)", BESIDE, "kill -CONT 39   # once"),
        ("rankscope doctor", Address("ssh:node1", "--sudo --follow-hosts"), "rankscope doctor ssh:node1 --sudo"),
        ("kill -CONT 39", BESIDE, "kill -CONT 39"),
        ("kill -CONT 39", SSH, "ssh node2 'kill -CONT 39'"),
        ("kill -CONT 39", SLURM, "srun --jobid=7 -w node2 sh -c 'kill -CONT 39'"),
        ("kill -CONT 39", Address("", "", "node1", "ssh:{host}"), "ssh node2 'kill -CONT 39'"),
        ("gdb -p PID -batch   # who holds it", SSH, "ssh node2 'gdb -p 39 -batch'   # who holds it"),
        ("py-spy dump --pid PID", BESIDE, "py-spy dump --pid 39"),
        ("DataLoader(…, num_workers=0)   # to confirm", SSH, "DataLoader(…, num_workers=0)   # to confirm"),
        ("look for the first exception in its log", SSH, "look for the first exception in its log"),
        ("rankscope diagnose   (on its host)", BESIDE, "rankscope diagnose pid:39   # on its host"),
    ],
)  # fmt: skip
def test_a_step_reads_as_its_reader_can_paste_it(step: str, to: Address, pasted: str) -> None:
    assert shown(step, to, RANK) == pasted


def test_where_no_rank_is_known_all_are_asked_for() -> None:
    assert shown("rankscope stacks --ranks A,B --locals", BESIDE, ranks=()) == "rankscope stacks pid:39 --locals"


def test_a_placeholder_becomes_the_process_that_the_finding_is_about() -> None:
    assert shown("rankscope stacks pid:CHILD --native", BESIDE, RANK) == "rankscope stacks pid:39 --native"


def test_a_helper_is_found_through_the_rank_that_it_serves() -> None:
    assert shown("rankscope stacks pid:41 --raw", SSH, RANK, WORKER) == (
        "rankscope stacks ssh:node2 --ranks 5 --children --sudo --raw"
    )
    assert (
        shown("rankscope stacks pid:41 --children", FILE, RANK, WORKER)
        == "rankscope stacks job.snap --ranks 5 --children"
    )
    assert shown("rankscope stacks pid:30", SSH, LAUNCHER) == "rankscope stacks ssh:node2 --children --sudo"


def test_what_runs_on_another_host_is_one_word_for_ssh() -> None:
    step = "cat /proc/39/wchan; ls -l '/proc/39/fd'"
    assert shlex.split(shown(step, SSH, RANK)) == ["ssh", "node2", step]


@pytest.mark.parametrize(
    ("step", "to", "pasted"),
    [
        (Step("ping -c 3 node3"), SSH, "ping -c 3 node3"),
        (Step("dmesg -T | tail", ProcessRef("node3", 0)), SSH, "ssh node3 'dmesg -T | tail'"),
        (Step("dmesg -T | tail", ProcessRef("node3", 0)), FILE, "on node3: dmesg -T | tail"),
        (Step("nsenter -t 39 -m cat /l", RANK.ref, "who"), SLURM,
         "srun --jobid=7 -w node2 sh -c 'nsenter -t 39 -m cat /l'   # who"),
        (Step("kill -CONT 39", RANK.ref), BESIDE, "kill -CONT 39"),
        (Step("kill -CONT 39", RANK.ref), FILE, "on node2, while it runs: kill -CONT 39"),
        (Step("rankscope stacks pid:39 --source", RANK.ref), SSH, "rankscope stacks ssh:node2 --ranks 5 --sudo --source"),
        (Step("rankscope diagnose pid:99", RANK.ref), SSH, "ssh node2 'rankscope diagnose pid:99'"),
        (Step("sudo -E rankscope diagnose pid:39", RANK.ref), SSH,
         "rankscope diagnose 'ssh:node[1-3]' --sudo"),
    ],
)  # fmt: skip
def test_a_step_runs_where_its_process_does(step: Step, to: Address, pasted: str) -> None:
    """What is meant for another host than the reader's says so; only what is meant for nobody is typed at once."""
    assert shown(step, to) == pasted


@pytest.mark.parametrize("option", ["--source", "--native"])
def test_of_a_file_nothing_is_asked_that_it_does_not_hold(option: str) -> None:
    """A snapshot has neither the program's files nor frames that were not taken."""
    step = Step(f"rankscope stacks pid:39 {option}", RANK.ref)
    assert shown(step, FILE) == "rankscope stacks job.snap --ranks 5"
    assert shown(step, FILES) == f"on node2, while it runs: rankscope stacks pid:39 {option}"


@pytest.mark.parametrize(
    ("process", "pasted"),
    [
        (RANK, "on node2, while it runs: rankscope stacks pid:39 --native   # names the lock"),
        (
            dataclasses.replace(RANK, ref=ProcessRef(UNKNOWN_HOST, 39, 1)),
            "rankscope stacks pid:39 --native   # while it runs; names the lock",
        ),
    ],
    ids=["its host is known", "its host is not known"],
)
def test_stacks_of_which_texts_show_no_more_are_asked_of_the_living(process: Process, pasted: str) -> None:
    step = "rankscope stacks pid:PID --native   # names the lock"
    assert shown(step, FILES, process, launcher=SAVED_TEXTS) == pasted


def test_a_command_for_no_process_runs_on_the_only_host_or_says_that_it_is_for_the_hosts_of_the_job() -> None:
    """On a login node the kernel's log is that of the login node."""
    assert shown("dmesg -T | tail", SSH) == "ssh node2 'dmesg -T | tail'"
    assert shown("dmesg -T | tail", SSH, hosts=("node1", "node2")) == "dmesg -T | tail   # on the hosts of the job"


@pytest.mark.parametrize(
    ("step", "to", "pasted"),
    [
        ("rankscope stacks --source", BESIDE, "rankscope stacks pid:30 --source"),
        ("rankscope diagnose   # again in 9 s", BESIDE, "rankscope diagnose pid:30   # again in 9 s"),
        ("rankscope diagnose ssh:HOSTS", BESIDE, "rankscope diagnose ssh:HOSTS"),
        ("rankscope doctor", BESIDE, "rankscope doctor"),
        ("rankscope stacks --source", Address("", "", "node1", "ssh:{host}"), "rankscope stacks --source"),
        ("rankscope stacks --source", SLURM, "rankscope stacks slurm:7 --source"),
        (
            "rankscope diagnose   # on the host of the missing rank",
            BESIDE,
            "rankscope diagnose   # on the host of the missing rank",
        ),
        (
            "rankscope diagnose   # on the host of the missing rank",
            SLURM,
            "rankscope diagnose slurm:7   # on the host of the missing rank",
        ),
    ],
)
def test_a_command_about_the_whole_job_names_it(step: str, to: Address, pasted: str) -> None:
    """Beside the job, a command without a target is about every job of the host."""
    told = Diagnosis(
        Job("torchrun", root=LAUNCHER.ref), State.UNKNOWN, 6, RankSet(range(6)), ("node2",), None, next=(step,)
    )
    assert [str(one) for one in addressed(told, to).next] == [pasted]


def test_a_job_without_a_launcher_is_named_by_one_of_its_ranks() -> None:
    told = Diagnosis(Job("environment"), State.UNKNOWN, 6, RankSet(range(6)), ("node2",), None, roster={RANK.ref: 5},
                     next=("rankscope stacks --source",))  # fmt: skip
    assert [str(one) for one in addressed(told, BESIDE).next] == ["rankscope stacks pid:39 --source"]


def test_of_a_tree_and_the_dump_that_it_folds_the_dump_is_shown() -> None:
    """In a file the lines of the source are not to be had, so that both commands would be one."""
    told = Diagnosis(Job("torchrun"), State.STUCK, 6, RankSet(range(6)), ("node2",), None, roster={RANK.ref: 5},
                     next=(Step("rankscope stacks pid:39 --raw", RANK.ref),
                           Step("rankscope stacks pid:39 --source", RANK.ref)))  # fmt: skip
    assert [str(one) for one in addressed(told, FILE).next] == ["rankscope stacks job.snap --ranks 5 --raw"]
    assert len(addressed(told, BESIDE).next) == 2
    more = dataclasses.replace(
        told, next=tuple(Step(f"rankscope stacks pid:39{one}", RANK.ref) for one in ("", " --children"))
    )
    assert [str(one) for one in addressed(more, FILE).next] == ["rankscope stacks job.snap --ranks 5 --children"]


def test_a_placeholder_stays_where_no_process_is_meant() -> None:
    """A step about the only host of a job is about none of its processes."""
    told = Diagnosis(
        Job("torchrun"), State.STUCK, 6, RankSet(range(6)), ("node2",), None, next=("cat /proc/PID/limits",)
    )
    assert [str(one) for one in addressed(told, BESIDE).next] == ["cat /proc/PID/limits"]
    assert [str(one) for one in addressed(told, FILE).next] == ["on node2: cat /proc/PID/limits"]
