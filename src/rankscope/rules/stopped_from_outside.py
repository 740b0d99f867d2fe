"""A process is stopped, traced or frozen from outside.

## What it means
A signal (SIGSTOP, SIGTSTP), a debugger, another tracer, a frozen control group or the scheduler's suspend holds the process. It does nothing wrong and
cannot answer; the others wait for it.

## How it is recognised
State T or t in `ps` or /proc/PID/status, a `TracerPid` that is not 0, wait channels `do_signal_stop` or `ptrace_stop`, a cgroup that says
`frozen 1` or `FROZEN`, a job that the scheduler suspended, `Stopped` in a shell.

## What to do
`kill -CONT PID`; end the tracer (`ps -p TRACER`), `echo 0 > …/cgroup.freeze`, `scontrol resume JOB`, `docker unpause`.

## How to prevent it
No background jobs that read the terminal, no py-spy or strace left attached.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._text import POSSIBLE, Sign, text_rule

_SIGNS = (
    Sign(r"\b(?:left|still)\b[^\n]{0,24}\b(?:gdb|strace|debugger|py-spy|pdb)\b[^\n]{0,16}attached|\bstate:? [Tt]\b(?![\w'-])", "a process is stopped or traced", prose=True),
    Sign(r"\bT \(stopped\)|\bt \(tracing stop\)|\(tracing stop\)|State:\s*[Tt]\b", "a process is stopped or traced"),
    Sign(r"TracerPid:\s*[1-9]\d*", "a tracer is attached"),
    Sign(r"do_signal_stop|ptrace_stop|__refrigerator|do_freezer_trap|get_signal[^\n]*freez", "the kernel holds the process"),
    Sign(r"^\s*\S+\s+(?:\d+\s+){1,2}.*\s[Tt][sl<N+]{0,4}\s+\S", "ps shows a process in state T", also=(r"\bSTAT\b|\bS\b +UID|PID +\w+",)),
    Sign(r"\bfrozen 1\b|^\W*FROZEN\W*$|freezer\.state|cgroup\.freeze|docker pause|\(Paused\)|\bpaused container", "the control group is frozen"),
    Sign(r"SIGSTOP|SIGTSTP|SIGTTIN|SIGTTOU|suspended \(tty|^\[\d+\][+-]?\s+Stopped|kill -STOP|kill -19", "a stop signal was sent"),
    Sign(r"\b(?:scontrol suspend|JobState=SUSPENDED|\bSUSPENDED\b|preempt\w*[^\n]{0,30}suspend)", "the scheduler suspended the job"),
    Sign(r"\b(?:process|rank|worker)\b[^\n]{0,40}\b(?:is |was |got )?(?:stopped by|suspended|paused|traced by|held by (?:a )?(?:gdb|strace|debugger|py-spy))|(?:gdb|strace|debugger|py-spy)[^\n]{0,30}(?:still|left) (?:attached|running)",
         "somebody stopped or traces a process", POSSIBLE, prose=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "process-stopped", 18, "a process is stopped, traced or frozen from outside", _SIGNS,
    ("grep -e State -e TracerPid /proc/PID/status", "kill -CONT PID"),
)  # fmt: skip
