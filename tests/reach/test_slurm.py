"""Jobs of Slurm: which one is meant, which nodes are asked, and what happens when the step fails on one."""

from __future__ import annotations

import re

import pytest

from rankscope.errors import RankscopeError
from rankscope.model.gap import Why
from rankscope.model.snapshot import Snapshot
from rankscope.probe.sweep import Plan
from rankscope.reach import slurm, slurm_queue, slurm_state, slurm_step
from rankscope.reach.answers import Answers
from rankscope.reach.gather import Remote, find, gather
from rankscope.reach.ship import Parcel
from rankscope.reach.transport import Call, Options

from .conftest import Site


def job(number: str, nodes: str = "node[1-2]", state: str = "RUNNING", shown: str = "") -> slurm_state.Job:
    return slurm_state.Job(number, nodes, state, shown or number)


def look(spec: str, deadline_s: float = 20.0) -> list[Snapshot]:
    return list(gather(Remote("slurm", spec), Plan(deadline_s=deadline_s)))


def test_the_only_running_job_is_meant() -> None:
    assert slurm_queue.choose("me", [job("7"), job("8", "", "PENDING")]) == [job("7")]


def test_a_task_of_an_array_is_asked_by_the_number_slurm_gave_it() -> None:
    tasks = [job("9", shown="7_1"), job("10", shown="7_2")]
    assert slurm_queue.choose("7_2", tasks) == [tasks[1]]


def test_when_several_jobs_are_meant_they_are_listed() -> None:
    with pytest.raises(RankscopeError) as error:
        slurm_queue.choose("7", [job("9", shown="7_1"), job("10", shown="7_2")])
    assert "slurm:7_1" in str(error.value)
    assert "slurm:7_2" in str(error.value)


def test_the_number_of_a_whole_array_is_not_taken_for_one_task() -> None:
    with pytest.raises(RankscopeError, match="stands for 2 jobs"):
        slurm_queue.choose("7", [job("7", shown="7_2"), job("9", shown="7_1")])


def test_the_number_of_a_heterogeneous_job_stands_for_all_of_its_parts() -> None:
    parts = [job("7", shown="7+0"), job("8", shown="7+1")]
    assert slurm_queue.choose("7", parts) == parts
    assert slurm_queue.choose("me", parts) == parts
    assert slurm_queue.choose("7+1", parts) == [parts[1]]
    with pytest.raises(RankscopeError, match="stands for 3 jobs"):
        slurm_queue.choose("me", [*parts, job("9")])


def test_a_job_that_does_not_run_yet_is_said_to_be_pending() -> None:
    with pytest.raises(RankscopeError, match="no running Slurm job"):
        slurm_queue.choose("7", [job("7", "", "PENDING")])


@pytest.mark.parametrize("spec", ["", "7;x", "--all", "7_1_2", "x"])
def test_what_is_no_job_id_never_reaches_slurm(site: Site, spec: str) -> None:
    with pytest.raises(RankscopeError, match="not a Slurm job"):
        find(Remote("slurm", spec))


def test_all_nodes_of_a_job_are_asked_in_one_step_of_it(site: Site) -> None:
    site.say("squeue", "7|node[1-2]|RUNNING|7|anna|None|train\n")
    site.host("node1", (0, 1))
    site.host("node2", (2, 3))
    (seen,) = look("7")
    assert sorted(process.rank for process in seen.processes) == [0, 1, 2, 3]
    asked = (site.folder / "srun.asked").read_text()
    assert "--jobid=7 --overlap --gres=none --nodes=2" in asked


def test_an_old_slurm_has_no_overlap_option(site: Site) -> None:
    site.say("squeue", "7|node1|RUNNING|7|anna|None|train\n")
    site.say("version", "slurm 20.02.7")
    site.host("node1", (0, 1))
    look("7")
    assert "--overlap" not in (site.folder / "srun.asked").read_text()


def test_a_node_that_slurm_has_given_up_is_not_asked_and_is_named(site: Site) -> None:
    site.say("squeue", "7|node[1-2]|RUNNING|7|anna|None|train\n")
    site.say("sinfo", "node1|mixed\nnode2|down*\n")
    site.host("node1", (0, 1), world=4)
    site.host("node2", (2, 3), "dark", world=4)
    (seen,) = look("7")
    assert [(gap.host, gap.why) for gap in seen.gaps] == [("node2", Why.UNREACHABLE)]
    assert "--nodelist=node1" in (site.folder / "srun.asked").read_text()


def test_where_the_launch_fails_on_one_node_the_others_still_count(site: Site) -> None:
    site.say("squeue", "7|node[1-3]|RUNNING|7|anna|None|train\n")
    site.host("node1", (0, 1))
    site.host("node2", (2, 3), "dark")
    site.host("node3", (4, 5))
    (seen,) = look("7")
    assert sorted(process.rank for process in seen.processes) == [0, 1, 4, 5]
    assert [(gap.host, gap.why) for gap in seen.gaps] == [("node2", Why.UNREACHABLE)]


def test_lines_of_srun_are_sorted_by_the_node_that_each_task_names() -> None:
    answers = Answers(("node1", "node2"))
    listen = slurm_step.Listener(answers)
    for line in (
        b"1: rankscope-node node1",
        b"0: rankscope-node node2",
        b"1: hello",
        b"srun: noise",
        b"0: world",
        b"9: x",
    ):
        listen.output(line)
    assert answers.inboxes["node1"].noise == b"hello\n"
    assert answers.inboxes["node2"].noise == b"world\n"


def test_a_part_of_a_heterogeneous_job_is_asked_through_its_leader(site: Site) -> None:
    site.say("squeue", "8|node2|RUNNING|7+1|anna|None|train\n")
    site.host("node2", (0, 1))
    look("7+1")
    assert "--jobid=7 --het-group=1 " in (site.folder / "srun.asked").read_text()


def test_all_parts_of_a_heterogeneous_job_are_asked_at_once_and_joined(site: Site) -> None:
    site.say("squeue", "7|node1|RUNNING|7+0|anna|None|train\n8|node[2-3]|RUNNING|7+1|anna|None|train\n")
    for number in (1, 2, 3):
        site.host(f"node{number}", (number - 1,), world=3)
    (seen,) = look("7")
    assert sorted(process.rank for process in seen.processes) == [0, 1, 2]
    asked = sorted((site.folder / "srun.asked").read_text().splitlines())
    assert [("--het-group=0 " in asked[0], "--nodelist=node1 " in asked[0])] == [(True, True)]
    assert [("--het-group=1 " in asked[1], "--nodelist=node2,node3 " in asked[1])] == [(True, True)]


def test_where_one_part_fails_the_other_still_counts(site: Site) -> None:
    site.say("squeue", "7|node1|RUNNING|7+0|anna|None|train\n8|node2|RUNNING|7+1|anna|None|train\n")
    site.host("node1", (0,), world=2)
    site.host("node2", (1,), "dark")
    (seen,) = look("7")
    assert [process.rank for process in seen.processes] == [0]
    assert [(gap.host, gap.why) for gap in seen.gaps] == [("node2", Why.UNREACHABLE)]


def test_a_parcel_that_is_too_large_for_arguments_goes_to_standard_input(site: Site) -> None:
    site.say("squeue", "7|node1|RUNNING|7|anna|None|train\n")
    site.host("node1", (0,))
    hosts = find(Remote("slurm", "7"))
    small, large = (Call(Parcel({"only": "x" * size}, 5), hosts, 5.0, Options()) for size in (10, 2 << 20))
    assert "--input=none" in slurm_step.step(small, ("node1",), (22, 5))
    assert "--input=all" in slurm_step.step(large, ("node1",), (22, 5))
    assert max(map(len, slurm_step.step(large, ("node1",), (22, 5)))) < 100_000


def test_a_node_without_slurmd_is_reached_by_ssh(site: Site) -> None:
    """A dead slurmd is no dead node."""
    site.say("squeue", "7|node[1-2]|RUNNING|7|anna|None|train\n")
    site.host("node1", (0, 1), world=4)
    site.host("node2", (2, 3), "no-slurmd", world=4)
    (seen,) = look("7")
    assert sorted(process.rank for process in seen.processes) == [0, 1, 2, 3]
    assert not [gap for gap in seen.gaps if gap.what == "host"]


def test_a_node_that_answers_on_no_way_has_both_reasons(site: Site) -> None:
    site.say("squeue", "7|node[1-2]|RUNNING|7|anna|None|train\n")
    site.host("node1", (0, 1), world=4)
    site.host("node2", (2, 3), "dark", world=4)
    (seen,) = look("7")
    (gap,) = [gap for gap in seen.gaps if gap.what == "host"]
    assert gap.why is Why.UNREACHABLE
    assert "Slurm cannot start a task there" in gap.detail
    assert "by ssh: it does not answer" in gap.detail


def test_a_job_whose_nodes_slurm_has_all_given_up_is_still_looked_at(site: Site) -> None:
    site.say("squeue", "7|node1|RUNNING|7|anna|None|train\n")
    site.say("sinfo", "node1|down*\n")
    site.host("node1", (0, 1), world=2)
    (seen,) = look("7")
    assert sorted(process.rank for process in seen.processes) == [0, 1]


def test_the_job_of_another_user_is_said_to_be_so(site: Site) -> None:
    site.say("squeue", "7|node[1-2]|RUNNING|7|anna|None|train\n")
    site.say("srun.refuses", "srun: error: Unable to create step for job 7: Access/permission denied")
    for name in ("node1", "node2"):
        site.host(name, mode="refuse")
    with pytest.raises(RankscopeError) as error:
        look("7")
    assert "nobody but the owner" in str(error.value)
    assert "sudo -u anna" in str(error.value)


@pytest.mark.parametrize("state", ["SUSPENDED", "STOPPED"])
def test_a_job_that_slurm_has_halted_is_not_waited_for(site: Site, state: str) -> None:
    site.say("squeue", f"7|node[1-2]|{state}|7|anna|None|train\n")
    with pytest.raises(RankscopeError) as error:
        look("7")
    assert "is halted" in str(error.value)
    assert "scontrol resume 7" in str(error.value)


def test_a_job_that_has_ended_or_waits_is_said_to_have_no_node(site: Site) -> None:
    site.say("squeue", "")
    with pytest.raises(RankscopeError, match="sacct -j 7"):
        look("7")
    site.say("squeue", "7||PENDING|7|anna|Priority|train\n")
    with pytest.raises(RankscopeError, match=r"7 is PENDING \(Priority: other jobs come first\)"):
        look("7")


def test_a_name_of_a_job_may_hold_anything(site: Site) -> None:
    site.say("squeue", "7|node1|RUNNING|7|anna|None|a|b|c\n")
    site.host("node1", (0,))
    (seen,) = look("7")
    assert [process.rank for process in seen.processes] == [0]


def steps(site: Site) -> list[tuple[str, int]]:
    """The nodes of each step that was started, and the size of its command."""
    found = re.findall(r"--nodelist=(\S+) .*bytes=(\d+)", site.asked("srun"))
    return [(nodes, int(size)) for nodes, size in found]


def test_where_everybody_sees_our_installation_the_step_brings_no_agent(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.say("squeue", "7|node[1-2]|RUNNING|7|anna|None|train\n")
    for number in (1, 2):
        site.host(f"node{number}", (number - 1,), world=2)
    look("7")
    monkeypatch.setattr(slurm, "served", lambda: True)
    look("7")
    (_, sent), (_, bare) = steps(site)
    assert bare < sent / 5


def test_a_node_that_lacks_what_it_should_have_is_asked_once_more_and_is_not_held_up_by_a_silent_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "served", lambda: True)
    site.say("squeue", "7|node[1-3]|RUNNING|7|anna|None|train\n")
    site.host("node1", (0,), world=3)
    site.host("node2", (1,), "nothing-installed", world=3)
    site.host("node3", (2,), "hang", world=3)
    (seen,) = look("7", deadline_s=6.0)
    assert sorted(process.rank for process in seen.processes) == [0, 1, 2]
    (first, bare), (second, whole) = steps(site)
    assert (first, second) == ("node1,node2,node3", "node2")
    assert bare < whole / 5
