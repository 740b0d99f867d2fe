"""A device-wide synchronisation stands behind a collective whose peers wait for this rank.

## What it means
Some calls wait for everything on the device: `.item()`, `.tolist()`, `synchronize`, the first load of a module or library, allocation and freeing of device
memory. If a collective of another group is already queued there, the call waits for it, and its peers are waiting for what this rank would
issue next.

## How it is recognised
Ranks are blocked in two different device waits behind collectives of different groups; or `cuModuleLoad`, `cuLibraryLoadData`, `cudaMalloc`,
`cudaFree` or an event's destruction stands at the end of a stack while a collective's kernel spins; so do the calls of Triton, CUTLASS and JAX that load what was compiled. Also in one process with a thread per GPU: the thread that frees
(`cuFreeHost`, `cuMemFree`) waits for kernels that wait for its part of the call. Where ranks wait for their own calls by name (`synchronize`) and
recorders show these calls in a circle over groups, the circle is the cause. Where they show that the peers of who frees have begun a call to which
it has not come, one look is enough.

## What to do
Warm up every kernel on all ranks before the first overlap; `CUDA_MODULE_LOADING=EAGER`; no `.item()`/`.tolist()` between collectives of different groups;
issue the groups in one global order; `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.

## How to prevent it
A test step on all ranks before graphs, compilation or overlap are switched on. Case: https://github.com/meta-pytorch/torchrec/pull/4149
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts, compiled
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks
from ...analysis.frame_tables import WaitKind
from ...analysis.pasted_code import is_code
from ...model.diagnosis import Finding, Kind
from ...model.patterns import regex
from ...model.ranks import RankSet
from .. import make_rule
from ._circles import awaited_elsewhere, in_flight_in_circle
from ._findings import finding, simple
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._wordings import HALTS

_GROUP = r"all_?to_?all|all_?reduce|all_?gather|reduce_?scatter|broadcast|nccl|collective|process group|\bpg\b|comm\b"
# nccl-tests polls for its own collective in testStreamSynchronize, which is no wait for anything else.
_SYNC = (
    r"(?:(?<!testStream)synchronize(?!\.py)\(?\)?|memcpy_and_sync|\.item\(\)|\.tolist\(\)|\.cpu\(\)|"
    r"cudaStreamSynchronize|cudaDeviceSynchronize|cuStreamSynchronize|_local_scalar_dense|cudaEventSynchronize|"
    r"nonzero|cudaMemcpy\b)"
)
_SIGNS = (
    Sign(r"\b(?:cuModuleLoad\w*|cuLibraryLoad\w*|cuModuleGetFunction|cu(?:da)?FuncGetAttributes?|cu(?:da)?FuncSetAttribute|cuKernel(?:GetFunction|SetAttribute)|lazy[- ](?:loading|module)|CUDA_MODULE_LOADING(?! set to)|cuModuleUnload|cuLibraryUnload|hipModuleLoad\w*)", "a module is loaded, which waits for the whole device",
         LIKELY, anywhere=(_GROUP,), prose=True),
    # Triton's and CUTLASS's calls that load what was compiled; JAX's compiles too, and counts where it did not move.
    Sign(r"\b_init_handles \((?:[^\n]*/)?triton/|\b_load_cuda_library \(cutlass/", "a kernel is loaded for the first time, which waits for the whole device", anywhere=(_GROUP, r"\b(?:nccl\w+|kernels?|broadcast|recv|collective)\b[^\n]{0,40}\b(?:resident|in flight|spins?|spinning|pending)\b|^(?:ncclGroupEnd|recv_done\w*)\b"), prose=True),
    Sign(r"\bbackend_compile_and_load \(", "a program is loaded, which waits for the whole device", anywhere=(r"\b(?:ncclGroupEnd|enqueue_nccl\w*|recv_done\w*|send_done\w*)\b", r"\bunchanged\b|\b(?:does(?:n't| not)|did(?:n't| not)|never) (?:change|move)s?\b|\bthe (?:very )?same (?:stacks?|frames?|places?)\b"), prose=True),
    Sign(_SYNC + r"[^\n]{0,160}(?:" + _GROUP + r")[^\n]{0,80}\b(?:pending|queued|outstanding|in flight|enqueued|not (?:yet )?issued)\b", "a synchronisation stands before a pending collective", prose=True),
    Sign(_SYNC + r"[^\n]{0,160}(?:wait|behind|block|pending|not scheduled|for the|stuck)[^\n]{0,160}(?:" + _GROUP + r")|(?:" + _GROUP + r")[^\n]{0,160}(?:scheduled|pending|queued|enqueued|launched|outstanding|in flight)[^\n]{0,160}(?:host )?(?:blocked|stuck|waits?|waiting)[^\n]{0,160}" + _SYNC,
         "a synchronisation stands behind a collective", LIKELY, prose=True),
    Sign(r"\b(?:(?:cuda|hip|cu)(?:Host)?(?:Malloc|Free|Alloc)(?:Host|Async|Managed)?|cu(?:da)?Mem(?:Alloc|Free)(?:Host|Async|Managed)?(?:_v\d)?|cudaHostAlloc|(?:cuda|cu)(?:Event|Stream)Destroy|empty_cache|release_cached_blocks|free_blocks|cu(?:da|Mem)HostRegister|cuMemMap|cuMemUnmap|cudaIpc\w+|ncclMemAlloc|ncclCommRegister)\b", "memory is allocated or freed, which waits for the whole device",
         LIKELY, anywhere=(_GROUP, HALTS + r"|waits?\b|in flight|pending|kernel|resident|^nccl\w+ \(|\bin nccl\w+ \("), unless=(r"take_gil|GIL\b|PyGILState|illegal memory|initialization error",), prose=True),
    Sign(r"\b(?:CUDA|HIP|device)(?: memory)? (?:de)?allocation\b[^\n]{0,40}\b(?:does(?:n't| not)|never) returns?\b", "an allocation of device memory does not return while a kernel runs", anywhere=(r"\bkernels?\b[^\n]{0,60}\b(?:runs?|running|spins?|resident|in flight)\b", _GROUP), prose=True),
    Sign(r"\b(?:implicit|device[- ]wide|hidden) (?:device )?sync\w*|synchroni[sz]\w{1,20}[^\n]{0,60}(?:deadlock|circular|cycle)", "a device-wide synchronisation is named", prose=True),
    Sign(r"\b(?:more than |over )?10\d\d\b[^\n]{0,40}\b(?:kernels?|launches|operations)\b[^\n]{0,30}\b(?:queued|pending|in flight|behind|outstanding)|\blaunch queue\b[^\n]{0,20}\bfull\b|\bpending launch (?:count|limit)|cudaLimitDevRuntimePendingLaunchCount", "no more kernels can be launched behind one that waits for a peer", anywhere=(_GROUP, r"\bcu(?:da)?LaunchKernel\w*|hipLaunchKernel\w*|blocked on launch|launch(?:es)? block"), prose=True),
    Sign(_SYNC, "a rank waits for its device", POSSIBLE, anywhere=(r"process group|\bpg\b|different group|two groups|mesh|stream", r"deadlock|not scheduled|blocked|wait"), prose=True),
)  # fmt: skip

_TITLE = "a device-wide synchronisation stands behind a collective whose peers wait for this rank"
_STEPS = (
    "CUDA_MODULE_LOADING=EAGER torchrun …",
    "rankscope stacks --native   # on one rank of each group of equal stacks",
)
# Calls that return only when everything on the device is done, or that hold the context's lock meanwhile.
_WHOLE = (
    r"malloc|free|alloc|destroy|module|library|func\w*attribute|kernelsetattribute|kernelgetfunction|ipc|register|"
    r"empty_cache|unmap|cublas\w*create|graphinstantiate|graphexec"
)


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live:
        told = list(_apart(case)) or [_way_to_wait(case, one) for one in _behind_others(case)]
        yield from told[:1]
        if told:
            return
    found = [hit for hit in hits(case, _SIGNS) if not is_code(hit.line)]
    if found:
        yield _way_to_wait(case, finding(RULE, case, found, _TITLE, _STEPS))


def _way_to_wait(case: Case, made: Finding) -> Finding:
    """A finding; a symptom where ranks wait for their own calls by name, and these calls are shown to stand in a circle."""
    seen = [one for one in doings(case) if one.account is not None and one.account.seen and of_ranks(one)]
    waiting = in_kind(seen, WaitKind.DEVICE.value)
    by_name = bool(waiting) and all(
        compiled(_BY_NAME).search(one.op) and not _HIDDEN.search(one.site) for one in waiting
    )
    return replace(made, kind=Kind.SYMPTOM) if by_name and in_flight_in_circle(case) else made


# What a program calls to wait for what it has started; a copy or an allocation waits without saying so.
_BY_NAME = r"(?i)(?:synchronize|^wait(?:_stream|_event)?)$"
_HIDDEN = regex(r"memcpy|_local_scalar_dense|nonzero|\b(?:item|tolist|cpu|to)\b")


def _apart(case: Case) -> Iterator[Finding]:
    """One subject allocates, frees or loads while others are in a collective or wait for their device. That recorders show whom it
    waits for, and that these wait for it, no second look can tell better."""
    known = [doing for doing in doings(case) if doing.account is not None]
    here = [doing for doing in in_kind(known, WaitKind.DEVICE.value) if _for_all(doing)]
    there = [doing for doing in in_kind(known, WaitKind.COLLECTIVE.value, WaitKind.DEVICE.value) if doing not in here]
    if here and there:
        because = [f"{doing.text}: {doing.op}" for doing in (*here[:2], *there[:2])]
        circle = awaited_elsewhere(case, here[0].ranks)
        made = simple(RULE, _TITLE, LIKELY, [*circle, *because], _STEPS, here[0].ranks)
        yield replace(made, compared=bool(circle))


# What is told to be on a device or in its queues: kernels of collectives, and calls that were made and are not done.
_ON_DEVICE = regex(
    r"(?P<kernel>nccl\w{0,40}Kernel\w{0,60}?_(?:AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv)|"
    r"ncclKernel_\w+?_|cross_device_reduce\w*|nvshmem\w*)"
    r"|\b(?P<call>all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send|recv)\w*\b",
    re.IGNORECASE,
)
_QUEUED = regex(
    r"\b(?:pending|queued|enqueued|outstanding|in flight|not (?:yet )?(?:called|issued|launched|enqueued)|"
    r"has not called|launched|spin\w*|running|active|resident)\b",
    re.IGNORECASE,
)


def _behind_others(case: Case) -> Iterator[Finding]:
    """Ranks wait for their devices, and different collectives are told to run or to be queued on the devices."""
    seen = [one for one in doings(case) if one.account is not None and one.account.seen and of_ranks(one)]
    waiting = in_kind(seen, WaitKind.DEVICE.value)
    others = in_kind(seen, WaitKind.DEVICE.value, WaitKind.COLLECTIVE.value, WaitKind.P2P.value)
    if not waiting or len(others) < len(seen) or len({one.site for one in seen}) < 2:
        return
    lines = [line for one in accounts(case) if not one.seen for line in one.said.splitlines() if _QUEUED.search(line)]
    named = {found.group().lower().replace("_", "") for line in lines for found in _ON_DEVICE.finditer(line)}
    if len(named) > 1:
        because = [f"{one.text}: {one.op}" for one in seen[:2]] + lines[:3]
        ranks = RankSet(rank for one in waiting for rank in one.ranks)
        both = ranks if len(waiting) < len(seen) else RankSet()
        yield replace(simple(RULE, _TITLE, LIKELY, because, _STEPS, both), compared=True)


def _for_all(doing: Doing) -> bool:
    return compiled(_WHOLE).search(doing.op) is not None


RULE = make_rule(__name__, __doc__, "implicit-sync-deadlock", 35, check)
