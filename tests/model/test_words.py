"""Spans, counts and verbs as people say them."""

from __future__ import annotations

import pytest

from rankscope.model.words import counted, span, verb


@pytest.mark.parametrize(
    ("count", "noun", "told"),
    [(1, "process", "1 process"), (2, "process", "2 processes"), (0, "rank", "no ranks"), (8, "rank", "8 ranks")],
)
def test_a_count_agrees_with_its_noun(count: int, noun: str, told: str) -> None:
    assert counted(count, noun) == told


@pytest.mark.parametrize(
    ("word", "subjects", "told"),
    [
        ("wait", 1, "waits"),
        ("wait", 2, "wait"),
        ("wait", 0, "wait"),
        ("are", 1, "is"),
        ("are", 2, "are"),
        ("try", 1, "tries"),
    ],
)
def test_a_verb_agrees_with_its_subjects(word: str, subjects: int, told: str) -> None:
    assert verb(word, subjects) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(None, "an unknown time"), (4.24, "4.2 s"), (85.0, "85 s"), (725.0, "12 min 5 s"), (11_040.0, "3 h 4 min")],
)
def test_a_span_is_told_as_finely_as_matters(seconds: float | None, told: str) -> None:
    assert span(seconds) == told
