"""Whether a job gets on, where no plain line of it was read."""

from __future__ import annotations

import json
from pathlib import Path

from rankscope.analysis.at_work import Well, well
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge


def test_an_error_file_alone_is_no_job_at_work(tmp_path: Path) -> None:
    """It has an exception and no lines."""
    error = "ValueError: vocabulary of 7"
    stack = f'Traceback (most recent call last):\n  File "/app/train.py", line 7, in main\n    x.step()\n{error}\n'
    said = {"message": {"message": error, "extraInfo": {"py_callstack": stack, "timestamp": "1793527200"}}}
    (tmp_path / "error.json").write_text(json.dumps(said))
    snapshot = gather([tmp_path])
    assert well(case_of(snapshot)) is Well.UNKNOWN
    verdict = judge(snapshot).verdict
    assert verdict is not None
    assert verdict.cls == "dead-rank"
