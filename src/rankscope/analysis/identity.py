"""Who is who: ranks and workers that the environment does not name, told by their stacks.

A child of ``torch.multiprocessing.spawn`` has no RANK in its environment; its frame ``_wrap`` holds its index. A loader
worker's frame ``_worker_loop`` holds its id, and what lies below that frame it inherited from the rank it was forked from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..model.evidence.environ_now import EnvironNow
from ..model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from ..model.process import Process, ProcessRef, Role
from ..model.ranks import number_of
from ..model.repeated import of_stacks
from .frame_tables import WaitKind
from .frames import wait_of
from .origin import is_user, module_path
from .remembered import remembered

# What ranks do together, or each for itself all the time.
_TOGETHER = frozenset({WaitKind.COLLECTIVE, WaitKind.P2P, WaitKind.BACKWARD})

# Where a process begins a life of its own; frames further out belong to the parent it was forked from.
_BIRTH = {
    ("multiprocessing/process.py", "_bootstrap"),
    ("torch/utils/data/_utils/worker.py", "_worker_loop"),
    ("torch/multiprocessing/spawn.py", "_wrap"),
    ("multiprocessing/forkserver.py", "_serve_one"),
}
# Most frames are told apart by their function alone.
_BIRTH_NAMES = tuple(name for _, name in _BIRTH)


def module_path_of(frame: Frame) -> str:
    """The file of a frame below the directory it is imported from."""
    return module_path(frame.file)


def name_of(frame: Frame) -> tuple[str, str]:
    """The file of a frame below the directory it is imported from, and its function without the class."""
    return module_path(frame.file), frame.function.rsplit(".", 1)[-1]


@of_stacks
def birth(stack: Stack) -> int:
    """The index of the frame where this process's own life begins, 0 when it was not forked from Python."""
    return max(
        (i for i, frame in enumerate(stack) if frame.function.endswith(_BIRTH_NAMES) and name_of(frame) in _BIRTH),
        default=0,
    )


@of_stacks
def own(stack: Stack) -> Stack:
    """The stack without the frames inherited from the parent."""
    start = birth(stack)
    return Stack(stack[start:]) if start else stack


def main_thread(stacks: PythonStacks, pid: int) -> PythonThread | None:
    """The main thread: its tid is the pid, else it is called so, else the first."""
    for thread in stacks.threads:
        if thread.tid == pid:
            return thread
    for thread in stacks.threads:
        if thread.name == "MainThread":
            return thread
    return stacks.threads[0] if stacks.threads else None


def again(look: PythonStacks, thread: PythonThread) -> PythonThread | None:
    """A thread at another look: by the kernel's number, else by what its dump calls it, else by a name, or the lack of
    one, that no other thread has at that look. Text may give none of them; then nobody knows which it is."""
    known = _identified(look)
    if thread.tid is not None:
        return known.get(("tid", thread.tid))
    if thread.ident is not None:
        return known.get(("ident", thread.ident))
    return known.get(("name", thread.name))


@remembered
def _identified(look: PythonStacks) -> Mapping[tuple[str, object], PythonThread | None]:
    """The threads of a look, of which there may be a hundred thousand, by whatever tells which they are; None where several
    are called the same, and nothing else tells them apart."""
    found: dict[tuple[str, object], PythonThread | None] = {}
    for thread in look.threads:
        if thread.tid is not None:
            found.setdefault(("tid", thread.tid), thread)
        if thread.ident is not None:
            found.setdefault(("ident", thread.ident), thread)
        if thread.tid is None and thread.ident is None:
            found["name", thread.name] = None if ("name", thread.name) in found else thread
    return found


def local_of(thread: PythonThread, file: str, function: str, *names: str) -> int | None:
    """A whole-number local of the deepest frame of one function."""
    for depth in range(len(thread.stack) - 1, -1, -1):
        if name_of(thread.stack[depth]) == (file, function):
            for local in thread.locals:
                if local.depth == depth and local.name in names and local.number is not None:
                    return local.number
    return None


def resolve(
    processes: tuple[Process, ...],
    stacks: Mapping[Any, PythonStacks],
    environs: Mapping[ProcessRef, EnvironNow] | None = None,
    saved: bool = False,
) -> tuple[Process, ...]:
    """The processes with the roles and ranks that their stacks or their environment tell; keyed by ``process.ref``."""
    told = _without_heirs(processes, [_by_stack(process, stacks.get(process.ref)) for process in processes])
    if environs and not any(process.role is Role.RANK for process in told):
        told = list(_by_environ(told, environs))
    if not any(process.role is Role.RANK for process in told):
        told = list(_by_name(told, stacks))
    if saved and not any(process.role is Role.RANK for process in told):
        told = list(_by_kin(told, stacks))
    owners = {(process.ref.host, process.ref.pid): process for process in told if process.role is Role.RANK}
    return tuple(_served(process, owners) for process in told)


# Where the worker processes of loaders run, by their sources.
_LOADER_LOOPS = {
    ("torch/utils/data/_utils/worker.py", "_worker_loop"),
    ("torchdata/stateful_dataloader/worker.py", "_worker_loop"),
    ("paddle/io/dataloader/worker.py", "_worker_loop"),
    ("paddle/fluid/dataloader/worker.py", "_worker_loop"),
    ("nvidia/dali/_multiproc/worker.py", "worker"),
    ("grain/_src/python/grain_pool.py", "_worker_loop"),
}


def _by_stack(process: Process, stacks: PythonStacks | None) -> Process:
    thread = main_thread(stacks, process.ref.pid) if stacks else None
    if thread is None or process.role not in (Role.OTHER, Role.DATALOADER_WORKER):
        return process
    names = [name_of(frame) for frame in thread.stack]
    if not _LOADER_LOOPS.isdisjoint(names):
        worker = local_of(thread, "torch/utils/data/_utils/worker.py", "_worker_loop", "worker_id")
        return dataclasses.replace(
            process, role=Role.DATALOADER_WORKER, worker=worker, owner=process.owner or process.parent
        )
    if ("torch/multiprocessing/spawn.py", "_wrap") in names and process.rank is None:
        index = local_of(thread, "torch/multiprocessing/spawn.py", "_wrap", "i", "rank")
        if index is not None:
            return dataclasses.replace(process, role=Role.RANK, rank=index, local_rank=index)
    return process


def _without_heirs(processes: Sequence[Process], told: Sequence[Process]) -> list[Process]:
    """A child that a rank forked has the frames of that rank below its own, and is no rank by them."""
    ranks = {(one.ref.host, one.ref.pid): one.rank for one in told if one.role is Role.RANK}
    return [
        process
        if one is not process and one.role is Role.RANK and ranks.get((one.ref.host, one.parent)) == one.rank
        else one
        for process, one in zip(processes, told)
    ]


def _by_environ(processes: list[Process], environs: Mapping[ProcessRef, EnvironNow]) -> Iterator[Process]:
    """Processes that gave themselves a number after they were started, each another; a child may have its parent's."""
    numbers = {ref: number for ref, one in environs.items() if (number := _place(one)) is not None}
    parents = {(one.ref.host, one.ref.pid): numbers.get(one.ref) for one in processes}
    claims: dict[int, list[ProcessRef]] = {}
    for process in processes:
        number = numbers.get(process.ref)
        inherited = number is not None and parents.get((process.ref.host, process.parent)) == number
        if number is not None and process.role is Role.OTHER and not inherited:
            claims.setdefault(number, []).append(process.ref)
    clear = len(claims) > 1 and all(len(refs) == 1 for refs in claims.values())
    sole = {refs[0]: number for number, refs in claims.items()} if clear else {}
    for process in processes:
        if process.ref not in sole:
            yield process
            continue
        place = environs[process.ref]
        yield dataclasses.replace(
            process, role=Role.RANK, rank=sole[process.ref], local_rank=place.number("LOCAL_RANK"),
            world_size=place.number("WORLD_SIZE"),
        )  # fmt: skip


def _place(environ: EnvironNow) -> int | None:
    """The rank that a process claims for itself, None where its numbers do not fit each other."""
    rank, world = environ.number("RANK"), environ.number("WORLD_SIZE")
    return rank if rank is not None and world is not None and rank < world else None


def _by_name(processes: list[Process], stacks: Mapping[Any, PythonStacks]) -> Iterator[Process]:
    """Siblings that take part in collectives and hold a local called rank, each another number, are ranks."""
    claims: dict[int, list[Process]] = {}
    for process in processes:
        rank = _rank_in_user_frames(process, stacks.get(process.ref))
        if rank is not None and process.role is Role.OTHER:
            claims.setdefault(rank, []).append(process)
    sole = {group[0].ref: rank for rank, group in claims.items() if len(group) == 1}
    unclear = any(len(group) > 1 for group in claims.values())
    for process in processes:
        if process.ref in sole and not unclear and len(sole) > 1:
            yield dataclasses.replace(process, role=Role.RANK, rank=sole[process.ref])
        else:
            yield process


def _by_kin(processes: list[Process], stacks: Mapping[Any, PythonStacks]) -> Iterator[Process]:
    """Ranks without a number: who stands in a collective, and others of the same command or with its outermost frames."""
    partners = [one for one in processes if one.role is Role.OTHER and _takes_part(stacks.get(one.ref))]
    marks = {mark for one in partners for mark in _marks(one, stacks.get(one.ref))}
    for process in processes:
        kin = process.role is Role.OTHER and not marks.isdisjoint(_marks(process, stacks.get(process.ref)))
        yield dataclasses.replace(process, role=Role.RANK) if kin else process


def _takes_part(stacks: PythonStacks | None) -> bool:
    return stacks is not None and any(wait_of(one.stack).kind in _TOGETHER for one in stacks.threads)


def _marks(process: Process, stacks: PythonStacks | None) -> Iterator[tuple[object, ...]]:
    """What processes of one program share: the command, and the two outermost frames of its own code; a fork is another."""
    thread = main_thread(stacks, process.ref.pid) if stacks else None
    forked = thread is not None and birth(thread.stack) > 0
    if process.command:
        yield forked, process.command
    mine = [name_of(frame) for frame in thread.stack if is_user(frame)][:2] if thread else []
    if len(mine) == 2:
        yield forked, *mine


def _rank_in_user_frames(process: Process, stacks: PythonStacks | None) -> int | None:
    thread = main_thread(stacks, process.ref.pid) if stacks else None
    if thread is None:
        return None
    start = birth(thread.stack)
    for local in thread.locals:
        if start <= local.depth < len(thread.stack) and local.name in (
            "rank",
            "global_rank",
            "world_rank",
            "local_rank",
        ):
            frame = thread.stack[local.depth]
            if (rank := number_of(local.value)) is not None and (is_user(frame) or "distributed" in frame.file):
                return rank
    return None


def _served(process: Process, owners: dict[tuple[str, int], Process]) -> Process:
    """A worker or helper of a rank carries that rank's number."""
    if process.role is Role.RANK or process.rank is not None:
        return process
    owner = owners.get((process.ref.host, process.owner if process.owner is not None else process.parent))
    if owner is None:
        return process
    return dataclasses.replace(process, owner=owner.ref.pid, rank=owner.rank)
