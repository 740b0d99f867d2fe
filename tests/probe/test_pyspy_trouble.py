"""py-spy that is missing, fails or hangs costs the stacks of one process and is named as the reason."""

from __future__ import annotations

import os
import pathlib

import pytest

from rankscope.model.gap import Gap, Why
from rankscope.model.process import ProcessRef
from rankscope.probe import procfs
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines.pyspy import PySpyEngine

ME = ProcessRef("here", os.getpid(), procfs.stat("/proc", os.getpid()).started)


def ask(program: str | None, deadline_s: float = 10.0) -> Gap:
    answer = PySpyEngine("/proc", program).stacks(ME, None, None, StackOptions(deadline_s=deadline_s))
    assert isinstance(answer, Gap)
    assert answer.process == ME
    return answer


@pytest.fixture
def stub(tmp_path: pathlib.Path) -> object:
    """A program of the test's own in py-spy's place."""

    def make(script: str) -> str:
        path = tmp_path / "py-spy"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


def test_a_missing_one_says_how_to_get_it() -> None:
    assert (ask(None).why, ask(None).hint) == (Why.MISSING, "pip install py-spy")
    assert ask("/nowhere/py-spy").why is Why.MISSING


def test_a_refusal_of_the_kernel_is_told_as_one(stub) -> None:  # type: ignore[no-untyped-def]
    gap = ask(stub("echo 'Error: Permission Denied: Try running again' >&2; exit 1".replace("Denied", "denied")))
    assert gap.why is Why.DENIED
    assert "ptrace" in gap.hint


def test_a_failure_is_quoted_in_one_line(stub) -> None:  # type: ignore[no-untyped-def]
    gap = ask(stub("echo 'Error: something odd' >&2; echo more >&2; exit 1"))
    assert gap.why is Why.FAILED
    assert gap.detail == "py-spy: Error: something odd"


def test_one_that_hangs_is_ended_at_its_deadline(stub) -> None:  # type: ignore[no-untyped-def]
    assert ask(stub("exec sleep 1000"), 0.3).why is Why.TIMEOUT


@pytest.mark.parametrize("noise", ["not json", "[", '[{"frames": 3}]', '{"a": 1}', "null"])
def test_an_answer_that_makes_no_sense_is_damaged(stub, noise: str) -> None:  # type: ignore[no-untyped-def]
    assert ask(stub(f"echo '{noise}'")).why is Why.DAMAGED
