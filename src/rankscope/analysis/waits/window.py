"""A rank that wants the lock of an MPI window waits for the ranks that may have it.

A window lock is taken by one process and given back by the same one (MPI 4.1, 12.5.3); who has it nobody can read. So each of
the others may, whatever it does: where all of them wait for this rank in turn, nobody gives it back.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.stacks import MPI
from ...model.process import Role
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [one for one in scene.of_role(Role.RANK) if one.member.rank is not None]
    wanting = [one for one in ranks if _wants(one)]
    crowd = Crowd(tuple(one.member.ref for one in ranks if not _wants(one))) if wanting else Crowd(())
    for standing in wanting:
        why = "the lock of a window of memory, which one of the others has"
        yield from for_all(standing.member.ref, crowd, why, standing.still_s)


def _wants(standing: Standing) -> bool:
    stack = standing.own_stack
    return standing.kind is WaitKind.LOCK and bool(stack) and stack[-1].file == MPI
