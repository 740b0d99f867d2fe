"""What people report to have tried is read as releases that went well or badly."""

from __future__ import annotations

import pytest

from rankscope.analysis.trials import told


def outcomes(line: str) -> dict[str, bool]:
    return {trial.subject: trial.good for trial in told(line)}


@pytest.mark.parametrize(
    ("line", "good", "bad"),
    [
        ("All ranks hang with torch 2.4.0; torch 2.3.1 is fine.", {"2.3.1"}, {"2.4.0"}),
        ("It worked in 1.8.2 and hangs since 1.9.", {"1.8.2"}, {"1.9"}),
        ("It stalls with lib==3.2.0 but not with lib==3.1.4, lib==3.0.9.", {"3.1.4", "3.0.9"}, {"3.2.0"}),
        ("With 4.1.6 there are no problems; 4.2.1 and 4.2.2 hang in the set-up.", {"4.1.6"}, {"4.2.1", "4.2.2"}),
        ("The issue does not happen with the 4.1.x branch; v5.0.2 hangs.", {"4.1.x"}, {"v5.0.2"}),
        ("driver 550.90 does not work, driver 535.161 works", {"535.161"}, {"550.90"}),
        ("NCCL 2.30.7: killed after 180s", set(), {"2.30.7"}),
        ("hangs without an error on kernel 6.8", set(), {"6.8"}),
    ],
)
def test_a_release_goes_with_the_outcome_of_its_clause(line: str, good: set[str], bad: set[str]) -> None:
    found = outcomes(line)
    assert {subject for subject, well in found.items() if well} == good
    assert {subject for subject, well in found.items() if not well} == bad


@pytest.mark.parametrize(
    "line",
    [
        "Downgrading to 0.15.3 solved the hang.",
        "the deadlock is gone on master",
        "I reverted the commit and it did not hang any more",
    ],
)
def test_a_change_that_ends_the_trouble_is_a_cure(line: str) -> None:
    assert any(trial.cures for trial in told(line))


def test_a_library_built_from_newer_sources_is_another_release() -> None:
    """And an image that a pod pulled is none."""
    (trial, *_) = told("reduce hangs, but after pulling the latest public source and rebuilding it works")
    assert trial.good
    assert any(trial.change for trial in told("rebuilt from the current sources: no hang"))
    assert not any(trial.change for trial in told('kubelet  Successfully pulled image "alpine:3" in 1 s'))


@pytest.mark.parametrize(
    "line",
    [
        "step 10 loss 1.25 works",
        "took 3.5 s and passed",
        "10.0.0.5:2950 refused",
        "1.5 GB free, ok",
        "the weight-update request failed with CUDA out of memory",
        "with 12.5% of it, it works",
    ],
)
def test_other_numbers_are_no_releases(line: str) -> None:
    assert not outcomes(line)


def test_that_it_ends_without_an_error_is_no_success_of_what_hangs() -> None:
    assert not [one for one in told("My job does not go on, no error. torch 2.13, gloo, Python 3.11.") if one.good]
    assert [one.good for one in told("with torch 2.13 there is no error")] == [True]
