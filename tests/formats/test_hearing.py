"""A reader of dumps that is idle is not shown the lines that it does not hear, and reads what it would have read."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.formats import text
from rankscope.formats.lines import Line, lines_of
from rankscope.formats.records import DumpReader

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "samples"
TEXTS = [path.read_text(errors="replace") for path in sorted(SAMPLES.rglob("*.txt"))]
LINES = sorted({line for one in TEXTS for line in one.split("\n")[:60] if len(line) < 200})


def _read(said: str, monkeypatch: pytest.MonkeyPatch, everything: bool) -> list[object]:
    with monkeypatch.context() as patch:
        if everything:
            patch.setattr(text, "_hears", lambda _: (True,) * len(text.DUMPS))
        return list(text.read(said))


@pytest.mark.parametrize("said", TEXTS, ids=range(len(TEXTS)))
def test_samples_read_alike(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _read(said, monkeypatch, everything=False) == _read(said, monkeypatch, everything=True)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_lines_of_samples_in_any_order_read_alike(said: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert _read(said, patch, everything=False) == _read(said, patch, everything=True)


@pytest.mark.parametrize("module", text.DUMPS, ids=lambda module: module.NAME)
def test_an_idle_reader_stays_as_it_is_at_what_it_does_not_hear(module: Any) -> None:
    unheard = [line for line in lines_of("\n".join(LINES)) if not module.hears(line.text)]
    assert len(unheard) > 100
    assert [line.text for line in unheard if _changes(module.Reader(), line)] == []


def _changes(reader: DumpReader, line: Line) -> bool:
    assert reader.idle
    before = dict(vars(reader))
    return list(reader.feed(line)) != [] or dict(vars(reader)) != before


def test_few_readers_are_shown_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a dump of many threads that stand alike, WHEN it is read, THEN each line is heard once."""
    thread = 'Thread 7 (idle): "worker"\n    wait (threading.py:320)\n    run (threading.py:982)\n'
    asked: list[str] = []
    hears = text.DUMPS[0].hears
    monkeypatch.setattr(text.DUMPS[0], "hears", lambda line: asked.append(line) or hears(line))
    list(text.read("Process 7: python train.py\nPython v3.11.7 (python)\n\n" + 200 * thread))
    assert len(asked) <= 6
