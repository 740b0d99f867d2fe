"""Two ranks use one device, or a group is bound to the wrong one.

## What it means
Every rank took the default GPU, or all took a fixed one, or a barrier guessed a device from the rank. NCCL refuses two ranks on a GPU, or
the first collective hangs because two communicators wait on one device.

## How it is recognised
`Duplicate GPU detected`, the warning that devices used by this process are currently unknown before a hang in the first barrier,
`invalid device ordinal`, or a process table in which several ranks own memory of GPU 0.

## What to do
`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before `init_process_group`, and pass `device_id=`. Start as many ranks per node as
it has GPUs; check `CUDA_VISIBLE_DEVICES` per rank.

## How to prevent it
One line at the top of the program that binds the device; `device_ids=[local_rank]` in `barrier`.
Case: https://github.com/Peterande/D-FINE/issues/289
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case
from ..model.diagnosis import Certainty, Finding
from ..model.ranks import RankSet
from ._text import CERTAIN, POSSIBLE, Sign, events, finding, hits, make_rule, simple

_STEPS = (
    "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))   # before init_process_group(device_id=…)",
    "nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv",
)
_SIGNS = (
    Sign(r"Duplicate GPU detected", "NCCL found two ranks on one GPU", CERTAIN),
    Sign(r"device(?:s)? used by this process (?:is|are) currently unknown|Guessing device ID based on global rank", "a barrier had to guess its device", anywhere=(r"\b(?:hangs?|hung|stuck|frozen|freezes|idle|deadlocked)\b|timed out|Watchdog caught|in barrier\b|processes on (?:one )?GPU|Duplicate GPU|same GPU|barrier \([^\n]*distributed_c10d",)),
    Sign(r"invalid device ordinal", "a rank asked for a GPU that it cannot see"),
    Sign(r"\b(?:all|every|both|two|several|multiple) (?:\d+ )?(?:ranks?|processes|workers)[^\n]{0,60}(?:same (?:gpu|device)|GPU ?0|cuda:0|device 0)", "several ranks use one GPU", prose=True),
    Sign(r"\b(?:same|one) (?:GPU|CUDA device|device)[^\n]{0,40}(?:two|both|multiple|several|all) (?:ranks|processes)", "several ranks use one GPU", prose=True),
    Sign(r"\b(?:nvidia-smi|GPU ?0)[^\n]{0,60}(?:all|eight|four|\d) (?:processes|ranks|contexts)", "the table of GPUs shows several ranks on one", POSSIBLE, prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    said = events(case, "nccl.duplicate_gpu")
    if said:
        ranks = RankSet(
            rank
            for event in said
            for rank in (event.fields.get("first"), event.fields.get("second"))
            if isinstance(rank, int)
        )
        title = f"ranks {ranks} use one GPU (bus id {said[0].fields.get('bus_id')})"
        yield simple(RULE, title, Certainty.CERTAIN, [event.text for event in said[:3]], _STEPS, ranks)
        return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, "ranks are not bound to a device of their own", _STEPS)


RULE = make_rule(__name__, __doc__, "device-mapping", 16, check)
