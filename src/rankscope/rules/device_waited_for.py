"""A device-wide synchronisation stands behind a collective whose peers wait for this rank.

## What it means
Some calls wait for everything on the device: `.item()`, `.tolist()`, `synchronize`, the first load of a module or library, allocation and freeing of device
memory. If a collective of another group is already queued there, the call waits for it, and its peers are waiting for what this rank would
issue next.

## How it is recognised
Ranks are blocked in two different device waits behind collectives of different groups; or `cuModuleLoad`, `cuLibraryLoadData`, `cudaMalloc`,
`cudaFree` or an event's destruction stands at the end of a stack while a collective's kernel spins.

## What to do
Warm up every kernel on all ranks before the first overlap; `CUDA_MODULE_LOADING=EAGER`; no `.item()`/`.tolist()` between collectives of different groups;
issue the groups in one global order; `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.

## How to prevent it
A test step on all ranks before graphs, compilation or overlap are switched on. Case: https://github.com/meta-pytorch/torchrec/pull/4149
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._text import LIKELY, POSSIBLE, Sign, text_rule

_GROUP = r"all_?to_?all|all_?reduce|all_?gather|reduce_?scatter|broadcast|nccl|collective|process group|\bpg\b|comm\b"
_SYNC = r"(?:synchronize\(?\)?|memcpy_and_sync|\.item\(\)|\.tolist\(\)|\.cpu\(\)|cudaStreamSynchronize|cudaDeviceSynchronize|cuStreamSynchronize|_local_scalar_dense|cudaEventSynchronize|nonzero|cudaMemcpy\b)"
_SIGNS = (
    Sign(r"\b(?:cuModuleLoad\w*|cuLibraryLoad\w*|cuModuleGetFunction|cudaFuncGetAttributes|cuKernelGetFunction|lazy (?:loading|module)|CUDA_MODULE_LOADING|cuModuleUnload|cuLibraryUnload)", "a module is loaded, which waits for the whole device",
         LIKELY, anywhere=(_GROUP,), prose=True),
    Sign(_SYNC + r"[^\n]*(?:wait|behind|block|pending|not scheduled|for the|stuck)[^\n]*(?:" + _GROUP + r")|(?:" + _GROUP + r")[^\n]*(?:scheduled|pending|queued|enqueued|launched|outstanding|in flight)[^\n]*(?:host )?(?:blocked|stuck|waits?|waiting)[^\n]*" + _SYNC,
         "a synchronisation stands behind a collective", LIKELY, prose=True),
    Sign(r"\b(?:cudaMalloc|cudaFree|cudaHostAlloc|cudaFreeHost|cuMemAlloc|cuMemFree|cudaEventDestroy|cudaStreamDestroy|cudaMallocAsync|empty_cache|cudaHostRegister|cuMemMap|cudaFreeAsync|cudaIpc\w+)\b", "memory is allocated or freed, which waits for the whole device",
         LIKELY, anywhere=(r"nccl|collective|all_?reduce|all_?gather", r"deadlock|hang|stuck|spin|blocked|waits?\b|in flight|pending|kernel"), unless=(r"take_gil|GIL\b|PyGILState|illegal memory|initialization error",), prose=True),
    Sign(r"\b(?:implicit|device[- ]wide|hidden) (?:device )?sync\w*|synchroni[sz]\w+[^\n]{0,60}(?:deadlock|circular|cycle)", "a device-wide synchronisation is named", prose=True),
    Sign(_SYNC, "a rank waits for its device", POSSIBLE, anywhere=(r"process group|\bpg\b|different group|two groups|mesh|stream", r"deadlock|not scheduled|blocked|wait"), prose=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "implicit-sync-deadlock", 35, "a device-wide synchronisation stands behind a collective whose peers wait for this rank", _SIGNS,
    ("CUDA_MODULE_LOADING=EAGER torchrun …", "rankscope stacks --native   # on one rank of each group of equal stacks"),
)  # fmt: skip
