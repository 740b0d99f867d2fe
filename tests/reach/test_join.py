"""Parts of many hosts become one snapshot for each job."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rankscope.model.gap import Gap, Why
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Snapshot
from rankscope.probe.errand import Errand
from rankscope.reach.answers import Answers
from rankscope.reach.join import join

from .conftest import answer


def gathered(hosts: dict[str, bytes], silent: Iterable[str] = (), whole: bool = False) -> list[Snapshot]:
    answers = Answers((*hosts, *silent))
    for name, raw in hosts.items():
        for line in raw.split(b"\n"):
            answers.feed(name, line)
    for name in silent:
        answers.missing(name, Why.UNREACHABLE, "it does not answer")
    answers.close(1.0)
    return list(join(answers, whole))


def ranks(snapshot: Snapshot) -> list[int | None]:
    return sorted(process.rank for process in snapshot.processes if process.rank is not None)


def test_hosts_that_share_a_meeting_point_hold_one_job() -> None:
    (job,) = gathered({"node1": answer("node1", (0, 1)), "node2": answer("node2", (2, 3))})
    assert ranks(job) == [0, 1, 2, 3]
    assert [host.name for host in job.hosts] == ["node1", "node2"]
    assert [len(sweep.present) for sweep in job.sweeps] == [4, 4]
    assert RankSet.parse(job.job.expected) == RankSet(range(4))


def test_two_jobs_on_the_same_hosts_are_told_apart() -> None:
    first = {
        "node1": answer("node1", (0,), meeting=("master:node1:1",)),
        "node2": answer("node2", (1,), meeting=("master:node1:1",)),
    }
    other = {"node3": answer("node3", (0,), meeting=("master:node3:1",))}
    assert [ranks(job) for job in gathered({**first, **other})] == [[0, 1], [0]]


def test_jobs_that_never_leave_their_host_stay_apart() -> None:
    hosts = {name: answer(name, (0, 1), world=2, meeting=()) for name in ("node1", "node2")}
    assert [ranks(job) for job in gathered(hosts)] == [[0, 1], [0, 1]]


def test_parts_without_a_meeting_point_that_complete_each_other_are_one_job() -> None:
    hosts = {"node1": answer("node1", (0, 1), meeting=()), "node2": answer("node2", (2, 3), meeting=())}
    assert [ranks(job) for job in gathered(hosts)] == [[0, 1, 2, 3]]


def test_a_later_host_can_tie_two_groups_together() -> None:
    hosts = {
        "node1": answer("node1", (0,), meeting=("endpoint:a:1",)),
        "node2": answer("node2", (1,), meeting=("run:7",)),
        "node3": answer("node3", (2,), meeting=("endpoint:a:1", "run:7")),
    }
    assert [ranks(job) for job in gathered(hosts)] == [[0, 1, 2]]


def test_a_host_that_broke_off_after_its_first_sweep_does_not_lose_its_ranks() -> None:
    """Not to have looked again is no sign that somebody ended."""
    (job,) = gathered({"node1": answer("node1", (0, 1)), "node2": answer("node2", (2, 3), sweeps=1)})
    assert {ref.host for ref in job.sweeps[1].present} == {"node1", "node2"}
    assert {item.process.host for item in job.sweeps[1].items if item.process} == {"node1"}


def test_a_rank_that_really_disappears_is_not_kept_present() -> None:
    (job,) = gathered({"node1": answer("node1", (0, 1)), "node2": answer("node2", (2, 3), missing=(3,))})
    assert len(job.sweeps[1].present) == 3


def test_silent_hosts_are_gaps_of_the_job() -> None:
    (job,) = gathered({"node1": answer("node1", (0, 1))}, silent=["node2"])
    assert [(gap.host, gap.why) for gap in job.gaps] == [("node2", Why.UNREACHABLE)]


def test_a_host_without_processes_is_named() -> None:
    (job,) = gathered({"node1": answer("node1", (0, 1), world=4), "node2": answer("node2", ())}, whole=True)
    assert Gap("host", Why.GONE, "no process of this job runs there", host="node2") in job.gaps
    assert RankSet.parse(job.job.expected) == RankSet(range(2))


def test_two_machines_that_bear_one_name_are_told_apart() -> None:
    """Containers are often all called the same; their processes may even have the same pids."""
    (job,) = gathered({"a": answer("box", (0, 1), boot="aaaa"), "b": answer("box", (2, 3), boot="bbbb")})
    assert ranks(job) == [0, 1, 2, 3]
    assert len({process.ref for process in job.processes}) == 4
    assert [len(sweep.present) for sweep in job.sweeps] == [4, 4]
    assert len({item.process for item in job.sweeps[0].items}) == 4


def test_one_machine_under_two_names_counts_once() -> None:
    (job,) = gathered({"node1": answer("node1", (0, 1)), "alias": answer("node1", (0, 1))})
    assert ranks(job) == [0, 1]


def test_a_wrong_clock_is_measured_and_named_and_does_not_move_the_sweeps() -> None:
    """Node2 thinks that it is an hour later; its sweeps are put where they were by our clock."""
    answers = Answers(("node1", "node2"))
    for name, ahead in (("node1", 0.0), ("node2", 3600.0)):
        answers.inboxes[name]._now = lambda: 1000.0
        _, *lines = answer(name, (0,) if name == "node1" else (1,), world=2).split(b"\n")
        about = {"host": name, "now": 1000.0 + ahead}
        for line in (f"rankscope-agent 1 begin {json.dumps(about)}".encode(), *lines):
            answers.feed(name, line)
    (job,) = join(answers)
    assert {host.name: host.clock_offset_s for host in job.hosts} == {"node1": 0.0, "node2": 3600.0}
    assert [gap.detail for gap in job.gaps if gap.what == "clock"] == ["the clock of node2 is 3600.0 s ahead of ours"]
    assert job.sweeps[0].at_s < 1000.0


def test_a_clock_that_is_far_off_starts_its_sweeps_at_once() -> None:
    errand = Errand(sent_s=1000.0, start_s=1000.4)
    assert errand.plan(1000.1).start_s == 1000.4
    assert errand.plan(4600.0).start_s == 0.0
