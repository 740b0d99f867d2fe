"""Several processes in one console: told apart by the number that torchrun gives them on their node, or by their main threads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from . import faulthandler
from .records import Dump
from .subjects import HELPERS

_BEGINNINGS = frozenset({"<module>", "_run_module_as_main"})
_FORKS = frozenset({("popen_fork.py", "_launch"), ("forkserver.py", "_serve_one")})


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
    (``_Py_DumpTracebackThreads`` begins with the newest). Forked children have the main thread of their parent: beside a dump
    of that each of theirs counts as a process of its own, without one all may be looks at one child."""
    found = list(dumps)
    mains = [dump for dump in found if _nameless(dump) and _is_main(dump)]
    parents = {dump.thread.ident for dump in mains if not _is_forked(dump)}
    grouped = list(_grouped(found, parents))
    return grouped if len({dump.main for dump in grouped if _nameless(dump) and _is_main(dump)}) > 1 else found


def _grouped(dumps: Sequence[Dump], parents: Collection[str | None]) -> Iterator[Dump]:
    main: str | None = None
    children = 0
    named: list[Dump] = []
    for dump in reversed(dumps):
        if not _nameless(dump):
            named.append(dump)
            continue
        if _is_main(dump) or main is None:
            main = dump.thread.ident
            if main in parents and _is_forked(dump):
                children += 1
                main = f"{main} of forked child {children}"
        named.append(replace(dump, main=main))
    yield from reversed(named)


def _nameless(dump: Dump) -> bool:
    nobody = dump.pid is None and dump.rank is None and not dump.ranks
    return nobody and dump.engine == faulthandler.NAME and dump.thread.ident is not None


def _is_forked(dump: Dump) -> bool:
    return any((frame.file.rpartition("/")[2], frame.function) in _FORKS for frame in dump.thread.stack)


def _is_main(dump: Dump) -> bool:
    return bool(dump.thread.stack) and dump.thread.stack[0].function in _BEGINNINGS
