"""Where the ``rankscope`` command begins: until its modules are loaded, Ctrl-C ends it without a word."""

from __future__ import annotations

from _signal import (
    SIG_DFL,
    SIGINT,
    default_int_handler,
    getsignal,
    signal,
)  # ``signal`` itself loads more than it takes


def main() -> None:
    """Load the command and run it. An interruption while modules load would else be shown as a traceback of them; the shell
    reports 130, as for one that comes later."""
    heeded = getsignal(SIGINT) is default_int_handler  # not so in the background of a shell, which ignores it
    if heeded:
        signal(SIGINT, SIG_DFL)
    from .main import main as run

    run(heeded)
