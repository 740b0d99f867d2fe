"""What was not seen, of whom, and why, in a few lines: ``sockets, stacks of rank 5 (pid 4711 on node1): denied (…)``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from ..model.gap import Gap
from ..model.process import ProcessRef
from ..model.ranks import RankSet, ranks_phrase
from ..model.words import counted
from . import hosts

_MOST = 5
_NAMED = 8  # of a folder or an archive many files may be unread for one reason
_PIDS = re.compile(r"/proc/\d+")
_SECONDS = re.compile(r" \(\d+\.\d s\)$")  # how long a read was waited for; mostly as long as its deadline


def unseen(gaps: Collection[Gap], roster: Mapping[ProcessRef, int]) -> Iterator[str]:
    """Silent hosts first, by reason; then the other gaps by reason and by whom they are about. ``roster`` has the ranks."""
    yield from _silent(gap for gap in gaps if _is_silent(gap))
    about: dict[tuple[str, str, str], dict[str, dict[ProcessRef | None, None]]] = {}
    for gap in gaps:
        if not _is_silent(gap):
            reason = (gap.why.value, _SECONDS.sub("", _PIDS.sub("/proc/PID", gap.detail)), gap.hint)
            # What was asked in every sweep was refused in every sweep: a process counts once.
            about.setdefault(reason, {}).setdefault(gap.what, {})[gap.process] = None
    lines = Counter({line: size for reason, kinds in about.items() for line, size in _folded(reason, kinds, roster)})
    for line, _ in lines.most_common(_MOST):
        yield line
    if len(lines) > _MOST:
        yield f"… and {len(lines) - _MOST} more kinds of gaps: --json shows all"


def _is_silent(gap: Gap) -> bool:
    return gap.what == "host" and bool(gap.host)


def _silent(gaps: Iterable[Gap]) -> Iterator[str]:
    """Hosts that gave no answer, by reason."""
    names: dict[tuple[str, str], list[str]] = {}
    for gap in gaps:
        names.setdefault((gap.detail or gap.why.value, gap.hint), []).append(gap.host or "")
    for (why, hint), silent in names.items():
        yield f"{hosts.phrase(silent)}: {why}{_behind(hint)}"


def _folded(
    reason: tuple[str, str, str], kinds: Mapping[str, Collection[ProcessRef | None]], roster: Mapping[ProcessRef, int]
) -> Iterator[tuple[str, int]]:
    """One line for all kinds of evidence that are missing of the same processes, and of how many."""
    why, detail, hint = reason
    same: dict[frozenset[ProcessRef | None], list[str]] = {}
    for what, refs in sorted(kinds.items()):
        same.setdefault(frozenset(refs), []).append(what)
    for refs, whats in same.items():
        whom = _whom([ref for ref in refs if ref is not None], roster)
        of = f" of {whom}" if whom else ""
        yield f"{_few(whats)}{of}: {why}{f' ({detail})' if detail else ''}{_behind(hint)}", len(refs)


def _few(whats: list[str]) -> str:
    more = len(whats) - _NAMED
    return ", ".join(whats) if more <= 1 else f"{', '.join(whats[:_NAMED])} and {more} more"


def _whom(refs: Collection[ProcessRef], roster: Mapping[ProcessRef, int]) -> str:
    """Ranks by their numbers, others by their pids; one alone by both."""
    ranks = RankSet(roster[ref] for ref in refs if ref in roster)
    others = [ref for ref in refs if ref not in roster]
    if len(refs) == 1 and ranks:
        return f"{ranks_phrase(ranks)} ({_pids(refs)})"
    return " and ".join(([ranks_phrase(ranks)] if ranks else []) + ([_pids(others)] if others else []))


def _pids(refs: Collection[ProcessRef]) -> str:
    pids: dict[str, list[int]] = {}
    for ref in refs:
        pids.setdefault(ref.host, []).append(ref.pid)
    if len(pids) > 1:
        return f"{counted(len(refs), 'process')} on {hosts.phrase(sorted(pids))}"
    ((host, numbers),) = pids.items()
    return f"pid{'s' if len(numbers) > 1 else ''} {RankSet(numbers)} on {host}"


def _behind(hint: str) -> str:
    return f"; {hint}" if hint else ""
