"""Ctrl-C, or SIGTERM: the first ends the looking, and what is in hand is still told; the second leaves at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import click

from . import _exit

T = TypeVar("T")


class Stop:
    """Whether the user has had enough; ``with`` it, an interruption ends the block and goes no further."""

    def __init__(self) -> None:
        self.pressed = False
        self.code = _exit.INTERRUPTED

    def heed_sigterm(self) -> Stop:
        """Take SIGTERM, which a scheduler sends before it kills, as Ctrl-C."""
        signal.signal(signal.SIGTERM, self._terminated)
        return self

    def _terminated(self, *_: object) -> None:
        self.code = _exit.TERMINATED
        raise _exit.Terminated

    def press(self) -> None:
        """Take note of the first Ctrl-C: from now on the kernel's own way of taking it holds."""
        self.pressed = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __enter__(self) -> Stop:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> bool:
        if not _exit.interrupted(error):
            return False
        self.press()
        return True

    def surely(self, do: Callable[[], T]) -> T:
        """What has to be done with what is in hand: begun anew where Ctrl-C came in between."""
        with self:
            return do()
        return do()

    def say(self, in_hand: bool) -> None:
        """Tell that the looking was broken off, and whether there is anything all the same."""
        if self.pressed:
            click.echo(f"rankscope: interrupted{'; this is what was in hand' if in_hand else ''}", err=True)
