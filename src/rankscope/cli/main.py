"""The ``rankscope`` command: does what is asked and turns every outcome into an exit code."""

from __future__ import annotations

import io
import sys

from ..errors import RankscopeError
from . import _exit


def main() -> None:
    """Run the command line and exit: 0 nothing found, 1 something found, 2 could not, 3 not enough evidence, 130 stopped,
    141 nobody read on, and nothing had been found yet."""
    code = _exit.CLOSED
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the kernel's names of files need not be text
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _interrupted()
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
            code = _interrupted()
        else:
            print(_exit.bug(error), file=sys.stderr)
            code = _exit.COULD_NOT
    sys.exit(code)


def _interrupted() -> int:
    print("rankscope: interrupted", file=sys.stderr)
    return _exit.INTERRUPTED


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
