"""How the commands that are shown reach the hosts of a job."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..model.address import Address
from ..model.gap import Gap
from . import slurm_state

if TYPE_CHECKING:  # every diagnosis is addressed, also that of a host that nobody needs to reach
    from .gather import Remote
    from .transport import Options


def beside(here: str, follow: Options | None) -> Address:
    """The address of a job on the reader's own host, which may go on to others."""
    return Address("", follow.words() if follow is not None else "", here, "ssh:{host}")


def away(here: str, remote: Remote, gaps: Sequence[Gap] = ()) -> Address:
    """The address of a job on other hosts; a Slurm job of one number is entered by a step of its own, unless it ends."""
    target, options = shlex.quote(f"{remote.transport}:{remote.spec}"), remote.options.words()
    if remote.transport != "slurm" or any(gap.what == slurm_state.WHAT for gap in gaps):
        return Address(target, options, here, "ssh:{host}")
    if not remote.spec.isdigit():
        return Address(target, options, here)
    step = f"srun --jobid={remote.spec} --overlap --gres=none -w {{host}} sh -c {{command}}"
    return Address(target, options, here, shell=step)
