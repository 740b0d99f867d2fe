"""A rank waits for a lock file whose builder is gone.

## What it means
`torch.utils.cpp_extension` builds an extension under a lock that is nothing but a file: whoever creates it builds, everybody
else polls until it disappears. A builder that was killed leaves the file behind, and every later import polls for ever.

## How it is recognised
A thread stands in `FileBaton.wait`, and no process of the job (or of this host, as far as visible) builds: no compiler runs
below the ranks and nobody holds the file open. Its age tells how long ago the builder died.

## What to do
Delete the lock file that is shown (or the whole directory of the extension) and start again.

## How to prevent it
Build the extension before the launch; `TORCH_EXTENSIONS_DIR` on a local disk per node; a torch that locks with the kernel.

## Links
https://github.com/pytorch/pytorch/issues/9711
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case, Member
from ..analysis.frame_tables import Kind as Wait
from ..analysis.standing import Standing
from ..model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ..model.evidence.lock_files import LockFile, LockFiles
from ..model.process import Role
from ..model.words import span
from . import Rule
from ._say import name, ranks_of, waited_for, who

_POLLS = {Wait.FILE_BATON, Wait.FILE_LOCK}
_BUILDERS = ("ninja", "cc1plus", "cc1", "nvcc", "cicc", "ptxas", "g++", "gcc", "c++", "clang", "ld", "hipcc")


def check(case: Case) -> Iterator[Finding]:
    waiting = [s for s in case.standings.values() if s.kind in _POLLS and not s.member.gone and _soft(s)]
    if not waiting or any(_builds(member) for member in case):
        return
    roots = {root.ref: root for root in case.graph.roots}
    for standing in waiting:
        file = _file(standing)
        root = roots.get(standing.member.ref)
        old = [age for age in (file.age_s if file else None, root.age_s if root else None) if age is not None]
        if file is not None and file.holders:
            continue
        if case.snapshot.live and old and not case.stuck(max(old)):
            continue
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=_certainty(file, old),
            title=f"{who(standing.member.process)} waits for a lock file that nobody will delete"
                  + (f": {file.path}" if file else ""),
            ranks=ranks_of(standing), processes=(standing.member.process,),
            because=(Reason(f"{name(case, standing.member.ref)} polls for the removal of a lock file, in {standing.wait.op}",
                            "python-stack", standing.member.ref),
                     *_about(file), *(waited_for(root) if root else ())),
            next=(Step(f"rm {file.path}" if file else "rm -r ${TORCH_EXTENSIONS_DIR:-~/.cache/torch_extensions}/*/*/lock",
                       standing.member.ref),),
        )  # fmt: skip


def _soft(standing: Standing) -> bool:
    """Whether the lock is the existence of a file: torch's baton, or a lock file that is there and that nobody holds."""
    file = _file(standing)
    return standing.kind is Wait.FILE_BATON or (file is not None and file.age_s is not None and not file.holders)


def _builds(member: Member) -> bool:
    program = (member.process.command[0] if member.process.command else member.process.comm).rsplit("/", 1)[-1]
    return member.role is Role.OTHER and not member.gone and program.startswith(_BUILDERS)


def _file(standing: Standing) -> LockFile | None:
    found = standing.member.latest(LockFiles)
    return found.files[0] if found and found.files else None


def _certainty(file: LockFile | None, old: list[float]) -> Certainty:
    if file is not None and file.age_s is not None and old:
        return Certainty.CERTAIN
    return Certainty.LIKELY


def _about(file: LockFile | None) -> Iterator[Reason]:
    if file is not None:
        yield Reason(
            f"{file.path} is {span(file.age_s)} old, nobody has it open, and no compiler runs in this job", "lock-files"
        )


RULE = Rule(id="stale-file-baton", cls="file-lock-stale", check=check, page=__doc__ or "", order=20)
