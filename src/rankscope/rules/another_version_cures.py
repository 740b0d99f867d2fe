"""The same run works with another version of a library, or with one of its paths switched off.

## What it means
Somebody has compared: one release stands still or fails, another does not, and nothing else was changed. That speaks for a defect of the release, not of the
job, even where nobody knows yet which defect it is.

## How it is recognised
Sentences of the evidence that compare two versions or settings (`hangs with 2.18.1, works with 2.17.1`, `gone after downgrading`, a bisect that ends at one
release, a hang from one message size on), that a hang ends when a debugger touches the process (a wake-up got lost below the program), or that it goes
away with an algorithm, protocol or feature of the library switched off. Each clause is read for a release and an outcome (`2.18.6 has no problems; 2.19.1 hangs`),
also where the release stands in the heading or in the command of a run. Advice (`please upgrade to …`) counts for nothing.

## What to do
Pin the version that works (`pip install nvidia-nccl-cu12==…`, `torch==…`), or keep the setting; report both versions with the stacks.

    python -m torch.utils.collect_env   # in both environments, then diff the two

## How to prevent it
Change one library at a time, and run the same test before and after. A comparison of this kind: https://github.com/NVIDIA/nccl/issues/238
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ..analysis.accounts import accounts
from ..analysis.case import Case
from ..analysis.trials import trials
from ..model.diagnosis import Finding
from ._text import HALTS, LIKELY, POSSIBLE, Hit, Sign, events, finding, hits, make_rule, troubled
from ._versions import named_versions

_GOOD = r"\b(?:pass(?:es|ed)?|works?|worked|working|succeed\w*|fix(?:es|ed)?|fine|ok|resolve[sd]?|gone|go(?:es)? away|disappear\w*|no (?:hang|crash|failure|error)s?|not reproduc\w*|complete[sd]?|runs? through)\b"
_PATHS = r"NCCL_(?:CUMEM(?:_HOST)?_ENABLE|NVLS_ENABLE|GRAPH_REGISTER|GRAPH_MIXING_SUPPORT|LAUNCH_ORDER_IMPLICIT|WORK_FIFO_DEPTH|ALGO|PROTO|LL_THRESHOLD|SHM_USE_CUDA_MEMCPY|RUNTIME_CONNECT|NVB_DISABLE|PXN_DISABLE|COLLNET_ENABLE|MNNVL_ENABLE)"
_SIGNS = (
    Sign(rf"\b{_PATHS} ?= ?\w+[^\n]{{0,80}}(?:{_GOOD}|\bhelp\w*|\bsolv\w*|\bavoid\w*|goes? through|goes? on|runs?\b|finish)|(?:{_GOOD}|\bhelp\w*|\bsolv\w*|\bavoid\w*)[^\n]{{0,60}}{_PATHS}", "one path of the library is broken: it works when it is switched off", prose=True),
    Sign(r"\b(?:attach\w*|strace|gdb|py-spy|SIGSTOP|SIGCONT|debugger)\b[^\n]{0,60}\b(?:continu\w*|resum\w*|wakes?|woke|unstick\w*|unblock\w*|proceed\w*|moves? on|goes on|un-?freez\w*|comes back)\b", "it goes on as soon as a debugger touches the process: a wake-up got lost below the program", prose=True),
    Sign(r"\b(?:regress\w+|since (?:the )?(?:upgrade|update|version|release)|started (?:with|after|in) (?:the )?(?:upgrade|update|version|release|v?\d+\.\d+)|after (?:an? |the )?(?:\w+ )?(?:upgrad|updat)\w+|introduced in|first bad (?:commit|version)|bisect\w*)", "it began with a release", POSSIBLE, prose=True),
    Sign(r"\b(?:up to|below|smaller than|<=?|through) \d+[^\n]{0,40}(?:bytes|[KM]i?B)?[^\n]{0,40}(?:fail|crash|hang)\w*[^\n]{0,30}(?:at|from|above|starting|beyond) \d+", "it begins exactly at one size", prose=True),
    Sign(r"(?:--(?:disable|no|enforce|enable|use)-[\w-]+|\b(?!OMP_|MKL_|OPENBLAS_|NCCL_|GLOO_|CUDA_VISIBLE|MASTER_|PYTHON)[A-Z][A-Z0-9]+_[A-Z0-9_]+ ?= ?\w+)[^\n]{0,50}\b(?:avoids?|cures?|fix(?:es|ed)|solve[sd]?|prevents?|works? around|makes? (?:it|the hang) (?:go away|disappear))\b", "one path of the library is broken: it works when it is switched off", POSSIBLE, prose=True),
    Sign(r"known (?:bug|issue|defect|regression) (?:in|of|with)|is a bug in|\b(?:fixed|solved|resolved|gone|repaired) (?:in|by|since|with|from) (?:(?:[\w-]+ ){0,2}v?\d+\.\d+|release|version|the next)", "a known defect is named", anywhere=(HALTS,), prose=True),
)  # fmt: skip
# Where another setting than the release is known to cure it, that setting tells more.
_P2P = r"NCCL_P2P_DISABLE|NCCL_IB_DISABLE"


def check(case: Case) -> Iterator[Finding]:
    versions = named_versions(case)
    found = [*hits(case, _SIGNS), *_compared(case)]
    if found:
        names = ", ".join(f"{name} {version}" for name, known in versions.items() for version in known[:2])
        steps = ("name both versions: the one that fails and the one that works",)
        yield finding(RULE, case, found, f"a release of a library has a defect ({names or 'version not shown'})", steps)


def _compared(case: Case) -> Iterator[Hit]:
    """What came of other releases, where there is trouble at all."""
    told = accounts(case)
    if any(one.find(_P2P) for one in told):
        return
    tried = [(one, trial) for one in told for trial in trials(one)]
    yield from (Hit(Sign("", "another release cures it"), one, trial.line) for one, trial in tried if trial.cures)
    if not troubled(case):
        return
    good = [(one, trial) for one, trial in tried if trial.good]
    bad = [(one, trial) for one, trial in tried if not trial.good]
    for one, trial in good:
        if trial.change:
            yield Hit(Sign("", "another release cures it"), one, trial.line)
        elif any(trial.subject != other.subject for _, other in bad):
            yield Hit(Sign("", "one release works and another does not"), one, trial.line)
    for one, trial in good if not bad else ():
        if _of_another_release(case, trial.line):
            yield Hit(Sign("", "another release works"), one, trial.line)
    for one, trial in bad:
        if trial.change:
            yield Hit(
                Sign("", "it began when a release was replaced", LIKELY if len(bad) > 1 else POSSIBLE), one, trial.line
            )


def _of_another_release(case: Case, line: str) -> bool:
    """Whether what went well names a library in a release that the rest of the evidence names in another one."""
    here, there = dict[str, set[str]](), dict[str, set[str]]()
    for event in events(case, "text.version"):
        said = here if event.text.strip()[:200] in line else there
        said.setdefault(str(event.fields.get("name")), set()).add(str(event.fields.get("version")))
    return any(there.get(name) and not known & there[name] for name, known in here.items())


RULE = make_rule(__name__, __doc__, "version-bug", 44, check)
