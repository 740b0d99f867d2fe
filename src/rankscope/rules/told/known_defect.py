"""A release of a library has a known defect, and the evidence shows it.

## What it means
The job's code and the machine are in order; a library of this version stands still or fails under these conditions. Another version does not.

## How it is recognised
A table of defects (library, versions, what the evidence must show), compared with the versions that the evidence names. Where the evidence names
no version, what is named may bring it (a PyTorch its NCCL), and a few signs that only one defect leaves still give *possible*: a search of the topology that fails, a queue of the library that is never emptied, a timer of faulthandler that never ends its dump.

## What to do
Go from the version that is named to the one that is named (`pip install nvidia-nccl-cu12==…`, `LD_PRELOAD` of a newer libnccl, a newer kernel), or set the
workaround; then run the same test again. Versions at hand:

    python -c "import torch; print(torch.__version__, torch.cuda.nccl.version(), torch.version.cuda)"
    python -m torch.utils.collect_env; nvidia-smi | head -4; ldd --version | head -1; uname -r

## How to prevent it
One pinned image for all nodes, tested with `all_reduce_perf -b 8 -e 8G -f 2` before it is rolled out.
Mechanisms: https://github.com/NVIDIA/nccl/issues/750 (launch blocking), https://github.com/pytorch/pytorch/issues/119215 and
https://github.com/pytorch/pytorch/issues/149153 (abort), https://github.com/NVIDIA/nccl/issues/238 (sockets in 2.4.2),
https://github.com/python/cpython/issues/105829 (process pools), https://sourceware.org/bugzilla/show_bug.cgi?id=25847 (lost wake-ups in glibc)
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.versions import named_versions
from ...model.diagnosis import Certainty, Finding
from .. import make_rule
from ._defects import Defect
from ._defects_libraries import LIBRARIES
from ._defects_nccl import NCCL
from ._defects_system import SYSTEM
from ._findings import finding, simple
from ._releases import named
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._versions import brought, has_mend, in_range
from ._wordings import HALTS

DEFECTS = (*NCCL, *LIBRARIES, *SYSTEM)

# Signs that identify a defect even where nobody names the version.
_SIGNS = (
    Sign(r"cudaLaunchKernel[^\n]*\n(?:[^\n]+\n){0,4}?[^\n]*ncclLaunchKernel|ncclStrongStreamLaunchKernel", "every rank waits in the launch of a collective's kernel", anywhere=(r"CUDA_LAUNCH_BLOCKING",)),
    Sign(r"Failed to find reverse path|Could not find NET with id \d|Could not find real path of /sys/class[^\n]*GPU|Failed to find (?:CPU|GPU|NET|NVLink) node|Could not find a path for pattern", "the library's topology search fails"),
    Sign(r"Detected kernel version [\d.]+, which is below the recommended minimum", "the kernel is older than the library recommends", POSSIBLE),
    Sign(r"^(?:__)?(?:sched_yield|sched_yield\(\)|pthread_cond_\w*wait\w*|pthread_mutex_lock|___?lll_lock_wait\w*|futex\w*|nanosleep|clock_nanosleep|usleep)\b[^\n]*\n(?:(?!(?:cu|cuda|hip)\w*Launch)[^\n]*\n){0,3}?(?:ncclLaunch\w*|ncclStrong\w*|waitWorkFifo\w*|uploadWork\w*|doLaunches|SaveProxy|ncclLocalOpAppend|ncclProxySave\w*|hostStreamPlanTask|ncclProxyStart)\b",
         "the collective is not even launched: the library waits for itself in its own launch code", unless=(r"CUDA_LAUNCH_BLOCKING",)),
    Sign(r"\b(?:waitWorkFifoAvailable|ncclLocalOpAppend|SaveProxy|waitQueueSlot|ncclSpaceAlloc|cuMemCreateWithFallback)\b", "the library waits for room in a queue of its own", POSSIBLE),
    # faulthandler's timer walks the frames of other threads without the GIL, and may never come to the end of those that change
    # below it (Modules/faulthandler.c, Python/traceback.c).
    Sign(r"^(?:dump_(?:traceback|frame)|_Py_Dump(?!Hexadecimal\b)\w+)\b[^\n]*\n(?:[^\n]*\n){0,4}?faulthandler_thread\b|\bfaulthandler\b[^\n]{0,30}\bthread\b[^\n]{0,30}\b(?:dump_traceback(?!_later)|_Py_Dump\w+)", "the thread that writes the stacks of all others does not come to their end", POSSIBLE, anywhere=(rf"{HALTS}|\b(?:every|each|all) (?:\w+ )?(?:samples?|looks?|dumps?)\b|\bnot (?:advanc|progress)\w*",)),
    Sign(r"queue_interposition\.cpp|Async signal handler still waiting on signal", "the profiler that intercepts the queues of the GPUs waits for itself", LIKELY),
    Sign(r"INTERNAL ASSERT FAILED at|Please report (?:a bug|this (?:bug|error|issue))|this is (?:most likely |probably |likely )?a bug in\b", "the library says that this must not happen", POSSIBLE),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    versions = named_versions(case)
    shown = [
        (defect, version) for defect in DEFECTS for version in _versions_with(defect, versions) if _shown(case, defect)
    ]
    if shown:
        yield _found(*min(shown, key=_certainty_rank))
        return
    found = list(hits(case, _SIGNS))
    if found:
        steps = ("run it with another version of this library, and name both",)
        made = finding(RULE, case, found, f"a release of a library has a defect ({named(case)})", steps)
        mended = tuple(_mended(case, versions))
        yield replace(made, certainty=POSSIBLE, against=(*made.against, *mended)) if mended else made


def _mended(case: Case, versions: Mapping[str, list[str]]) -> Iterator[str]:
    """Defects that show themselves so, of which the evidence names a release that no longer has them."""
    for defect in DEFECTS:
        named = versions.get(defect.library, ())
        if named and all(has_mend(version, defect.fixed) for version in named) and _shown(case, defect):
            yield f"{defect.library} {named[0]} no longer has the defect that shows itself so: {defect.what}"


@dataclass(frozen=True)
class _Named:
    """How we know that a release with the defect runs there."""

    version: str = ""
    brought: bool = False  # nobody names it, but something that is named brings it


def _versions_with(defect: Defect, versions: dict[str, list[str]]) -> list[_Named]:
    """The first version that has a defect, as far as the evidence tells."""
    if not defect.library:
        return [_Named()]
    for known, how in ((versions, False), (brought(versions), True)):
        for version in known.get(defect.library, ()):
            if in_range(version, defect.first, defect.fixed):
                return [_Named(version, how)]
    return [_Named()] if defect.alone and defect.library not in versions else []


def _certainty(defect: Defect, named: _Named) -> Certainty:
    unknown = bool(defect.library) and not named.version
    return POSSIBLE if defect.weak or named.brought or unknown else LIKELY


def _certainty_rank(shown: tuple[Defect, _Named]) -> int:
    return (LIKELY, POSSIBLE).index(_certainty(*shown))


def _shown(case: Case, defect: Defect) -> bool:
    return all(any(one.find(shown) for one in accounts(case)) for shown in defect.shows)


def _found(defect: Defect, named: _Named) -> Finding:
    name = f"{defect.library} {named.version}".strip() or "a plug-in"
    because = [
        "signs of a defect of " + name + ("; its version is not shown" if defect.library and not named.version else "")
    ]
    if named.version:
        how = "what is named brings" if named.brought else "the evidence names"
        because = [f"{how} {name} and shows its signs"]
    if defect.thread:
        because.append(f"known: {defect.thread}")
    title = f"{name} has a known defect: {defect.what}"
    return simple(RULE, title, _certainty(defect, named), because, (defect.cure,))


RULE = make_rule(__name__, __doc__, "version-bug", 19, check)
