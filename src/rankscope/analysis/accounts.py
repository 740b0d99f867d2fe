# ruff: noqa: E501  (a row of a table is one line)
"""Accounts: what the evidence says of one subject (a process, some ranks, a file), as stacks and as text that can be searched.

Stacks are written out as text too, deepest frame first, so that one pattern finds a mechanism in a live process, in a
pasted dump and in a sentence about one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ..model.evidence.events import Event, Events
from ..model.evidence.stacks import Frame, NativeStacks, PythonStacks, PythonThread, Stack
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .case import Case, Member
from .frame_tables import STRENGTH, Kind
from .frames import kind_of, wait_of
from .labels import Who, who
from .listed import stacks_listed
from .origin import module_path
from .passages import stacks_told
from .progress import advances
from .sayings import sayings

# What programs add to their messages for every case alike: advice and guesses, never evidence.
_ADVICE = re.compile(
    r"This is most likely caused by incorrect usages.*|Additionally, this can be caused by.*|This typically indicates.*|If you suspect the watchdog.*|"
    r"This is typically caused by a remote worker.*|Check the logs of the remote.*|Some NCCL operations have failed or timed out.*|To avoid (?:data )?inconsistency.*|"
    r"To our best knowledge, the lagging.*|\(maybe TCPStore server has shut down too early\)|CUDA kernel errors might be asynchronously.*|"
    r"For debugging,? consider passing CUDA_LAUNCH_BLOCKING.*|Compile with `?TORCH_USE_CUDA_DSA.*|\(run with NCCL_DEBUG=\w+ for details\)|run with NCCL_DEBUG=INFO for details|"
    r"It can be also caused by unexpected exit.*|System call \(e\.g\. socket, malloc\).*|A call failed possibly due to a network error.*|possibly due to a network error.*|"
    r"Is there a distributed collective mismatch in your code\??|Setting OMP_NUM_THREADS environment variable.*|This can potentially cause a hang if this rank to GPU mapping.*|"
    r"In rare cases this process can exit before.*|This constraint has always been present.*|This usually reflects invalid usage.*|or other deadlock-prone behaviors.*|"
    r"typically caused by .*|Possible causes?:.*|we will try our best to dump.*|remote process exited or there was a network error|mapping is incorrect.*|"
    r"On normal program exit, the application should call.*|This may indicate a possible application crash.*|which (?:may|might) be due to .*|The above exception was the direct cause.*",
    re.IGNORECASE,
)

# What no person writes: time stamps, levels, places in the source, rows of tables, package lists, variables.
_LOGGED = re.compile(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4}|[A-Z][a-z]{2} +\d+ \d\d:\d\d|\[\s*\d+\.\d{3,}\]|\[?(?:INFO|DEBUG|WARN(?:ING)?|ERROR|CRITICAL|NOTICE)\b|"
    r"\[[WEIF]\d*\s|[WEIF]\d{4} |(?:wandb|mlflow|neptune): |\S+:\d+:\d+ \[\d+\] NCCL|\S+ +\d+ +\d+\.\d +\d+\.\d |(?:Selecting|Preparing|Unpacking|Setting up|Install|Commandline|Get:\d)\b|"
    r"\S+=\S+ \S+=\S+|\{['\"]|<\d+>|File \"[^\"]+\", line)"
)
# Lines of somebody's dump: heads of processes and threads, frames, and the source below them.
_DUMPED = re.compile(
    r"\s*(?:Process \d+: |Python v\d|(?:Current )?[Tt]hread (?:0x)?[0-9a-fA-F#]+|Traceback |\((?:C|Python)\) File |\*? ?frame #|#\d+ +\S)"
    r"|\s+\S.* \([^()\s]+(?::\d+)?\)\s*$"
)
PROSE_LINES = 80
LISTED_LINES = 400

# A text longer than this is a log: its events are searched, not all its lines.
TEXT_LIMIT = 512 << 10
LINE_LIMIT = 4000  # of a longer line the rest is data
# Of a text longer than this, lines that differ only in numbers are searched three times; its end is kept whole.
SPARSE_ABOVE = 64 << 10
_ALIKE, _END = 3, 50


@dataclass(frozen=True)
class Seen:
    """One thread's stack as somebody saw it."""

    thread: PythonThread
    native: bool = False
    moment: int = 0

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
    where = module_path(frame.file) if frame.file and frame.library is None else frame.library or frame.file
    return f"{frame.function} ({where}:{frame.line})" if where else frame.function


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
    def text(self) -> str:
        """What there is to search: the label, the stacks, then what was said, line by line."""
        lines: dict[tuple[str, int, str], None] = {}
        for event in self.events:
            lines[event.file, event.line, event.text[:LINE_LIMIT]] = None
        said = _joined([line for _, _, line in lines])
        stacks = "\n\n".join(self._stacks)
        # A file's name has underscores both for blanks and for what no name may hold; settings need them kept.
        return f"{self.label}\n{self.label.replace(' ', '_')}\n\n{stacks}\n\n{_ADVICE.sub('', said)}"

    @functools.cached_property
    def prose(self) -> str:
        """Label, stacks, and what a person may have written: a short text without the lines of logs and tables."""
        lines = [line for line in self.said.splitlines() if not (_LOGGED.match(line) or _DUMPED.match(line))]
        stacks = "\n\n".join(self._stacks)
        written_by_people = "\n".join(lines) if len(lines) <= PROSE_LINES else ""
        return f"{self.label}\n\n{stacks}\n\n{written_by_people}"

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

    @functools.cached_property
    def said(self) -> str:
        """The text without label and stacks."""
        return _ADVICE.sub("", _joined(list(dict.fromkeys(event.text for event in self.events))))

    def find(self, pattern: str, prose: bool = False) -> str | None:
        """The line in which a pattern is found first (case does not matter, ^ and $ are lines), None where it is not."""
        known: dict[tuple[str, bool], str | None] = self.__dict__.setdefault("_found", {})
        if (pattern, prose) not in known:  # many signs ask for the same words
            text = self.prose if prose else self.text
            found = compiled(pattern).search(text)
            known[pattern, prose] = line_at(text, found.start()) if found else None
        return known[pattern, prose]

    def named(self, *names: str) -> tuple[Event, ...]:
        """Its events of some names."""
        return tuple(event for event in self.events if event.event in names)


@functools.lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern as rules write it; the names of calls are written with and without lines between their words."""
    for words in ("all_?reduce", "all_?gather", "all_?to_?all", "reduce_?scatter"):
        pattern = pattern.replace(words, words.replace("_?", "[-_ ]?"))
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def evidence_of(text: str) -> str:
    """A message without the advice that its program adds to it."""
    return _ADVICE.sub("", text)


def line_at(text: str, at: int) -> str:
    """The line around a position, cut to a sane length."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[start : end if end >= 0 else len(text)].strip()[:300]


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


_NUMBER = re.compile(r"\d+(?:\.\d+)?|0x[0-9a-f]+")


def accounts(case: Case) -> tuple[Account, ...]:
    """All subjects of a case: one per label of files, one per process of a live job."""
    found: tuple[Account, ...] | None = case.__dict__.get("_accounts")
    if found is None:
        found = tuple(_live(case) if case.snapshot.live else _files(case))
        case.__dict__["_accounts"] = found
    return found


def _works(case: Case, ref: ProcessRef) -> bool:
    """Whether the end of a chain gets on with its work: then it is slow, and its stack is no evidence of a hang."""
    standing = case.standings.get(ref)
    return standing is not None and advances(standing)


def _live(case: Case) -> Iterator[Account]:
    """Of a live job only those in whom a chain of waiting ends, and for long enough: others wait rightly."""
    stuck = {root.ref for root in case.graph.roots if case.stuck(root.age_s) and not _works(case, root.ref)} | {
        ref for cycle in case.graph.cycles for ref in cycle
    }
    for member in case.members:
        if member.ref not in stuck:
            continue
        rank = RankSet([member.rank]) if member.rank is not None else RankSet()
        told = tuple(event for look in member.looks if Events in look for event in look[Events].events)
        yield Account(
            str(member.ref),
            Who(ranks=rank, pid=member.ref.pid, role=member.role),
            (member.ref,),
            tuple(_seen(member)),
            told,
            member.role,
        )
    # A log remembers troubles that are over: of a job that moves it proves nothing.
    if case.events and (stuck or RankSet(case.ranks) - RankSet(case.by_rank)):
        yield Account("job", Who(), (), (), case.events)


@dataclass
class _Open:
    who: Who
    refs: list[ProcessRef] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    ranks: set[int] = field(default_factory=set)
    role: Role | None = None


def _files(case: Case) -> Iterator[Account]:
    """Files of one label are one subject, unless they tell of several processes by their numbers or ranks."""
    opened: dict[str, _Open] = {}
    keys = _keys(case)
    for member in case.members:
        label = member.process.label or str(member.ref)
        one = opened.setdefault(keys.get((label, member.ref), label), _Open(who(label)))
        one.refs.append(member.ref)
        one.role = member.role
        if member.rank is not None:
            one.ranks.add(member.rank)
        known = {(seen.stack, seen.moment) for seen in one.seen}
        one.seen.extend(seen for seen in _seen(member) if (seen.stack, seen.moment) not in known)
    for event in case.events:
        label = who(stem(event.file)).text or event.file
        key = keys.get((label, event.pid)) or keys.get((label, ("rank", event.rank))) or label
        opened.setdefault(key, _Open(who(label))).events.append(event)
    for label, one in opened.items():
        told = replace(one.who, ranks=RankSet(one.ranks)) if one.ranks else one.who
        yield Account(label, told, tuple(one.refs), tuple(one.seen), tuple(one.events), one.role)


def _keys(case: Case) -> dict[tuple[str, object], str]:
    """For labels that several processes share: the subject of each process, by its identity, number and rank."""
    sharing: dict[str, list[Member]] = {}
    for member in case.members:
        sharing.setdefault(member.process.label or str(member.ref), []).append(member)
    keys: dict[tuple[str, object], str] = {}
    for label, members in sharing.items():
        # A label of one rank speaks of that rank and its helpers; a label of many with one stack is one subject.
        told = {
            member.ref for member in members if any(PythonStacks in one or NativeStacks in one for one in member.looks)
        }
        if len(told) < 2 or len(who(label).ranks) == 1 or _alike(members):
            continue
        for member in members:
            name = f"rank {member.rank}" if member.rank is not None else f"pid {member.ref.pid}"
            keys[label, member.ref] = keys[label, member.ref.pid] = f"{label}, {name}"
            if member.rank is not None:
                keys[label, ("rank", member.rank)] = f"{label}, {name}"
    return keys


def _alike(members: Iterable[Member]) -> bool:
    """Whether all have the very same stacks."""
    return len({tuple(seen.stack for seen in _seen(member)) for member in members}) == 1


STEP = re.compile(r"\b(?:global[_ ]?step|step|iteration|iter|batch)\W{0,3}(\d{1,9})\b", re.IGNORECASE)


def outlived(case: Case, event: Event) -> bool:
    """Whether its log goes on with at least three more steps afterwards: what was said then is over."""
    steps = case.__dict__.get("_steps")
    if steps is None:
        steps = case.__dict__["_steps"] = {}
        for said in case.events:
            if found := STEP.search(said.text):
                steps.setdefault(said.file, {})[said.line] = (said.rank, int(found.group(1)))
    later = [
        number
        for line, (rank, number) in steps.get(event.file, {}).items()
        if line > event.line and (event.rank is None or rank is None or rank == event.rank)
    ]
    return len(later) > 2 and all(a <= b for a, b in zip(later, later[1:])) and later[0] < later[-1]


def stem(name: str) -> str:
    """A file's name without folders and endings, as a label; the order number in front stays off."""
    base = name.rsplit("/", 1)[-1]
    for ending in (".gz", ".txt", ".log", ".json", ".out", ".err", ".dump"):
        base = base.removesuffix(ending)
    return re.sub(r"^\d{2}_(?=\D)", "", base)


def _seen(member: Member) -> Iterator[Seen]:
    for moment, look in enumerate(member.looks):
        for record, native in ((PythonStacks, False), (NativeStacks, True)):
            for thread in look[record].threads if record in look else ():
                yield Seen(thread, native, moment)


# --- what a subject does -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Doing:
    """What a subject was doing: ``kind`` is a Kind's value or exception, dead, silent, done; ``site`` tells places apart."""

    kind: str
    op: str = ""
    site: str = ""
    ranks: RankSet = field(default_factory=RankSet)
    count: int | None = None
    text: str = ""
    account: Account | None = None


_COLLECTIVE = r"(?:all[_-]?reduce\w*|all[_-]?gather\w*|all[_-]?to[_-]?all\w*|reduce[_-]?scatter\w*|broadcast\w*|barrier|bcast|all_?(?:sum|max|min)\b|psum|\bcollective|\b[\w.]*_gather\b|\b(?:gather|reduce|scatter)(?:_object)?\b(?! the\b)|wait_for_everyone)"
# In order: the first pattern found in a sentence says what its subject does.
_SENTENCES: tuple[tuple[str, str], ...] = (
    (
        "silent",
        r"\b(?:silent|no (?:output|log|pending|stack|answer|response|process)|says nothing|nothing (?:printed|logged|in the log)|not responding)\b",
    ),
    ("exception", r"\b(?:[A-Z]\w*(?:Error|Exception)\b|out of memory|exception|traceback|raised|failed with|errors?:)"),
    ("dead", r"\b(?:killed|crashed|died|segfault|core dumped|exited|gone|SIGKILL|exit code|terminated|defunct)\b"),
    (
        Kind.DEVICE.value,
        r"(?:(?:cuda|cu|hip)\w*Synchronize|synchronize\(\)|memcpy_and_sync|\.item\(\)|\.tolist\(\)|\.cpu\(\)|(?:cuda|cu|hip)(?:Mem)?(?:Host)?(?:Malloc|Alloc|Free)\w*|cuModuleLoad\w*|cuLibraryLoad\w*|torch\.cuda\.synchronize|device[- ]?(?:wide )?sync)",
    ),
    (
        Kind.P2P.value,
        r"(?:send/rec\w*|\b(?:batch_)?i?(?:send|recv)(?:_forward|_backward|_object_list)?\b|receive from|send to|point[- ]to[- ]point|\bp2p\b|ncclSend|ncclRecv)",
    ),
    (Kind.COLLECTIVE.value, _COLLECTIVE),
    (Kind.RENDEZVOUS.value, r"(?:init_process_group|new_group|rendezvous|ncclCommInitRank|init_distributed)"),
    (Kind.STORE.value, r"(?:store[.-]>?get|TCPStore|key[- ]value store)"),
    (
        Kind.DATA.value,
        r"(?:data ?loader|next batch|_next_data|data iterator|loading data|fetching batch|tokeniz\w+ (?:the )?data)",
    ),
    (
        Kind.COMPILE.value,
        r"(?:compil(?:e|ing|ation)|triton|inductor|ptxas|nvcc|autotun\w+|warm-?up|cuda graph capture)",
    ),
    (Kind.CHECKPOINT.value, r"(?:saving|save_checkpoint|torch\.save|uploading|writing (?:the )?checkpoint)"),
    (Kind.INPUT.value, r"(?:\bpdb\b|breakpoint|input\(|\(Pdb\)|ipdb)"),
    (Kind.EXIT.value, r"(?:destroy_process_group|atexit|at exit|shutting down|finaliz\w+)"),
    ("done", r"\b(?:finished|completed|done|already left|left the loop|100%)\b"),
    (Kind.LOCK.value, r"(?:\block\b|mutex|futex|acquire)"),
)


def doings(case: Case) -> tuple[Doing, ...]:
    """What each subject was doing, one entry per subject that a file names in its lines."""
    found: tuple[Doing, ...] | None = case.__dict__.get("_doings")
    if found is None:
        found = case.__dict__["_doings"] = tuple(doing for account in accounts(case) for doing in _doing(account))
    return found


def _doing(account: Account) -> Iterator[Doing]:
    main = main_thread(account)
    if main is not None:
        yield of_stack(account, main)
        return
    if account.told:
        yield from _told(account)
        return
    subjects = list(_subjects(account))
    yield from subjects
    if subjects:
        return
    if len(account.listed) == 1 and (account.ranks or account.who.count):
        seen = Seen(PythonThread(None, account.listed[0]))
        yield of_stack(replace(account, seen=(seen,)), seen)
    else:
        yield of_text(account, account.said)


def _told(account: Account) -> Iterator[Doing]:
    """Each rank whose waiting a passage of the text shows, as if its stack had been seen."""
    for rank, stack in account.told.items():
        seen = Seen(PythonThread(None, stack))
        subject = account.who if rank is None else replace(account.who, ranks=RankSet([rank]), count=None)
        yield of_stack(replace(account, who=subject, seen=(seen,)), seen)


def main_thread(account: Account) -> Seen | None:
    """The thread that does the work: the main one, else the one that says most, else the first; its last moment."""
    if not account.seen:
        return None
    latest = max(seen.moment for seen in account.seen)
    now = [seen for seen in account.seen if seen.moment == latest] or list(account.seen)
    return _below(_working(account, now), now)


def _working(account: Account, now: list[Seen]) -> Seen:
    for seen in now:
        if seen.thread.name and re.search("main", seen.thread.name, re.I):
            return seen
    for seen in now:
        if account.refs and seen.thread.tid == account.refs[0].pid:
            return seen
    return now[0]


def _below(main: Seen, now: list[Seen]) -> Seen:
    """The native view of a thread of which both were written down, where that says more."""
    for seen in now:
        same = seen.native and not main.native and (seen.thread.tid, seen.thread.name) == _identity(main)
        if same and STRENGTH.get(wait_of(seen.stack).kind, 0) > STRENGTH.get(wait_of(main.stack).kind, 0):
            return seen
    return main


def _identity(seen: Seen) -> tuple[int | None, str | None]:
    return seen.thread.tid, seen.thread.name


def of_stack(account: Account, seen: Seen) -> Doing:
    """A subject by its stack; the site is the chain of frames outside the interpreter."""
    wait = wait_of(seen.stack)
    deciding = seen.stack[: wait.index + 1] if wait.index >= 0 else seen.stack
    site = " < ".join(frame.function for frame in reversed(deciding[-6:]))
    kind = Kind.P2P if wait.op == "wait" and _sends(deciding) else wait.kind
    return Doing(kind.value, wait.op, site, account.ranks, account.who.count, account.label, account)


_QUOTED = re.compile(r"\b(?P<name>[A-Za-z_]\w*) \((?P<file>[\w/.-]+\.pyx?):\d+\)")


def _sends(stack: Iterable[Frame]) -> bool:
    """Whether what is waited for was posted by a send or receive, as far as the callers' names tell."""
    return any(re.search(r"send|recv|p2p", frame.function) for frame in tuple(stack)[-4:])


def of_text(account: Account, text: str) -> Doing:
    """A subject by a frame that is quoted, or by sentences about it."""
    for quoted in _QUOTED.finditer(text):
        known = kind_of(Frame(quoted["name"], quoted["file"], 0))
        if known is not None and STRENGTH.get(known, 0) > 3:
            where = line_at(text, quoted.start())
            op = _plain_op(quoted["name"])
            return Doing(known.value, op, where, account.ranks, account.who.count, where, account)
    for kind, pattern in _SENTENCES:
        found = compiled(pattern).search(text)
        if found:
            return Doing(
                kind,
                _plain_op(found.group()),
                line_at(text, found.start()),
                account.ranks,
                account.who.count,
                line_at(text, found.start()),
                account,
            )
    return Doing(
        "unknown", "", text[:200], account.ranks, account.who.count, text.strip().split("\n", 1)[0][:300], account
    )


_CALL = re.compile(r"(all_?)?(reduce_?scatter|reduce|gather|to_?all|sum|max|min)|broadcast|bcast|barrier|scatter")


def _plain_op(word: str) -> str:
    """One name for the many spellings of a call."""
    name = word.lower().rstrip("(").replace("-", "_")
    found = _CALL.search(name)
    if found is None:
        return name
    return (
        ("all_" if found[1] else "") + found[2].replace("_", "") if found[2] else found[0].replace("bcast", "broadcast")
    )


def _subjects(account: Account) -> Iterator[Doing]:
    for line in account.said.splitlines():
        for subject, said in sayings(line):
            told = replace(of_text(account, said), ranks=subject.ranks, text=said[:300])
            if subject.ranks or told.kind != "unknown":
                yield replace(told, count=len(subject.ranks) or subject.count)


def gathered(found: Iterable[Doing]) -> list[Doing]:
    """Subjects whose stacks stand in the same place become one; what people write about others stays apart."""
    places: dict[tuple[str, str] | int, Doing] = {}
    for number, doing in enumerate(found):
        key = (doing.kind, doing.site) if doing.account is not None and doing.account.seen else number
        if (before := places.get(key)) is None:
            places[key] = doing
        else:
            both = before.ranks | doing.ranks
            size = (len(before.ranks) or before.count or 1) + (len(doing.ranks) or doing.count or 1)
            places[key] = replace(before, ranks=both, count=len(both) or size)
    return list(places.values())


def in_kind(found: Iterable[Doing], *kinds: str) -> list[Doing]:
    """Those that do one of some things."""
    return [doing for doing in found if doing.kind in kinds]


def of_ranks(doing: Doing) -> bool:
    """Whether it is told of ranks, rather than of a file, a note or a piece of code."""
    if doing.ranks or doing.account is None:
        return bool(doing.ranks)
    told = doing.account.role is Role.RANK or doing.account.who.count is not None or bool(doing.account.ranks)
    return told or bool(compiled(_RANK_LABEL).search(doing.account.label) or compiled(_RANK_NAMED).search(doing.text))


_NUMBERED = r"(?:TP|PP|DP|EP|stage|worker|node|gpu|process|scheduler)[ _#]?\d"
_RANK_LABEL = rf"\b(?:ranks?\b|others?\b|peers?\b|the rest\b|remaining\b|{_NUMBERED})"
_RANK_NAMED = rf"\b(?:ranks?[ _#:=]*\d|{_NUMBERED}|(?:all|every|each|other|some|both) (?:\w+ )?ranks?\b|of the ranks\b)"
