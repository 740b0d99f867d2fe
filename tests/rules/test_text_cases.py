"""Every diagnosis is found in the texts that people save, and healthy texts give none.

A case is a file: items begin with ``=== label``. Its folder is the class that is right; a first line ``# also right: …``
names others.
"""

from __future__ import annotations

import pathlib
import re

import pytest

from rankscope.formats.gather import gather
from rankscope.model.classes import CLASSES
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge
from rankscope.rules import like_known_cases

CASES = pathlib.Path(__file__).parent / "text"
SICK = sorted(path for path in CASES.glob("*/*.txt") if path.parent.name != "healthy")
HEALTHY = sorted((CASES / "healthy").glob("*.txt"))


def judged(path: pathlib.Path, folder: pathlib.Path) -> Diagnosis:
    """The case as a directory of files, judged as ``rankscope analyze`` does."""
    items = re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^=== |\Z)", path.read_text())
    for number, (label, text) in enumerate(items):
        name = re.sub(r"[^A-Za-z0-9_,.+-]+", "_", label)[:80]
        (folder / f"{number:02d}_{name}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize("path", SICK, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_is_recognised(path: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is of the class the case was made for, and what is called certain is right.

    What only resembles known cases does not count: its words were learned from these very texts.
    """
    monkeypatch.setattr(like_known_cases, "likeness", lambda case: None)
    also = re.match(r"# also right: (.*)", path.read_text())
    diagnosis = judged(path, tmp_path)
    assert diagnosis.verdict is not None
    assert diagnosis.verdict.cls in {path.parent.name, *(also.group(1).split() if also else ())}
    for finding in diagnosis.findings:
        assert finding.certainty is not Certainty.CERTAIN or finding.cls == path.parent.name


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_text_gives_no_cause(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Nothing is found where nothing is wrong, not even a possibility."""
    assert judged(path, tmp_path).verdict is None


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in SICK}))
def test_cases_belong_to_classes(folder: str) -> None:
    assert folder in CLASSES
