"""Several processes in one console: told apart by the number that torchrun gives them on their node, or by their main threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from . import faulthandler
from .records import Dump
from .subjects import HELPERS

_BEGINNINGS = frozenset({"<module>", "_run_module_as_main"})


def of_local_ranks(files: Sequence[Sequence[Dump]]) -> list[list[Dump]]:
    """``[default2]:`` tells the rank where there is one node: no such number is that of two processes."""
    held: dict[int, set[tuple[int, int | None]]] = {}
    for at, dumps in enumerate(files):
        helpers = {dump.pid for dump in dumps if any(frame.function in HELPERS for frame in dump.thread.stack)}
        for dump in dumps:
            if dump.local_rank is not None and (dump.pid is None or dump.pid not in helpers):
                held.setdefault(dump.local_rank, set()).add((at, dump.pid))
    if len(held) < 2 or any(len(processes) > 1 for processes in held.values()):
        return [list(dumps) for dumps in files]
    return [[_as_rank(dump) for dump in dumps] for dumps in files]


def _as_rank(dump: Dump) -> Dump:
    known = dump.rank is not None or bool(dump.ranks) or dump.local_rank is None
    return dump if known else replace(dump, rank=dump.local_rank)


def of_main_threads(dumps: Iterable[Dump]) -> list[Dump]:
    """Dumps of faulthandler, which tell no pid: each process has one main thread, and it is written last
    (``_Py_DumpTracebackThreads`` begins with the newest)."""
    found = list(dumps)
    mains = {dump.thread.ident for dump in found if _nameless(dump) and _is_main(dump)}
    return list(_grouped(found)) if len(mains) > 1 else found


def _grouped(dumps: Sequence[Dump]) -> Iterator[Dump]:
    main: str | None = None
    named: list[Dump] = []
    for dump in reversed(dumps):
        if not _nameless(dump):
            named.append(dump)
            continue
        main = dump.thread.ident if _is_main(dump) or main is None else main
        named.append(replace(dump, main=main))
    yield from reversed(named)


def _nameless(dump: Dump) -> bool:
    nobody = dump.pid is None and dump.rank is None and not dump.ranks
    return nobody and dump.engine == faulthandler.NAME and dump.thread.ident is not None


def _is_main(dump: Dump) -> bool:
    return bool(dump.thread.stack) and dump.thread.stack[0].function in _BEGINNINGS
