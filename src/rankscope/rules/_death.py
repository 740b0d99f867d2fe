"""How a process ended, as far as the kernel tells: shared by the rules that name the dead."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from ..analysis.case import Case, Member
from ..model.evidence.cgroup import ControlGroup
from ..model.evidence.kernel_log import KernelLine, KernelLog
from ..model.evidence.threads import Threads
from ..model.patterns import regex


def status(member: Member) -> int | None:
    """The exit status in the shape of wait(2); None where it is unknown (0 is also what the kernel says to strangers)."""
    kernel = member.latest(Threads)
    return kernel.exit_status or None if kernel is not None and not member.gone else None


def ended(member: Member) -> str:
    """How it ended, in words that follow a name: ``disappeared between the looks``, ``was killed by SIGKILL …``."""
    if member.gone:
        return "disappeared between the looks"
    code = status(member)
    if code is None:
        return "is a zombie that nobody has reaped"
    if code & 0x7F:
        return f"was killed by {signal_name(code & 0x7F)} and is a zombie that nobody has reaped"
    return f"ended with exit code {code >> 8} and is a zombie that nobody has reaped"


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def killed(member: Member) -> bool | None:
    """Whether SIGKILL ended it; None where nobody tells."""
    code = status(member)
    return None if code is None else code & 0x7F == signal.SIGKILL


def kernel_lines(case: Case, host: str) -> Iterator[KernelLine]:
    """What the kernel of a host said since the job began."""
    for member in case.by_host.get(host, ()):
        found = member.latest(KernelLog)
        yield from found.lines if found is not None else ()


def kill_line(case: Case, member: Member) -> str | None:
    """The kernel's own word that it killed this process for memory, None where there is none."""
    sign = regex(rf"[Kk]ill(?:ed)? process {member.ref.pid} \(")
    return next((line.text for line in kernel_lines(case, member.ref.host) if sign.search(line.text)), None)


def oom_kills(case: Case, member: Member) -> tuple[ControlGroup, int] | None:
    """The dead one's control group where the kernel killed for memory, and by how much its count grew while we looked.

    One that left no trace counts with the group of its nearest relatives: its parent's or its siblings'.
    """
    for one in (member, *_relatives(case, member)):
        looks = one.over_time(ControlGroup)
        if looks:
            return (looks[-1], looks[-1].oom_kills - max(0, looks[0].oom_kills)) if looks[-1].oom_kills > 0 else None
    return None


def _relatives(case: Case, member: Member) -> list[Member]:
    here = [one for one in case.by_host[member.ref.host] if one is not member]
    return [one for one in here if one.ref.pid == member.process.parent] + [
        one for one in here if one.process.parent == member.process.parent
    ]  # fmt: skip
