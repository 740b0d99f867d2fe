"""Messages as programs, drivers and launchers print them, each by itself: a rule knows them, and the harmless ones accuse nobody.

The texts (messages/CLASS.txt) were written from memory, without a look at the rules; numbers and paths in them are made up.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.known_cases import MESSAGES, KnownCase, texts
from rankscope.formats.gather import gather
from rankscope.pipeline import judge

SAID = [
    pytest.param(case, id=f"{path.stem}-{number}")
    for path in sorted(MESSAGES.glob("*.txt"))
    for number, case in enumerate(texts(path))
]


@pytest.mark.parametrize("case", SAID)
def test_a_message_is_understood_by_a_rule(case: KnownCase, tmp_path: Path) -> None:
    case.lay_out(tmp_path)
    diagnosis = judge(gather([tmp_path]))
    if diagnosis.verdict is None:
        assert case.cls == "healthy"
        return
    assert diagnosis.verdict.cls in (case.cls, *case.also)
    first = next(finding for finding in diagnosis.findings if finding.cls == diagnosis.verdict.cls)
    assert first.rule != "like-known-cases"
