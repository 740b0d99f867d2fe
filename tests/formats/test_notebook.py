"""Of a notebook its outputs are read: what was printed, what was raised, not the source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rankscope.formats.gather import gather
from rankscope.model.gap import Why
from rankscope.pipeline import judge

RAISED = [
    "\x1b[0;31m---------------------------------------------------------------------------\x1b[0m",
    "[rank1]: Traceback (most recent call last):",
    '[rank1]:   File "/content/train.py", line 67, in <module>',
    "[rank1]:     train()",
    "[rank1]: ValueError: negative dimensions in batch 50",
]


def notebook(*outputs: dict[str, Any]) -> str:
    cell = {"cell_type": "code", "source": ["!torchrun train.py\n", "raise RuntimeError('No space left on device')"]}
    return json.dumps(
        {"cells": [{**cell, "outputs": list(outputs)}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    )


def test_outputs_are_read(tmp_path: Path) -> None:
    """Streams, results and tracebacks, in lists of lines or in one text."""
    path = tmp_path / "run.ipynb"
    stream = {"output_type": "stream", "name": "stdout", "text": ["step 1\n", "step 2\n"]}
    error = {"output_type": "error", "ename": "ValueError", "evalue": "x", "traceback": RAISED}
    path.write_text(notebook(stream, error))
    verdict = judge(gather([path])).verdict
    assert verdict is not None
    assert (verdict.cls, str(verdict.ranks)) == ("dead-rank", "1")


def test_the_source_says_nothing(tmp_path: Path) -> None:
    """A notebook that printed nothing is told, and what stands in its source is no evidence."""
    path = tmp_path / "run.ipynb"
    path.write_text(notebook())
    snapshot = gather([path])
    assert [gap.why for gap in snapshot.gaps] == [Why.SKIPPED]
    assert judge(snapshot).verdict is None


def test_odd_ones(tmp_path: Path) -> None:
    """Other shapes, and a damaged one, raise nothing."""
    path = tmp_path / "run.ipynb"
    body = notebook({"output_type": "stream", "text": 7}, {"traceback": "x"}, {"data": {"text/plain": ["a", 1]}})
    for text in (body, body[:-40], '{"cells": [1, {"cell_type": 2, "outputs": 3}]}', '{"cells": {}, "cell_type": 1}'):
        path.write_text(text)
        assert judge(gather([path])).verdict is None
