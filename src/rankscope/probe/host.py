"""What this host is called and what it runs."""

from __future__ import annotations

import os

from ..model.snapshot import Host
from . import procfs


def describe(proc: str = "/proc") -> Host:
    """This host as the snapshot names it."""
    about = os.uname()
    return Host(about.nodename, about.release, procfs.boot_id(proc))
