"""One errand to all hosts of a target, and the answers as snapshots."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import RankscopeError
from ..model.snapshot import Snapshot
from ..probe.sweep import Plan
from .answers import Answers
from .hostnames import fold
from .join import denied, join, nobody
from .ship import parcel
from .transport import Call, Hosts, Options, Progress, transports

_PACK_S = 1.0  # what joining and judging may take of the deadline


@dataclass(frozen=True)
class Remote:
    """A job on other hosts: the transport's word, what stands behind its colon, and how to get there."""

    transport: str
    spec: str
    options: Options = field(default_factory=Options)


def find(remote: Remote) -> Hosts:
    """The hosts that a target stands for."""
    return transports()[remote.transport].find(remote.spec, remote.options)


def gather(remote: Remote, plan: Plan, progress: Progress = lambda _: None) -> Iterator[Snapshot]:
    """Ask every host at once; one snapshot for each job, with a gap for each host that stays silent."""
    hosts = find(remote)
    answers = Answers(hosts.all)
    for gap in hosts.gaps:
        if gap.host is not None:
            answers.gaps[gap.host] = gap
    _keep_raw(answers, remote.options.raw_dir)
    began = time.monotonic()
    progress(f"{fold(hosts.names)}")
    send(remote, hosts, plan, answers, progress)
    answers.close(time.monotonic() - began)
    found = list(join(answers, hosts.whole))
    if not found and answers.complete:
        raise _nothing(hosts, answers)
    yield from found


def send(remote: Remote, hosts: Hosts, plan: Plan, answers: Answers, progress: Progress) -> None:
    """Send the errand to every host that can be asked, and take the answers."""
    if hosts.names:
        call = Call(_parcel(hosts, plan), hosts, max(1.0, plan.deadline_s - _PACK_S), remote.options, progress)
        transports()[remote.transport].ask(call, answers)


def _parcel(hosts: Hosts, plan: Plan) -> bytes:
    """The errand for all: they start together, a moment from now that grows with their number."""
    now = time.time()
    stacks = {name: getattr(plan.options, name) for name in ("locals", "strings", "native", "pause", "deadline_s")}
    errand: dict[str, object] = {
        "sweeps": plan.sweeps, "interval_s": plan.interval_s, "engine": plan.engine, "stacks": stacks,
        "only": sorted(plan.only) if plan.only is not None else None, "sent_s": now,
        "start_s": now + min(3.0, 0.35 + 0.01 * len(hosts.names)), "deadline_s": max(1.0, plan.deadline_s * 0.75),
        "slurm_job": ",".join(hosts.slurm_job),
    }  # fmt: skip
    return parcel(errand, alarm_s=int(plan.deadline_s) + 5)


def _keep_raw(answers: Answers, folder: Path | None) -> None:
    """Keep what each node said, as it said it, one file (mode 0600) for each."""
    if folder is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, inbox in answers.inboxes.items():
            handle = os.open(folder / f"{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            inbox.raw = _writer(io.FileIO(handle, "wb"))
    except OSError as error:
        raise RankscopeError(f"cannot write to {folder}", error.strerror or str(error), "--raw-dir /tmp/raw") from error


def _writer(file: io.FileIO) -> Callable[[bytes], object]:
    return lambda line: file.write(line + b"\n")


def _nothing(hosts: Hosts, answers: Answers) -> RankscopeError:
    """Nobody has a job for us: who answered, and who did not."""
    heard = fold(host.name for host in nobody(answers))
    because = [f"{heard}: no distributed Python job was found there"] if heard else []
    because += sorted({f"{gap.detail}; {gap.hint}" for gap in denied(answers)})[:4]
    reasons: dict[str, list[str]] = {}
    for name, gap in answers.gaps.items():
        reasons.setdefault(f"{gap.detail}" + (f" ({gap.hint})" if gap.hint else ""), []).append(name)
    because += [f"{fold(names)}: {reason}" for reason, names in list(reasons.items())[:8]]
    what = f"found no job on {fold(hosts.all)}" if heard else f"no host of {fold(hosts.all)} answered"
    return RankscopeError(
        what, "\n           ".join(because), "rankscope hosts TARGET        shows what a target stands for"
    )
