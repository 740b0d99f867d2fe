"""``ssh:node[1-8]``: the hosts of a set, reached by the site's own ssh, many at once (ClusterShell, direct mode).

ssh asks for nothing and accepts nothing on its own: no password (BatchMode), no unknown host key; the user's ssh_config
holds. Tree mode is off unless it is asked for (``tree.py``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from typing import Any

from ..errors import RankscopeError
from ..model.gap import Why
from ..probe.post import WANT
from . import hostnames
from .answers import Answers
from .reasons import of_ssh
from .ship import shell_line
from .transport import Call, Hosts, Options, Transport

# A host that vanishes in the middle is noticed by ssh itself, before our deadline where that is generous.
_ALIVE = "-oServerAliveInterval=5 -oServerAliveCountMax=2"
_CONNECT_S = 5.0
_GRACE_S = 0.5
TICK_S = 0.2
_PIECES = ("source", "code", "tool")


def find(spec: str, options: Options) -> Hosts:
    """The hosts of a set."""
    if not spec:
        raise RankscopeError("ssh: needs hosts", "none stand behind the colon, and WCOLL is not set", "ssh:node[1-8]")
    return Hosts(hostnames.expand(spec))


def ask(call: Call, answers: Answers) -> None:
    """Send the parcel to every host and take what comes until all have ended or the deadline has passed."""
    if call.options.tree:
        from . import tree  # seldom asked for

        tree.ask(call, answers)
        return
    from ClusterShell.Task import task_self

    task = task_self()
    set_up(task, call)
    gather = gatherer()(answers, call)
    line = shell_line(call.options.remote_python, call.options.env_setup, call.options.sudo)
    common = {"handler": gather, "timeout": call.deadline_s, "stdin": True}
    here = os.uname().nodename
    others = [name for name in call.hosts.names if name != here]
    # Our own host needs no ssh: not every login node lets its users log in to where they are.
    if len(others) < len(call.hosts.names):
        task.shell(line, key=here, **common)
    for name in others:  # one worker each: what a node asks for is sent to that node alone
        task.shell(line, nodes=name, tree=False, **common)
    task.timer(TICK_S, handler=gather, interval=TICK_S, autoclose=True)
    try:
        task.resume(call.deadline_s + _GRACE_S)
    except KeyboardInterrupt:
        answers.complete = False
    except Exception as error:
        # The engine's own time-out, or a node that confuses it: what has come so far counts.
        if type(error).__name__ != "TimeoutError":
            for host in answers.waiting():
                answers.missing(host, Why.FAILED, f"{type(error).__name__}: {error}"[:200])
    finally:
        task.abort()


def set_up(task: Any, call: Call) -> None:
    # What the engine would print of a connection that breaks is said by our own report.
    logging.getLogger("ClusterShell").setLevel(logging.CRITICAL)
    task.set_default("auto_tree", False)
    task.set_default("stderr", True)
    task.set_default("stdout_msgtree", False)
    task.set_default("stderr_msgtree", False)
    task.set_info("fanout", call.options.fanout)
    task.set_info("connect_timeout", max(1, int(min(_CONNECT_S, call.deadline_s * 0.4))))
    task.set_info("command_timeout", 0)
    task.set_info("ssh_options", f"{call.options.ssh_options} {_ALIVE}".strip())


def _asked(line: bytes) -> Iterator[str]:
    """The pieces of the parcel that a node has not got; whatever else it says is passed over."""
    words = line[len(WANT) :].decode("ascii", "replace").strip().split(",")
    return (word for word in _PIECES if word in words)


def gatherer() -> type:
    """The receiver of ClusterShell's events; made late, so that a look at this host alone does not load the engine."""
    from ClusterShell.Event import EventHandler

    class Gather(EventHandler):  # type: ignore[misc,unused-ignore]
        def __init__(self, answers: Answers, call: Call, whole: bool = False) -> None:
            super().__init__()
            self._whole = whole  # no node can ask back
            self._answers, self._call = answers, call
            self._errors: dict[str, list[str]] = {}
            self._end = time.monotonic() + call.deadline_s

        def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
            if sname == worker.SNAME_STDOUT and msg.startswith(WANT):
                self._send(worker, b"".join(map(self._call.parcel.piece, _asked(msg))))
            elif sname == worker.SNAME_STDOUT:
                self._answers.feed(node, msg)
                if self._answers.inboxes[node].ended and not self._answers.waiting():
                    worker.task.abort()  # everything has been said: how the connections end interests nobody
            elif sname == worker.SNAME_STDERR:
                said = self._errors.setdefault(node, [])
                said.append(msg.decode("utf-8", "replace")[:300])
                del said[:-20]

        def ev_start(self, worker: Any) -> None:
            parcel = self._call.parcel
            self._send(worker, parcel.whole() if self._whole else parcel.opening())
            if self._whole:
                worker.set_write_eof()

        def _send(self, worker: Any, data: bytes) -> None:
            with contextlib.suppress(OSError):  # it has ended; the reason comes with its end
                worker.write(data)

        def ev_hup(self, worker: Any, node: str, rc: int | None) -> None:
            inbox = self._answers.inboxes.get(node)
            if inbox is not None and not inbox.ended and not inbox.refused:
                why, detail, hint = of_ssh(rc, self._errors.get(node, []))
                if inbox.answered:
                    detail = f"its answer broke off: {detail}"
                self._answers.missing(node, why, detail, hint)

        def ev_timer(self, timer: Any) -> None:
            waiting = self._answers.waiting()
            if self._answers.begun():  # before, this would hold up the lines that tell us their clocks
                self._call.idle()
            if waiting:
                left = max(0.0, self._end - time.monotonic())
                self._call.progress(f"{hostnames.fold(waiting)}: waiting, {left:.0f} s left")

    return Gather


TRANSPORT = Transport("ssh", "ssh:node[1-8]", find, ask)
