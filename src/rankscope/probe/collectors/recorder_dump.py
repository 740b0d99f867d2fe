"""What a rank tells of its recorder where its memory does not: its worker server, and the file it dumped already.

Looks and asks only. The server is torch's own, on a local socket that the job opened; the file is the one that torch's
watchdog wrote when a collective timed out. Nothing triggers a dump: some triggers end the job.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping

from ...model.evidence.calls import Calls
from ...model.evidence.recorder import Recorder
from ...model.evidence.recorder_dump import MOST_BYTES, RecorderDump
from ...model.evidence.stacks import PythonStacks
from ...model.gap import Gap, Why
from ...model.process import Role
from .. import procfs, source_lines, worker_server
from ..collector import Collector, Target, Touch

_TEMPLATES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_SERVER = "TORCH_WORKER_SERVER_SOCKET"
_HINT = (
    "TORCH_FR_BUFFER_SIZE=2000 for the next run (TORCH_NCCL_TRACE_BUFFER_SIZE up to torch 2.8), "
    "or start it with python -m rankscope.prepare"
)


def collect(target: Target) -> RecorderDump | Gap | None:
    read = target.seen.get("recorder")
    if isinstance(read, Recorder) and read.enabled:
        return None
    found = _asked(target) or _filed(target)
    if isinstance(found, RecorderDump) or not _in_a_call(target) or isinstance(target.seen.get("calls"), Calls):
        return found
    if found is None and isinstance(read, Recorder):
        return Gap("recorder", Why.MISSING, "torch's flight recorder is switched off", _HINT, target.process.ref)
    return found or Gap("recorder", Why.MISSING, "no flight recorder is to be found in this torch",
                        "start it with python -m rankscope.prepare", target.process.ref)  # fmt: skip


def _in_a_call(target: Target) -> bool:
    """Whether some thread stands in a call of torch.distributed: only there a recorder would tell more."""
    stacks = target.seen.get("python-stacks")
    return isinstance(stacks, PythonStacks) and any(
        frame.file.endswith("torch/distributed/distributed_c10d.py")
        for thread in stacks.threads for frame in thread.stack
    )  # fmt: skip


def _asked(target: Target) -> RecorderDump | Gap | None:
    """The worker server's answer: of the one that preparing started, or that the environment names."""
    calls = target.seen.get("calls")
    path = calls.server if isinstance(calls, Calls) else ""
    path = path or _environ(target).get(_SERVER, "")
    if not path.startswith("/"):
        return None
    try:
        with _socket(target, path) as place:
            said = worker_server.recorder(place)
    except (OSError, ValueError) as error:
        return Gap(
            "recorder", Why.UNREACHABLE, f"the worker server at {path}: {error}"[:300], process=target.process.ref
        )
    return RecorderDump.of("socket", path, time.time_ns(), said) if said else None


class _socket:
    """A path by which a socket below the process's own root can be connected to."""

    def __init__(self, target: Target, path: str) -> None:
        root = os.open(f"{target.path}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._handle = source_lines.open_below(root, path)
        finally:
            os.close(root)
        self._owner = os.stat(target.path).st_uid

    def __enter__(self) -> str:
        about = os.fstat(self._handle)
        if not stat.S_ISSOCK(about.st_mode) or about.st_uid != self._owner:
            os.close(self._handle)
            raise ValueError("no socket of this process's user")
        return f"/proc/self/fd/{self._handle}"

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _filed(target: Target) -> RecorderDump | None:
    """The newest dump of this rank that was written after the process began."""
    ref, rank = target.process.ref, target.process.rank
    if rank is None:
        return None
    began = procfs.began_s(target.proc, ref.started)
    found = []
    for template in _templates(_environ(target)):
        try:
            data, changed = source_lines.bytes_of(target.proc, ref.pid, f"{template}{rank}", MOST_BYTES)
        except (OSError, ValueError):
            continue
        if data and changed > began:
            found.append((changed, f"{template}{rank}", data))
    if not found:
        return None
    changed, path, data = max(found)
    return RecorderDump.of("dump", path, int(changed * 1e9), data)


def _templates(environ: Mapping[str, str]) -> Iterator[str]:
    """Where torch of any release writes dumps: the rank is put behind (torch/csrc/distributed/c10d/FlightRecorder)."""
    named = [environ[name] for name in _TEMPLATES if environ.get(name, "").startswith("/")]
    if named:
        yield from named
        return
    cache = environ.get("XDG_CACHE_HOME") or (f"{environ['HOME']}/.cache" if environ.get("HOME") else "")
    if cache.startswith("/"):
        yield f"{cache}/torch/comm_lib_trace_rank_"
    yield "/tmp/nccl_trace_rank_"  # noqa: S108  (of the job, whose own name it is)


def _environ(target: Target) -> Mapping[str, str]:
    """The environment at exec, read once; only paths of torch's own files are used of it."""
    kept: dict[object, Mapping[str, str]] = target.shelf.setdefault("environ", {})
    if target.process.ref not in kept:
        kept[target.process.ref] = procfs.environ(target.proc, target.process.ref.pid)
    return kept[target.process.ref]


COLLECTOR = Collector(
    "recorder-dump", Touch.ASKS, 5.0, collect, roles=frozenset({Role.RANK}), order=36, shared=True
)  # after the recorder in memory, the calls that were noted, and the stacks
