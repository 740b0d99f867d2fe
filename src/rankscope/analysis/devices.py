"""Devices for which native code waits at full speed: with one of them open, CPU time alone tells of no work."""

from __future__ import annotations

from ..model.evidence.files import OpenFiles
from .case import Member

_DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/infiniband/", "/dev/habanalabs", "/dev/davinci", "/dev/accel")


def has_device(member: Member) -> bool | None:
    """Whether a process has such a device open; None where its descriptors are not known."""
    files = member.latest(OpenFiles)
    return any(one.target.startswith(_DEVICES) for one in files.files) if files is not None else None
