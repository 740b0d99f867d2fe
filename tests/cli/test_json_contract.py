"""The JSON of a diagnosis has exactly the shape that others rely on."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from conftest_cli import rankscope

TOP = {"schema", "version", "job", "verdict", "findings", "collectives", "waits", "cycles", "gaps", "cost"}
JOB = {"world_size", "ranks", "ranks_folded", "hosts", "launcher", "state"}
VERDICT = {"class", "ranks", "title", "certainty"}
FINDING = {"rule", "class", "kind", "certainty", "ranks", "ranks_folded", "processes", "title", "because", "against",
           "next", "collective"}  # fmt: skip
COST = {"took_s", "slept_s", "paused_ms_max", "processes"}


def diagnose(job: subprocess.Popen[bytes]) -> tuple[int, dict[str, Any]]:
    said = rankscope("diagnose", f"pid:{job.pid}", "--json", "--stuck-after", "0.5", "--interval", "0.7")
    (line,) = said.out.splitlines()
    return said.code, json.loads(line)


def test_one_job_is_one_line_with_all_fields(job: subprocess.Popen[bytes]) -> None:
    """Fields may be added within a version, never taken away."""
    code, answer = diagnose(job)
    assert code == 1
    assert set(answer) >= TOP
    assert (answer["schema"], answer["version"]) == ("rankscope/diagnosis", 1)
    assert set(answer["job"]) >= JOB
    assert answer["job"]["ranks"] == [0, 1, 2, 3]
    assert answer["job"]["ranks_folded"] == "0-3"
    assert answer["job"]["state"] == "stuck"
    assert set(answer["verdict"]) >= VERDICT
    assert set(answer["cost"]) >= COST


def test_findings_name_processes_reasons_and_next_steps(job: subprocess.Popen[bytes]) -> None:
    """A finding says who, why we think so, and what to type."""
    _, answer = diagnose(job)
    finding = answer["findings"][0]
    assert set(finding) >= FINDING
    assert (answer["verdict"]["class"], answer["verdict"]["ranks"]) == ("rank-stuck-in-user-code", [3])
    assert finding["class"] == answer["verdict"]["class"]
    assert all({"host", "pid", "role", "rank"} <= set(process) for process in finding["processes"])
    assert all({"text", "evidence", "process"} <= set(reason) for reason in finding["because"])
    assert finding["because"]
    assert finding["next"]


def test_nobody_is_paused_by_default(job: subprocess.Popen[bytes]) -> None:
    """A look costs the job nothing, and says so."""
    _, answer = diagnose(job)
    assert answer["cost"]["paused_ms_max"] == 0.0


def test_the_same_verdict_comes_out_of_a_file(job: subprocess.Popen[bytes], tmp_path: Any) -> None:
    """Collecting and judging are two programs joined by a file, which only its owner may read."""
    kept = tmp_path / "job.snap"
    live = rankscope("diagnose", f"pid:{job.pid}", "--json", "--stuck-after", "0.5", "-o", str(kept))
    assert kept.stat().st_mode & 0o777 == 0o600
    later = rankscope("analyze", "--json", "--stuck-after", "0.5", str(kept))
    assert json.loads(later.out)["verdict"] == json.loads(live.out)["verdict"]
    assert later.code == live.code == 1
