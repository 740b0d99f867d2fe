"""Logs of hosts whose clocks disagree: the first error is the one that happened first."""

from __future__ import annotations

import pathlib
from datetime import datetime, timedelta, timezone

from rankscope import pipeline
from rankscope.analysis.clocks import offsets
from rankscope.formats.gather import gather
from rankscope.model.evidence.events import Event

START = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)


def log(rank: int, ahead_s: float, error_at_s: float, error: str) -> str:
    """A rank's log of twenty steps, a second each, and the exception it ends with."""

    def stamp(at_s: float) -> str:
        return (START + timedelta(seconds=at_s + ahead_s)).strftime("%Y-%m-%d %H:%M:%S.%f")

    lines = [f"{stamp(number + 0.01 * rank)} INFO step {number} loss 1.25" for number in range(20)]
    frames = ["Traceback (most recent call last):", '  File "train.py", line 7, in <module>', "    step()", error]
    return "\n".join(lines + [f"{stamp(error_at_s)} {line}" for line in frames]) + "\n"


def steps(source: str, ahead_s: float, jitter: tuple[float, ...]) -> list[Event]:
    return [
        Event("text.line", file=source, at_s=100.0 + number + ahead_s + late, text=f"step {number}")
        for number, late in enumerate(jitter)
    ]


def test_the_first_error_is_found_across_wrong_clocks(tmp_path: pathlib.Path) -> None:
    """Host 1 is an hour ahead; its rank failed first nevertheless."""
    (tmp_path / "rank_0.log").write_text(log(0, 0.0, 30.0, "KeyError: 'late'"))
    (tmp_path / "rank_1.log").write_text(log(1, 3600.0, 21.0, "ZeroDivisionError: early"))
    diagnosis = pipeline.judge(gather([tmp_path]), 30.0)
    assert diagnosis.verdict is not None
    assert diagnosis.verdict.cls == "dead-rank"
    assert list(diagnosis.verdict.ranks) == [1]
    assert any("3600 s ahead" in reason.text for finding in diagnosis.findings for reason in finding.because)


def test_clocks_that_agree_are_no_news() -> None:
    assert offsets(steps("a", 0.0, (0.0, 0.1, 0.2, 0.0)) + steps("b", 0.3, (0.0, 0.1, 0.0, 0.2))) == {}


def test_a_rank_that_falls_behind_has_no_wrong_clock() -> None:
    """Differences that grow come from work, not from clocks."""
    assert offsets(steps("a", 0.0, (0.0,) * 8) + steps("b", 0.0, (0, 2, 4, 6, 8, 10, 12, 14))) == {}


def test_too_few_common_moments_prove_nothing() -> None:
    assert offsets(steps("a", 0.0, (0.0, 0.0)) + steps("b", 50.0, (0.0, 0.0))) == {}
