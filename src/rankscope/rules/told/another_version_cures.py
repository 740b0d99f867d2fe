"""The same run works with another version of a library, or with one of its paths switched off.

## What it means
Somebody has compared: one release stands still or fails, another does not, and nothing else was changed. That speaks for a defect of the release, not of the
job, even where nobody knows yet which defect it is.

## How it is recognised
Sentences of the evidence that tell of a release with which it began (an upgrade, a bisect that ends at one release), to which somebody went back, or in
which the defect is said to be fixed; that it begins exactly at one message size, that a hang ends when a debugger touches the process (a wake-up got lost below the program), or that it goes
away with an algorithm, protocol or feature of the library switched off. Two releases compared are a rule of their own.

## What to do
Pin the version that works (`pip install nvidia-nccl-cu12==…`, `torch==…`), or keep the setting; report both versions with the stacks.

    python -m torch.utils.collect_env   # in both environments, then diff the two

## How to prevent it
Change one library at a time, and run the same test before and after. A comparison of this kind: https://github.com/NVIDIA/nccl/issues/238
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding
from ._releases import began, named
from ._signs import POSSIBLE, Sign, hits
from ._wordings import HALTS

_GOOD = (
    r"\b(?:pass(?:es|ed)?|works?|worked|working|succeed\w*|fix(?:es|ed)?|fine|ok|resolve[sd]?|gone|go(?:es)? away|"
    r"disappear\w*|no (?:hang|crash|failure|error)s?|not reproduc\w*|complete[sd]?|runs? through)\b"
)
_PATHS = (
    r"(?:NCCL_(?:CUMEM(?:_HOST)?_ENABLE|NVLS_ENABLE|GRAPH_REGISTER|GRAPH_MIXING_SUPPORT|WORK_FIFO_DEPTH|ALGO|PROTO|"
    r"LL_THRESHOLD|SHM_USE_CUDA_MEMCPY|RUNTIME_CONNECT|NVB_DISABLE|PXN_DISABLE|COLLNET_ENABLE|MNNVL_ENABLE)|"
    r"\b(?:CCL_(?:ALLREDUCE|ALLGATHERV?|REDUCE_SCATTER|BCAST|SYCL_\w+|ZE_\w+)|HCCL_ALGO|HCCL_OP_EXPANSION_MODE|"
    r"RCCL_\w+|HSA_NO_SCRATCH_RECLAIM|HSA_ENABLE_INTERRUPT|GPU_MAX_HW_QUEUES|MPICH_\w+|MPIR_CVAR_\w+|I_MPI_\w+|"
    r"OMPI_MCA_\w+|KMP_\w+|TORCH_NCCL_(?:AVOID_RECORD_STREAMS|USE_COMM_NONBLOCKING|HIGH_PRIORITY)|XLA_FLAGS))"
)
_SIGNS = (
    Sign(rf"\b{_PATHS} ?= ?\w+[^\n]{{0,80}}(?:{_GOOD}|\bhelp\w*|\bsolv\w*|\bavoid\w*|goes? through|goes? on|runs?\b|finish)|(?:{_GOOD}|\bhelp\w*|\bsolv\w*|\bavoid\w*)[^\n]{{0,60}}{_PATHS}", "one path of the library is broken: it works when it is switched off", prose=True),
    Sign(r"^(?!\s*[#$])[^\n]*?(?P<said>\b(?:attach\w*|strace|gdb|py-spy|SIGSTOP|SIGCONT|debugger)\b[^\n]{0,60}\b(?:continu\w*|resum\w*|wakes?|woke|unstick\w*|unblock\w*|proceed\w*|moves? on|go(?:es)? on|un-?freez\w*|comes back)\b)", "it goes on as soon as a debugger touches the process: a wake-up got lost below the program", prose=True),
    Sign(r"\b(?:regress\w+|since (?:the )?(?:upgrade|update|version|release)|started (?:with|after|in) (?:the )?(?:upgrade|update|version|release|v?\d+\.\d+)|after (?:an? |the )?(?:\w+ )?(?:upgrad|updat)\w+|introduced in|first bad (?:commit|version)|bisect\w*)", "it began with a release", POSSIBLE, prose=True),
    Sign(r"\b(?:up to|below|smaller than|<=?|through) \d+[^\n]{0,40}(?:bytes|[KM]i?B)?[^\n]{0,40}(?:fail|crash|hang)\w*[^\n]{0,30}(?:at|from|above|starting|beyond) \d+", "it begins exactly at one size", prose=True),
    Sign(r"(?:--(?:disable|no|enforce|enable|use)-[\w-]{1,60}|(?<!try setting )\b(?!OMP_|MKL_|OPENBLAS_|NCCL_|GLOO_|CUDA_VISIBLE|MASTER_|PYTHON)[A-Z][A-Z0-9]+_[A-Z0-9_]+ ?= ?\w+)[^\n]{0,50}\b(?:avoids?|cures?|fix(?:es|ed)|solve[sd]?|prevents?|works? around|makes? (?:it|the hang) (?:go away|disappear))\b", "one path of the library is broken: it works when it is switched off", POSSIBLE, prose=True),
    Sign(r"\b(?:start(?:ed|s)|began|begins|appear(?:ed|s)|show(?:ed|s) up|happens?|occurs?|since|only)\b[^\n]{0,24}\b(?:when|after|since)\b[^\n]{0,30}\b(?:mov|switch|upgrad|updat|migrat|bump)\w*[^\n]{0,40}\d+\.\d+|\bsince v?\d+\.\d+\b(?! ?(?:h|am|pm|o.clock|UTC|CES?T|[EP][SD]T)\b)", "it began with a release", POSSIBLE, prose=True),
    Sign(r"\b(?:fixed|solved|resolved|repaired)\b[^\n]{0,12}\b(?:on|in|by|with)\b[^\n]{0,12}(?:\b(?:main|master|nightly|commit|PR|pull request|trunk|HEAD)|#\d+)\b", "a known defect is named", anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:(?:went|go|going|gone|rolled) back (?:to|on)|stay(?:ed|ing)? (?:on|with|at))\b[^\n]{0,20}\b\d+\.\d+(?![\d.]* ?(?:%|[KMGT]i?B|s\b|ms\b|it/s|tok))", "an older release is kept", POSSIBLE, anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:release notes?|change ?log|news)\b[^\n]{0,40}\b(?:lists?|names?|mentions?|has|contains?|includes?|says?)\b[^\n]{0,40}\b(?:fix(?:es)?|resolv\w+|correct\w+)\b[^\n]{0,60}\b(?:hangs?|deadlocks?|races?|stalls?|freez\w+|crash\w*|lockups?)\b", "a later release tells of such a defect", anywhere=(HALTS,), prose=True),
    Sign(r"^# first bad commit: \[[0-9a-f]{7,40}\]|\b[0-9a-f]{7,40} is the first bad commit\b", "git bisect ends at the commit with which it began"),
    Sign(r"^(?!\s*#)[^\n]*?(?P<said>known (?:bug|issue|defect|regression) (?:in|of|with)|is a bug in|\b(?:fixed|solved|resolved|gone|repaired) (?:in|by|since|with|from) (?:(?:[\w-]+ ){0,2}v?\d+\.\d+|release|version|the next))", "a known defect is named", anywhere=(HALTS,), prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    found = [*hits(case, _SIGNS), *began(case)]
    if found:
        steps = ("name both versions: the one that fails and the one that works",)
        yield finding(RULE, case, found, f"a release of a library has a defect ({named(case)})", steps)


RULE = make_rule(__name__, __doc__, "version-bug", 44, check)
