"""The ``rankscope`` command: does what is asked and turns every outcome into an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys

from ..errors import RankscopeError
from . import _exit


def main(heed: bool = False) -> None:
    """Run the command line and exit: 0 nothing found, 1 something found, 2 could not, 3 not enough evidence, 130 stopped,
    143 terminated, 141 nobody read on, and nothing had been found yet. ``heed`` takes Ctrl-C up, which ``_start`` put off."""
    code = _exit.CLOSED
    try:
        if heed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _open_what_is_closed()
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # the kernel's names of files need not be text
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        code = _interrupted(error)
    except RankscopeError as error:
        print(_exit.told(error), file=sys.stderr)
        code = _exit.COULD_NOT
    except BrokenPipeError:  # nobody reads on; what was found stays found
        _exit.close_quietly()
        code = code or _exit.CLOSED
    except SystemExit as left:  # click ends so after completing for a shell, with 0, and after a broken pipe
        _exit.close_quietly()
        code = _exit.CLOSED if left.code else _exit.NOTHING_FOUND
    except Exception as error:
        if _exit.interrupted(error):
            code = _interrupted(error.__cause__)
        elif unwritten := _exit.unwritten(error):
            _exit.close_quietly()
            print(unwritten, file=sys.stderr)
            code = _exit.COULD_NOT
        else:
            print(_exit.bug(error), file=sys.stderr)
            code = _exit.COULD_NOT
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Standard streams that whoever started us closed, as of /dev/null: else the first files opened would take their places."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _interrupted(error: BaseException | None) -> int:
    print("rankscope: interrupted", file=sys.stderr)
    return _exit.TERMINATED if isinstance(error, _exit.Terminated) else _exit.INTERRUPTED


def _run(words: list[str]) -> int:
    rest = [word for word in words[1:] if word not in ("--raw", "--children")]
    if words[:1] == ["stacks"] and "--raw" in words and _near(rest):
        from . import _dumps  # without the commands and the library they are made of, which are a tenth of its cost

        return _dumps.run(rest[0] if rest else None, "--children" in words)
    from ._group import run

    return run()


def _near(words: list[str]) -> bool:
    """Whether these words name no more than a process of this host."""
    return not words or (len(words) == 1 and words[0].removeprefix("pid:").isdecimal())
