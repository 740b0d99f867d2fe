"""Ways that a job itself left open to ask it for more: a pipe or a socket it was started with. They are named, never used."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ..model.evidence.calls import Calls
from ..model.evidence.environ import Environ
from ..model.evidence.recorder import Recorder
from .case import Case, Member

_PIPE = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"  # stem of a FIFO; the heartbeat monitor of ProcessGroupNCCL polls it
_SOCKET = "TORCH_WORKER_SERVER_SOCKET"  # of torch.distributed.elastic.control_plane
_MOST = 2


def doors(case: Case) -> Iterator[str]:
    """Commands for the first ranks whose recorder could not be read, where somebody may want to give them."""
    shut = [member for rank, member in sorted(case.by_rank.items()) if not _readable(member)]
    for member in shut[:_MOST] if case.snapshot.live else ():
        environ = member.latest(Environ)
        values = environ.values if environ is not None else {}
        if values.get(_PIPE):
            yield f"echo 1 > {_quoted(f'{values[_PIPE]}{member.rank}.pipe')}   # rank {member.rank} writes its recorder to a file"
        noted = member.latest(Calls)
        socket = (noted.server if noted else "") or values.get(_SOCKET, "")
        if socket:
            yield f"curl --unix-socket {_quoted(socket)} -X POST http://x/handler/fr_trace_json   # rank {member.rank}"


def _readable(member: Member) -> bool:
    recorder = member.latest(Recorder)
    return recorder is not None and bool(len(recorder.entries))


def _quoted(path: str) -> str:
    """A path from the job's environment, safe to paste."""
    return shlex.quote("".join(letter for letter in path if letter.isprintable())[:300])
