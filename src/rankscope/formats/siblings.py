"""Files that differ in one number are one per rank: ``worker_3.log``, ``gpu3/``, torchrun's ``attempt_0/3/``, mpirun's
``rank.3/``.

Steps, shards, nodes and looks are numbered as well. So the numbers begin at 0 and have few holes, no word before them means
something else, no number is there twice, and nothing that the files say speaks against it.
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..model.evidence.events import Event
from ..model.gap import Gap, Why
from ..model.patterns import regex
from ..model.ranks import RankSet
from .reading import FileEvidence
from .subjects import HELPERS

# Words that mean one process of a job; a number needs no sign behind them.
_MEANT = r"(?<![A-Za-z])(?:r|p|gpu|cuda|dev|device|proc|process|task|trainer|worker|local|replica|rank)"
_APART = regex(rf"(?:^|[-_.=# ]|{_MEANT})$", re.IGNORECASE)
_SURE = regex(rf"{_MEANT}[-_.=# ]?$", re.IGNORECASE)
_OTHER = regex(
    r"(?<![A-Za-z])(?:steps?|epochs?|iter(?:ation)?s?|parts?|shards?|chunks?|splits?|pieces?|pages?|vol(?:ume)?s?|"
    r"files?|seeds?|folds?|layers?|levels?|stages?|phases?|"
    r"attempts?|restarts?|retry|try|runs?|exp(?:eriment)?s?|trials?|jobs?ids?|versions?|v|rev|t|time|min(?:ute)?s?|"
    r"sec(?:ond)?s?|hours?|days?|"
    r"looks?|samples?|shots?|snap(?:shot)?s?|nodes?|hosts?|machines?|pods?|racks?|threads?|tids?|lwps?|pids?|cores?|cpus?|ckpt|checkpoints?|batch(?:es)?|groups?|pg)[-_.=# ]?$"
    r"|\.(?:log|txt|out|err|json)\.$|[A-Za-z]\d{1,4}\.$",  # a log that was rotated, a version
    re.IGNORECASE,
)  # fmt: skip
_RANK_FOLDER = regex(r"(?:global[-_]?|world[-_]?)?rank[-_.= ]?(?P<number>\d{1,6})$", re.IGNORECASE)
_ATTEMPT = regex(r"(?<=/)attempt_(?P<number>\d{1,9})(?=/|$)")  # of one run of torchrun, the same ranks again
_DIGITS = 5
_FEW = 3  # with holes: fewer may be anything


@dataclass(frozen=True)
class _Family:
    """What stands before and behind a number in a part of a path."""

    folder: str
    before: str
    after: str
    is_file: bool


def ranked(found: Sequence[FileEvidence]) -> list[FileEvidence]:
    """The same files, with a rank for those whose place among the others tells it."""
    open_ones = [one for one in found if one and not (one.who.ranks or one.who.beyond or one.who.role or one.who.later)]
    ranks = {id(one): rank for one in open_ones if (rank := _by_folder(one.source.name)) is not None}
    families = _families([one for one in open_ones if id(one) not in ranks])
    for members in _of_ranks(families):
        ranks.update({id(one): rank for rank, ones in members.items() for one in ones})
    return [_as_rank(one, ranks[id(one)]) if id(one) in ranks else one for one in found]


def of_last_attempts(found: Sequence[FileEvidence]) -> list[FileEvidence]:
    """The same files; what ranks said before torchrun started them anew is over with them, where the last attempt tells of an
    error of its own."""
    attempts = [_attempt(one) for one in found]
    last: dict[str, int] = {}
    for run, number in filter(None, attempts):
        last[run] = max(number, last.get(run, 0))
    failed = {at for one, at in zip(found, attempts) if at is not None and _raised(one)}
    return [
        _over(one, last[at[0]]) if at is not None and at[1] < last[at[0]] and (at[0], last[at[0]]) in failed else one
        for one, at in zip(found, attempts)
    ]


def _attempt(one: FileEvidence) -> tuple[str, int] | None:
    """The folder of a run and the number of the attempt in it that a file is of; None where it is of none, or tells nothing."""
    path = _path(one)
    said = _ATTEMPT.search(path) if one else None
    return (path[: said.start()], int(said["number"])) if said else None


def _raised(one: FileEvidence) -> bool:
    return any(isinstance(event, Event) and event.event == "python.exception" for event in one.events)


def _over(one: FileEvidence, last: int) -> FileEvidence:
    gap = Gap(one.source.name, Why.SKIPPED, f"of an earlier attempt than attempt_{last}", "it can be judged by itself")
    return replace(one, events=[], dumps=[], recorders=[], reports=[], gaps=[*one.gaps, gap])


def _as_rank(one: FileEvidence, rank: int) -> FileEvidence:
    return replace(one, who=replace(one.who, ranks=RankSet([rank]), count=None))


def _by_folder(name: str) -> int | None:
    """The rank that a folder is called after, as mpirun(1) ``--output-filename`` does."""
    for part in reversed(name.split("/")[:-1]):
        if said := _RANK_FOLDER.match(part):
            return int(said["number"])
    return None


def _families(found: Iterable[FileEvidence]) -> dict[_Family, dict[int, list[FileEvidence]]]:
    families: dict[_Family, dict[int, list[FileEvidence]]] = {}
    for one in found:
        for family, number in _memberships(_path(one)):
            families.setdefault(family, {}).setdefault(number, []).append(one)
    return families


def _path(one: FileEvidence) -> str:
    """Where a file lies; what is packed has only a name."""
    name, path = one.source.name, one.source.path
    return path if os.path.basename(name) == os.path.basename(path) else name


def _memberships(path: str) -> Iterator[tuple[_Family, int]]:
    parts = path.split("/")
    for at, part in enumerate(parts):
        before, number, after = _split(part)
        is_file = at == len(parts) - 1
        if (
            0 < len(number) <= _DIGITS
            and (is_file or not after)
            and _APART.search(before)
            and not _OTHER.search(before)
        ):
            yield _Family("/".join(parts[:at]), before, after, is_file), int(number)


def _split(part: str) -> tuple[str, str, str]:
    """A part of a path before and behind the number at its end; endings such as ``.stack.txt`` are behind it.

    >>> _split("stack.1234.3.txt")
    ('stack.1234.', '3', '.txt')
    """
    stem, after = part, ""
    while (dot := stem.rfind(".")) >= 0 and stem[dot + 1 : dot + 2].isalpha():
        stem, after = stem[:dot], stem[dot:] + after
    before = stem.rstrip("0123456789")
    return before, stem[len(before) :], after


def _of_ranks(families: dict[_Family, dict[int, list[FileEvidence]]]) -> Iterator[dict[int, list[FileEvidence]]]:
    """Families of which each number is a rank. Two alike are two nodes, or two moments, and nobody says which."""
    whole = {family: members for family, members in families.items() if _numbers_ranks(members)}
    alike = Counter(shape for shape, _ in {(_shape(family), _run(family)) for family in whole})
    for family, members in whole.items():
        inner = any(other.folder.startswith(f"{family.folder}/{family.before}") for other in whole if other != family)
        lone = alike[_shape(family)] == 1 and (family.is_file or not inner)
        if lone and _same_files(family, members) and _may_be_ranks(members, sure=_is_sure(family)):
            yield members


def _is_sure(family: _Family) -> bool:
    """Whether the number is that of a process and not of a look at it."""
    return bool(_SURE.search(family.before) or _ATTEMPT.search(family.folder))


def _numbers_ranks(numbers: Iterable[int]) -> bool:
    """Numbers from 0 on, all or most of them."""
    held = set(numbers)
    return 0 in held and len(held) > 1 and (max(held) < len(held) or (len(held) >= _FEW and max(held) < 2 * len(held)))


def _shape(family: _Family) -> tuple[str, str, bool]:
    depth = family.folder.count("/") if not family.is_file else 0
    return re.sub(r"\d+", "#", family.before), f"{family.after}{depth}", family.is_file


def _run(family: _Family) -> str:
    return f"{_ATTEMPT.sub('', family.folder)}/{family.before}"


def _same_files(family: _Family, members: dict[int, list[FileEvidence]]) -> bool:
    """Whether folders hold the same: files of which each has one number in its path."""
    if family.is_file:
        return True
    depth = len(family.folder) + bool(family.folder)
    below = [{_path(one)[depth:].partition("/")[2] for one in ones} for ones in members.values()]
    return bool(set.intersection(*below))


def _may_be_ranks(members: dict[int, list[FileEvidence]], sure: bool) -> bool:
    """Whether nothing is said of another rank, of several processes in one place, or of one process in several: those are looks
    at it, but where names are ``sure``, for the first process of each container has the same number."""
    seen: dict[int, int] = {}
    for rank, ones in members.items():
        if any(told != rank for one in ones for told in _told_ranks(one)):
            return False
        pids = {pid for one in ones for pid in _processes(one)}
        threads = {dump.thread.tid for one in ones for dump in one.dumps if dump.thread.tid is not None}
        if len(pids) > 1 or (not sure and any(seen.setdefault(at, rank) != rank for at in pids | threads)):
            return False
    return True


def _told_ranks(one: FileEvidence) -> Iterator[int]:
    for dump in one.dumps:
        yield from dump.ranks if dump.rank is None else (dump.rank,)
    yield from (event.rank for event in one.events if event.rank is not None and event.event == "text.line")


def _processes(one: FileEvidence) -> Iterator[int]:
    """The processes that stacks are of, but for helpers of a rank."""
    helpers = {dump.pid for dump in one.dumps if any(frame.function in HELPERS for frame in dump.thread.stack)}
    yield from (dump.pid for dump in one.dumps if dump.pid is not None and dump.pid not in helpers)
