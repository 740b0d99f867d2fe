"""Stacks in the middle of a text: pasted frames, and tracebacks of those who only waited."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.passages import stacks_told
from rankscope.model.evidence.events import Event

_FRAMES = """\
  File "train.py", line 12, in main
    save(model)
  File "torch/distributed/distributed_c10d.py", line 3696, in barrier
    work = default_pg.barrier(opts=opts)
"""


def _told(text: str, rank: int | None = None) -> dict[int | None, list[str]]:
    lines = [Event("text.line", line=at, rank=rank, text=line) for at, line in enumerate(text.splitlines(), 1)]
    return {rank: [frame.function for frame in stack] for rank, stack in stacks_told(lines).items()}


def test_frames_without_a_header() -> None:
    """Frames that somebody pasted are a stack, root first."""
    assert _told(_FRAMES) == {None: ["main", "barrier"]}


def test_a_traceback_of_a_wait() -> None:
    """Who failed because a wait took too long stood where the traceback ends."""
    text = f"Traceback (most recent call last):\n{_FRAMES}torch.distributed.DistBackendError: wait timeout after 600000ms\n"
    assert _told(text, 3) == {3: ["main", "barrier"]}


def test_a_traceback_of_a_failure() -> None:
    """Who failed by itself was not waiting."""
    assert _told(f"Traceback (most recent call last):\n{_FRAMES}KeyError: 'label'\n") == {}


def test_a_single_frame() -> None:
    """One frame may belong to a warning."""
    assert _told('  File "train.py", line 3, in f\nUserWarning: old') == {}


@given(
    st.lists(st.sampled_from([*_FRAMES.splitlines(), "Traceback (most recent call last):", "KeyError: 1", "", "text"]))
)
def test_any_order_of_lines(lines: list[str]) -> None:
    """Any order of lines gives stacks of at least two frames, or none."""
    assert all(len(stack) > 1 for stack in _told("\n".join(lines)).values())
