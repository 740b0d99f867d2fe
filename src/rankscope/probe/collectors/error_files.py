"""torchrun's error files of this attempt: a rank that lives knows where those that failed wrote theirs.

TORCHELASTIC_ERROR_FILE names ``…/attempt_N/LOCAL_RANK/error.json`` (torch.distributed.elastic, "Error Propagation"); a
function under ``@record`` writes it. Opened inside the process's own root and with its user's rights.
"""

from __future__ import annotations

import os

from ...model.evidence.environ import Environ
from ...model.evidence.error_files import ErrorFile, ErrorFiles
from ...model.process import Role
from .. import source_lines
from ..collector import Collector, Target, Touch

_NAME = "TORCHELASTIC_ERROR_FILE"
_MOST = 64
_LIMIT = 1 << 15


def collect(target: Target) -> ErrorFiles | None:
    environ = target.seen.get("environ")
    path = environ.values.get(_NAME, "") if isinstance(environ, Environ) else ""
    attempt = os.path.dirname(os.path.dirname(path))
    if not path.startswith("/") or attempt in target.shelf or not isinstance(environ, Environ):
        return None
    target.shelf[attempt] = True
    size = environ.values.get("LOCAL_WORLD_SIZE", "")
    count = min(int(size), _MOST) if size.isascii() and size.isdigit() and len(size) < 8 else 1
    found = [
        one for local in range(count) if (one := _file(target, attempt, local, os.path.basename(path))) is not None
    ]
    return ErrorFiles(tuple(found)) if found else None


def _file(target: Target, attempt: str, local: int, name: str) -> ErrorFile | None:
    path = f"{attempt}/{local}/{name}"
    own, mine = target.process.rank, target.process.local_rank
    try:
        text = source_lines.text_of(target.proc, target.process.ref.pid, path)
    except (OSError, ValueError):
        return None  # nobody failed there, or not under @record
    return ErrorFile(path, own - mine + local if own is not None and mine is not None else None, text[:_LIMIT])


COLLECTOR = Collector(
    "error-files", Touch.PASSIVE, 2.0, collect, every_sweep=False, roles=frozenset({Role.RANK}), order=62, shared=True
)
