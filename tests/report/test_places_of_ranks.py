"""Nobody has to search for who is to blame: the screen tells on which host a rank runs, and as which process."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind, State
from rankscope.model.process import UNKNOWN_HOST, UNNUMBERED, Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Job
from rankscope.report import screen

PER_HOST = 8


def place(rank: int) -> ProcessRef:
    return ProcessRef(f"node{rank // PER_HOST + 1}", 4000 + rank, 1)


def shown(
    ranks: range | list[int], title: str = "some issued another call than their peers", circle: bool = False
) -> str:
    blamed = RankSet(ranks)
    told = Finding(
        rule="recorder-mismatch", cls="collective-mismatch", kind=Kind.CAUSE, certainty=Certainty.CERTAIN, title=title,
        ranks=RankSet() if circle else blamed,
        processes=tuple(Process(place(rank), Role.RANK, rank=rank) for rank in blamed),
    )  # fmt: skip
    roster = {place(rank): rank for rank in range(512)}
    everybody = RankSet(range(512))
    return screen.render(
        Diagnosis(Job("slurm"), State.STUCK, 512, everybody, (), None, (told,), roster=roster), width=400
    )


@pytest.mark.parametrize(
    ("ranks", "told"),
    [
        ([9], "rank 9 is pid 4009 on node2\n"),
        ([1, 9], "rank 1 is pid 4001 on node1, rank 9 is pid 4009 on node2\n"),
        (range(4, 17), "ranks 4-7 are on node1, ranks 8-15 are on node2, rank 16 is on node3\n"),
        (range(8, 72), "ranks 8-71 are on node[2-9]\n"),
    ],
)
def test_ranks_at_fault_are_placed(ranks: list[int], told: str) -> None:
    assert f"\n         {told}" in shown(ranks)


def test_the_members_of_a_circle_are_placed() -> None:
    assert "rank 0 is pid 4000 on node1, rank 8 is pid 4008 on node2" in shown([0, 8], circle=True)


def test_what_the_sentences_say_already_is_not_said_twice() -> None:
    assert " is pid " not in shown([9], "rank 9 (pid 4009 on node2) sleeps")


def test_where_a_helper_of_the_rank_is_named_its_rank_is_not_told_of() -> None:
    """Whom to look at is the helper."""
    helper = Process(ProcessRef("node2", 777, 1), Role.DATALOADER_WORKER, rank=9, owner=4009)
    told = Finding(
        "process-stopped", "process-stopped", Kind.CAUSE, Certainty.CERTAIN, "a worker (pid 777 on node2) is stopped",
        ranks=RankSet([9]), processes=(helper,),
    )  # fmt: skip
    made = Diagnosis(Job("slurm"), State.STUCK, 512, RankSet(range(512)), (), None, (told,), roster={place(9): 9})
    assert " is pid " not in screen.render(made)


def test_who_has_neither_a_host_nor_a_number_has_no_place() -> None:
    """Files that name none, as the dump of a recorder."""
    told = Finding(
        "recorder-mismatch", "collective-mismatch", Kind.CAUSE, Certainty.LIKELY, "rank 1 parted", ranks=RankSet([1])
    )
    roster = {ProcessRef(UNKNOWN_HOST, 1, UNNUMBERED): 1}
    made = screen.render(Diagnosis(Job("files"), State.STUCK, 2, RankSet([1]), (), None, (told,), roster=roster))
    assert " is " not in made
