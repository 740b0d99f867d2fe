"""A client and the workers of its cluster that run different minor releases of Python do not understand each other's pickles."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

SEEN = "gotit = waiter.acquire(True, timeout)\nKeyboardInterrupt\n"


def differs(folder: Path, sides: dict[str, str]) -> bool:
    """Whether Python is said to differ between these places."""
    for place, version in sides.items():
        (folder / f"{place}.txt").write_text(f"Python {version}, Ubuntu 22.04\n")
    (folder / "traceback.txt").write_text(SEEN)
    found = judge(gather([folder])).findings
    return any(one.rule == "versions-differ" and one.title.startswith("Python") for one in found)


@pytest.mark.parametrize(
    "sides",
    [
        {"client machine": "3.6.1", "workers": "3.5.2"},
        {"driver": "3.11.4", "executors": "3.9.18"},
        {"my notebook": "3.12.1", "remote cluster": "3.10.12"},
        {"laptop": "3.10.2", "scheduler": "3.8.10", "worker 1": "3.8.10"},
    ],
)
def test_a_client_of_another_python(sides: dict[str, str], tmp_path: Path) -> None:
    assert differs(tmp_path, sides)


@pytest.mark.parametrize(
    "sides",
    [
        {"client machine": "3.11.1", "workers": "3.11.9"},
        {"worker 1": "3.11.1", "worker 2": "3.10.9"},
        {"login node": "3.9.1", "compute node": "3.11.9"},
        {"client machine": "3.11.1"},
    ],
    ids=["one minor release", "no client", "nobody pickles", "one side"],
)
def test_others_need_not_agree(sides: dict[str, str], tmp_path: Path) -> None:
    assert not differs(tmp_path, sides)
