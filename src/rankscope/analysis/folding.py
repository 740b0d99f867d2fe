"""Causes that only say who is missing become symptoms of those that say why."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from ..model.diagnosis import Certainty, Finding, Kind
from ..model.labels import who
from ..model.patterns import regex
from ..model.ranks import RankSet
from .case import Case
from .order import ORDER

# A finding that names who is absent from a collective is explained by any finding that says why that rank is absent.
_EXPLAINABLE = {
    "collective-missed-by-rank",
    "dead-rank",
    "stuck-below-program",
    "collective-cycle",
    "rank-never-joined",
}

# In a running job the same holds for where a rank stands: whom it waits for there says more.
_EXPLAINABLE_LIVE = _EXPLAINABLE | {"rank-stuck-in-user-code", "exit-hang", "dataloader-worker-deadlock"}

# Who is missing is vaguer than where it stands, and that is vaguer than whom it waits for there.
_VAGUE = {
    "stuck-below-program": 4, "collective-cycle": 3, "rank-never-joined": 3, "collective-missed-by-rank": 3,
    "rank-stuck-in-user-code": 2, "exit-hang": 1, "dataloader-worker-deadlock": 1, "dead-rank": 0,
}  # fmt: skip


def fold(case: Case, findings: list[Finding]) -> list[Finding]:
    """A cause that only says who is missing becomes a symptom of the one that says why."""
    explainable = _EXPLAINABLE_LIVE if case.snapshot.live else _EXPLAINABLE
    reasons: dict[str, list[tuple[Finding, RankSet]]] = {}
    for one in findings:
        if one.kind is Kind.CAUSE:
            reasons.setdefault(one.cls, []).append((one, _concerned(one)))
    explained = (
        one.kind is Kind.CAUSE and (_explained(one, reasons, explainable) or _said_before(one, findings))
        for one in findings
    )
    return [dataclasses.replace(one, kind=Kind.SYMPTOM) if folds else one for one, folds in zip(findings, explained)]


def _said_before(finding: Finding, findings: list[Finding]) -> bool:
    """Whether another cause of the same class and ranks says it too: of a rank that never came, a surer one (the store has no
    word of it, nor has any host); of where one stands in its own code, any that is as sure and says what it waits for there."""
    never, stands = finding.cls == "rank-never-joined", finding.rule == "rank-in-user-code" and bool(finding.ranks)
    alike = [
        one
        for one in findings
        if (never or stands) and one.kind is Kind.CAUSE and one.rule != finding.rule
        and (one.cls, one.ranks) == (finding.cls, finding.ranks)
    ]  # fmt: skip
    most = ORDER[finding.certainty] - never
    return any(ORDER[one.certainty] <= most for one in alike)


def _explained(finding: Finding, reasons: Mapping[str, list[tuple[Finding, RankSet]]], explainable: set[str]) -> bool:
    """Whether some cause of another class is behind this one."""
    others = [one for cls, found in reasons.items() if cls != finding.cls for one in found]
    told = finding.cls in explainable and any(_explains(*one, finding, explainable) for one in others)
    return told or any(_is_why(one, finding) or _tells_more(one, finding) for one, _ in others)


def _tells_more(reason: Finding, finding: Finding) -> bool:
    """Whether one cause tells by what a process is held that another one only finds somewhere in its own code."""
    if (
        finding.cls != "rank-stuck-in-user-code"
        or reason.cls in _EXPLAINABLE_LIVE
        or ORDER[reason.certainty] > ORDER[finding.certainty]
    ):
        return False
    return reason.cls != "not-a-hang-slow" and not {one.ref for one in finding.processes}.isdisjoint(
        one.ref for one in reason.processes
    )


def _concerned(cause: Finding) -> RankSet:
    """The ranks that a cause accuses or names."""
    ranks = cause.ranks | RankSet(process.rank for process in cause.processes if process.rank is not None)
    if cause.cls == "driver-not-ready":  # it accuses no rank, but those who tell of it cannot go on
        ranks |= RankSet(rank for one in cause.because for rank in who(one.evidence).ranks)
    return ranks


def _explains(reason: Finding, concerned: RankSet, finding: Finding, explainable: set[str]) -> bool:
    """Whether one cause tells why the ranks of another are where they are, and is not weaker by more than a word."""
    if reason.cls == "not-a-hang-slow" and finding.certainty is not Certainty.POSSIBLE:
        return False  # that something moves does not tell why ranks stand in different calls
    if reason.cls in explainable and _VAGUE.get(reason.cls, 0) >= _VAGUE.get(finding.cls, 0):
        return False
    if ORDER[reason.certainty] > max(ORDER[finding.certainty], ORDER[Certainty.LIKELY]):
        return False
    if _breaks_its_peers(reason) and finding.cls == "dead-rank":
        assert reason.collective is not None
        return not set(finding.ranks) - set(reason.collective.ranks)
    return not finding.ranks or bool(concerned & finding.ranks)


# By what they are, the second is the reason of the first: who was killed because memory ran out is dead for that, a helper
# that compiled is a child, who asks a child that is gone stands there for that, and where the driver keeps the program out, a
# rank does not come to the meeting.
_WHY = {
    ("child-dead", "oom-kill"), ("child-dead", "compile-worker"), ("rank-never-joined", "driver-not-ready"),
    ("rank-stuck-in-user-code", "child-dead"),
}  # fmt: skip
# Who is kept back by a file, a limit or the system does not come to the meeting either.
_WHY |= {
    ("rank-never-joined", cls)
    for cls in (
        "file-lock-stale", "file-lock-unsupported", "filesystem-stall", "storage-full", "shm-exhausted", "resource-limit",
        "process-stopped", "oom-kill",
    )
}  # fmt: skip
# What /proc/PID/status says of a process that does not go on, whoever it is: a peer of ranks that stand apart is none of these.
_HELD_NOW = regex(r"State:\s*[Tt]\b|TracerPid:\s*[1-9]|tracing stop")
# By what they compare, these show that who had begun long work gets on with it no more; a bar or a word only shows the beginning.
_HALTS_WORK = {
    "child-dead", "fork-with-threads", "queue-pipe-full", "filesystem-stall", "file-lock-stale", "process-stopped",
}  # fmt: skip
_DEVICES = {"gpu-hardware-fault", "gpu-kernel-hang", "cuda-async-error", "device-mapping", "driver-not-ready"}
# How runtimes of devices call what they raise; memory that ran out is told in the same form.
_OF_A_DEVICE = regex(
    r"\b(?:CUDA|HIP|cuda|hip|cuDNN|NPU|Triton|aclrt|level_zero|Native API|XPU|MUSA)\w*\b[^\n]{0,16}\b(?:[Ee]rror|fail\w*|returns)"
    r"|synStatus|_ERROR_DEVICE_LOST|CU(?:BLAS|DNN|SOLVER|SPARSE|FFT)_STATUS|\bcuda\w+Error\w*|\bDevice acquire failed"
    r"|no NVIDIA driver|GPUs are available|cudaGetDeviceCount|initialize backend",
)
_MEMORY = regex(r"out of memory|OutOfMemory|ALLOC_FAILED", re.IGNORECASE)


def _is_why(reason: Finding, finding: Finding) -> bool:
    """Whether one cause is the reason of another: by what they are, or because the error of a rank is one of its device."""
    if ORDER[reason.certainty] > ORDER[finding.certainty]:
        return False
    if (finding.cls, reason.cls) == ("collective-missed-by-rank", "process-stopped") and not reason.ranks:
        return any(_HELD_NOW.search(str(one.text)) for one in reason.because)
    if (finding.cls, reason.cls) in _WHY:
        return reason.certainty is not Certainty.POSSIBLE or finding.cls == "child-dead"
    if finding.cls == "straggler-slow-rank" and not finding.compared and reason.compared and reason.cls in _HALTS_WORK:
        return reason.certainty is not Certainty.POSSIBLE
    if finding.cls != "dead-rank" or reason.cls not in _DEVICES or reason.certainty is Certainty.POSSIBLE:
        return False
    said = " ".join((finding.title, *(str(one.text) for one in finding.because[:1])))
    return bool(_OF_A_DEVICE.search(said) and not _MEMORY.search(said))


def _breaks_its_peers(finding: Finding) -> bool:
    """Gloo aborts whoever receives more than it has room for, and closes the connections of all others
    (gloo/transport/tcp/pair.cc): members that died of a call whose sizes differ are victims."""
    kind = finding.collective.kind if finding.rule == "recorder-mismatch" and finding.collective else ""
    return kind in ("size_mismatch", "dtype_mismatch")
