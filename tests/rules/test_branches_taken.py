"""A rank that told of another branch than the one in whose call its peers stand does not come to that call."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.pipeline import judge

DUMP = 'Thread 70{rank} (active): "MainThread"\n{inner}    epoch (engine.py:{line})\n    main (train.py:21)\n'
MEETS, CHECKS, REBUILDS = "    meet (engine.py:142)\n", "    is_finite (engine.py:58)\n", "    rebuild (engine.py:70)\n"
CODE = (
    "for batch in loader:\n    loss = model(batch)\n    if is_finite(loss):\n        stats = meet({'loss': loss})\n    else:\n"
    '        log.warning("left out this batch, loss %s", loss)\n        rebuild()\n'
)
STEPS = "[rank 0] step 9 loss 2.1\n[rank 1] step 9 loss 2.2\n[rank 2] step 9 loss 2.3\n"
LEFT_OUT = "[rank 2] WARNING engine: left out this batch, loss nan\n"


@pytest.mark.parametrize(
    ("odd", "log", "named"),
    [
        (CHECKS, STEPS + LEFT_OUT, True),
        (REBUILDS, STEPS + LEFT_OUT, False),
        (CHECKS, STEPS + LEFT_OUT + STEPS, False),
        (CHECKS, STEPS, False),
    ],
    ids=["is past it", "is still in its branch", "told before its last step", "told nothing"],
)
def test_who_took_the_other_branch_does_not_come(
    odd: str, log: str, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    for rank, inner in enumerate((MEETS, MEETS, odd)):
        (tmp_path / f"rank {rank}.txt").write_text(DUMP.format(rank=rank, inner=inner, line=97))
    (tmp_path / "log.txt").write_text(log)
    (tmp_path / "engine.py.txt").write_text(CODE)
    found = judge(gather([tmp_path])).verdict
    assert (found is not None and (found.cls, str(found.ranks)) == ("collective-missed-by-rank", "2")) == named
