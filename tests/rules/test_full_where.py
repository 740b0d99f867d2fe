"""The commands about a full file system ask for the folder that the message names, and not for where their reader is."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (
            "OSError: [Errno 28] No space left on device: '/ckpt/run 7/step100.pt'",
            "df -h '/ckpt/run 7' ; df -i '/ckpt/run 7'",
        ),
        ("cannot write /ckpt/part0.bin: [Errno 28] No space left on device; trying again", "df -h /ckpt ; df -i /ckpt"),
        ("OSError: [Errno 28] No space left on device: '/core'", "df -h / ; df -i /"),
        ("OSError: [Errno 28] No space left on device", "df -h . ; df -i ."),
        ("OSError: [Errno 28] No space left on device: 'step100.pt'", "df -h . ; df -i ."),
    ],
)
def test_the_folder_is_that_of_the_file(line: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(line + "\n")
    told = judge(gather([tmp_path]))
    assert told.verdict is not None
    assert told.verdict.cls == "storage-full"
    assert any(str(step).startswith(asked) for step in told.next), told.next
