"""Memory that a job had and that it needed, by what accounting and the program itself say."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes
from rankscope.model.diagnosis import Certainty

SEFF = """Job ID: 731
Cluster: c1
User/Group: anna/users
State: {state}
Cores: 8
CPU Utilized: 01:02:03
CPU Efficiency: 20.00% of 05:10:15 core-walltime
Job Wall-clock time: 00:38:47
Memory Utilized: {used} GB
Memory Efficiency: {share}% of 64.00 GB
"""


def test_a_job_that_used_all_it_may_have_ran_out_of_memory(tmp_path: pathlib.Path) -> None:
    """Slurm's accounting tells the end and the figures."""
    found = causes(tmp_path, seff=SEFF.format(state="OUT_OF_MEMORY (exit code 0)", used="63.10", share="98.59"))
    assert found["oom-kill"].certainty is Certainty.LIKELY


def test_so_does_a_row_of_it(tmp_path: pathlib.Path) -> None:
    """reportseff gives a line a job."""
    head = "   JobID           State          Elapsed  TimeEff   CPUEff   MemEff \n"
    found = causes(tmp_path, rows=head + "  731001     OUT_OF_MEMORY      00:38:47   16.1%    20.0%    99.2%\n")
    assert found["oom-kill"].certainty is Certainty.LIKELY


def test_a_job_that_completed_used_its_memory_well(tmp_path: pathlib.Path) -> None:
    """The same figures, of a job that came to its end."""
    assert not causes(tmp_path, seff=SEFF.format(state="COMPLETED (exit code 0)", used="63.10", share="98.59"))


NEEDS = "[2026-01-08 22:52:13] WARNING: {}"


@pytest.mark.parametrize(
    "line",
    [
        "the index requires ~113 GB of RAM. However, 49.28GB was detected.",
        "loading needs 96 GiB memory but only 62 GiB are available",
        "About 1.2 TB of memory are required by it; needs 1.2 TB of RAM and 0.7 TB was found",
    ],
)
def test_who_needs_more_than_there_is_and_goes_is_out_of_memory(tmp_path: pathlib.Path, line: str) -> None:
    """The program says both figures itself."""
    assert "oom-kill" in causes(tmp_path, log=NEEDS.format(line), console="IndexException: the child vanished\n")


def test_who_needs_less_than_there_is_does_not(tmp_path: pathlib.Path) -> None:
    """The figures the other way round."""
    line = "the index requires ~13 GB of RAM. However, 49.28GB was detected."
    assert "oom-kill" not in causes(tmp_path, log=NEEDS.format(line), console="IndexException: no such file\n")
