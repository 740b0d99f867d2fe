"""A sick patient that is given no verdict at first is looked at once more, and that is not kept quiet."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness import judging
from harness.judging import Look

YOUNG = Look(0, {"job": {"state": "unknown"}}, 1.0, "")
TOLD = Look(1, {"job": {"state": "stuck"}}, 1.0, "")
JUST_BEGUN = Look(3, {"job": {"state": "unknown"}, "next": ["rankscope diagnose pid:7   # again in 4 s"]}, 1.0, "")
UNCLEAR = Look(3, {"job": {"state": "unknown"}}, 1.0, "")


def diagnosed(monkeypatch: pytest.MonkeyPatch, *looks: Look, state: str = "stuck") -> Look:
    coming = iter(looks)
    monkeypatch.setattr(judging, "run", lambda *args, **how: next(coming))
    monkeypatch.setattr(judging, "AGAIN_S", 0.0)
    patient: Any = SimpleNamespace(message={}, truth={"class": "dead-rank", "state": state}, target=7, age=lambda: 99.0)
    return judging.diagnose(patient)


@pytest.mark.parametrize("first", [YOUNG, JUST_BEGUN])
def test_a_second_look_is_told_and_keeps_the_first(monkeypatch: pytest.MonkeyPatch, first: Look) -> None:
    with pytest.warns(judging.SecondLook, match="dead-rank"):
        look = diagnosed(monkeypatch, first, TOLD)
    assert (look.code, look.first) == (1, first)


@pytest.mark.parametrize(("first", "state"), [(TOLD, "stuck"), (UNCLEAR, "stuck"), (YOUNG, "unknown")])
@pytest.mark.filterwarnings("error")
def test_whatever_else_is_said_first_stands(monkeypatch: pytest.MonkeyPatch, first: Look, state: str) -> None:
    assert diagnosed(monkeypatch, first, state=state) == first
