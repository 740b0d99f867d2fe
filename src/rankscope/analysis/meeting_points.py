"""Where ranks meet: the address or file that each was given, and who asks in a file whether the others have come.

A ``FileStore`` has no server: whoever waits for a key reads the file again every hundredth of a second
(torch/csrc/distributed/c10d/FileStore.cpp), so that the kernel knows no age of its wait.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.process import Role
from .frame_tables import WaitKind
from .standing import Standing

LOCAL = "meeting point"


def meeting_point(standing: Standing) -> str:
    """The address at which a rank in the meeting was told to meet, without its options; empty where nothing tells."""
    found = standing.thread.locals if standing.thread is not None and standing.kind is WaitKind.RENDEZVOUS else ()
    return next((one.value.partition("?")[0] for one in found if one.name == LOCAL), "")


def meets_in_file(standing: Standing) -> bool:
    """Whether it asks a file again and again for its peers."""
    return meeting_point(standing).startswith("file:")


def all_meet_in_files(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """The ranks, where every one of them does so: then nobody is on its way any more."""
    ranks = tuple(one for one in standings if one.member.role is Role.RANK and not one.member.dead)
    return ranks if ranks and all(map(meets_in_file, ranks)) else ()
