"""Every diagnosis is found in the texts that people save, and healthy texts give none.

``harness.known_cases`` tells how a case is written down. Those of ``text`` were made with the rules; those of ``experts`` from
knowledge of such jobs, without a look at the rules, and no word was learned from them.
"""

from __future__ import annotations

import pathlib

import pytest

from harness.known_cases import KnownCase, read
from rankscope.analysis import order
from rankscope.analysis.likeness import Likeness
from rankscope.formats.gather import gather
from rankscope.model.classes import CLASSES
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge
from rankscope.rules.told import like_known_cases

HERE = pathlib.Path(__file__).parent
CASES = sorted(path for name in ("text", "experts") for path in (HERE / name).glob("*/*.txt"))
SICK = [path for path in CASES if path.parent.name != "healthy"]
HEALTHY = [path for path in CASES if path.parent.name == "healthy"]


def judged(case: KnownCase, folder: pathlib.Path) -> Diagnosis:
    """The case as a directory of files, judged as ``rankscope analyze`` does."""
    case.lay_out(folder)
    return judge(gather([folder]))


@pytest.mark.parametrize("path", SICK, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_is_recognised(path: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is of the class the case was made for, and what is called certain is right.

    What only resembles known cases does not count: its words were learned from these very texts.
    """
    monkeypatch.setattr(like_known_cases, "likeness", lambda case: Likeness())
    monkeypatch.setattr(order, "likeness", lambda case: Likeness())
    monkeypatch.setattr(order, "reads_well", lambda case: False)
    case = read(path)
    diagnosis = judged(case, tmp_path)
    assert diagnosis.verdict is not None
    assert diagnosis.verdict.cls in {case.cls, *case.also}
    for finding in diagnosis.findings:
        assert finding.certainty is not Certainty.CERTAIN or finding.cls == case.cls


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_text_gives_no_cause(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Nothing is found where nothing is wrong, not even a possibility."""
    assert judged(read(path), tmp_path).verdict is None


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in SICK}))
def test_cases_belong_to_classes(folder: str) -> None:
    assert folder in CLASSES
