"""A parent in wait4 or join waits for its child; the system call names which one, else it is any that still lives.

Who waits for any child is content with the first that ends. A tool that runs beside the work (`tail -f`, a monitor of GPUs) is
none that is meant where other children are programs of Python or at work; and a shell started last what it has in the
foreground. A rank in a build waits for the commands of the build, and they for those that they started. Who starts a process
of multiprocessing through its fork server waits until that server has made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.process import Role
from ..frame_tables import WaitKind
from ..identity import module_path_of
from ..in_sight import foreign
from ..kernel_says import SIGNAL
from ..progress import works
from ..scene import Scene
from ..standing import Standing, idle_worker

_BY_SERVER, _SERVER = "multiprocessing/popen_forkserver.py", "multiprocessing.forkserver"
_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "fish")


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.standings.values():
        if standing.kind is WaitKind.COMPILE and not works(standing):
            yield from _commands(scene, standing)
        if _starts_by_server(standing):
            yield from _stopped_server(scene, standing)
        if not awaits_end(standing):
            continue
        minds = standing.member.role is Role.LAUNCHER  # watching its ranks is its work, not a wait
        children = [child for child in scene.children_of(standing.member.ref.pid, standing.member.ref.host)
                    if child.member.role is not Role.HELPER]  # fmt: skip
        only = named(standing)
        for child in children if only is not None else _meant(scene, standing, children):
            if only is None or child.member.ref.pid == only:
                if (only is None and idle_worker(child)) or (minds and child.member.role is Role.RANK):
                    continue
                yield Wait(standing.member.ref, child.member.ref, "the end of this child process", standing.still_s)


def awaits_end(standing: Standing) -> bool:
    """Whether it waits for the end of a child; so does a command that sleeps until a signal comes, as `timeout` and the first
    processes of containers do: that of a child's end is what they run for. So does a program at its own end, whose children
    multiprocessing joins one by one."""
    at_end = standing.kind is WaitKind.EXIT and named(standing) is not None
    return standing.kind is WaitKind.CHILD or at_end or (standing.wait.op == SIGNAL and foreign(standing.member))


def _meant(scene: Scene, standing: Standing, children: Sequence[Standing]) -> Sequence[Standing]:
    """Those of several children, any of whose ends would do, for which it waits."""
    living = [child for child in children if not _ended(child)]
    tools = [child for child in living if not _serious(scene, child)]
    if len(living) < 2 or not tools:
        return children
    if len(tools) < len(living):
        return [child for child in children if child not in tools]
    if standing.member.process.comm in _SHELLS:
        return [max(living, key=lambda child: (child.member.ref.started, child.member.ref.pid))]
    return children


def _serious(scene: Scene, child: Standing) -> bool:
    """Whether a child, or one below it, is a program of Python or at work."""
    below, met = [child], {child.member.ref}
    for one in below:  # grows meanwhile; a snapshot that was tampered with may have circles
        found = [
            other for other in scene.children_of(one.member.ref.pid, one.member.ref.host) if other.member.ref not in met
        ]
        met |= {other.member.ref for other in found}
        below += found
    return any(not foreign(one.member) or works(one) for one in below if not _ended(one))


def _ended(standing: Standing) -> bool:
    return standing.member.gone or standing.state in ("Z", "X")


def _commands(scene: Scene, standing: Standing) -> Iterator[Wait]:
    """Who builds waits for the build tool and the compilers it started; a pool of compile workers is another matter."""
    for child in scene.children_of(standing.member.ref.pid, standing.member.ref.host):
        if child.member.role is Role.OTHER and child.thread is None and not _ended(child):
            yield Wait(standing.member.ref, child.member.ref, "the end of this build", standing.still_s)


def _starts_by_server(standing: Standing) -> bool:
    """Whether it reads the pid of a process that a fork server should start (multiprocessing/popen_forkserver.py)."""
    inner = standing.own_stack[standing.wait.user + 1 :]
    return any(module_path_of(one) == _BY_SERVER and one.function.endswith("_launch") for one in inner)


def _stopped_server(scene: Scene, standing: Standing) -> Iterator[Wait]:
    for child in scene.children_of(standing.member.ref.pid, standing.member.ref.host):
        serves = any(_SERVER in word for word in child.member.process.command)
        if child.member.role is Role.HELPER and serves and child.state in ("T", "t"):
            yield Wait(standing.member.ref, child.member.ref, "a process that this fork server should start",
                       standing.still_s)  # fmt: skip


def named(standing: Standing) -> int | None:
    """The pid that the system call waits for, None for any or unknown."""
    blocked = standing.member.latest(Blocked)
    tid = standing.kernel.tid if standing.kernel else 0
    return next((call.child for call in blocked.calls if call.tid == tid and call.child), None) if blocked else None
