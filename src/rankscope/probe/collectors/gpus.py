"""GPUs of this host: use, memory, processes, uncorrected errors, and whether each answers; asked of the driver's library (NVML).

Once per host and look, after everything else. A driver that does not answer costs the deadline and leaves a gap.
"""

from __future__ import annotations

from ...model.evidence.gpus import Gpus
from .. import nvml
from ..collector import Collector, Target, Touch


def collect(target: Target) -> Gpus | None:
    found = nvml.read()
    return Gpus(found) if found else None


COLLECTOR = Collector("gpus", Touch.ASKS, 3.0, collect, every_sweep=False, order=95, per_host=True)
