"""Ranks of one job run other versions or settings than the rest.

## What it means
All ranks of a job should be alike. Where one has another PyTorch, NCCL or Python, or another value of a setting that
both ends of a connection must share, ranks may hang in their first meeting although each is right by itself.

## How it is recognised
Versions beside the mapped libraries, the libraries' paths, and the allowed environment at the start are compared over
the ranks that could be read. What differs by design is left out: visible devices, log files, values that every rank or
every local rank has to itself. It is a note. It becomes a possible cause only where versions or protocol settings differ
and all ranks stand in their first meeting.

## What to do
Start the odd ranks from the same image and with the same environment as the others.

## How to prevent it
One image for all; one place that sets `NCCL_*` and `GLOO_*`; `rankscope stacks` and this note before long runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Certainty, Finding, Kind, Reason, State
from ...model.evidence.environ import Environ
from ...model.evidence.versions import Versions
from ...model.patterns import regex
from ...model.process import Role
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule

_COMPARED = regex(
    r"(?:NCCL|GLOO|TORCH_NCCL|TORCH_GLOO|TORCH_DISTRIBUTED)_|TP_SOCKET_IFNAME$|CUDA_(?:LAUNCH|MODULE|DEVICE_ORDER)"
)
# Where a rank logs to, and how much, changes nothing that peers can see.
_HARMLESS = regex(r"DEBUG|_FILE$|_LOG|DUMP|TRACE|PROFILE|_HCA$|TOPO")
# Both ends of a connection must agree on these.
_SHARED = regex(
    r"NCCL_(?:PROTO|ALGO|NET|COLLNET|NVLS|BUFFSIZE|NCHANNELS|MIN|MAX|IB_DISABLE|P2P|SHM|COMM_ID|SOCKET_FAMILY)"
)
_MEETING = (WaitKind.RENDEZVOUS, WaitKind.STORE)
_UNSET = "unset"


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on all ranks: its values with who has them, most common first."""

    name: str
    values: tuple[tuple[str, RankSet], ...]
    matters: bool

    @property
    def odd(self) -> RankSet:
        """The ranks that are not as most are; empty where there is no most."""
        if len(self.values) > 1 and len(self.values[0][1]) == len(self.values[1][1]):
            return RankSet()
        return RankSet(rank for _, ranks in self.values[1:] for rank in ranks)

    def __str__(self) -> str:
        said = "; ".join(f"{ranks_phrase(ranks)}: {value}" for value, ranks in self.values[:4])
        return f"{self.name} differs ({said})"


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live:
        return
    ranks = [member for member in case.with_role(Role.RANK) if member.rank is not None]
    found = [*_versions(ranks), *_settings(ranks)]
    for cls, group in _by_class(found).items():
        yield _finding(case, cls, group)


def _by_class(found: list[Difference]) -> dict[str, list[Difference]]:
    out: dict[str, list[Difference]] = {}
    for one in found:
        out.setdefault("wrong-interface" if one.name.endswith("_IFNAME") else RULE.cls, []).append(one)
    return out


def _finding(case: Case, cls: str, found: list[Difference]) -> Finding:
    grave = cls == RULE.cls and any(one.matters for one in found) and _all_meet(case)
    return Finding(
        rule=RULE.id, cls=cls, kind=Kind.CAUSE if grave else Kind.NOTE, certainty=Certainty.POSSIBLE,
        title="ranks differ: " + ", ".join(one.name for one in found[:6]),
        ranks=RankSet(rank for one in found for rank in one.odd),
        because=tuple(Reason(str(one), "environment" if one.name.isupper() else "versions") for one in found[:12]),
        against=() if grave else ("nothing shows that the job waits because of it",),
    )  # fmt: skip


def _all_meet(case: Case) -> bool:
    """Whether the job is stuck and every rank stands in its first meeting: nobody else is to blame."""
    ranks = [case.standings[member.ref] for member in case.with_role(Role.RANK)]
    first = any(one.seq is not None and one.seq <= 1 and not one.missing for one in case.collectives)
    meets = bool(ranks) and all(
        one.kind in _MEETING or (first and one.kind in (WaitKind.COLLECTIVE, WaitKind.BACKWARD)) for one in ranks
    )
    old = all(case.stuck(one.still_s) or one.still_s is None for one in ranks)
    return meets and old and case.state in (State.STUCK, State.UNKNOWN)


def _versions(ranks: list[Member]) -> Iterator[Difference]:
    """Versions that the installed packages claim, and libraries that come from different places."""
    seen = [(member, record) for member in ranks if (record := member.latest(Versions)) is not None]
    yield from _differing([(member, record.versions) for member, record in seen], lambda _: True)
    yield from _differing([(member, record.libraries) for member, record in seen], lambda name: name == "libnccl")


def _settings(ranks: list[Member]) -> Iterator[Difference]:
    seen = [(member, record.values) for member in ranks if (record := member.latest(Environ)) is not None]
    names = {
        name for _, values in seen for name in values if _COMPARED.match(name) and not _HARMLESS.search(name)
    }  # fmt: skip
    filled = [(member, {name: values.get(name, _UNSET) for name in names}) for member, values in seen]
    yield from _differing(filled, lambda name: bool(_SHARED.match(name)))


def _differing(
    seen: Sequence[tuple[Member, Mapping[str, str]]], matters: Callable[[str], bool]
) -> Iterator[Difference]:
    for name in sorted({name for _, values in seen for name in values}):
        having = [(member, values[name]) for member, values in seen if name in values]
        holders: dict[str, list[int]] = {}
        for member, value in having:
            holders.setdefault(value, []).append(member.rank if member.rank is not None else -1)
        if len(holders) > 1 and not _by_design(having):
            ordered = sorted(holders.items(), key=lambda item: (-len(item[1]), item[0]))
            yield Difference(name, tuple((value[:80], RankSet(held)) for value, held in ordered), matters(name))


def _by_design(having: list[tuple[Member, str]]) -> bool:
    """Whether each rank has a value of its own, or each local rank has one that is the same on every host."""
    values = {value for _, value in having}
    if len(values) == len(having) > 2:
        return True
    places: dict[int | None, set[str]] = {}
    for member, value in having:
        places.setdefault(member.process.local_rank, set()).add(value)
    hosts = {member.ref.host for member, _ in having}
    return len(hosts) > 1 and None not in places and all(len(held) == 1 for held in places.values())


RULE = make_rule(__name__, __doc__, "version-mismatch", 95, check)
