"""Where the ``rankscope`` command begins: until its modules are loaded, Ctrl-C ends it without a word."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # what lies below ``signal``, which loads more than it takes


def main() -> None:
    """Load the command and run it. An interruption while modules load would else be shown as a traceback of them; the shell
    reports 130, as for one that comes later."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell has its background ignore it
    if heeded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .main import main as run

    run(heeded)
