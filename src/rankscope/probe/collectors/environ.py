"""Known variables of the environment at exec, from /proc/PID/environ; no others are read out, they may be secrets."""

from __future__ import annotations

from ...model.evidence.environ import Environ
from ...model.process import Role
from .. import procfs
from ..collector import Collector, Target, Touch
from ..table import ALLOWED


def collect(target: Target) -> Environ:
    pairs = procfs.environ(target.proc, target.process.ref.pid).items()
    return Environ({name: value[:1024] for name, value in sorted(pairs) if ALLOWED.match(name)})


COLLECTOR = Collector(
    "environ", Touch.PASSIVE, 2.0, collect, every_sweep=False, roles=frozenset({Role.RANK, Role.LAUNCHER}), order=35
)
