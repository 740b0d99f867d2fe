"""Ranks that come twice while others never come; not where one line says two things, or where the others speak otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from rankscope.analysis.accounts import Account
from rankscope.analysis.case import Case
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.model.evidence.events import Event
from rankscope.model.labels import Who
from rankscope.pipeline import case_of
from rankscope.rules.told import ranks_announced_twice, ranks_never_announced
from rankscope.rules.told._announced import announced

TWICE = "GLOBAL_RANK: 0, MEMBER: 1/4\nGLOBAL_RANK: 1, MEMBER: 2/4\nGLOBAL_RANK: 0, MEMBER: 1/4\nGLOBAL_RANK: 1, MEMBER: 2/4\n"
TIMED_OUT = (
    "[E ProcessGroupNCCL.cpp:717] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=41, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800403 milliseconds before timing out.\n"
)
STEPS = "".join(f"epoch {n // 2} step {50 + n % 2 * 50}/100 loss 2.1\n" for n in range(6))
LISTED = "".join(f"- (pid={rank}) world_rank={rank}, local_rank={rank}, node_rank=0\n" for rank in range(4))
BARS = "".join(f"epoch 9, rank {rank}, world_size 3: 35 batches" + ("\n" if rank < 2 else "") for rank in (0, 2))


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        pytest.param(TWICE, ["2-3"], id="sick"),
        pytest.param(TWICE + TIMED_OUT.format(rank=2) + TIMED_OUT.format(rank=3), [], id="the others speak otherwise"),
        pytest.param(TWICE[: len(TWICE) // 2] + STEPS + TWICE[len(TWICE) // 2 :], [], id="steps between two lives"),
        pytest.param(TWICE + LISTED, [], id="a controller lists them all"),
        pytest.param(BARS + TIMED_OUT.format(rank=0), [], id="one line says two things"),
    ],
)
def test_ranks_that_come_twice(text: str, ranks: list[str], tmp_path: Path) -> None:
    (tmp_path / "console.txt").write_text(text)
    assert [str(one.ranks) for one in ranks_announced_twice.check(case_of(gather([tmp_path])))] == ranks


ONE = "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4\n"
ALL = "".join(f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/4\n" for rank in range(4))


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        pytest.param("seed set\n" + ONE, ["1-3"], id="sick"),
        pytest.param(ONE + TIMED_OUT.format(rank=0), [], id="the log goes on"),
        pytest.param(ALL, [], id="all have come"),
        pytest.param(ONE + LISTED, [], id="a controller lists them all"),
    ],
)
def test_a_log_that_ends_with_the_words_of_few(text: str, ranks: list[str], tmp_path: Path) -> None:
    (tmp_path / "console.txt").write_text(text)
    assert [str(one.ranks) for one in ranks_never_announced.check(case_of(gather([tmp_path])))] == ranks


def test_who_says_that_nothing_follows_makes_it_likely(tmp_path: Path) -> None:
    """A log of one rank alone ends so as well."""
    (tmp_path / "console.txt").write_text(ONE)
    assert [one.certainty for one in ranks_never_announced.check(case_of(gather([tmp_path])))] == [Certainty.POSSIBLE]
    (tmp_path / "told.txt").write_text("the job hangs there until its limit\n")
    assert [one.certainty for one in ranks_never_announced.check(case_of(gather([tmp_path])))] == [Certainty.LIKELY]


def test_of_a_subject_that_announces_nobody_the_lines_of_all_others_are_not_read() -> None:
    """A job has thousands of subjects, and each line of theirs would be read once for each of them."""
    silent = Account("rank 1", Who(), events=(Event("text.line", text="step 3 loss 2.1"),))
    assert not list(announced(cast(Case, None), silent))
