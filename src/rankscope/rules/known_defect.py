"""A release of a library has a known defect, and the evidence shows it.

## What it means
The job's code and the machine are in order; a library of this version stands still or fails under these conditions. Another version does not.

## How it is recognised
A table of defects (library, versions, what the evidence must show), compared with the versions that the evidence names; or the evidence says itself that the
same test works with another version, or that it fails from one message size on.

## What to do
Go from the version that is named to the one that is named (`pip install nvidia-nccl-cu12==…`, `LD_PRELOAD` of a newer libnccl, a newer kernel), or set the
workaround; then run the same test again.

## How to prevent it
One pinned image for all nodes, tested with `all_reduce_perf -b 8 -e 8G -f 2` before it is rolled out.
Mechanisms: https://github.com/NVIDIA/nccl/issues/750 (launch blocking), https://github.com/pytorch/pytorch/issues/119215 (abort),
https://github.com/NVIDIA/nccl/issues/238 (sockets in 2.4.2), https://sourceware.org/bugzilla/show_bug.cgi?id=25847 (lost wake-ups in glibc)
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..analysis.accounts import accounts
from ..analysis.case import Case
from ..model.diagnosis import Certainty, Finding
from ._text import POSSIBLE, Sign, finding, hits, make_rule, simple


@dataclass(frozen=True)
class Defect:
    """Versions from ``first`` up to, not including, ``fixed`` have it; ``shows`` must be in the evidence."""

    library: str
    first: str
    fixed: str
    shows: tuple[str, ...]
    what: str
    cure: str


DEFECTS = (
    Defect("nccl", "2.13", "2.17", (r"CUDA_LAUNCH_BLOCKING ?[=:]? ?[\"']?1|CUDA_LAUNCH_BLOCKING", r"cudaLaunchKernel|ncclLaunchKernel|ncclStrongStreamLaunch"),
           "NCCL hands work to its proxy only after the launch returns, and the launch waits for the kernel", "unset CUDA_LAUNCH_BLOCKING, or NCCL 2.17 and later"),
    Defect("nccl", "2.0", "2.15", (r"Failed to find reverse path|Could not find (?:a )?path",), "the topology search does not know this machine", "NCCL 2.15 or later"),
    Defect("nccl", "2.0", "2.16", (r"\bH100|H800|Hopper|sm_90",), "this release is older than the GPU's support", "NCCL 2.16 or later"),
    Defect("nccl", "2.4.2", "2.4.7", (r"hang|stuck|recv",), "hangs in socket transfers", "NCCL 2.4.7 or later; NCCL_LL_THRESHOLD=0 until then"),
    Defect("nccl", "2.17.1", "2.18", (r"ncclCommAbort|commReclaim|commFree|abortCommsFromMap",), "ncclCommAbort waits for the other ranks", "NCCL 2.18 or later"),
    Defect("kernel", "2.6", "5.5", (r"below the recommended minimum|hang",), "old kernels stall in futex and memory paths that current libraries use", "Linux 5.5 or later"),
    Defect("glibc", "2.25", "2.41", (r"pthread_cond_(?:wait|signal|broadcast)[^\n]*\n(?:[^\n]+\n){0,40}?[^\n]*pthread_cond", r"lost wake-?up|missed (?:signal|wake)|__condvar|G1|cond_signal"),
           "condition variables can lose a wake-up", "glibc 2.41 or a distribution's fix"),
)  # fmt: skip

# Stacks that identify the defect even where nobody names the version.
_SIGNS = (
    Sign(r"\b(?:NCCL_(?:CUMEM_ENABLE|NVLS_ENABLE|CUMEM_HOST_ENABLE|GRAPH_REGISTER|LAUNCH_ORDER_IMPLICIT|WORK_FIFO_DEPTH) ?= ?\d|NCCL_(?:ALGO|PROTO) ?= ?\w+|NCCL_LL_THRESHOLD ?= ?0)[^\n]{0,80}(?:work|fix|solv|help|resolv|no hang|disappear|pass|avoid|goes? (?:through|on|away)|runs?\b|finish|complet)|(?:work|fix|solv|help|resolv|no hang|disappear|pass|avoid)\w*[^\n]{0,60}NCCL_(?:CUMEM_ENABLE|NVLS_ENABLE|ALGO|PROTO|LL_THRESHOLD|GRAPH_REGISTER)", "one path of the library is broken: it works when it is switched off", prose=True),
    Sign(r"cudaLaunchKernel[^\n]*\n(?:[^\n]+\n){0,4}?[^\n]*ncclLaunchKernel|ncclStrongStreamLaunchKernel", "every rank waits in the launch of a collective's kernel", anywhere=(r"CUDA_LAUNCH_BLOCKING",)),
    Sign(r"Failed to find reverse path|Could not find NET with id \d|Could not find real path of /sys/class[^\n]*GPU|Failed to find (?:CPU|GPU|NET|NVLink) node", "the library's topology search fails"),
    Sign(r"Detected kernel version [\d.]+, which is below the recommended minimum", "the kernel is older than the library needs"),
    Sign(r"^(?![^\n]*(?:NCCL error in|for details))[^\n]*?(?:pass|work|succeed|fix|fine|resolved|gone|go away|goes away|disappear|no (?:hang|crash|failure|error)|not reproduc\w*|complete)\w*[^\n]{0,60}(?:with|in|on|after|by|using|from|to|under)[^\n]{0,40}\b(?:newer|older|latest|previous|earlier|upgrad\w+|downgrad\w+|revert\w+|nightly|main branch|(?<![\d.:])v?\d+\.\d+(?:\.\d+)?(?!\.?\d)[+\w.-]*)",
         "the same test works with another version", unless=(r"NCCL_P2P_DISABLE|NCCL_IB_DISABLE",), prose=True),
    Sign(r"\b(?:upgrad|downgrad|updat|revert|roll\w* back|pinn?|switch)\w*[^\n]{0,60}(?:nccl|torch|cuda|driver|kernel|vllm|glibc|python|triton|ray|library|version|release|\d+\.\d+)[^\n]{0,60}(?:fix|solv|help|work|cure|resolv|disappear|gone|finish|complet|pass(?:es|ed)?\b|runs? (?:fine|through))", "another version cures it", prose=True),
    Sign(r"\b(?:hang|freez|froze|fail|crash|stuck|deadlock)\w*[^\n]{0,40}\b(?:with|on|in|under|since)\b[^\n]{0,30}(?<![\d.])v?\d+\.\d+[^\n]{0,80}\b(?:does(?: not|n't)|did(?: not|n't)|no hang|works?|runs?|fine|passes)\b[^\n]{0,60}(?<![\d.])v?\d+\.\d+", "one version fails and another does not", prose=True),
    Sign(r"\b(?:regress\w+|since (?:the )?(?:upgrade|update|version|release)|started (?:with|after|in) (?:the )?(?:upgrade|update|version|release|v?\d+\.\d+)|after (?:upgrading|updating)|introduced in|first bad (?:commit|version)|bisect\w*)", "it began with a release", POSSIBLE, prose=True),
    Sign(r"\b(?:up to|below|smaller than|<=?|through) \d+[^\n]{0,40}(?:bytes|[KM]i?B)?[^\n]{0,40}(?:fail|crash|hang)\w*[^\n]{0,30}(?:at|from|above|starting|beyond) \d+", "it begins exactly at one size", prose=True),
    Sign(r"known (?:bug|issue|defect|regression) (?:in|of|with)|is a bug in|fixed (?:in|by) (?:v?\d+\.\d+|release|version|the next)", "a known defect is named", prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    versions = named_versions(case)
    for defect in DEFECTS:
        version = next((v for v in versions.get(defect.library, ()) if _between(v, defect)), None)
        if version and all(any(one.find(shown) for one in accounts(case)) for shown in defect.shows):
            title = f"{defect.library} {version} has a known defect: {defect.what}"
            yield simple(
                RULE,
                title,
                Certainty.LIKELY,
                [f"the evidence names {defect.library} {version} and shows its signs"],
                (defect.cure,),
            )
            return
    found = list(hits(case, _SIGNS))
    if found:
        names = ", ".join(f"{name} {version}" for name, known in versions.items() for version in known[:2])
        yield finding(
            RULE,
            case,
            found,
            f"a release of a library has a defect ({names or 'version not shown'})",
            ("name both versions: the one that fails and the one that works",),
        )


def named_versions(case: Case) -> dict[str, list[str]]:
    """Versions by library, in the order in which the evidence names them."""
    found: dict[str, list[str]] = {}
    for event in case.events:
        name, version = None, None
        if event.event == "text.version":
            name, version = event.fields.get("name"), event.fields.get("version")
        elif event.event == "nccl.version":
            name, version = "nccl", event.fields.get("version")
        elif event.event == "torch.dist_backend_error":
            name, version = "nccl", event.fields.get("nccl_version")
        if isinstance(name, str) and isinstance(version, str) and version not in found.setdefault(name, []):
            found[name].append(version)
    return found


def _between(version: str, defect: Defect) -> bool:
    return _key(defect.first) <= _key(version) < _key(defect.fixed)


def _key(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("+")[0].split("-")[0].split("."):
        digits = "".join(char for char in part if char.isdigit())
        numbers.append(int(digits) if digits else 0)
    return tuple(numbers)


RULE = make_rule(__name__, __doc__, "version-bug", 19, check)
