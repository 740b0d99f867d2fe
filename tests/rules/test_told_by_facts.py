"""Verdicts of short reports, in which people tell by facts what they saw: the mechanism decides, not single words."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import judge

# The rule whose cause is the verdict, why, and what each file tells.
TOLD: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "one-rank-prepares",
        "a rank compiles while others wait in a kernel",
        {
            "rank 5": "DeepGEMM NVLink barrier timeout (180s): rank=5, counter=31, phase=0\nCUDA_ERROR_LAUNCH_FAILED (719)",
            "server of rank 1": "prewarm of 12 buckets took 171 s with a cold JIT cache",
        },
    ),
)  # fmt: skip
# Why nothing is wrong, or nothing can be said, and what is told.
CLEAN: tuple[tuple[str, dict[str, str]], ...] = ()


@pytest.mark.parametrize(("rule", "why", "files"), TOLD, ids=[why for _, why, _ in TOLD])
def test_facts_decide(rule: str, why: str, files: dict[str, str], tmp_path: pathlib.Path) -> None:
    found = judge(_laid_out(files, tmp_path))
    assert found.verdict is not None
    assert found.findings[0].rule == rule


@pytest.mark.parametrize(("why", "files"), CLEAN, ids=[why for why, _ in CLEAN])
def test_look_alikes_are_clean(why: str, files: dict[str, str], tmp_path: pathlib.Path) -> None:
    assert judge(_laid_out(files, tmp_path)).verdict is None


def _laid_out(files: dict[str, str], folder: pathlib.Path) -> Snapshot:
    for name, text in files.items():
        (folder / f"{name.replace(' ', '_')}.txt").write_text(f"{text}\n")
    return gather([folder])
