"""Findings in the order in which to believe them: by what rules are sure of and, of saved evidence, by what it reads like."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from ..model.diagnosis import GETS_ON, ONE_LOOK, READS_WELL, Certainty, Finding, Kind
from ..model.patterns import regex
from .accounts import accounts, last_lines
from .case import Case
from .dumped import one_look
from .endings import printed, says_it_halts
from .likeness import Likeness, likeness, reads_well

GUESS = "like-known-cases"  # the rule that speaks where no mechanism was recognised
SLOW = {"not-a-hang-slow", "straggler-slow-rank"}
ORDER = {Certainty.CERTAIN: 0, Certainty.LIKELY: 1, Certainty.POSSIBLE: 2}

# How much more probable it makes a class that a rule recognised its mechanism, and how probable one is of which no case is
# known (logarithms). These were chosen by cases that rules and words had not been made from (docs/adr/0007).
_WORTH = {Certainty.LIKELY: 3.0, Certainty.POSSIBLE: 0.8}
_OVERRULES = 0.5  # below it, what only reads like known cases is less than a mechanism that was recognised
_MANY = 40  # known words; of fewer, likeness says less against a rule
_FAR = -7.0

_UNLIKE = -4.0  # of the likely causes whose class is less probable than this by the words, one in five is right
_WORDS = "its words are rather those of known cases of another class"
# Who holds what another one wants was seen in the stacks: plain dumps read like those of runs in which nothing is wrong.
_HELD = {"lock-order-deadlock", "fork-with-threads", "gil-deadlock", "import-lock"}
# What a frame or a row of ``ps`` shows at once; of other classes those that are well stand so as well.
_SHOWN = {
    "process-stopped", "child-dead", "dead-rank", "queue-pipe-full", "compile-worker", "file-lock-stale", "filesystem-stall",
    "p2p-order-deadlock", "collective-cycle", "rank-stuck-in-user-code", "resource-limit",
}  # fmt: skip
# Where the interpreter is at its end, after the last line of the program (Python/pylifecycle.c, atexit).
_END = {"Py_FinalizeEx", "Py_Finalize", "atexit_callfuncs", "wait_for_thread_shutdown", "_run_exitfuncs"}
_AT_ITS_END = regex(rf"\b(?:{'|'.join(sorted(_END))}|_exit_function|threading\._shutdown|_python_exit)\b")
# What the row of a process says by itself: a program that is stopped does nothing, however well its log reads up to there.
BY_ROW = {"process-stopped"}
# What one look catches in jobs that run as well: a queue that is full, a lock that another one has, a child at work, an exception
# that was handled, all ranks in one call, a worker that waits its turn.
PASSES = {
    "queue-pipe-full", "file-lock-unsupported", "child-dead", "dead-rank", "stuck-below-program", "fork-with-threads",
}  # fmt: skip
# What no process outlives, however well all of it went before: its context on the device is lost.
_FATAL = {"cuda-async-error"}
# Of these classes a program's last word is why it went: no number of good lines before it makes up for that.
_LAST_WORDS = {"dead-rank", "oom-kill", "resource-limit"}
# What the kernel says in one line among hundreds about its start.
_SAID = {
    "gpu-hardware-fault": {"kernel.xid", "kernel.sxid", "kernel.pcie_error", "kernel.machine_check"},
    "oom-kill": {"kernel.oom_kill"},
    "filesystem-stall": {"kernel.hung_task", "kernel.fs_stalled"},
}


def in_order(case: Case, findings: Iterable[Finding]) -> list[Finding]:
    """Findings by certainty, then as their rules speak.

    Of saved evidence a cause that is not certain counts as much as its class is probable by the words, and something for what
    its rule is sure of; what only reads like known cases counts where nothing better is known. Where all reads well, causes
    become notes.
    Against what rests on a comparison words say nothing: it stands where all reads well, and nothing is guessed beside it.
    """
    found = sorted(findings, key=lambda finding: ORDER[finding.certainty])
    if case.snapshot.live:
        return found
    alike = likeness(case)
    found = [_heeded(case, one) if one.kind is Kind.CAUSE else one for one in found]

    def place(one: Finding) -> float:
        if one.kind is not Kind.CAUSE or one.certainty is Certainty.CERTAIN:
            return -math.inf
        return -(alike.scores.get(one.cls, _FAR) + (_WORTH[one.certainty] if one.rule != GUESS else 0.0))

    found.sort(key=place)
    best = next((one for one in found if one.kind is Kind.CAUSE), None)
    known = any(one.compared if one.kind is Kind.CAUSE else one.kind is Kind.NOTE and one.cls in SLOW for one in found)
    likely = any(one.kind is Kind.CAUSE and one.certainty is Certainty.LIKELY for one in found)
    least = _OVERRULES if likely else 0.0
    return [
        one
        for one in found
        if one.rule != GUESS or (one is best and not known and math.exp(alike.scores[one.cls]) >= least)
    ]


def _stands(case: Case, cause: Finding) -> bool:
    """Whether a likely cause rests on what no number of good lines beside it makes less true."""
    if cause.cls in _FATAL or (cause.cls in _LAST_WORDS and _ends_in(case, cause)):
        return True
    looks = [seen for account in accounts(case) for seen in account.seen]
    seen = bool(looks)
    if seen and cause.cls in _HELD:
        return True
    if cause.cls == "exit-hang" and (
        any(frame.function in _END for look in looks for frame in look.stack) or _told_to_stay(case, cause)
    ):
        return True
    if (seen or cause.cls in BY_ROW) and cause.cls in _SHOWN and quotes(case, cause):
        return True
    said = _SAID.get(cause.cls)
    return said is not None and any(event.event in said for event in case.events)


def _told_to_stay(case: Case, cause: Finding) -> bool:
    """Whether somebody tells that a program stands in its end, by the name of a frame there, and that it stays."""
    there = any(_AT_ITS_END.search(reason.text) and not printed(reason.text) for reason in cause.because)
    return there and any(
        says_it_halts(line) and not printed(line) for one in accounts(case) for line in one.prose.splitlines()
    )


def _ends_in(case: Case, cause: Finding) -> bool:
    """Whether a log ends with the error, or but for exceptions the line, that a cause rests on."""
    last = last_lines(case)
    reasons = tuple(reason.text for reason in cause.because)
    ends = [event for event in case.events if event.line >= last[event.file]]
    return any(
        event.text in reasons
        if event.event == "python.exception"
        else cause.cls != "dead-rank" and _rests_on(reasons, event.text.strip())
        for event in ends
    )


def _rests_on(reasons: tuple[str, ...], line: str) -> bool:
    """Whether one of the reasons gives a line, which it may have cut."""
    return bool(line) and any(reason.endswith(f": {line[:_REASON]}") for reason in reasons)


def quotes(case: Case, cause: Finding) -> bool:
    """Whether one of its reasons is a frame of a stack that was saved, a row of a process table, or of /proc/PID/status."""
    frames = {line for account in accounts(case) for seen in account.seen for line in seen.text.split("\n")}
    shown = frames | {event.text.strip()[:_ROW] for event in case.events if event.event in _OF_A_PROCESS}
    return any(line and line in reason.text for reason in cause.because for line in shown)


_OF_A_PROCESS = {"proc.row", "proc.state", "proc.tracer"}
_ROW, _REASON = 150, 200  # characters of a row, and of a line: reasons are cut


def outvoted(finding: Finding) -> bool:
    """Whether it is a note only because all else reads well, or is too little: then nothing is decided."""
    return finding.kind is Kind.NOTE and not {READS_WELL, ONE_LOOK, GETS_ON}.isdisjoint(finding.against)


def _more(alike: Likeness) -> float:
    """How much further away a class must be where few words are known."""
    return max(1.0, _MANY / (len(alike.words) or 1))


def _heeded(case: Case, cause: Finding) -> Finding:
    """A cause; a note of it where the evidence reads like that of healthy runs, less sure where it reads like another class."""
    if cause.compared or cause.certainty is Certainty.CERTAIN:
        return cause
    likely = cause.certainty is Certainty.LIKELY
    if likely and _stands(case, cause):
        return cause
    if reads_well(case):
        return dataclasses.replace(cause, kind=Kind.NOTE, against=(*cause.against, READS_WELL))
    alike = likeness(case)
    far = bool(alike.scores) and alike.scores.get(cause.cls, _FAR) < _UNLIKE * _more(alike)
    if (far or not likely) and cause.cls in PASSES and one_look(case):
        return dataclasses.replace(cause, kind=Kind.NOTE, against=(*cause.against, ONE_LOOK))
    if likely and (far or one_look(case)):
        why = _WORDS if far else ONE_LOOK
        return dataclasses.replace(cause, certainty=Certainty.POSSIBLE, against=(*cause.against, why))
    return cause
