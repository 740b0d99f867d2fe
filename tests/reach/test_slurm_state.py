"""Jobs of Slurm in which no step can be started: what is said of them, and what is still asked."""

from __future__ import annotations

import pytest

from rankscope.errors import RankscopeError
from rankscope.model.snapshot import Snapshot
from rankscope.probe import child, slurm_job
from rankscope.probe.sweep import Plan
from rankscope.probe.table import Seen, Table
from rankscope.reach import address, slurm_queue, slurm_state
from rankscope.reach.gather import Remote, gather

from .conftest import Site


def look(spec: str) -> list[Snapshot]:
    return list(gather(Remote("slurm", spec), Plan(deadline_s=6.0)))


def refusal(spec: str) -> str:
    with pytest.raises(RankscopeError) as error:
        look(spec)
    return str(error.value)


def test_a_job_that_ends_is_asked_by_ssh_and_no_step_is_started_in_it(site: Site) -> None:
    site.say("squeue", "7|node2|COMPLETING|7|anna|None|train\n")
    site.host("node2", (1,), world=2)
    (seen,) = look("7")
    (gap,) = [gap for gap in seen.gaps if gap.what == slurm_state.WHAT]
    assert [process.rank for process in seen.processes] == [1]
    assert "7 is COMPLETING" in gap.detail
    assert "node2 is not done with it" in gap.detail
    assert not site.asked("srun")


def test_commands_for_a_job_that_ends_go_through_ssh() -> None:
    (gap, *_) = slurm_state.ending("7", ("node2",), ("node1", "node2"))
    assert "srun" in address.away("login", Remote("slurm", "7")).shell
    assert "srun" not in address.away("login", Remote("slurm", "7"), [gap]).shell


def test_nodes_that_slurm_is_done_with_are_no_silent_hosts() -> None:
    gaps = list(slurm_state.ending("7", ("node2", "node3"), ("node1", "node2", "node3")))
    assert "node2, node3 are not done" in gaps[0].detail
    assert [(gap.host, gap.detail) for gap in gaps[1:]] == [("node1", "Slurm has ended the job there")]


def test_an_ending_job_without_a_process_says_why_its_nodes_do_not_let_go(site: Site) -> None:
    site.say("squeue", "7|node2|COMPLETING|7|anna|None|train\n")
    site.host("node2", mode="refuse")
    said = refusal("7")
    assert "Slurm job 7 is COMPLETING, and no process of it was found on node2" in said
    assert "by ssh: it refuses ssh" in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("7|node1|RUNNING|7|anna|Prolog|train", "a node of it still runs Slurm's prolog"),
        ("7|node1|CONFIGURING|7|anna|None|train", "a node of it boots or is made ready"),
    ],
)
def test_a_job_that_is_made_ready_is_not_waited_for(site: Site, line: str, words: str) -> None:
    site.say("squeue", f"{line}\n")
    said = refusal("7")
    assert "Slurm job 7 is still being set up" in said
    assert words in said
    assert not site.asked("srun")


@pytest.mark.parametrize(
    ("reason", "meaning", "hint"),
    [
        ("JobHeldUser", "held by its owner", "scontrol release 7"),
        ("DependencyNeverSatisfied", "it will never start", "scancel 7"),
        ("Dependency", "waits for another job", "scontrol show job 7"),
        ("ReqNodeNotAvail, UnavailableNodes:node3", "down, drained or reserved", "sinfo -R"),
        ("QOSMaxJobsPerUserLimit", "a limit", "scontrol show job 7"),
        ("SomethingNew", "7 is PENDING (SomethingNew)", "scontrol show job 7"),
    ],
)
def test_why_a_job_waits_is_said_with_a_command_that_helps(site: Site, reason: str, meaning: str, hint: str) -> None:
    site.say("squeue", f"7||PENDING|7|anna|{reason}|train\n")
    said = refusal("7")
    assert meaning in said
    assert said.endswith(hint)


def test_of_my_jobs_one_that_ends_is_meant_only_where_no_other_runs() -> None:
    ends, runs = (
        slurm_state.Job(number, "node1", state, number) for number, state in (("7", "COMPLETING"), ("8", "RUNNING"))
    )
    assert slurm_queue.choose("me", [ends, runs]) == [runs]
    assert slurm_queue.choose("me", [ends]) == [ends]


def test_what_slurm_still_knows_of_a_job_that_has_ended_is_said(site: Site) -> None:
    site.say("squeue", "")
    site.say(
        "scontrol",
        "JobId=7 JobState=CANCELLED EndTime=2026-01-02T03:04:05 ReqNodeList=(null) NodeList=node[1-2] Power=\n",
    )
    site.say("sinfo", "node1|idle|none\nnode2|drained|Kill task failed\n")
    said = refusal("7")
    assert "Slurm says CANCELLED since 2026-01-02T03:04:05; it ran on node[1-2]" in said
    assert "node2 is drained: Kill task failed" in said
    assert said.endswith("rankscope diagnose ssh:node2")


@pytest.mark.parametrize("silent", ["scontrol", "sinfo", "squeue -O"])
def test_what_is_known_is_said_where_a_further_command_is_silent(
    site: Site, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    """That it did not answer is not what the user asked."""
    site.say("squeue", "7||PENDING|7|anna|Priority|train\n" if silent == "squeue -O" else "")
    site.say("scontrol", "JobId=7 JobState=CANCELLED NodeList=node[1-2]\n")
    asked = slurm_queue.tool

    def tool(name: str, *arguments: str) -> child.Told:
        if name == silent or (name == "squeue" and "-O" in arguments):
            raise RankscopeError(f"{name} gave no answer within 10 s")
        return asked(name, *arguments)

    monkeypatch.setattr(slurm_queue, "tool", tool)
    said = refusal("7")
    assert "there is no running Slurm job 7" in said
    assert "no answer" not in said


def test_a_job_that_never_ran_has_no_node(site: Site) -> None:
    site.say("squeue", "")
    site.say("scontrol", "JobId=7 JobState=CANCELLED EndTime=2026-01-02T03:04:05 NodeList=(null)\n")
    assert "it ran on no node" in refusal("7")


def test_what_slurmd_itself_runs_is_told_and_its_steps_are_not() -> None:
    def seen(pid: int, parent: int, comm: str, command: str = "", state: str = "S") -> Seen:
        return Seen(pid, parent, 1, 1, 1, comm, state, 0, tuple(command.split()))

    table = Table("node1", {one.pid: one for one in (
        seen(5, 1, "slurmd"), seen(6, 5, "epilog.sh", "/bin/sh /etc/slurm/epilog.sh --token=abc", "D"),
        seen(7, 5, "slurmstepd", "slurmstepd: [7.0]"), seen(8, 7, "python"), seen(9, 1, "sshd"),
    )})  # fmt: skip
    (gap,) = slurm_job.epilogs(table)
    assert gap.host == "node1"
    assert "/etc/slurm/epilog.sh" in gap.detail
    assert "cannot be killed" in gap.detail
    assert "abc" not in gap.detail
