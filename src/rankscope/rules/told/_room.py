"""File systems without space in a live job, for the rules about disks and shared memory."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.handled import FULL, handled, in_words
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, State
from ...model.evidence.space import Room, Space
from ...model.patterns import regex
from .. import Rule, make_rule
from .._say import at, old_roots, pointed_at, ranks_of, stands, waited_for, who
from ._findings import finding, reasons
from ._signs import Hit, Sign, hits

# NCCL that found no space: it writes no files but segments of shared memory.
NCCL_SAYS = r"\b(?:NCCL|RCCL|HCCL|ncclComm\w*)\b[^\n]{0,60}No space left on device"

# inotify_add_watch(2) says ENOSPC where the user's watches are used up, and no file system is full.
WATCHES_USED_UP = (
    r"\badd_watch\b[^\n]*(?:No space left|\bENOSPC\b|os error 28\b)|\bENOSPC\b[^\n]*\bwatch(?:ed|es|ing|ers?)?\b|"
    r"[Ss]ystem limit for number of file watchers"
)


def room_rule(
    module: str, page: str | None, cls: str, order: int, title: str, signs: tuple[Sign, ...], steps: tuple[str, ...],
    shm: bool, yields_to: tuple[str, ...] = (),
) -> Rule:  # fmt: skip
    """A rule of what texts say of a full file system, and what is seen of one in a live job."""

    def check(case: Case) -> Iterator[Finding]:
        told = list(hits(case, signs))
        seen = list(_seen(case, rule, shm, told, steps)) if case.snapshot.live else []
        blamed = [one for one in seen if one.kind is Kind.CAUSE]
        if told and not blamed:
            said = finding(rule, case, told, title, _there(steps, _folder(told)))
            yield replace(said, because=(*said.because, *_agrees(case, shm)))
        for one in seen:
            yield replace(one, because=(*one.because, *reasons(told))) if blamed else one

    rule = make_rule(module, page, cls, order, check, yields_to)
    return rule


# Where a write found no room, as Python's errors name it.
_FILE = regex(
    r"No space left on device: ['\"](?P<after>/[^'\"\n]{1,200})['\"]|(?<![\w.])(?P<before>/[\w./@+=,-]{2,200}): {0,2}\[Errno 28\]"
)
_HERE = regex(r"(?<= )\.(?= |$)|\bCHECKPOINT_DIR\b")


def _folder(told: list[Hit]) -> str:
    """The folder of the first file that a text names, "" for none."""
    for hit in told:
        if found := _FILE.search(hit.line):
            return (found["after"] or found["before"]).rpartition("/")[0] or "/"
    return ""


def _there(steps: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """The steps about this folder, instead of the one in which their reader is."""
    return tuple(_HERE.sub(lambda _: shlex.quote(folder), step) for step in steps) if folder else steps


def _seen(case: Case, rule: Rule, shm: bool, told: list[Hit], steps: tuple[str, ...]) -> Iterator[Finding]:
    """One finding per process that others wait for and that writes where nothing fits; else one note.

    ``told`` is what texts say of it already.
    """
    blamed = False
    for root, standing in _suspects(case, shm):
        room = _full(standing, shm)
        # A full /dev/shm or working directory alone explains nothing: the process must hold a file there open to write.
        held = room if room is not None and room.used_for.startswith("/") else None
        if held is not None or _refused(standing, shm):
            blamed = True
            folder = held.mount.place if held else _folder(told) or f"/proc/{root.ref.pid}/cwd/"
            yield _finding(rule, root, standing, held, _sure(standing, shm), _there(steps, folder))
    if not blamed and not told:
        yield from _note(case, rule, shm, steps)


def _refused(standing: Standing, shm: bool) -> bool:
    """Whether it stands in the handler of a write that found no room; in shared memory, where that is what is full."""
    tries = standing.kind in (WaitKind.SLEEP, WaitKind.USER, WaitKind.STORAGE) and not advances(standing)
    return tries and handled(standing) in FULL and (_full(standing, shm=True) is not None) is shm


def _finding(
    rule: Rule, root: Root, standing: Standing, room: Room | None, sure: Certainty, steps: tuple[str, ...]
) -> Finding:
    """With the file that it has open to write, where it has one."""
    place = at(standing.user_frame)
    does = (
        f"writes {_end_of(room.used_for)} where no space is left"
        if room
        else f"found no space left, and tries again in {place}"
    )
    seen = (Reason(says(room), "file system", root.ref),) if room else ()
    error = in_words(standing) if handled(standing) in FULL else ""
    why = (Reason(f"it is handling {error}", "memory", root.ref),) if error else ()
    return Finding(
        rule=rule.id, cls=rule.cls, kind=Kind.CAUSE, certainty=sure, title=f"{who(standing.member.process)} {does}",
        ranks=ranks_of(standing), processes=(standing.member.process,),
        because=(*seen, *why, stands(standing), *waited_for(root)), next=steps,
    )  # fmt: skip


def _end_of(path: str) -> str:
    """The name of the file is what tells; of a long path the beginning goes."""
    return path if len(path) <= 80 else f"…{path[-79:]}"


def _sure(standing: Standing, shm: bool) -> Certainty:
    """Shared memory may rightly be used up to its end; one that pauses or stands in a write there tries in vain."""
    tries = standing.kind in (WaitKind.SLEEP, WaitKind.STORAGE, WaitKind.USER) and not advances(standing)
    return Certainty.LIKELY if tries or not shm else Certainty.POSSIBLE


def _suspects(case: Case, shm: bool) -> Iterator[tuple[Root, Standing]]:
    """Those that others wait for; and the one program that somebody pointed at, where it pauses and tries again.

    Not with shared memory: to have taken all of it is no sign of trouble in a program that nobody waits for.
    """
    if case.state is not State.MOVING:
        yield from old_roots(case)
    for standing in case.standings.values() if not shm else ():
        if pointed_at(case, standing) and standing.ran and standing.kind is WaitKind.SLEEP and not advances(standing):
            yield Root(standing.member.ref), standing


def _agrees(case: Case, shm: bool) -> Iterator[Reason]:
    """What the processes of a live job show of a file system without room."""
    for standing in case.standings.values() if case.snapshot.live else ():
        room = _full(standing, shm)
        if room is not None:
            yield Reason(says(room), "file system", standing.member.ref)
            return
        if handled(standing) in FULL and (_full(standing, shm=True) is not None) is shm:
            yield handles(standing)
            return


def handles(standing: Standing) -> Reason:
    """The error whose handler a process stands in, as a reason."""
    return Reason(f"{who(standing.member.process)} is handling {in_words(standing)}", "memory", standing.member.ref)


def _note(case: Case, rule: Rule, shm: bool, steps: tuple[str, ...]) -> Iterator[Finding]:
    for standing in case.standings.values():
        room = _full(standing, shm)
        if room is not None:
            yield Finding(
                rule=rule.id, cls=rule.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE,
                title=f"no space is left on {room.mount.place} of {standing.member.ref.host}",
                because=(Reason(says(room), "file system", standing.member.ref),), next=steps,
            )  # fmt: skip
            return


def _full(standing: Standing, shm: bool) -> Room | None:
    space = standing.member.latest(Space)
    rooms = space.rooms if space is not None else ()
    return next((room for room in rooms if room.full and (room.mount.place == "/dev/shm") is shm), None)  # noqa: S108


def says(room: Room) -> str:
    """What is left, in words."""
    what = (
        "no free file numbers"
        if room.free_files == 0
        else f"{room.free_bytes} bytes free of {room.size_bytes >> 20} MiB"
    )
    return f"{room.mount.place} ({room.mount.kind}, {room.mount.source}) has {what}"
