"""What differs between ranks, and what differs from a declaration."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes


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
    assert ("collective-mismatch" in causes(tmp_path, notes=f"{line}\n")) is sick
