"""A parent waits for a child process that is gone.

## What it means
A pool worker, helper or simulator process was killed or crashed, and nobody told the parent: `multiprocessing.Pool` replaces a dead worker but
never finishes the task it had; a manager or server process that died leaves its clients in `recv`.

## How it is recognised
The parent waits in `join`, `recv`, `get` of a pool's result or `waitpid`; the child is a zombie (`<defunct>`), has ended by a signal, or no longer exists.

## What to do
Find why it died: `dmesg -T | grep -i -e segfault -e oom`, its own log, the exit code (`-11` crash, `-9` killed). Use
`ProcessPoolExecutor` (it raises BrokenProcessPool), time-outs on `get`, and sentinels (`multiprocessing.connection.wait`).

## How to prevent it
Parents that watch their children; PR_SET_PDEATHSIG for children that must not outlive the parent.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._text import POSSIBLE, Sign, text_rule

_WAIT = r"(?:join|wait|recv|get|waitpid|wait4|poll|select|hang|stuck|block)\w*"
_SIGNS = (
    Sign(r"<defunct>|\bzombie\b|\bZ[sl+<N]{0,3}\b +\S*python|state[: ]+Z\b", "a child has ended and was not collected", anywhere=(_WAIT,)),
    Sign(r"process in the process pool was terminated abruptly|BrokenProcessPool|A worker process (?:was|has been) (?:unexpectedly )?(?:terminated|died)|TerminatedWorkerError|worker process managed by the executor was unexpectedly terminated",
         "a pool says that a worker is gone"),
    Sign(r"(?:child|worker|helper|sub-?process|process|server|manager|actor|simulator|env(?:ironment)?)\b[^\n]{0,60}\b(?:died|dead|is gone|was gone|crashed|segfault\w*|no longer (?:exists|alive|running)|exited (?:with|unexpectedly)|terminated|killed|vanished|disappeared)",
         "a child or helper is gone", anywhere=(r"(?:parent|main|rank|driver|master|caller)[^\n]{0,80}" + _WAIT,)),
    Sign(r"(?:exit ?code|exitcode|returncode)\W{0,4}(?:-11|139|-6|134|-7|135|-4|132|-8)\b|Segmentation fault|SIGSEGV|SIGABRT|core dumped", "a process crashed", POSSIBLE),
    Sign(r"\bSIGCHLD\b|wait4\([^\n]*unfinished|waitid\(", "a parent waits for a child", POSSIBLE),
    Sign(r"(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionRefusedError)(?:[^\n]*\n)?[^\n]*(?:managers|multiprocessing)|multiprocessing/managers\.py(?:[^\n]*\n){0,8}[^\n]*(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionRefusedError)", "a manager's process is gone"),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "child-dead", 38, "a parent waits for a child process that is gone", _SIGNS,
    ("ps -ef --forest | grep -e defunct -e python", "dmesg -T | grep -i -e segfault -e oom"),
)  # fmt: skip
