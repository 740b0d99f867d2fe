"""Spans of time, counts and verbs as people say them."""

from __future__ import annotations


def span(seconds: float | None) -> str:
    """``4.2 s``, ``85 s``, ``12 min 5 s``, ``3 h 4 min``."""
    if seconds is None:
        return "an unknown time"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(count: int, noun: str) -> str:
    """``1 process``, ``2 processes``, ``no ranks``."""
    plural = noun if count == 1 else noun + ("es" if noun.endswith("s") else "s")
    return f"{count or 'no'} {plural}"


_OF_ONE = {"are": "is", "were": "was", "have": "has", "try": "tries"}


def verb(word: str, subjects: int) -> str:
    """A verb that agrees with so many subjects: one ``waits``, two ``wait``; one ``is``, two ``are``."""
    return _OF_ONE.get(word, f"{word}s") if subjects == 1 else word
