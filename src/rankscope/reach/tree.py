"""ssh through gateways (``--tree``): ClusterShell's tree mode, with the site's topology.conf.

Only on request: a gateway that dies takes the answers of its nodes along, or holds up the engine for ever (seen with 1.10).
So the tree has half of the time and an alarm of our own; who is silent then is asked directly.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

from ..errors import RankscopeError
from ..model.gap import Why
from . import ssh
from .answers import Answers
from .ship import shell_line
from .transport import Call, Hosts

_SHARE = 0.5
_GRACE_S = 1.0


class _Late(Exception):
    """The engine did not come back by itself."""


def ask(call: Call, answers: Answers) -> None:
    """Ask through the tree, then directly whoever has not answered."""
    end = time.monotonic() + call.deadline_s
    through = replace(call, deadline_s=call.deadline_s * _SHARE)
    try:
        with _alarm(through.deadline_s + _GRACE_S):
            _through_gateways(through, answers)
    except _Late:
        pass
    left = tuple(name for name in call.hosts.names if not answers.inboxes[name].ended)
    if left and answers.complete and end - time.monotonic() > _GRACE_S:
        again = Answers(left)
        ssh.ask(replace(call, hosts=Hosts(left), deadline_s=end - time.monotonic(), options=_direct(call)), again)
        answers.inboxes.update({name: box for name, box in again.inboxes.items() if box.answered})
        answers.gaps = {name: gap for name, gap in answers.gaps.items() if name not in left} | again.gaps
        answers.complete = again.complete


def _direct(call: Call) -> Any:
    return replace(call.options, tree=False)


def _through_gateways(call: Call, answers: Answers) -> None:
    from ClusterShell.Task import task_self

    task = task_self()
    ssh.set_up(task, call)
    _load_topology(task)
    gather = ssh.gatherer()(answers, call, whole=True)
    line = shell_line(call.options.remote_python, call.options.env_setup, call.options.sudo)
    task.shell(line, nodes=",".join(call.hosts.names), tree=True, handler=gather, timeout=call.deadline_s, stdin=True)
    task.timer(ssh.TICK_S, handler=gather, interval=ssh.TICK_S, autoclose=True)
    try:
        task.resume(call.deadline_s)
    except KeyboardInterrupt:
        answers.complete = False
    except _Late:
        raise
    except Exception as error:  # the engine's own time-out, or a route that no gateway has any more
        for host in answers.waiting():
            answers.missing(host, Why.FAILED, f"through the tree: {type(error).__name__}: {error}"[:200])
    finally:
        task.abort(kill=True)


def _load_topology(task: Any) -> None:
    """The last of the site's files that is there, as ClusterShell itself chooses."""
    path = next((path for path in reversed(task.TOPOLOGY_CONFIGS) if os.path.exists(path)), None)
    if path is None:
        raise RankscopeError(
            "--tree needs ClusterShell's topology.conf", f"none of {', '.join(task.TOPOLOGY_CONFIGS)} is there",
            "without --tree every host is asked directly",
        )  # fmt: skip
    task.load_topology(path)
    task.set_default("auto_tree", True)  # without it the engine takes no notice of tree=True


@contextmanager
def _alarm(after_s: float) -> Iterator[None]:
    """Raise in the main thread when the time is over, whatever the engine does; again each second, should it not end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> NoReturn:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, after_s, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
