"""One errand to all hosts of a target, and the answers as snapshots."""

from __future__ import annotations

import functools
import io
import os
import platform
import shlex
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import RankscopeError
from ..model.gap import Gap
from ..model.snapshot import Snapshot
from ..probe.engine import ANOTHER_MAY_KNOW
from ..probe.sweep import Plan
from . import learn, slurm_state
from .answers import Answers
from .hostnames import fold
from .join import denied, join, left_behind, nobody
from .ship import Parcel
from .transport import Call, Hosts, Options, Progress, transports

_WAY_S = 5.0  # what the way to a node and back may take of a long deadline
_BACK_S = 2.0  # and what is left of it behind a node's own end, however long its sweeps take
_LOOK_S = 3.0  # what a node needs for its sweeps besides the time that it waits
# What joining and judging may take of the deadline: of a few hosts, and for each host (docs/performance.md: 1,024 of them took
# 13.6 s on a busy machine, about half of it on an idle one).
_PACK_S, _PACK_EACH_S = 1.0, 0.007
_BYTECODE_HOSTS = 256  # for more hosts the bytes through the login node cost more than the nodes save
_SECOND_S = 3.0  # what must be left of the deadline for a second errand with py-spy
_PY_SPY_LIMIT = 64 << 20


@dataclass(frozen=True)
class Remote:
    """A job on other hosts: the transport's word, what stands behind its colon, and how to get there."""

    transport: str
    spec: str
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Wish:
    """What an errand is about beyond the plan: only some processes (their keys), or source lines instead of a look.

    ``hosts`` are those to ask, by the names they give themselves; empty for all.
    """

    refs: tuple[str, ...] | None = None
    source: tuple[tuple[str, str, int], ...] = ()
    around: int = 1
    hosts: frozenset[str] = frozenset()

    def narrow(self, hosts: Hosts) -> Hosts:
        """The hosts that the errand is for, out of these; all of them where their names tell nothing."""
        names = tuple(name for name in hosts.names if {name, name.split(".")[0], name.rpartition("@")[2]} & self.hosts)
        return replace(hosts, names=names, gaps=()) if names else hosts


def find(remote: Remote) -> Hosts:
    """The hosts that a target stands for."""
    return transports()[remote.transport].find(remote.spec, remote.options)


def gather(
    remote: Remote, plan: Plan, progress: Progress = lambda _: None, wish: Wish | None = None,
    rehearsal: Callable[[Snapshot], object] | None = None,
) -> Iterator[Snapshot]:  # fmt: skip
    """Ask every host at once; one snapshot for each job, with a gap for each host that stays silent."""
    wish = wish or Wish()
    hosts = wish.narrow(find(remote))
    answers = Answers(hosts.all)
    for gap in hosts.gaps:
        if gap.host is not None:
            answers.gaps[gap.host] = gap
    _keep_raw(answers, remote.options.raw_dir)
    began = time.monotonic()
    progress(f"{fold(hosts.names)}")
    idle = _idle(rehearsal, answers) if rehearsal else lambda: None
    tool = py_spy() if remote.options.send_py_spy and plan.engine == "py-spy" else b""
    _send(Errand(remote, hosts, plan, wish, tool, progress, idle), answers)
    if not tool:
        _second(Errand(remote, hosts, plan, wish, b"", progress, idle), answers, began + plan.deadline_s)
    answers.close(time.monotonic() - began)
    found = list(join(answers, hosts.whole))
    if not found:
        raise _nothing(remote, hosts, answers) if answers.complete else KeyboardInterrupt
    # What hosts were asked is all the job has, or the silent ones may be where its other ranks are: no more to learn.
    whole = hosts.whole or bool(answers.gaps) or wish != Wish()
    options = remote.options if remote.options.follow else None
    for snapshot in found:
        snapshot = replace(snapshot, gaps=(*snapshot.gaps, *answers.words()))
        if hosts.slurm_job:
            snapshot = replace(snapshot, gaps=(*snapshot.gaps, *_of_slurm(snapshot, hosts)))
        yield from [snapshot] if whole else learn.follow(snapshot, plan, options, progress, hosts.more)


def _of_slurm(snapshot: Snapshot, hosts: Hosts) -> Iterator[Gap]:
    """Nodes of a Slurm job that were not asked, since it has them no more."""
    if hosts.slurm_ending:
        yield from slurm_state.ending(hosts.slurm_job[0], hosts.all, learn.given(snapshot))
    elif not hosts.slurm_parts:
        yield from learn.taken_out(snapshot, hosts.all)


@dataclass(frozen=True)
class Errand:
    """Everything that is known before the first byte is sent."""

    remote: Remote
    hosts: Hosts
    plan: Plan
    wish: Wish
    tool: bytes
    progress: Progress
    idle: Callable[[], None]


def send(remote: Remote, hosts: Hosts, plan: Plan, answers: Answers, progress: Progress) -> None:
    """Send a plain errand to every host that can be asked, and take the answers."""
    _send(Errand(remote, hosts, plan, Wish(), b"", progress, lambda: None), answers)


def _idle(rehearsal: Callable[[Snapshot], object], answers: Answers) -> Callable[[], None]:
    """Work for the time of waiting: once, with what the first host has told so far."""
    left = [rehearsal]

    def idle() -> None:
        parts = (part for name in answers.hosts if left for part in answers.inboxes[name].parts())
        seen = next((part.snapshot for part in parts if any(sweep.items for sweep in part.snapshot.sweeps)), None)
        if seen is not None:
            left.pop()(seen)

    return idle


def _send(errand: Errand, answers: Answers) -> None:
    hosts, remote = errand.hosts, errand.remote
    if hosts.names or hosts.gaps:
        time_s = max(1.0, _asking_s(errand.plan, len(hosts.names)) - _PACK_S)
        call = Call(_parcel(errand), hosts, time_s, remote.options, errand.progress, errand.idle)
        transports()[remote.transport].ask(call, answers)


def _asking_s(plan: Plan, hosts: int) -> float:
    """The deadline as far as it is the nodes' and the way's: with many hosts much of it is kept for their verdict, but never what
    the sweeps need, nor more than half of what is left."""
    kept_s = min(_PACK_EACH_S * hosts, max(0.0, plan.deadline_s - _slept_s(plan)) / 2)
    return max(plan.deadline_s - kept_s, min(plan.deadline_s, _needed_s(plan, hosts) + _BACK_S))


def _node_s(plan: Plan, hosts: int) -> float:
    """A node's own deadline: what the way leaves of the time of asking, and all that its sweeps need where there is so much."""
    asking_s = _asking_s(plan, hosts)
    return max(1.0, asking_s * 0.75, asking_s - _WAY_S, min(_needed_s(plan, hosts), asking_s - _BACK_S))


def _needed_s(plan: Plan, hosts: int) -> float:
    return _start_in_s(hosts) + _slept_s(plan) + _LOOK_S


def _slept_s(plan: Plan) -> float:
    return plan.interval_s * (plan.sweeps - 1)


def _start_in_s(hosts: int) -> float:
    """When all start together: a moment from now that grows with their number."""
    return min(3.0, 0.35 + 0.01 * hosts) if hosts > 1 else 0.0


def _second(errand: Errand, answers: Answers, end: float) -> None:
    """Ask hosts whose Pythons our own reader does not know once more, with a py-spy that fits them, while there is time."""
    left = end - time.monotonic()
    needy = tuple(name for name in errand.hosts.names if answers.inboxes[name].ended and _needs_py_spy(answers, name))
    if not needy or left < _SECOND_S or not errand.remote.options.send_py_spy or not answers.complete or not py_spy():
        return
    again = Answers(needy)
    for name in needy:
        again.inboxes[name].raw = answers.inboxes[name].raw
    hosts = replace(errand.hosts, names=needy, gaps=())
    _send(replace(errand, hosts=hosts, plan=replace(errand.plan, deadline_s=left), tool=py_spy()), again)
    answers.inboxes.update({name: inbox for name, inbox in again.inboxes.items() if inbox.ended and inbox.answered})
    answers.complete = answers.complete and again.complete


def _needs_py_spy(answers: Answers, name: str) -> bool:
    inbox = answers.inboxes[name]
    same = (inbox.about or {}).get("machine") == platform.machine()
    gaps = (gap for part in inbox.parts() for gap in part.snapshot.gaps)
    return same and any(gap.what == "python-stacks" and gap.why in ANOTHER_MAY_KNOW for gap in gaps)


def _py_spy_path() -> str:
    from ..probe.engines import pyspy  # seldom needed

    return pyspy.executable() or ""


@functools.cache
def py_spy() -> bytes:
    """The py-spy installed here, packed; empty where there is none that could run elsewhere."""
    try:
        with open(_py_spy_path(), "rb") as file:
            program = file.read(_PY_SPY_LIMIT + 1)
    except OSError:
        return b""
    fits = program.startswith(b"\x7fELF") and len(program) <= _PY_SPY_LIMIT
    return zlib.compress(program, 1) if fits else b""


def _parcel(errand: Errand) -> Parcel:
    """The errand for all, who start together."""
    now, plan, hosts, wish = time.time(), errand.plan, errand.hosts, errand.wish
    stacks = {name: getattr(plan.options, name) for name in ("locals", "strings", "native", "pause", "deadline_s")}
    count = len(hosts.names)
    start_s = now + _start_in_s(count) if count > 1 else 0.0
    body: dict[str, object] = {
        "sweeps": plan.sweeps, "interval_s": plan.interval_s, "engine": plan.engine, "stacks": stacks,
        "only": sorted(plan.only) if plan.only is not None else None, "sent_s": now,
        "start_s": start_s, "deadline_s": _node_s(plan, count),
        "slurm_job": ",".join(hosts.slurm_job), "mpi_job": hosts.mpi_job,
        "refs": wish.refs, "source": wish.source, "around": wish.around,
    }  # fmt: skip
    bytecode = count <= _BYTECODE_HOSTS and not hosts.slurm_job
    return Parcel(body, int(plan.deadline_s) + 5, errand.tool, _py_spy_path() if errand.tool else "", bytecode)


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


def _nothing(remote: Remote, hosts: Hosts, answers: Answers) -> RankscopeError:
    """Nobody has a job for us: who answered, and who did not."""
    heard = fold(host.name for host in nobody(answers))
    if hosts.slurm_ending:
        left = [f"{gap.host}: {gap.detail}" for gap in (*left_behind(answers), *answers.gaps.values())]
        return slurm_state.all_gone(hosts.slurm_job[0], fold(hosts.all), left)
    because = [f"{heard}: no distributed Python job was found there"] if heard else []
    because += sorted({f"{gap.detail}; {gap.hint}" for gap in denied(answers)})[:4]
    reasons: dict[str, list[str]] = {}
    for name, gap in answers.gaps.items():
        reasons.setdefault(f"{gap.detail}" + (f" ({gap.hint})" if gap.hint else ""), []).append(name)
    because += [f"{fold(names)}: {reason}" for reason, names in list(reasons.items())[:8]]
    what = f"found no job on {fold(hosts.all)}" if heard else f"no host of {fold(hosts.all)} answered"
    target = shlex.quote(f"{remote.transport}:{remote.spec}")
    words = replace(remote.options, follow=False).words()  # the way to hosts is walked for those that are named
    hint = f"rankscope doctor {target}{' ' * bool(words)}{words}   # at which step the way to each host ends"
    return RankscopeError(what, "\n           ".join(because), hint)
