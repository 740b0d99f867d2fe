"""Threads that answer calls of other processes: while they get on their process is at work, wherever its main thread stands.

Torch runs what a peer asked for in threads of its own, which Python knows by their first frame
(``python_rpc_handler.cpp`` calls ``_run_function`` of torch/distributed/rpc/internal.py). The managers of multiprocessing and
the servers of socketserver have a thread for each connection.
"""

from __future__ import annotations

from ..model.evidence.stacks import PythonStacks, Stack
from ..model.repeated import of_stacks
from .case import Member
from .frame_tables import WaitKind
from .identity import name_of
from .origin import module_path
from .standing import Standing, stand
from .threads import views, waits_for_thread

_ANSWER = ("torch/distributed/rpc/internal.py", "_run_function")
_SERVE = (("multiprocessing/managers.py", "serve_client"), ("socketserver.py", "process_request_thread"))
_SERVE_NAMES = tuple(name for _, name in _SERVE)
_AWAITS_THREAD = (WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.CHILD)
ASKS = (WaitKind.SOCKET, WaitKind.PIPE)  # as who awaits the answer of another process stands


def answering(member: Member) -> tuple[Standing, ...]:
    """How the threads of a process stand that answer a call of torch's RPC."""
    stacks = member.latest(PythonStacks)
    return tuple(
        stand(member, thread)
        for thread in (stacks.threads if stacks else ())
        if any((module_path(frame.file), frame.function) == _ANSWER for frame in thread.stack)
    )


def kept_from_answering(member: Member) -> tuple[Standing, ...]:
    """How the threads of a server of the standard library stand that are in the job's own code for a client, where each of them
    waits for another process or for a lock, and none ran between the looks; empty otherwise."""
    stacks = member.latest(PythonStacks)
    threads = (stand(member, thread) for thread in (stacks.threads if stacks else ()) if _serves(thread.stack))
    busy = tuple(one for one in threads if one.wait.user >= 0)
    return busy if all(one.kind in (*ASKS, WaitKind.LOCK) and one.ran is False for one in busy) else ()


def asking_instead(standing: Standing) -> tuple[Standing, ...]:
    """Those threads of the job's code for one of which the deciding thread waits (a future, their end, a queue), where each of
    them waits for another process, and none ran between the looks; empty otherwise."""
    if standing.kind not in _AWAITS_THREAD:
        return ()  # most of a large job: its threads need not be looked at
    known = views(standing.member)
    if not any(view.python is standing.thread and waits_for_thread(view) for view in known):
        return ()
    others = (view for view in known if view.python is not standing.thread and view.wait.user >= 0)
    busy = tuple(stand(standing.member, view.python) for view in others)
    return busy if all(one.kind in ASKS and one.ran is False for one in busy) else ()


@of_stacks
def _serves(stack: Stack) -> bool:
    return any(frame.function.endswith(_SERVE_NAMES) and name_of(frame) in _SERVE for frame in stack)


def answers(member: Member) -> bool:
    """Whether one of the threads that answer calls ran between the looks."""
    return any(one.ran for one in answering(member))
