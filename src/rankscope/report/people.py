"""Who stands somewhere, in few words: ``ranks 0-2``, ``workers 0-1 of ranks 0-3``, ``pids 12-14``."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.process import Process, Role
from ..model.ranks import RankSet, ranks_phrase
from ..model.words import counted

_WORD = {
    Role.DATALOADER_WORKER: "loader worker",
    Role.COMPILE_WORKER: "compile worker",
    Role.CHECKPOINT_WRITER: "checkpoint writer",
    Role.HELPER: "helper",
    Role.LAUNCHER: "launcher",
    Role.OTHER: "process",
    Role.RANK: "rank",
}


def phrase(processes: Iterable[Process]) -> str:
    """These processes, folded."""
    found = list(dict.fromkeys(processes))
    if found and all(process.role is Role.RANK and process.rank is not None for process in found):
        return ranks_phrase(RankSet(process.rank for process in found if process.rank is not None))
    roles = {process.role for process in found}
    if roles == {Role.DATALOADER_WORKER}:
        return _workers(found)
    owners = RankSet(process.rank for process in found if process.rank is not None)
    word = _WORD[next(iter(roles))] if len(roles) == 1 else "process"
    return f"{'' if word == 'process' else word + ', '}{_pids(found)}" + (
        f" of {ranks_phrase(owners)}" if owners else ""
    )


def _pids(processes: list[Process]) -> str:
    by_host: dict[str, list[int]] = {}
    if not all(process.ref.numbered for process in processes):
        return ", ".join(dict.fromkeys(process.label or str(process.ref) for process in processes))
    for process in processes:
        by_host.setdefault(process.ref.host, []).append(process.ref.pid)
    told = [f"pid{'s' if len(pids) > 1 else ''} {RankSet(pids)}" for pids in by_host.values()]
    if len(by_host) > 1:
        told = [f"{text} on {host}" for text, host in zip(told, by_host)]
    return ", ".join(told)


def _workers(found: list[Process]) -> str:
    """Folded where every rank has the same workers; otherwise counted."""
    by_rank: dict[int | None, set[int | None]] = {}
    for process in found:
        by_rank.setdefault(process.rank, set()).add(process.worker)
    numbers = next(iter(by_rank.values()))
    known = [number for number in numbers if number is not None]
    ranks = RankSet(rank for rank in by_rank if rank is not None)
    of = f" of {ranks_phrase(ranks)}" if ranks else ""
    if len(known) == len(numbers) and all(workers == numbers for workers in by_rank.values()) and None not in by_rank:
        return f"loader worker{'s' if len(known) > 1 else ''} {RankSet(known)}{of}" + (
            f" (pid {found[0].ref.pid})" if len(found) == 1 else ""
        )
    return f"{counted(len(found), 'loader worker')}{of}" if ranks else f"loader workers, {_pids(found)}"
