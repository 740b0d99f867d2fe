"""Long calls into native code that computes: a factorisation, a hash, an index, a tokenizer.

Whoever writes such a call lets the other threads of Python run meanwhile, since it takes long by its nature; a loop that went
astray (in Python, in a regular expression) keeps the GIL. What spins for a device or a network is no work.
"""

from __future__ import annotations

from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import Threads
from .devices import has_device
from .frame_tables import Kind
from .standing import Standing

_OWN = (Kind.USER, Kind.LIBRARY, Kind.CHECKPOINT)


def computes_natively(standing: Standing) -> bool:
    """Whether every look found the deciding thread running without the GIL, and it never went to sleep in between.

    Who wants the GIL and does not get it sleeps, so such a thread is in native code by its own choice.
    """
    member, tid = standing.member, standing.kernel.tid if standing.kernel else 0
    tasks = [task for look in member.over_time(Threads) for task in look.threads if task.tid == tid]
    looks = [one for look in member.over_time(PythonStacks) for one in look.threads if one.tid == tid]
    runs = len(tasks) > 1 and {task.state for task in tasks} == {"R"} and len({task.voluntary for task in tasks}) == 1
    free = len(looks) == len(tasks) and not any(one.holds_gil for one in looks)
    return runs and free and standing.kind in _OWN and has_device(member) is False
