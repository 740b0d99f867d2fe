"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from rankscope.model.patterns import regex


def test_a_pattern_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN a pattern, WHEN its text is read, THEN nothing is compiled; a search compiles it, a second one not again."""
    compiled: list[str] = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda pattern, flags=0: compiled.append(pattern) or real(pattern, flags))
    late = regex("a+", re.IGNORECASE)
    assert (late.pattern, compiled) == ("a+", [])
    assert (late.search("xAa"), late.search("x")) != (None, None)
    assert (late.search("x"), compiled) == (None, ["a+"])


def test_a_faulty_pattern_is_told_where_it_is_used() -> None:
    late = regex("(")
    with pytest.raises(re.error):
        late.search("x")


def test_a_pattern_for_bytes_stays_one() -> None:
    found = regex(rb"(\d+)").search(b"rank 12")
    assert found is not None
    assert found[1] == b"12"
