"""Ctrl-C while modules are loaded: it is an interruption all the same, and comes when they are."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

import pytest

from rankscope.cli import main
from rankscope.steps import loading


def test_an_interruption_waits_for_the_end_of_the_block() -> None:
    """What is loaded is loaded to its end, and the interruption comes then."""
    done = []

    def load() -> None:
        with loading.undisturbed():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("loaded")

    with pytest.raises(KeyboardInterrupt):
        load()
    assert done == ["loaded"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_changes_where_nobody_interrupts() -> None:
    """The way of taking Ctrl-C is the one from before, also where it leaves at once."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with loading.undisturbed():
            pass
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_are_left_alone() -> None:
    """Only the main thread may say what a signal does (signal(3), CPython)."""
    raised: list[BaseException] = []

    def enter() -> None:
        try:
            with loading.undisturbed():
                pass
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert raised == []


def _interrupt_set_name(frame: FrameType, event: str, _: object) -> None:
    if event == "call" and frame.f_code.co_name == "__set_name__":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("held", [True, False])
def test_ctrl_c_in_the_making_of_a_class_is_an_interruption(
    held: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before CPython 3.12 what comes out of ``__set_name__`` is a RuntimeError."""

    class Named:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

    def load(_: list[str]) -> int:
        sys.setprofile(_interrupt_set_name)
        try:
            if held:
                with loading.undisturbed():
                    type("Made", (), {"field": Named()})
            else:
                type("Made", (), {"field": Named()})
        finally:
            sys.setprofile(None)
        return 0

    monkeypatch.setattr(main, "_run", load)
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == 130
    assert "interrupted" in capsys.readouterr().err
