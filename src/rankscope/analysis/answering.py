"""Threads that answer calls of other processes: while they get on their process is at work, wherever its main thread stands.

Torch runs what a peer asked for in threads of its own, which Python knows by their first frame
(``python_rpc_handler.cpp`` calls ``_run_function`` of torch/distributed/rpc/internal.py).
"""

from __future__ import annotations

from ..model.evidence.stacks import PythonStacks
from .case import Member
from .origin import module_path
from .standing import Standing, stand

_ANSWER = ("torch/distributed/rpc/internal.py", "_run_function")


def answering(member: Member) -> tuple[Standing, ...]:
    """How the threads of a process stand that answer a call."""
    stacks = member.latest(PythonStacks)
    return tuple(
        stand(member, thread)
        for thread in (stacks.threads if stacks else ())
        if any((module_path(frame.file), frame.function) == _ANSWER for frame in thread.stack)
    )


def answers(member: Member) -> bool:
    """Whether one of the threads that answer calls ran between the looks."""
    return any(one.ran for one in answering(member))
