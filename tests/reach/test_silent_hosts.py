"""What follows when hosts give no answer: which ranks are theirs, and when a silent host is the verdict."""

from __future__ import annotations

import pytest

from rankscope.analysis.away import away
from rankscope.model.diagnosis import Certainty, Diagnosis, Kind
from rankscope.model.gap import Why
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import judge
from rankscope.reach.answers import Answers
from rankscope.reach.join import join

from .conftest import answer


def seen(
    blocks: dict[str, tuple[int, ...]],
    silent: dict[str, Why],
    world: int,
    still_s: float = 90.0,
    asleep: tuple[int, ...] = (),
) -> Snapshot:
    answers = Answers((*blocks, *silent))
    for host, ranks in blocks.items():
        for line in answer(host, ranks, world=world, still_s=still_s, asleep=asleep).split(b"\n"):
            answers.feed(host, line)
    for host, why in silent.items():
        answers.missing(host, why, "it does not answer" if why is Why.UNREACHABLE else "it refuses our key")
    (job,) = join(answers, whole=True)
    return job


def theirs(snapshot: Snapshot, world: int) -> dict[str, str]:
    return {one.host: str(one.ranks) for one in away(snapshot, world)}


def findings(said: Diagnosis, kind: Kind) -> list[str]:
    return [finding.cls for finding in said.findings if finding.kind is kind and finding.rule == "host-unreachable"]


DARK = Why.UNREACHABLE


def test_the_ranks_of_the_only_silent_host_are_those_that_nobody_else_has() -> None:
    job = seen({"node1": (0, 1), "node3": (4, 5)}, {"node2": DARK}, 6)
    assert theirs(job, 6) == {"node2": "2-3"}


def test_several_silent_hosts_are_told_apart_by_the_order_of_names() -> None:
    job = seen({"node9": (0, 1), "node11": (4, 5)}, {"node10": DARK, "node12": DARK}, 8)
    assert theirs(job, 8) == {"node10": "2-3", "node12": "6-7"}
    assert not any(one.sure for one in away(job, 8))


def test_where_ranks_do_not_follow_the_names_nobody_is_given_any() -> None:
    job = seen({"node1": (2, 3), "node3": (0, 1)}, {"node2": DARK, "node4": DARK}, 8)
    assert theirs(job, 8) == {"node2": "", "node4": ""}


def test_ranks_of_hosts_that_were_not_asked_are_not_put_on_the_silent_one() -> None:
    """Eight ranks on four hosts, two of them asked: six ranks are unseen, and one silent host holds two of them."""
    job = seen({"node1": (0, 1)}, {"node2": DARK}, 8)
    assert theirs(job, 8) == {"node2": "2-3"}


def test_a_silent_host_with_hosts_between_is_given_no_ranks_of_those_that_were_not_asked() -> None:
    assert theirs(seen({"node1": (0, 1)}, {"node3": DARK}, 8), 8) == {"node3": ""}
    assert theirs(seen({"node1": (0, 1)}, {"nodeX": DARK}, 8), 8) == {"nodeX": ""}


def test_a_silent_host_that_everybody_waits_for_is_the_verdict() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {"node3": DARK}, 6))
    assert said.verdict is not None
    assert said.verdict.cls == "network-blackhole"
    assert said.verdict.ranks == RankSet.parse("4-5")
    assert said.verdict.certainty is Certainty.LIKELY
    assert "node3" in said.verdict.title


def test_a_rank_that_stands_in_its_own_code_is_the_verdict_although_a_host_is_silent() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {"node3": DARK}, 6, asleep=(2,)))
    assert said.verdict is not None
    assert said.verdict.ranks == RankSet([2])
    assert findings(said, Kind.CAUSE) == []
    assert findings(said, Kind.NOTE) == ["network-blackhole"]


def test_a_wait_that_is_young_makes_no_verdict_of_a_silent_host() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {"node3": DARK}, 6, still_s=0.4))
    assert findings(said, Kind.CAUSE) == []
    assert said.verdict is None


@pytest.mark.parametrize("why", [Why.DENIED, Why.TIMEOUT, Why.MISSING])
def test_a_host_that_is_alive_and_could_not_be_looked_at_is_at_most_possible(why: Why) -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {"node3": why}, 6))
    (finding,) = [one for one in said.findings if one.rule == "host-unreachable"]
    assert finding.certainty is Certainty.POSSIBLE
    assert finding.cls == "collective-missed-by-rank"
    assert finding.against


def test_nothing_wrong_on_the_others_is_not_enough_evidence() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {"node3": DARK}, 6, still_s=0.4))
    assert said.verdict is None
    assert said.evidence_weak


def test_a_silent_host_has_no_part_in_a_job_whose_ranks_are_all_seen() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {"node3": DARK}, 4))
    assert [one for one in said.findings if one.rule == "host-unreachable"] == []


def test_a_host_that_lost_its_processes_is_the_verdict_when_its_ranks_are_missing() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3), "node3": ()}, {}, 6))
    assert said.verdict is not None
    assert said.verdict.cls == "dead-rank"
    assert said.verdict.ranks == RankSet.parse("4-5")
    assert said.verdict.certainty is not Certainty.CERTAIN


def test_a_spare_host_without_processes_is_nobodys_fault() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3), "node3": ()}, {}, 4))
    assert [one for one in said.findings if one.rule == "host-unreachable"] == []


def test_beside_a_silent_host_a_spare_one_is_not_accused() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3), "node4": ()}, {"node3": DARK}, 6))
    assert said.verdict is not None
    assert said.verdict.cls == "network-blackhole"
    assert findings(said, Kind.CAUSE) == ["network-blackhole"]


def test_without_silent_hosts_the_rule_says_nothing() -> None:
    said = judge(seen({"node1": (0, 1), "node2": (2, 3)}, {}, 4))
    assert [one for one in said.findings if one.rule == "host-unreachable"] == []
