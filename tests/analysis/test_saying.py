"""Who says something: each text is searched once, however many say it."""

from __future__ import annotations

import pathlib
import re

from rankscope.analysis.saying import saying
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of


class Counting:
    """A pattern that notes what it is asked."""

    def __init__(self, pattern: str) -> None:
        self.asked: list[str] = []
        self._pattern = re.compile(pattern)

    def search(self, text: str) -> re.Match[str] | None:
        self.asked.append(text)
        return self._pattern.search(text)


def test_what_seven_ranks_say_is_searched_once_and_found_in_order(tmp_path: pathlib.Path) -> None:
    for rank in range(7):
        (tmp_path / f"rank{rank}.log").write_text("loading the data\nthe barrier is open\nloading the data\n")
    case = case_of(gather([tmp_path]))
    pattern = Counting("loading")
    found = saying(case, pattern)  # type: ignore[arg-type]
    assert sorted(pattern.asked) == sorted(set(pattern.asked))
    assert found == [event for event in case.events if "loading" in event.text]
    assert len(found) >= 14


def test_all_of_several_patterns_must_be_in_one_text(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.log").write_text("step 1\nstep 2 took 7 s\nthat took 5 s\n")
    found = saying(case_of(gather([tmp_path])), re.compile("step"), re.compile("took"))
    assert {event.text for event in found} == {"step 2 took 7 s"}
