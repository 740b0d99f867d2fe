"""Which signals a process has handlers for is read from the set in its status."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.probe.collectors.threads import parse_signals


@pytest.mark.parametrize(("mask", "signals"), [
    ("0000000000000000", ()), ("0000000100000002", (2, 33)), ("8000000000000001", (1, 64)), ("", None), ("none", None),
])  # fmt: skip
def test_the_lowest_bit_is_signal_1(mask: str, signals: tuple[int, ...] | None) -> None:
    assert parse_signals(mask) == signals


@given(st.text())
def test_any_text_is_a_set_or_none(text: str) -> None:
    found = parse_signals(text)
    assert found is None or all(1 <= one <= 64 for one in found)


def test_a_handler_of_our_own_is_in_the_set() -> None:
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    try:
        with open(f"/proc/{os.getpid()}/status") as status:
            line = next(one for one in status if one.startswith("SigCgt:"))
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert signal.SIGUSR2 in (parse_signals(line.split()[1]) or ())
