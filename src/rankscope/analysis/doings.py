"""What every subject of a case was doing: in a call with others, somewhere else, silent or gone; by stack or by sentence."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ..model.evidence.events import Event
from ..model.evidence.stacks import Frame, PythonThread
from ..model.patterns import regex
from ..model.process import Role
from ..model.ranks import RankSet
from .accounts import Account, Seen, accounts, compiled, line_at, outlived
from .case import Case
from .frame_tables import STRENGTH, WaitKind
from .frames import kind_of, wait_of
from .main_thread import main_thread
from .pasted_code import mostly_code
from .remembered import remembered
from .sayings import sayings


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

    @property
    def main(self) -> Seen | None:
        """The thread that does its work, where stacks are shown."""
        return main_thread(self.account) if self.account is not None else None


def size(doing: Doing) -> int:
    """How many a subject stands for, as far as it is told."""
    return len(doing.ranks) or doing.count or 1


_COLLECTIVE = r"(?:(?<!horovod)all[_-]?reduce(?!/horovod)\w*|all[_-]?gather\w*|all[_-]?to[_-]?all\w*|reduce[_-]?scatter\w*|broadcast(?!ed by subset|/)\w*|(?<!store[ _]based[ _])(?<!to perform )(?<![a-z])barrier(?! (?:stage|task ?set|tasks?|execution|RDD)\b)|bcast|all_?(?:sum|max|min)\b|psum|\bcollective|\b[\w.]{0,80}_gather\b|\b(?:gather|reduce|scatter)(?:_object)?\b(?! the\b)|wait_for_everyone)"
# In order: the first pattern found in a sentence says what its subject does.
_SENTENCES: tuple[tuple[str, str], ...] = (
    (
        "exception",
        r"(?<!no )(?<!without )(?<!without an )(?<!nor )\b(?:[A-Z]\w*(?:Error|Exception)\b|out of memory|exception|traceback|raised|failed with|errors?:)",
    ),
    (
        "dead",
        r"\b(?:(?<!run is )(?<!run was )(?<!job is )(?<!job was )killed|crashed|died|segfault|core dumped|exited|gone|SIGKILL|exit code(?!\W{1,3}0\b)|terminated|defunct|no longer running|not running any ?more)\b",
    ),
    (
        "silent",
        r"\b(?:silent|no (?:output|log|pending|stack|answer|response|process)|says nothing|nothing (?:printed|logged|in the log)|not responding)\b",
    ),
    (
        WaitKind.DEVICE.value,
        r"(?:(?:cuda|cu|hip)\w*Synchronize|synchronize\(\)|memcpy_and_sync|\.item\(\)|\.tolist\(\)|\.cpu\(\)|(?:cuda|cu|hip)(?:Mem)?(?:Host)?(?:Malloc|Alloc|Free)\w*|cuModuleLoad\w*|cuLibraryLoad\w*|torch\.cuda\.synchronize|device[- ]?(?:wide )?sync)",
    ),
    (
        WaitKind.P2P.value,
        r"(?:send/rec\w*|\b(?:batch_)?i?(?:send|recv)(?:_forward|_backward|_object_list)?\b(?!-Q\b)|receive from|send to|point[- ]to[- ]point|(?<!via )\bp2p\b(?! (?:channels?|level|chunk))|ncclSend|ncclRecv)",
    ),
    (WaitKind.COLLECTIVE.value, _COLLECTIVE),
    (
        WaitKind.RENDEZVOUS.value,
        r"(?:init_process_group|new_group|rendezvous|store[ _]based[ _]barrier|ncclCommInitRank(?![^\n]*\bCOMPLETE\b)|init_distributed)",
    ),
    (WaitKind.STORE.value, r"(?:store[.-]>?get|TCPStore|key[- ]value store)"),
    (
        WaitKind.DATA.value,
        r"(?:data ?loader|next batch|_next_data|data iterator|loading data|fetching batch|tokeniz\w+ (?:the )?data)",
    ),
    (
        WaitKind.COMPILE.value,
        r"(?:compil(?:e|ing|ation)|triton|inductor|ptxas|nvcc|autotun\w+|warm-?up|cuda graph capture)",
    ),
    (WaitKind.CHECKPOINT.value, r"(?:saving|save_checkpoint|torch\.save|uploading|writing (?:the )?checkpoint)"),
    (WaitKind.INPUT.value, r"(?:\bpdb\b|breakpoint|input\(|\(Pdb\)|ipdb)"),
    (WaitKind.EXIT.value, r"(?:destroy_process_group|atexit|at exit|shutting down|finaliz\w+)"),
    (
        "done",
        r"\b(?:finished|(?<!last )(?<!last enqueued and )(?<!\d% )completed|done|already left|left the loop|100%)\b",
    ),
    (WaitKind.LOCK.value, r"(?:\block\b|mutex|futex|acquire)"),
)


@remembered
def doings(case: Case) -> tuple[Doing, ...]:
    """What each subject was doing, one entry per subject that a file names in its lines."""
    return tuple(doing for account in accounts(case) for doing in _doing(account, _still(case, account)))


def _still(case: Case, account: Account) -> str:
    """What a subject said, without what its log has gone on from with more steps, and without rows of process tables, in which
    any wait of a thread is one for a futex."""
    if case.snapshot.live:
        return account.said
    rows = {(one.file, one.line) for one in account.events if one.event == "proc.row"}
    told = tuple(one for one in account.events if (one.file, one.line) not in rows)
    late = tuple(one for one in told if not outlived(case, one)) or told
    return account.said if len(late) == len(account.events) else replace(account, events=late).said


def _doing(account: Account, said: str) -> Iterator[Doing]:
    main = main_thread(account)
    if main is not None:
        standing = of_stack(account, main)
        yield standing if crash(account) is None else replace(standing, kind="dead")
        return
    if account.told:
        yield from _told(account)
        return
    subjects = list(_subjects(account, said))
    yield from subjects
    if subjects or (not account.listed and mostly_code(account.said.splitlines()[:_LINES])):
        return  # code says what is to be done, not what is done
    if len(account.listed) == 1 and (account.ranks or account.who.count):
        seen = Seen(PythonThread(None, account.listed[0]))
        yield of_stack(replace(account, seen=(seen,)), seen)
    else:
        yield of_text(account, said)


def crash(account: Account) -> Event | None:
    """The fatal error that all stacks of a subject are the last words of: such a process stands nowhere any more.

    Who is aborted may have waited until then: a watchdog ends its own process so.
    """
    if {seen.engine for seen in account.seen} != {"faulthandler"}:
        return None
    fatal = (event for event in account.events if event.event == "python.fatal")
    return next((event for event in fatal if event.fields.get("error") != "Aborted"), None)


_LINES = 200  # of a longer text the beginning tells what it is


def _told(account: Account) -> Iterator[Doing]:
    """Each rank whose waiting a passage of the text shows, as if its stack had been seen."""
    for rank, stack in account.told.items():
        seen = Seen(PythonThread(None, stack))
        subject = account.who if rank is None else replace(account.who, ranks=RankSet([rank]), count=None)
        yield of_stack(replace(account, who=subject, seen=(seen,)), seen)


def seen_apart(case: Case) -> bool:
    """Whether the stacks of several subjects were seen: then where each stands is compared, not only told."""
    return sum(bool(account.seen) for account in accounts(case)) > 1


def way(doing: Doing) -> tuple[str, ...]:
    """The functions through which a subject came to where it stands, outermost first; empty where no stack was seen.

    What the call that waits does below itself is no way to it.
    """
    main = doing.main
    stack = main.stack if main is not None else ()
    return tuple(frame.function for frame in stack[: wait_of(stack).index + 1] or stack)


def of_stack(account: Account, seen: Seen) -> Doing:
    """A subject by its stack; the site is the chain of frames outside the interpreter."""
    wait = wait_of(seen.stack)
    deciding = seen.stack[: wait.index + 1] if wait.index >= 0 else seen.stack
    site = " < ".join(frame.function for frame in reversed(deciding[-6:]))
    kind = WaitKind.P2P if wait.op in _WAITS_FOR and _sends(deciding) else wait.kind
    if _computes(account, seen):
        kind = WaitKind.UNKNOWN  # it computes, and waits for nobody
    return Doing(kind.value, wait.op, site, account.ranks, account.who.count, account.label, account)


def _computes(account: Account, seen: Seen) -> bool:
    """Whether a thread was at work in arithmetic when it was looked at, by its native frames if there are any."""
    same = [one for one in account.seen if one.thread.tid == seen.thread.tid and one.moment == seen.moment]
    return any(one.thread.active and one.stack and _ARITHMETIC.search(one.stack[-1].function) for one in (seen, *same))


# Where processors spend their time: kernels of BLAS, of vector mathematics, of PyTorch's own operators, copies.
_ARITHMETIC = regex(
    r"gemm|mkl_(?:blas|vml|dft|lapack)|vm[sd][A-Z]|cblas|openblas|dnnl::|at::native::|Eigen::|^_*mem(?:cpy|set|move)"
)
_QUOTED = regex(r"\b(?P<name>[A-Za-z_]\w*) \((?P<file>[\w/.-]+\.pyx?):\d+\)")


_WAITS_FOR = ("wait", "synchronize", "wait_stream")


def _sends(stack: Iterable[Frame]) -> bool:
    """Whether what is waited for was posted by a send or receive, as far as the callers' names tell."""
    return any(re.search(r"send|recv|p2p", f"{frame.function} {frame.file}") for frame in tuple(stack)[-4:])


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


_CALL = regex(r"(all_?)?(reduce_?scatter|reduce|gather|to_?all|sum|max|min)|broadcast|bcast|barrier|scatter")


_ONE_WORD = {"toall": "to_all", "to_all": "to_all"}


def _plain_op(word: str) -> str:
    """One name for the many spellings of a call."""
    name = word.lower().rstrip("(").replace("-", "_")
    found = _CALL.search(name)
    if found is None:
        return name
    return (
        ("all_" if found[1] else "") + _ONE_WORD.get(found[2], found[2].replace("_", ""))
        if found[2]
        else found[0].replace("bcast", "broadcast")
    )


def _subjects(account: Account, text: str) -> Iterator[Doing]:
    for line in text.splitlines():
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
            many = size(before) + size(doing)
            places[key] = replace(before, ranks=both, count=len(both) or many)
    return list(places.values())


def in_kind(found: Iterable[Doing], *kinds: str) -> list[Doing]:
    """The doings of some kinds."""
    return [doing for doing in found if doing.kind in kinds]


def of_ranks(doing: Doing) -> bool:
    """Whether it is told of ranks, rather than of a file, a note or a piece of code."""
    if doing.ranks or doing.account is None:
        return bool(doing.ranks)
    told = doing.account.role is Role.RANK or doing.account.who.count is not None or bool(doing.account.ranks)
    return told or bool(compiled(_RANK_LABEL).search(doing.account.label) or compiled(_RANK_NAMED).search(doing.text))


_NUMBERED = r"(?:TP|PP|DP|EP|stages?|workers?|nodes?|gpus?|process(?:es)?|schedulers?)[ _#]?\d"
_RANK_LABEL = (
    rf"\b(?:ranks?\b|others?\b(?! (?:observations?|notes?|facts?|findings?|remarks?|symptoms?|details?)\b)|peers?\b|"
    rf"the rest\b|remaining\b|{_NUMBERED})"
)
_RANK_NAMED = rf"\b(?:ranks?[ _#:=]*\d|{_NUMBERED}|(?:all|every|each|other|some|both) (?:\w+ )?ranks?\b|of the ranks\b)"
