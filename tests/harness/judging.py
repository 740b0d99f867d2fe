"""Looking at a patient with our own tool, and comparing what it says with the truth."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

from .patient import Patient

STUCK_AFTER_S = 2.0
AGAIN_S = 10.0
# Root without the right to look into other processes, as an ordinary user is towards jobs of others.
WITHOUT_PTRACE = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
# The job's own user where Yama's ptrace_scope is 1.
SCOPE_1 = (sys.executable, str(pathlib.Path(__file__).parent / "yama.py"))
SLOW = ("straggler-slow-rank", "not-a-hang-slow")  # verdicts that accuse nobody: notes, exit code 0
TOOL = (sys.executable, "-c", "import sys; from rankscope.cli.main import main; sys.exit(main())")


@dataclass(frozen=True)
class Look:
    """One run of ``rankscope diagnose``: its exit code, what it said, and how long it took; ``first`` is the one before it,
    which came too early."""

    code: int
    diagnosis: dict[str, Any] | None
    took_s: float
    errors: str
    first: Look | None = None


class SecondLook(UserWarning):
    """A sick job was given no verdict at the first look: whoever had looked only once would have been sent away."""


def diagnose(patient: Patient, *more: str, within: float = 60.0, before: tuple[str, ...] = ()) -> Look:
    """Let the sickness reach the age that counts as stuck, then look; ``before`` goes in front of the command.

    What counts is at least ten times the job's own rhythm. On a busy machine that may be later: where the answer is "nothing
    moved, and that may be right", it is asked for once more, and the reader of the outcome is told (``SecondLook``).
    """
    stuck_after = wait_until_stuck(patient)
    args = (
        "diagnose",
        "--json",
        f"pid:{patient.target}",
        "--stuck-after",
        f"{stuck_after:g}",
        "--interval",
        "0.7",
        *more,
    )
    look = run(*args, within=within, before=before)
    if _young(look) and patient.truth["state"] == "stuck":
        warnings.warn(SecondLook(f"{patient.truth['class']} came to light at the second look"), stacklevel=2)
        time.sleep(AGAIN_S)
        return dataclasses.replace(run(*args, within=within, before=before), first=look)
    return look


def _young(look: Look) -> bool:
    """Whether it only says that nothing moved, or also when to look again."""
    said = look.diagnosis
    if said is None or said["job"]["state"] != "unknown":
        return False
    return look.code == 0 or (look.code == 3 and any("# again in" in step for step in said.get("next", ())))


def wait_until_stuck(patient: Patient) -> float:
    """Let a sick patient reach the age that counts as stuck; that age (s)."""
    stuck_after = float(patient.message.get("stuck_after", STUCK_AFTER_S))
    if patient.truth["class"] is not None:
        time.sleep(max(0.0, stuck_after + 0.5 - patient.age()))
    return stuck_after


def run(*args: str, within: float = 60.0, before: tuple[str, ...] = ()) -> Look:
    """Run our command line in a child; a tool that hangs is a look that says so."""
    begin = time.monotonic()
    code, out, errors = _call((*before, *TOOL, *args), within)
    return Look(code, _first(out), time.monotonic() - begin, errors[-3000:])


def text(*args: str, within: float = 30.0) -> str:
    """What our command line prints."""
    _, out, errors = _call((*TOOL, *args), within)
    return out or errors


def _call(command: tuple[str, ...], within: float) -> tuple[int, str, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=within, check=False)
    except subprocess.TimeoutExpired as late:
        return 124, "", f"no answer within {within:g} s\n{late.stderr or ''}"
    return done.returncode, done.stdout, done.stderr


def _first(text: str) -> dict[str, Any] | None:
    for line in text.splitlines():
        try:
            return dict(json.loads(line))
        except ValueError:
            continue
    return None


def mistakes(look: Look, truth: dict[str, Any]) -> list[str]:
    """Where a diagnosis differs from the truth; empty when it is right."""
    if look.diagnosis is None:
        return [f"no diagnosis (exit code {look.code}): {look.errors.strip()[-400:]}"]
    if truth["class"] in (None, *SLOW):
        return _accusations(look, truth)
    return _misses(look.code, look.diagnosis, truth)


def _accusations(look: Look, truth: dict[str, Any]) -> list[str]:
    """A healthy job has no cause, does not count as stuck, and ends with exit code 0."""
    said = look.diagnosis or {}
    verdict, state = said["verdict"], said["job"]["state"]
    wrong = [f"accused: {f['class']} {f['certainty']}" for f in said["findings"] if f["kind"] == "cause"]
    if verdict and verdict["class"] not in {truth["class"], *truth.get("accept", ())}:
        wrong.append(f"verdict {verdict['class']} of a healthy job")
    if truth["class"] and (not verdict or sorted(verdict["ranks"]) != truth["ranks"]):
        wrong.append(f"ranks {verdict and verdict['ranks']}, true: {truth['ranks']}")
    # Where somebody may rightly be called slow, so may the job; a slow job may also just be said to move.
    if state != truth["state"] and not (state in ("slow", "moving") and (truth["class"] or truth.get("accept"))):
        wrong.append(f"state {state}, true: {truth['state']}")
    return wrong + ([f"exit code {look.code}, expected 0"] if look.code else [])


def _misses(code: int, said: dict[str, Any], truth: dict[str, Any]) -> list[str]:
    verdict = said["verdict"] or {"class": None, "ranks": []}
    wrong = []
    if verdict["class"] not in {truth["class"], *truth.get("accept", ())}:
        wrong.append(f"class {verdict['class']}, true: {truth['class']}")
    if sorted(verdict["ranks"]) not in (sorted(truth["ranks"]), truth.get("accept_ranks")):
        wrong.append(f"ranks {verdict['ranks']}, true: {truth['ranks']}")
    if said["job"]["state"] != truth["state"]:
        wrong.append(f"state {said['job']['state']}, true: {truth['state']}")
    if truth.get("cycle") and not said["cycles"]:
        wrong.append("no cycle shown")
    return wrong + _unnamed(said, truth) + ([f"exit code {code}, expected 1"] if code != 1 else [])


def _unnamed(said: dict[str, Any], truth: dict[str, Any]) -> list[str]:
    """The processes that the truth names must appear in a cause."""
    causes = [finding for finding in said["findings"] if finding["kind"] == "cause"]
    named = {process["pid"] for finding in causes for process in finding["processes"]}
    named |= {int(why["process"].rpartition(":")[2]) for f in causes for why in f["because"] if why.get("process")}
    missing = set(truth.get("pids", ())) - named
    return [f"processes {sorted(missing)} not named"] if missing else []
