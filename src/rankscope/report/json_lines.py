"""A diagnosis as one line of JSON, schema ``rankscope/diagnosis``.

History: version 1, first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..model.diagnosis import CallPath, CollectiveState, Diagnosis, Divergence, Finding
from ..model.gap import Gap
from ..model.process import Process
from ..model.ranks import RankSet
from .plain import escaped

SCHEMA = "rankscope/diagnosis"
VERSION = 1
# A graph of thousands of ranks has millions of equal edges; the roots are in the findings.
MAX_WAITS = 20_000


def render(diagnosis: Diagnosis) -> str:
    """One line, without the newline."""
    return escaped(json.dumps(to_dict(diagnosis), ensure_ascii=False))


def to_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """The contract of the schema as plain values."""
    verdict = diagnosis.verdict
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "job": {
            "world_size": diagnosis.world_size,
            **_ranks(diagnosis.ranks),
            "hosts": list(diagnosis.hosts),
            "launcher": diagnosis.job.launcher,
            "name": diagnosis.job.name,
            "state": diagnosis.state.value,
            "versions": {name: list(known) for name, known in diagnosis.versions},
        },
        "verdict": None
        if verdict is None
        else {
            "class": verdict.cls,
            "ranks": list(verdict.ranks),
            "title": verdict.title,
            "certainty": verdict.certainty.value,
        },
        "next": list(map(str, diagnosis.next)),
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "collectives": [_collective(state) for state in diagnosis.collectives],
        "waits": [
            {
                "from": str(wait.waiter),
                "to": str(wait.target) if wait.target else None,
                "why": wait.why,
                "since_s": wait.since_s,
            }
            for wait in diagnosis.waits[:MAX_WAITS]
        ],
        "waits_left_out": max(0, len(diagnosis.waits) - MAX_WAITS) + diagnosis.waits_unwritten,
        "cycles": [[str(ref) for ref in cycle] for cycle in diagnosis.cycles],
        "deadlines": [{**_ranks(ranks), "deadline_s": left} for left, ranks in diagnosis.deadlines],
        "parted": _parted(diagnosis.parted) if diagnosis.parted else None,
        "gaps": [_gap(gap) for gap in diagnosis.gaps],
        "cost": {
            "took_s": diagnosis.effort.took_s,
            "slept_s": diagnosis.effort.slept_s,
            "paused_ms_max": diagnosis.effort.paused_ms_max,
            "processes": diagnosis.processes,
        },
    }


def _ranks(ranks: RankSet, name: str = "ranks") -> dict[str, Any]:
    return {name: list(ranks), f"{name}_folded": str(ranks)}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "class": finding.cls,
        "kind": finding.kind.value,
        "certainty": finding.certainty.value,
        **_ranks(finding.ranks),
        "processes": _processes(finding.processes),
        "title": finding.title,
        "because": [
            {
                "text": reason.text,
                "evidence": reason.evidence,
                "process": str(reason.process) if reason.process else None,
                "place": reason.place or None,
            }
            for reason in finding.because
        ],
        "against": list(finding.against),
        "next": list(map(str, finding.next)),
        "collective": _collective(finding.collective) if finding.collective else None,
    }


def _processes(processes: Iterable[Process]) -> list[dict[str, Any]]:
    return [
        {"host": p.ref.host, "pid": p.ref.pid, "role": p.role.value, "rank": p.rank, "label": p.label}
        for p in processes
    ]


def _collective(state: CollectiveState) -> dict[str, Any]:
    return {
        "group": state.group,
        "desc": state.desc,
        "ranks": list(state.ranks),
        "op": state.op,
        "seq": state.seq,
        "kind": state.kind,
        "arrived_folded": str(state.arrived),
        "missing_folded": str(state.missing),
        "culprits": list(state.culprits),
        "detail": state.detail,
        "waiting_folded": str(state.waiting),
        "input_sizes": [list(size) for size in state.input_sizes],
        "output_sizes": [list(size) for size in state.output_sizes],
        "dtype": state.dtype,
        "deadline_s": state.deadline_s,
    }


def _parted(parted: Divergence) -> dict[str, Any]:
    return {"common": _path(parted.common) if parted.common else None, "sides": [_path(side) for side in parted.sides]}


def _path(path: CallPath) -> dict[str, Any]:
    frames = [{"function": frame.function, "file": frame.file, "line": frame.line} for frame in path.frames]
    return {**_ranks(path.ranks), "what": path.what, "frames": frames}


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "what": gap.what,
        "process": str(gap.process) if gap.process else None,
        "host": gap.host,
        "reason": gap.why.value,
        "detail": gap.detail,
        "hint": gap.hint,
    }
