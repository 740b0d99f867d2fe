"""A GPU does not answer, counts uncorrected errors, or was never used by the job.

## What it means
The driver itself says that a GPU has fallen off the bus or needs a reset: what runs on it will never finish. Or it says
that nothing has begun: no work and a few megabytes in use mean that no rank has created a context there yet.

## How it is recognised
NVML answers "GPU is lost" or "requires reset"; the kernel logged an Xid that stands for hardware and names a process of the job
(a note where it names another); the count of uncorrected ECC errors is above zero; use is 0 % and the memory in use is below
64 MiB on a GPU while ranks of the job run on this host (a note: the job never started to compute).

## What to do
`nvidia-smi -q -i INDEX`, `dmesg -T | grep -i xid`; drain the node and have it reset. Where nothing has begun, look at what the
ranks wait for before their first kernel.

## How to prevent it
Health checks before each job (`dcgmi diag -r 1`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...model.diagnosis import Certainty, Finding, Kind, Reason, State, Step
from ...model.evidence.environ import Environ
from ...model.evidence.gpus import Gpu, Gpus
from ...model.patterns import regex
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet
from .. import make_rule
from .._death import kernel_lines

_IDLE_BYTES = 64 << 20


def check(case: Case) -> Iterator[Finding]:
    for member in case if case.snapshot.live else ():
        seen = member.latest(Gpus)
        if seen is None:
            continue
        host = member.ref.host
        for gpu in seen.gpus:
            if gpu.lost:
                yield _lost(case, member, gpu)
            elif gpu.ecc_errors > 0:
                yield _say(
                    member,
                    Kind.NOTE,
                    f"GPU {gpu.index} of {host} counts {gpu.ecc_errors} uncorrected memory errors",
                    gpu,
                )
        yield from _never_started(case, member, seen)
    if case.snapshot.live:
        yield from _xids(case)


# Numbers that stand for a device or its link; 13, 31, 43 and 45 come from programs (docs.nvidia.com/deploy/xid-errors).
_HARD = frozenset(
    map(
        int,
        "48 62 63 64 74 79 92 94 95 109 110 119 120 121 123 136 137 140 143 144 145 149 150 151 154 155 156".split(),
    )
)
_XID = regex(r"Xid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<number>\d+)(?:, pid='?(?P<pid>\d+))?")


def _xids(case: Case) -> Iterator[Finding]:
    """Hardware errors that the kernel logged since the job began: a cause where they name a process of it."""
    by_pid = {(one.ref.host, one.ref.pid): one for one in case}
    for host in case.by_host:
        for line in kernel_lines(case, host):
            said = _XID.search(line.text)
            if said is None or int(said["number"]) not in _HARD:
                continue
            user = by_pid.get((host, int(said["pid"] or 0)))
            mine = user is not None and case.state is not State.MOVING
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE if mine else Kind.NOTE,
                certainty=Certainty.LIKELY if mine else Certainty.POSSIBLE,
                title=f"GPU {said['pci']} of {host} reported Xid {said['number']}",
                ranks=RankSet([user.rank] if mine and user is not None and user.rank is not None else []),
                processes=(user.process,) if user is not None else (),
                because=(Reason(f"kernel log: {line.text}", "kernel-log", user.ref if user is not None else None),),
                next=(Step("nvidia-smi -q; dmesg -T | grep -i xid", ProcessRef(host, 0)),) if mine else (),
            )  # fmt: skip
            return


def _lost(case: Case, member: Member, gpu: Gpu) -> Finding:
    """A lost GPU is the cause only where a rank of the job uses it, or may; else the job does not depend on it."""
    users = _users(case, member.ref.host, gpu)
    mine = bool(users) or case.state is not State.MOVING
    title = f"GPU {gpu.index} of {member.ref.host} has failed: the driver says {gpu.lost!r}"
    certainty = Certainty.CERTAIN if users and case.state is State.STUCK else Certainty.LIKELY
    return _say(member, Kind.CAUSE if mine else Kind.NOTE, title, gpu, certainty, users)


def _users(case: Case, host: str, gpu: Gpu) -> RankSet:
    """The ranks that compute on a GPU: by the driver's list of pids, else by the one device that a rank can see."""
    here = [one for one in case.with_role(Role.RANK) if one.ref.host == host and one.rank is not None]
    listed = RankSet(one.rank for one in here if one.rank is not None and one.ref.pid in gpu.pids)
    return listed or RankSet(
        one.rank for one in here if one.rank is not None and _visible(one) in (str(gpu.index), gpu.uuid)
    )


def _visible(member: Member) -> str | None:
    """The one device that a rank was given, None where it has a choice."""
    environ = member.latest(Environ)
    value = environ.values.get("CUDA_VISIBLE_DEVICES", "") if environ else ""
    return value if value and "," not in value else None


def _never_started(case: Case, member: Member, seen: Gpus) -> Iterator[Finding]:
    idle = [gpu for gpu in seen.gpus if _untouched(gpu)]
    here = any(one.ref.host == member.ref.host for one in case.with_role(Role.RANK))
    if case.state is State.MOVING or not here or len(idle) != len(seen.gpus):
        return
    used = max(gpu.used_bytes for gpu in idle) >> 20
    title = f"no rank on {member.ref.host} has begun to compute: its GPUs are at 0 % with at most {used} MiB in use"
    yield _say(member, Kind.NOTE, title, idle[0])


def _untouched(gpu: Gpu) -> bool:
    return not gpu.lost and gpu.busy_percent == 0 and 0 <= gpu.used_bytes < _IDLE_BYTES and not gpu.pids


def _say(
    member: Member,
    kind: Kind,
    title: str,
    gpu: Gpu,
    certainty: Certainty = Certainty.POSSIBLE,
    ranks: RankSet | None = None,
) -> Finding:
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=kind, certainty=certainty, title=title, ranks=ranks or RankSet(),
        because=(Reason(f"NVML of {member.ref.host}, GPU {gpu.index} {gpu.name}".strip(), "nvml", member.ref),),
        next=(Step(f"nvidia-smi -q -i {gpu.index}; dmesg -T | grep -i xid", member.ref),) if kind is Kind.CAUSE else (),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "gpu-hardware-fault", 8, check)
