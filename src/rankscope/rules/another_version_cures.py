"""The same run works with another version of a library, or with one of its paths switched off.

## What it means
Somebody has compared: one release stands still or fails, another does not, and nothing else was changed. That speaks for a defect of the release, not of the
job, even where nobody knows yet which defect it is.

## How it is recognised
Sentences of the evidence that compare two versions or settings (`hangs with 2.18.1, works with 2.17.1`, `gone after downgrading`, a bisect that ends at one
release, a hang from one message size on), that a hang ends when a debugger touches the process (a wake-up got lost below the program), or that it goes
away with an algorithm, protocol or feature of the library switched off.

## What to do
Pin the version that works (`pip install nvidia-nccl-cu12==…`, `torch==…`), or keep the setting; report both versions with the stacks.

    python -m torch.utils.collect_env   # in both environments, then diff the two

## How to prevent it
Change one library at a time, and run the same test before and after. A comparison of this kind: https://github.com/NVIDIA/nccl/issues/238
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..analysis.case import Case
from ..model.diagnosis import Finding
from ._text import LIKELY, POSSIBLE, Hit, Sign, finding, hits, make_rule
from ._versions import named_versions

_VERSION = r"(?<![\d.])v?\d+\.\d+(?:\.\d+)*(?!\.?\d)[+\w.-]*"
_LIBRARY = r"(?:nccl|rccl|torch|pytorch|cuda|driver|kernel|vllm|sglang|glibc|python|triton|ray|jax|tensorflow|deepspeed|transformers|accelerate|datasets|library|firmware|version|release|image|nightly)"
_GOOD = r"\b(?:pass(?:es|ed)?|works?|worked|working|succeed\w*|fix(?:es|ed)?|fine|ok|resolve[sd]?|gone|go(?:es)? away|disappear\w*|no (?:hang|crash|failure|error)s?|not reproduc\w*|complete[sd]?|runs? through)\b"
_BAD = r"\b(?:hangs?|hung|hanging|freez\w*|froze\w*|fail\w*|crash\w*|stuck|stall\w*|deadlock\w*|never (?:ends?|returns?|finish\w*)|times? out)\b"
_OTHER = rf"\b(?:(?:newer|older|latest|previous|earlier) (?:\w+ ){{0,2}}?{_LIBRARY}s?|upgrad\w+|downgrad\w+|revert\w+|nightly|main branch)\b"
_P2P = r"NCCL_P2P_DISABLE|NCCL_IB_DISABLE"
_PATHS = r"NCCL_(?:CUMEM(?:_HOST)?_ENABLE|NVLS_ENABLE|GRAPH_REGISTER|GRAPH_MIXING_SUPPORT|LAUNCH_ORDER_IMPLICIT|WORK_FIFO_DEPTH|ALGO|PROTO|LL_THRESHOLD|SHM_USE_CUDA_MEMCPY|RUNTIME_CONNECT|NVB_DISABLE|PXN_DISABLE|COLLNET_ENABLE|MNNVL_ENABLE)"
_NAMED = "it works with the version that is named"
_SIGNS = (
    Sign(rf"\b{_PATHS} ?= ?\w+[^\n]{{0,80}}(?:{_GOOD}|\bhelp\w*|\bsolv\w*|\bavoid\w*|goes? through|goes? on|runs?\b|finish)|(?:{_GOOD}|\bhelp\w*|\bsolv\w*|\bavoid\w*)[^\n]{{0,60}}{_PATHS}", "one path of the library is broken: it works when it is switched off", prose=True),
    Sign(rf"^(?![^\n]*(?:NCCL error in|for details))[^\n]*?{_GOOD}[^\n]{{0,60}}\b(?:with|in|on|after|by|using|from|to|under|at)\b[^\n]{{0,40}}{_OTHER}", "the same test works with another version", unless=(_P2P,), prose=True),
    Sign(rf"^(?![^\n]*(?:NCCL error in|for details))[^\n]*?{_GOOD}[^\n]{{0,60}}\b(?:with|in|on|after|by|using|from|to|under|at)\b[^\n]{{0,40}}\b{_LIBRARY}\b[^\n]{{0,12}}{_VERSION}", _NAMED, POSSIBLE, unless=(_P2P,), prose=True),
    Sign(rf"\b(?:upgrad|downgrad|updat|revert|roll\w* back|pinn?|switch)\w*[^\n]{{0,60}}(?:\b{_LIBRARY}\b|\d+\.\d+)[^\n]{{0,60}}(?:{_GOOD}|\bsolv|\bhelp|\bcures?\b|finish)", "another version cures it", prose=True),
    Sign(rf"{_BAD}[^\n]{{0,40}}\b(?:with|on|in|under|since)\b[^\n]{{0,30}}{_VERSION}[^\n]{{0,80}}\b(?:does(?: not|n't)|did(?: not|n't)|no hang|works?|runs?|fine|passes|ok)\b[^\n]{{0,60}}{_VERSION}", "one version fails and another does not", prose=True),
    Sign(rf"{_VERSION}\)?(?: ?[:|=,-]| is| was)? ?(?:\w+ ){{0,2}}(?:{_GOOD}|✅)[^\n]*(?:\n[^\n]*){{0,2}}?{_VERSION}\)?(?: ?[:|=,-]| is| was)? ?(?:\w+ ){{0,2}}(?:{_BAD}|❌)", "one version works and another does not", prose=True),
    Sign(rf"{_VERSION}\)?(?: ?[:|=,-]| is| was)? ?(?:\w+ ){{0,2}}(?:{_BAD}|❌)[^\n]*(?:\n[^\n]*){{0,2}}?{_VERSION}\)?(?: ?[:|=,-]| is| was)? ?(?:\w+ ){{0,2}}(?:{_GOOD}|✅)", "one version fails and another works", prose=True),
    Sign(rf"\b(?:upgrad|updat|bump|mov|went|chang|switch)\w*[^\n]{{0,40}}\bfrom\b[^\n]{{0,30}}{_VERSION}[^\n]{{0,20}}\bto\b[^\n]{{0,30}}{_VERSION}", "it began when one version was replaced", anywhere=(_BAD,), prose=True),
    Sign(r"\b(?:attach\w*|strace|gdb|py-spy|SIGSTOP|SIGCONT|debugger)\b[^\n]{0,60}\b(?:continu\w*|resum\w*|wakes?|woke|unstick\w*|unblock\w*|proceed\w*|moves? on|goes on|un-?freez\w*|comes back)\b", "it goes on as soon as a debugger touches the process: a wake-up got lost below the program", prose=True),
    Sign(r"\b(?:regress\w+|since (?:the )?(?:upgrade|update|version|release)|started (?:with|after|in) (?:the )?(?:upgrade|update|version|release|v?\d+\.\d+)|after (?:an? |the )?(?:\w+ )?(?:upgrad|updat)\w+|introduced in|first bad (?:commit|version)|bisect\w*)", "it began with a release", POSSIBLE, prose=True),
    Sign(r"\b(?:up to|below|smaller than|<=?|through) \d+[^\n]{0,40}(?:bytes|[KM]i?B)?[^\n]{0,40}(?:fail|crash|hang)\w*[^\n]{0,30}(?:at|from|above|starting|beyond) \d+", "it begins exactly at one size", prose=True),
    Sign(r"known (?:bug|issue|defect|regression) (?:in|of|with)|is a bug in|\b(?:fixed|solved|resolved|gone|repaired) (?:in|by|since|with|from) (?:(?:[\w-]+ ){0,2}v?\d+\.\d+|release|version|the next)", "a known defect is named", prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    versions = named_versions(case)
    compared = any(len(known) > 1 for known in versions.values())
    found = [_sure(hit) if compared and hit.sign.says == _NAMED else hit for hit in hits(case, _SIGNS)]
    if found:
        names = ", ".join(f"{name} {version}" for name, known in versions.items() for version in known[:2])
        steps = ("name both versions: the one that fails and the one that works",)
        yield finding(RULE, case, found, f"a release of a library has a defect ({names or 'version not shown'})", steps)


def _sure(hit: Hit) -> Hit:
    """The same hit, where two versions of one library are named: then it is a comparison."""
    return replace(hit, sign=replace(hit.sign, certainty=LIKELY))


RULE = make_rule(__name__, __doc__, "version-bug", 44, check)
