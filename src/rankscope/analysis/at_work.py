"""Evidence of a job that gets on: nobody complains of it, and what was saved shows it at work.

People also keep what runs as it should: the log of a server that answers, of a training whose steps grow to the last line,
two looks at stacks that moved in between. A warning before, a word in a source, a wait that one look caught is no trouble then.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from functools import cache

from ..model.evidence.events import Event
from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.patterns import regex
from ..model.process import Role
from ..model.repeated import found_in
from .accounts import Account, accounts, evidence_of, outlived, steps_at_end
from .after_looks import steps_after_looks
from .case import Case
from .endings import WRONG, printed, says_it_halts, went_on
from .file_lines import lines_by_file
from .papers import papers
from .recovered import recovered
from .remembered import remembered
from .slowed import slowed


class Well(enum.Enum):
    """How sure it is that nothing is wrong."""

    UNKNOWN = "nothing shows it"
    SEEMS = "a log gets on, and stacks were looked at once"
    IS = "a log or stacks get on, and nobody complains"


@remembered
def well(case: Case) -> Well:
    """Whether the evidence is of a job at work, about which nobody complains."""
    told = accounts(case)
    if (
        case.snapshot.live
        or not case.events
        or any(_complains(one.label) or calls_slow(one) for one in told)
        or slowed(case)
    ):
        return Well.UNKNOWN
    by_file, moving = lines_by_file(case), moving_files(case)
    if any(_troubled(case, said, bool(moving)) for name, said in by_file.items() if name not in papers(case)):
        return Well.UNKNOWN
    looked = case.collectives or any(_LOOKED & set(look) for one in case.members for look in one.looks)
    if not looked:
        # Where no plain line was read nothing shows that it gets on.
        return (
            Well.IS
            if moving or any(map(_vouched_for, told)) or (by_file and set(by_file) <= papers(case))
            else Well.UNKNOWN
        )
    if moving and steps_after_looks(case):
        return Well.IS
    if not any(map(_moved, accounts(case))):
        return Well.SEEMS if moving else Well.UNKNOWN
    return Well.IS if moving or all(map(_moved, _mains(case))) else Well.SEEMS


@remembered
def moving_files(case: Case) -> frozenset[str]:
    """The logs that get on."""
    return frozenset(name for name, said in lines_by_file(case).items() if _moves(case, name, said))


def steps_behind_all(case: Case) -> bool:
    """Whether logs get on, and steps stand behind every trouble that they tell of: an attempt that failed was followed by
    another one. Which of two streams was earlier only a clock tells, so that this is enough to guess nothing, and no more."""
    said = lines_by_file(case)
    return (
        bool(said)
        and set(said) == moving_files(case)
        and not any(_wrong(event.text) and not outlived(case, event) for told in said.values() for event in told)
    )


def nothing_but_recovered(case: Case) -> bool:
    """Whether trouble is told of, and all of it of somebody who is back."""
    told = [event for said in lines_by_file(case).values() for event in said if _wrong(event.text)]
    return bool(told) and all(recovered(case, event) for event in told)


_FEW = 2  # so many checks that pass are not all there are


_TOLD = regex(r"[:|]\s*\S")


def clear(case: Case) -> bool:
    """Whether all that was saved are checks that pass and counters at nought."""
    told = [event.text for event in case.events if event.event == "text.line" and found_in(event.text, _TOLD)]
    passed = sum(found_in(text, _ALL_CLEAR) for text in told)
    return passed > max(_FEW, len(told) / 2) and not any(map(_wrong, told)) and not case.snapshot.live


_LOOKED = {PythonStacks, NativeStacks}


def _mains(case: Case) -> Iterator[Account]:
    """The subjects that were looked at twice."""
    return (one for one in accounts(case) if one.again and one.role in (None, Role.RANK))


def _moves(case: Case, name: str, said: Sequence[Event]) -> bool:
    """Whether a log gets on until its last lines, and not at a crawl."""
    texts = [event.text for event in said]
    return (steps_at_end(case, name) and not any(map(_CRAWLS.search, texts[-_LAST:]))) or _serves(texts)


# A step that takes minutes.
_CRAWLS = regex(
    r"(?<![:\d.])\b[1-9]\d{2,}(?:\.\d+)? ?(?:s|sec|seconds)(?:/(?:it|step|iter)\w*|\s*$)",
    re.IGNORECASE,
)


def _troubled(case: Case, said: Sequence[Event], moving: bool) -> bool:
    """Whether a text tells of a trouble that nothing shows to be over; a mere warning, or a child
    that was not collected, is nothing where the job moves."""
    return any(
        _wrong(event.text)
        and not (moving and _WARNS.search(event.text) and not _complains(event.text))
        and not (
            outlived(case, event, by_clock=_is_error(event.text)) or went_on(case, event) or recovered(case, event)
        )
        for event in said
    )


_WARNS = regex(
    r"\bWARN(?:ING)?\b(?<!NCCL WARN)|^(?:\[rank\d+\]:)?\[?W ?\d{3,4} |\bWarning\b|^(?:\S+:)?Missing ranks:|"
    r"^(?:\S+:)?Stalled (?:ops|ranks)\b|"
    # A child that was not collected holds up nobody whose log gets on.
    r"<defunct>\s*$"
)


# What tells of trouble in a text, besides the words of programs for errors; and what may only be a try that failed.
_GRAVE = regex(
    r"\b(?:Xid|fallen off|NCCL WARN|No space left|Bus error|Transport endpoint|blocked for more than|I/O error|"
    r"Uncorrect\w+|severity=Uncorrected|unhandled|corrupt\w*|WORKER TIMEOUT|defunct|duplicate GPU|FAULT)\b|"
    r"\b(?i:illegal memory|mismatch\w*|inconsistent)\b|"
    r"(?i:\berror: ?(?![\d.]))"
)
_TRIED = regex(
    r"\b(?:Connection (?:refused|reset|closed)|unreachable|not responding|denied|disconnected|unable to|cannot|"
    r"could not|can't|[Mm]issing ranks|[Ss]talled|lost)\b|\b(?i:fail(?:s|ed|ure)?)\b(?! (?:\w+ ){0,2}(?:count)?: 0)"
)
_NONE = regex(
    r"\b(?:failed|errors?|timeouts?|lost|dropped|killed)(?: \w+){0,3}\W{1,3}0\b|"
    r"\b(?:no|0|without) (?:errors?|failures?|timeouts?)\b",
    re.IGNORECASE,
)
_GENTLE = regex(
    r"\b(?:INFO|DEBUG|NOTICE)\b(?! ?:? ?\w*(?:Error|Exception))|"
    r"\b(?:Future|Deprecation|User|Runtime|Resource|PossibleUser)Warning\b|"
    r"\bDisabling parallelism to avoid deadlocks\b"  # of tokenizers, which goes on with one thread
)


def _wrong(text: str) -> bool:
    """Whether a line tells of trouble: in the words of programs, or in those of a person."""
    if _CALLED.match(text) or _ALL_CLEAR.search(text):
        return False
    text = _NONE.sub("", text[:1000])
    if _GENTLE.search(text) and not _FATAL.search(text):
        return False
    return (WRONG.search(text) or _GRAVE.search(text) or _TRIED.search(text)) is not None or _complains(text)


def _is_error(text: str) -> bool:
    """Whether a line is a program's own error, which may come out before steps that were made earlier."""
    return (WRONG.search(text) or _GRAVE.search(text)) is not None


# Commands and system calls tell what a program is asked for; counters and checks, that nothing is wrong.
_CALLED = regex(r"Process \d+: |(?:\[pid +\d+\] )?(?:[\d:.]+ )?\w+\(.*\) += |(?:#\d+ +)?0x[0-9a-f]{6,} in ")
_ALL_CLEAR = regex(r"(?:\||:(?!\d))\s*(?:0|0x0+|No|N/A|None|Not Active|OK|Normal|Pass(?:ed)?\b.*|Skip\b.*)\s*\|?\s*$")
_FATAL = regex(r"NCCL WARN|Xid|Traceback|Watchdog caught")


# What somebody calls a run that gets on, and not fast enough.
_SLOW = regex(r"\bslow(?:er|ly|ness)?\b", re.IGNORECASE)


def calls_slow(account: Account) -> bool:
    """Whether somebody calls a subject a slow one."""
    return _SLOW.search(account.label) is not None


def _vouched_for(account: Account) -> bool:
    """Whether somebody says of a subject that it does its work, and that nobody has seen it stand."""
    return _DENIED.search(account.prose) is not None and _DOES.search(account.prose) is not None


# That a standstill was seen is denied, of all times and not of one setting; and that what it does is done.
_STANDSTILL = (
    r"(?:hang(?:s|ing)?|hung|stand(?:s|ing)? still|stood still|standstill|freez(?:es?|ing)|frozen?|"
    r"deadlock(?:s|ed|ing)?|stall(?:s|ed|ing)?|stuck)"
)
_SEEN = r"(?:saw|seen|noticed|observed|reported|met)"
_AT_ALL = r"\b(?: (?:so far|yet|until now|at all|once))?(?=[.;,\s]*$)"
_DENIED = regex(
    rf"\b(?:nobody|no ?one) (?:has |have |had )?(?:ever |yet )?{_SEEN} (?:it |them |any of them |an? |any )?"
    rf"(?:\w+ )?{_STANDSTILL}{_AT_ALL}|"
    rf"\bno (?:\w+ )?{_STANDSTILL}s? (?:(?:was|were|has been|have been) )?(?:ever |yet )?{_SEEN}{_AT_ALL}",
    re.IGNORECASE | re.MULTILINE,
)
_DOES = regex(
    r"\b(?:does|do|did|doing) (?:its|their|the) (?:work|jobs?)\b|"
    r"\b(?:works?|runs?|serves?|goes on|go on) "
    r"(?:normally|fine|well|on|as (?:before|usual|ever|it should)|without (?:a |any )?(?:trouble|problem)s?)\b|"
    r"\b(?:transfers?|requests?|jobs|tasks|uploads?|downloads?) "
    r"(?:run|go|come|are (?:done|served|made)|complete|finish|succeed)\w*\b",
    re.IGNORECASE,
)


@cache
def _complains(text: str) -> bool:
    """Whether somebody says that it halts: what a program's warning fears for every case alike is no such word."""
    said = _DENIED.sub("", evidence_of(text))
    return says_it_halts(said) and not printed(said)


# What a server says while it answers.
_ANSWERS = regex(
    r"\bHTTP/[12](?:\.[01])?\"?\W{1,3}(?:[23]\d\d|4(?:0[0134]|22))\b|"
    r"\bthroughput(?: \(\w+/s\))?\W{1,3}(?!0\.0+\b)\d[\d.]* ?(?:tokens|tok|infer|req|\(|,|$)|"
    r"(?<!time )\b\d+(?:\.\d+)?ms$|\b(?:GET|POST) \S+ [23]\d\d\b|"
    r"\bApplication startup complete|\bStarted (?:HTTPService|GRPCInferenceService|Metrics Service)|"
    r"\bfired up and ready|\bUvicorn running on|\bis ready at http|\bKernel started|\bSaving file at|"
    r"\bListening at: http",
)
_LAST = 8


# Its figures while it has requests and makes nothing of them.
_RATE = regex(r"\bthroughput(?: \([\w/]+\))?\W{1,3}(\d[\d.]*)")
_HAS_REQUESTS = regex(r"\b(?:running|waiting|pending|queue)(?:-req)?\W{1,2}[1-9]", re.IGNORECASE)


def _serves(texts: Sequence[str]) -> bool:
    """Whether the last lines of a log are those of a server that answers."""
    last = texts[-_LAST:]
    answered = max((at for at, text in enumerate(last) if _ANSWERS.search(text)), default=None)
    return answered is not None and not any(map(_GOES_DOWN.search, last[answered:])) and not _stands(texts)


# What servers say when they are told to end, and what vLLM's processes say of each other while one does not come.
_GOES_DOWN = regex(r"\bShutting down\b|\bNo available shared memory broadcast block found\b")


def _stands(texts: Sequence[str]) -> bool:
    """Whether a server's last word on its throughput is nought, with requests at hand."""
    last = next((text for text in reversed(texts) if _RATE.search(text)), "")
    nought = not any(rate.strip("0.") for rate in _RATE.findall(last))
    return nought and _HAS_REQUESTS.search(last) is not None


def _moved(account: Account) -> bool:
    """Whether a thread of a subject stood in different functions at two looks, and in none of a compiler."""
    by_thread: dict[object, dict[int, tuple[str, ...]]] = {}
    for seen in account.seen:
        names = tuple(str(frame.function) for frame in seen.stack)
        by_thread.setdefault((seen.engine, seen.native, seen.thread.tid or seen.thread.name), {}).setdefault(
            seen.moment, names
        )
    return any(_elsewhere(set(moments.values())) for moments in by_thread.values()) and not any(
        _COMPILES.search(seen.text) for seen in account.seen
    )


def _elsewhere(looks: set[tuple[str, ...]]) -> bool:
    """Whether looks at one thread show several places; a row of gdb's ``info threads`` is the innermost frame alone."""
    whole = {names for names in looks if len(names) > 1}
    inner = {names[-1] for names in looks - whole if names}
    return len(whole) > 1 or len(inner | {names[-1] for names in whole if inner}) > 1


_COMPILES = regex(r"_inductor|_dynamo|_functorch|triton/|cutlass|/numba/|compile", re.IGNORECASE)
