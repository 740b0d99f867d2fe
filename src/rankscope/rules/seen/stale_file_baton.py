"""A rank waits for a lock file whose builder is gone.

## What it means
`torch.utils.cpp_extension` builds an extension under a lock that is nothing but a file: whoever creates it builds, everybody
else polls until it disappears. A builder that was killed leaves the file behind, and every later import polls for ever.

## How it is recognised
A thread stands in `FileBaton.wait`, and no process of the job (or of this host, as far as visible) builds: no compiler runs
below the ranks and nobody holds the file open. Its age tells how long ago the builder died. That is certain of a file on a
file system of this host. One that hosts share (NFS and the like, a home directory) may be in use where nobody looked: *likely*
where all ranks of the job were looked at, *possible* where some of them were not.

## What to do
Where hosts share the file, look on each of them first (`fuser -v FILE`): a lock that is deleted while somebody builds breaks
the build. Then delete the lock file that is shown (or the whole directory of the extension) and start again.

## How to prevent it
Build the extension before the launch; `TORCH_EXTENSIONS_DIR` on a local disk per node; a torch that locks with the kernel.

## Links
https://github.com/pytorch/pytorch/issues/9711
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...analysis.case import Case, Member, Root
from ...analysis.compilers import built
from ...analysis.frame_tables import WaitKind
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.lock_files import LockFile, LockFiles
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span, verb
from .. import make_rule
from .._say import name, ranks_of, waited_for, who

_POLLS = {WaitKind.FILE_BATON, WaitKind.FILE_LOCK}
_BUILDERS = ("ninja", "cc1plus", "cc1", "nvcc", "cicc", "ptxas", "g++", "gcc", "c++", "clang", "ld", "hipcc")


def check(case: Case) -> Iterator[Finding]:
    waiting = [s for s in case.standings.values() if s.kind in _POLLS and not s.member.gone and _soft(s)]
    if not waiting or any(_builds(member) for member in case) or (not case.snapshot.live and built(case)):
        return
    for standings in _by_file(waiting):
        files = [file for one in standings if (file := _file(one)) is not None]
        found = [root for one in standings if (root := case.graph.root(one.member.ref)) is not None]
        ages = (*(file.age_s for file in files), *(root.age_s for root in found))
        old = [age for age in ages if age is not None]
        if any(file.holders for file in files) or (case.snapshot.live and old and not case.stuck(max(old))):
            continue
        yield _finding(case, standings, files[0] if files else None, found, bool(old))


def _by_file(waiting: list[Standing]) -> Iterable[list[Standing]]:
    """Those that wait for one file, together: a file that lies with a server is the same on all hosts."""
    files: dict[object, list[Standing]] = {}
    for standing in waiting:
        file, ref = _file(standing), standing.member.ref
        host = ref.host if file is None or file.served is False else ""
        files.setdefault((host, file.path) if file is not None else ref, []).append(standing)
    return files.values()


def _finding(case: Case, standings: list[Standing], file: LockFile | None, roots: list[Root], aged: bool) -> Finding:
    ref, path = standings[0].member.ref, f": {file.path}" if file else ""
    ranks = RankSet(rank for one in standings for rank in ranks_of(one))
    many = ranks_phrase(ranks) if ranks else f"{len(standings)} processes"
    whom = who(standings[0].member.process) if len(standings) == 1 else many
    asked = max(roots, key=lambda root: (len(root.ranks), root.age_s or 0.0), default=None)
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=_certainty(case, file, aged),
        title=f"{whom} {verb('wait', len(standings))} for a lock file that nobody will delete{path}",
        ranks=ranks, processes=tuple(one.member.process for one in standings),
        because=(Reason(f"{name(case, ref)} polls for the removal of a lock file, in {standings[0].wait.op}", "python-stack",
                        ref),
                 *_about(file), *(waited_for(asked) if asked else ())),
        against=(_ELSEWHERE,) if _shared(file) else (), next=tuple(_steps(file, ref)),
    )  # fmt: skip


_ELSEWHERE = "other hosts that share the file were not looked at: it may be in use there"


def _steps(file: LockFile | None, ref: ProcessRef) -> Iterator[Step | str]:
    if file is not None and _shared(file):
        yield f"on each other host that shares it, first: fuser -v {file.path}"
    path = file.path if file else "-r ${TORCH_EXTENSIONS_DIR:-~/.cache/torch_extensions}/*/*/lock"
    yield Step(f"rm {path}", ref, "once nobody builds on any host" if file is None or _shared(file) else "")


def _shared(file: LockFile | None) -> bool:
    """Whether other hosts may have the file open, as far as is known."""
    return file is not None and file.served is not False


def _soft(standing: Standing) -> bool:
    """Whether the lock is the existence of a file: torch's baton, or a lock file that is there and that nobody holds."""
    file = _file(standing)
    return standing.kind is WaitKind.FILE_BATON or (file is not None and file.age_s is not None and not file.holders)


def _builds(member: Member) -> bool:
    program = (member.process.command[0] if member.process.command else member.process.comm).rsplit("/", 1)[-1]
    return member.role is Role.OTHER and not member.gone and program.startswith(_BUILDERS)


def _file(standing: Standing) -> LockFile | None:
    found = standing.member.latest(LockFiles)
    return found.files[0] if found and found.files else None


def _certainty(case: Case, file: LockFile | None, aged: bool) -> Certainty:
    """Nobody but this host can have a file open that lies on it; of one that hosts share, only those of the job were looked at,
    if that."""
    if file is None or file.age_s is None or not aged:
        return Certainty.LIKELY
    if file.served is False:
        return Certainty.CERTAIN
    all_seen = case.world_size is not None and all(rank in case.by_rank for rank in range(case.world_size))
    return Certainty.LIKELY if all_seen else Certainty.POSSIBLE


def _about(file: LockFile | None) -> Iterator[Reason]:
    if file is not None:
        where = "" if file.served is False else " on the hosts that were looked at"
        says = f"{file.path} is {span(file.age_s)} old, nobody{where} has it open, and no compiler runs in this job"
        yield Reason(says, "lock-files")


RULE = make_rule(__name__, __doc__, "file-lock-stale", 20, check)
