"""Who announces ranks is looked for in each subject's own words; of all others' only where somebody does."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from rankscope.analysis.accounts import accounts
from rankscope.analysis.build import build
from rankscope.formats.gather import gather
from rankscope.model.evidence.events import Event
from rankscope.rules.told._announced import announced


class _Once:
    """A case that tells how often all its events are gone through."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self._events, self.asked = events, 0

    @property
    def events(self) -> Iterator[Event]:
        self.asked += 1
        return iter(self._events)


@pytest.mark.parametrize(
    ("line", "asked"), [("step 1", False), ("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4", True)]
)
def test_a_thousand_subjects_do_not_each_go_through_all_lines(line: str, asked: bool, tmp_path: pathlib.Path) -> None:
    """Twenty thousand small logs took minutes."""
    (tmp_path / "a.log").write_text(f"{line}\n")
    case = build(gather([tmp_path]))
    once = _Once(case.events)
    list(announced(once, next(iter(accounts(case)))))  # type: ignore[arg-type]
    assert bool(once.asked) is asked
