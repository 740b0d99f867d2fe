"""One process drives all devices, and the exchange among them does not end.

## What it means
TensorFlow's MirroredStrategy and PyTorch's DataParallel use several GPUs from one process. No rank can be missing there: who makes the call makes it for all
devices. When it does not end, what is wrong lies below the program: transfers from device to device, the driver, the library.

## How it is recognised
The last lines are those with which MirroredStrategy sets up its reduction over NCCL, in a cluster of one process; or the process stands in
`broadcast_coalesced`, `replicate` or `gather` of DataParallel. No step follows.

## What to do
`NCCL_P2P_DISABLE=1` once: if it works then, switch the IOMMU and ACS off (`iommu=pt`, BIOS). `tf.distribute.HierarchicalCopyAllReduce()` takes NCCL out of the way.
`NCCL_DEBUG=INFO` shows how the devices are connected.

## How to prevent it
The bus test of the machine before its first job (`p2pBandwidthLatencyTest`). Mechanism: https://github.com/tensorflow/tensorflow/issues/44976
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.labels import STEP
from ...model.patterns import regex
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY
from ._wordings import COMES_LATE, HALTS

_STEPS = (
    "NCCL_P2P_DISABLE=1 python train.py   # once, to compare",
    "NCCL_DEBUG=INFO python train.py",
    "p2pBandwidthLatencyTest",
)
_STANDS = HALTS + r"|100 ?%"
_ELSEWHERE = (
    r"MultiWorker\w*|TF[_ ]CONFIG|num_workers = [2-9]|/task:[1-9]|\bhorovod\b|illegal memory|out of memory|"
    r"ResourceExhausted|DistributedDataParallel|\bforked?\b"
)
# What MirroredStrategy tells when it has set up its reduction (tensorflow/python/distribute/cross_device_ops.py).
_REDUCES = regex(r"(?<!Collective )\bbatch_all_reduce: \d+ all-reduces with algorithm = (?:nccl|hierarchical_copy)")
# A bar of Keras, and the figures of a step.
_GETS_ON = regex(rf"{STEP.pattern}|\b\d+/(?:\d+|Unknown) .{{0,60}}(?:\[|ETA|loss)|\bloss\W{{1,3}}\d", re.I)
_SENDS = r"^(?:broadcast_coalesced|reduce_add_coalesced|_broadcast_coalesced_reshape|replicate) \((?:[^\n]*/)?torch/(?:nn/parallel|cuda)/[^\n]*\)"


def check(case: Case) -> Iterator[Finding]:
    known = accounts(case)
    if case.snapshot.live or case.collectives or not any(one.find(_STANDS) for one in known):
        return
    if any(one.find(_ELSEWHERE) or one.find(COMES_LATE) for one in known):
        return
    for account in known:
        if line := _last_word(account) or account.find(_SENDS):
            title = "one process drives all devices, and their exchange does not end"
            against = ("a graph that is compiled for many minutes looks the same",)
            yield simple(RULE, title, LIKELY, [line], _STEPS, against=against)
            return


def _last_word(account: Account) -> str | None:
    """The line with which a reduction over all devices was set up, where no step follows."""
    said = [event.text for event in account.events]
    last = next((at for at in reversed(range(len(said))) if _REDUCES.search(said[at])), None)
    if last is None or any(map(_GETS_ON.search, said[last + 1 :])):
        return None
    return said[last]


RULE = make_rule(__name__, __doc__, "stuck-below-program", 91, check)
