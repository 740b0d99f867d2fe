# ruff: noqa: E501  (a row of a table is one line)
"""An account: what the evidence says of one subject (a process, some ranks, a file), as stacks and as text to be searched.

Stacks are written out as text too, deepest frame first, so that one pattern finds a mechanism in a live process, in a
pasted dump and in a sentence about one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..model.evidence.events import Event
from ..model.evidence.stacks import Frame, PythonThread, Stack
from ..model.labels import Who
from ..model.patterns import regex
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from ..model.repeated import of_texts
from .listed import stacks_listed
from .meant import Meant, meant
from .needles import Haystack, compiled, haystack
from .origin import module_path
from .passages import stacks_told
from .pasted_code import Line, code_in

# Horovod's stall inspector (stall_inspector.cc, operations.cc before), whose sentence older releases break into lines.
_STALLED = (
    "This may indicate that different ranks are trying to submit different tensors or that only (?:a )?subset of ranks is "
    "submitting tensors, which will cause deadlock"
)
# What the watchdog of a group that takes itself down finds and logs as information (ProcessGroupNCCL.cpp: shutdown, checkForNCCLErrors).
_TAKES_ITSELF_DOWN = (
    r"found async exception when checking for NCCL errors: NCCL communicator (?:encountered error set by ProcessGroupNCCL: |"
    r"was aborted on rank \d{1,9}\.\s{1,4}Original reason for failure was: )Process Group shutdown on rank \d{1,9}\.?"
    r"(?:\s{1,4}(?:# \d{1,3} |Exception raised from checkForNCCLErrors)[^\n]{0,400})*"
)
# What programs add to their messages for every case alike: advice and guesses, never evidence.
_ADVICE = regex(
    r"This is most likely caused by incorrect usages.*|Additionally, this can be caused by.*|"
    r"This typically indicates.*|If you suspect the watchdog.*|"
    r"This is typically caused by a remote worker.*|Check the logs of the remote.*|"
    r"Some NCCL operations have failed or timed out.*|To avoid (?:data )?inconsistency.*|"
    r"To our best knowledge, the lagging.*|\(maybe TCPStore server has shut down too early\)|"
    r"CUDA kernel errors might be asynchronously.*|"
    r"For debugging,? consider passing CUDA_LAUNCH_BLOCKING.*|Compile with `?TORCH_USE_CUDA_DSA.*|"
    r"\(run with NCCL_DEBUG=\w+ for details\)|run with NCCL_DEBUG=INFO for details|"
    r"It can be also caused by unexpected exit.*|System call \(e\.g\. socket, malloc\).*|"
    r"A call failed possibly due to a network error.*|possibly due to a network error.*|"
    r"Is there a distributed collective mismatch in your code\??|Setting OMP_NUM_THREADS environment variable.*|"
    r"This can potentially cause a hang if this rank to GPU mapping.*|"
    r"In rare cases this process can exit before.*|This constraint has always been present.*|"
    r"This usually reflects invalid usage.*|or other deadlock-prone behaviors.*|"
    r"Please be aware that excessive worker creation.*|\bthis can cause the process to hang.*|typically caused by .*|"
    r"Possible causes?:.*|(?:Some common causes include|There are some potential root causes)\b.*|we will try our best to dump.*|remote process exited or there was a network error|"
    r"mapping is incorrect.*|"
    r"On normal program exit, the application should call.*|This may indicate a possible application crash.*|"
    r"which (?:may|might) be due to .*|The above exception was the direct cause.*",
    re.IGNORECASE,
)

_IN_LINES = regex(_STALLED.replace(" ", r"\s{1,8}") + r"\.?|" + _TAKES_ITSELF_DOWN, re.IGNORECASE)

# A line of source that takes a lock: no frame shows that, CPython has none for it.
_TAKES_LOCK = regex(
    r"\s*(?:async )?with [\w.]*lock\w*(?: as \w+)?:\s*$|\s*[\w.]*lock\w*\.acquire\(\)\s*$", re.IGNORECASE
)
# What no person writes: time stamps, levels, places in the source, rows of tables, package lists, variables.
_LOGGED = regex(
    r"\s*(?=\S)(?:\[?\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4}|\d\d/\d\d/\d\d \d\d:|top - \d\d:\d\d|"
    r"[A-Z][a-z]{2} +\d+ \d\d:\d\d|\[\s*\d+\.\d{3,}\]|\[?(?:INFO|DEBUG|WARN(?:ING)?|ERROR|CRITICAL|NOTICE)\b|"
    r"[-dlcbps](?:[r-][w-][xsStT-]){3}[.+@]? +\d+ (?!.*[,;] )|\[[WEIF]\d*\s|[WEIF]\d{4} |(?:wandb|mlflow|neptune): |\S+:\d+:\d+ \[\d+\] NCCL|\S+ +\d+ +\d+\.\d +\d+\.\d |"
    r"(?:Selecting|Preparing|Unpacking|Setting up|Install|Commandline|Get:\d)\b|"
    r"(?!(?:[A-Z][A-Z0-9_]*=\S* )+(?:bash|sh|python\S*|torchrun|mpirun|srun|deepspeed|accelerate|vllm|\./)\b)[^\s=]+=\S+ [^\s=]+=\S+|\{['\"]|<\d+>|File \"[^\"]+\", line)"
)
# Lines of somebody's dump: heads of processes and threads, frames, and the source below them.
_DUMPED = regex(
    r"\s*(?:Process \d+: |Python v\d|(?:Current )?[Tt]hread (?:0x)?[0-9a-fA-F#]+|Traceback |\((?:C|Python)\) File |"
    r"\*? ?frame #|#\d+ +\S)"
    r"|\s+\S.* \([^()\s]+(?::\d+)?\)\s*$"
)
# A program's own message, wherever somebody quotes it.
_MESSAGE = regex(
    r"\b[A-Z]\w*(?:Error|Exception|Warning)\b:|^\W*(?:[Ee]rror|ERROR|WARN\w*|[Ww]arning|FATAL|[Ff]atal)\b:|"
    r"NCCL (?:WARN|INFO|ERROR)|\b[\w/.-]+\.(?:cc|cpp|cxx|cu|c|h|hpp|py|go|rs):\d+|"
    r"\d\d:\d\d:\d\d[.,]\d{3}|^\W*[\w./-]+\[\d+\]:|^\[(?:rank ?)?\d+\]:|\(\w+ pid=\d+|\berrno\b|^\s*what\(\):|"
    r"terminate called|level=\w+"
)
PROSE_LINES = 80
LISTED_LINES = 400

_PYTHON = (".py", ".pyx", ">")

# A text longer than this is a log: its events are searched, not all its lines.
TEXT_LIMIT = 512 << 10
LINE_LIMIT = 4000  # of a longer line the rest is data
LINE_SHOWN = 300
# Of a text longer than this, lines that differ only in numbers are searched three times; its end is kept whole.
SPARSE_ABOVE = 64 << 10
_ALIKE, _END = 3, 50


@dataclass(frozen=True)
class Seen:
    """One thread's stack as somebody saw it, and the tool that showed it: what two tools call by different names has not moved."""

    thread: PythonThread
    native: bool = False
    moment: int = 0
    engine: str = ""

    @property
    def stack(self) -> Stack:
        return self.thread.stack

    @property
    def text(self) -> str:
        return written(self.thread.stack)


@functools.lru_cache(maxsize=65536)
def written(stack: Stack) -> str:
    """A stack as text, deepest frame first, paths below their package."""
    return "\n".join(map(_frame, reversed(stack)))


def _frame(frame: Frame) -> str:
    """One frame; a Python function without the names of what it is defined in, which only new interpreters tell (3.11)."""
    python = frame.library is None and frame.file.endswith(_PYTHON)
    where = module_path(frame.file) if frame.file and frame.library is None else frame.library or frame.file
    name = frame.function.rsplit(".", 1)[-1] if python else frame.function
    return f"{name} ({where}:{frame.line})" if where else name


@dataclass(frozen=True)
class Mention:
    """A line that shows what was looked for; ``doubted`` where it is asked, advised, supposed or told of another run."""

    line: str
    doubted: bool = False


@dataclass(frozen=True)
class Account:
    """One subject: who it is, its stacks, its events in order, and all of it as text."""

    label: str
    who: Who
    refs: tuple[ProcessRef, ...] = ()
    seen: tuple[Seen, ...] = ()
    events: tuple[Event, ...] = ()
    role: Role | None = None

    @functools.cached_property
    def ranks(self) -> RankSet:
        return self.who.ranks

    @functools.cached_property
    def again(self) -> bool:
        """Whether one tool looked at it at two moments."""
        looks = {((seen.engine, seen.native), seen.moment) for seen in self.seen}
        return len(looks) > len({how for how, _ in looks})

    @functools.cached_property
    def text(self) -> str:
        """What there is to search: the label, the stacks, then what was said, line by line."""
        lines: dict[tuple[str, int, str], None] = {}
        for event in self._words:
            lines[event.file, event.line, event.text[:LINE_LIMIT]] = None
        said = _joined([line for _, _, line in lines])
        stacks = "\n\n".join(self._stacks)
        # A file's name has underscores both for blanks and for what no name may hold; settings need them kept.
        return f"{self.label}\n{self.label.replace(' ', '_')}\n\n{stacks}\n\n{_without_advice(said)}"

    @functools.cached_property
    def prose(self) -> str:
        """Label, stacks, and what a person may have written: a short text without the lines of logs and tables."""
        stacks = "\n\n".join(self._stacks)
        return f"{self.label}\n\n{stacks}\n\n{self._written}"

    @functools.cached_property
    def _written(self) -> str:
        """The lines of a short text that no program writes."""
        lines = [line for line in self.said.splitlines() if not _by_a_program(line)]
        return "\n".join(lines) if len(lines) <= PROSE_LINES else ""

    @functools.cached_property
    def _by_people(self) -> frozenset[str]:
        """Lines whose words have the sense that their sentence gives them, as ``line_at`` cuts them."""
        lines = (line.strip() for line in (self.label, *self._written.splitlines()))
        return frozenset(line[:LINE_SHOWN] for line in lines if not _MESSAGE.search(line))

    @functools.cached_property
    def told(self) -> dict[int | None, Stack]:
        """Where its ranks waited by passages of its text, when nobody dumped their stacks."""
        return {} if self.seen else stacks_told(self.events)

    @functools.cached_property
    def listed(self) -> tuple[Stack, ...]:
        """Stacks that somebody wrote down frame by frame, where no tool's dump was read, or only pieces of one."""
        lines = [event.text for event in self.events if event.event == "text.line"]
        if self.told or len(lines) > LISTED_LINES:
            return ()
        found = stacks_listed(lines)
        # A reader of dumps that met remarks behind its frames has seen but pieces of what is listed.
        return found if sum(map(len, found)) > sum(len(seen.stack) for seen in self.seen) else ()

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """All stacks there are of it, seen, told or listed, root first."""
        return (*(seen.stack for seen in self.seen), *self.told.values(), *self.listed)

    @property
    def _stacks(self) -> Iterable[str]:
        return dict.fromkeys([*(seen.text for seen in self.seen), *map(written, (*self.told.values(), *self.listed))])

    @property
    def code(self) -> tuple[Line, ...]:
        """Its lines as code, if they are such."""
        return code_in([event.text for event in self.events])

    @functools.cached_property
    def said(self) -> str:
        """The text without label and stacks."""
        return _without_advice(_joined(list(dict.fromkeys(event.text[:LINE_LIMIT] for event in self._words))))

    @property
    def _words(self) -> Iterator[Event]:
        """What somebody or something said: the source below frames says what a program would do, in names of its own. That it
        takes a lock there counts."""
        return (event for event in self.events if event.event != "text.source" or _TAKES_LOCK.match(event.text))

    def find(self, pattern: str, prose: bool = False) -> str | None:
        """The line in which a pattern is found first (case does not matter, ^ and $ are lines), None where it is not."""
        found = self.mention(pattern, prose)
        return found.line if found else None

    def mention(self, pattern: str, prose: bool = False) -> Mention | None:
        """Where a pattern is found first, and whether as a fact; what people write not to be so does not count."""
        known = self._found
        if (pattern, prose) not in known:  # many signs ask for the same words
            known[pattern, prose] = self._mention(pattern, self._prose_hay if prose else self._hay)
        return known[pattern, prose]

    @functools.cached_property
    def _found(self) -> dict[tuple[str, bool], Mention | None]:
        return {}

    def _mention(self, pattern: str, hay: Haystack) -> Mention | None:
        doubted = None
        for one in self._mentions(pattern, hay):
            if not one.doubted:
                return one
            doubted = doubted or one
        return doubted

    def mentions(self, pattern: str, prose: bool = False) -> Iterator[Mention]:
        """All of them, in the order of the text."""
        return self._mentions(pattern, self._prose_hay if prose else self._hay)

    def _mentions(self, pattern: str, hay: Haystack) -> Iterator[Mention]:
        for found in hay.each(pattern):
            line = line_at(hay.text, found.start())
            sense = meant(found.re, hay.text, found) if line in self._by_people else Meant.SAID
            if sense in (Meant.SAID, Meant.DOUBTED):
                yield Mention(line, sense is Meant.DOUBTED)

    def kind(self, prose: bool = False) -> object:
        """What it shares with all whose text is the same but for numbers."""
        return self._prose_hay.kind if prose else self._hay.kind

    def may_mention(self, pattern: str, prose: bool = False) -> bool:
        """Whether a pattern may be found in its text, or in one of the same kind."""
        return (self._prose_hay if prose else self._hay).may_have(pattern)

    @property
    def grams(self) -> frozenset[str]:
        """What its text is made of, by which to tell which patterns it cannot have."""
        return self._hay.grams

    @functools.cached_property
    def _hay(self) -> Haystack:
        return haystack(self.text)

    @functools.cached_property
    def _prose_hay(self) -> Haystack:
        return haystack(self.prose)

    def named(self, *names: str) -> tuple[Event, ...]:
        """Its events of some names."""
        return tuple(event for event in self.events if event.event in names)


@of_texts
def says(pattern: str, text: str) -> bool:
    """Whether a pattern of rules is found in a line."""
    return compiled(pattern).search(text) is not None


@of_texts
def evidence_of(text: str) -> str:
    """A message without the advice that its program adds to it."""
    return _ADVICE.sub("", text)


def _without_advice(text: str) -> str:
    """Lines without advice, which goes beyond one of them only where its program breaks it."""
    return "\n".join(map(evidence_of, _IN_LINES.sub("", text).split("\n")))


def line_at(text: str, at: int) -> str:
    """The line around a position, cut to a sane length."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[start : end if end >= 0 else len(text)].strip()[:LINE_SHOWN]


@of_texts
def _by_a_program(line: str) -> bool:
    """Whether no person writes such a line."""
    return bool(_LOGGED.match(line) or _DUMPED.match(line))


def _joined(lines: list[str]) -> str:
    """Lines as one text that can be searched in reasonable time."""
    if sum(map(len, lines)) > SPARSE_ABOVE:
        seen: dict[str, int] = {}
        kept = []
        for line in lines[:-_END]:
            shape = _NUMBER.sub("0", line)
            seen[shape] = seen.get(shape, 0) + 1
            if seen[shape] <= _ALIKE:
                kept.append(line)
        lines = kept + lines[-_END:]
    return "\n".join(lines)[:TEXT_LIMIT]


_NUMBER = regex(r"\d+(?:\.\d+)?|0x[0-9a-f]+")
