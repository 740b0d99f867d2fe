"""What differs between ranks, and what differs from a declaration."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding, Kind
from rankscope.pipeline import judge


def causes(folder: pathlib.Path, **texts: str) -> dict[str, Finding]:
    """The causes that are found in some texts, by their classes."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return {one.cls: one for one in judge(gather([folder]), 30.0).findings if one.kind is Kind.CAUSE}


@pytest.mark.parametrize(
    ("line", "sick"),
    [
        ("the shapes of the gradients differ between ranks 0 and 1, and all_reduce never returns", True),
        ("the output shapes of the plugin differ from the shapes that the kernel writes, and it hangs", False),
        ("the client hangs: no token for any request", False),
        ("no gradients for some ranks: the experts got no tokens on this rank, and the job hangs", True),
    ],
)
def test_shapes_that_differ_differ_between_ranks(tmp_path: pathlib.Path, line: str, sick: bool) -> None:
    """What differs from a declaration is no matter of ranks, and what a client lacks is not missing on a rank."""
    assert ("collective-mismatch" in {one.cls for one in _all(tmp_path, line)}) is sick


def _all(folder: pathlib.Path, line: str) -> tuple[Finding, ...]:
    (folder / "notes.txt").write_text(f"{line}\n")
    return tuple(one for one in judge(gather([folder]), 30.0).findings if one.rule == "calls-differ")
