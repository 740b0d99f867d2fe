"""Tracebacks in the panels that rich draws: frames, paths that go on in the next line, chained ones."""

from __future__ import annotations

from pathlib import Path

from rankscope.formats import text
from rankscope.model.evidence.events import Event

SAMPLE = Path(__file__).parents[1] / "samples/traceback/rich-13.9/chained_long_path.txt"


def raised(body: str) -> list[Event]:
    return [one for one in text.read(body) if isinstance(one, Event) and one.event == "python.exception"]


def test_frames_of_a_panel() -> None:
    """Each with its file, line and function; a path that was cut is whole again."""
    first, second = raised(SAMPLE.read_text())
    assert first.fields["frames"] == (
        "/tmp/train.py:11 main",
        "/tmp/train.py:8 inner",
        "/tmp/some_long_directory_name_for_a_project/of_somebody_who_likes_long_names/"
        "a_module_with_a_rather_long_name_too.py:2 run",
    )
    assert second.fields["frames"] == ("/tmp/train.py:14 <module>", "/tmp/train.py:13 main")
    assert second.fields["message"].startswith("Timed out initializing process group")


def test_panels_of_two_ranks_at_once() -> None:
    """Prefixed line by line, they do not mix."""
    lines = SAMPLE.read_text().splitlines()
    both = "\n".join(f"[rank{rank}]: {line}" for line in lines for rank in (0, 1))
    assert [(one.rank, len(one.fields["frames"])) for one in raised(both)] == [(0, 3), (1, 3), (0, 2), (1, 2)]


def test_a_panel_that_is_cut_off() -> None:
    """Without its end it is a traceback whose exception never came."""
    body = "\n".join(SAMPLE.read_text().splitlines()[:20])
    assert raised(body) == []
    cut = [one for one in text.read(body) if isinstance(one, Event) and one.event == "python.traceback"]
    assert [one.fields["frames"] for one in cut] == [("/tmp/train.py:11 main", "/tmp/train.py:8 inner")]
