"""Dumps that end behind the head of a thread: whoever has no frames accuses nobody, and costs no rule its say."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

HEAD = "Process 41: python serve.py\nPython v3.11.7 (python)\n\n"
THREADS = [
    'Thread 41 (idle): "MainThread"\n    readinto (socket.py:706)\n    getresponse (http/client.py:1386)\n    ask (serve.py:9)\n',
    'Thread 42 (idle): "renewer"\n    wait (threading.py:331)\n    renew (redis/lock.py:290)\n    run (threading.py:982)\n',
]


@pytest.mark.parametrize("name", ["MainThread", "renewer", "Thread-7 (push)"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_thread_without_frames_is_survived(name: str, before: int, tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text(HEAD + "\n".join(THREADS[:before]) + f'\nThread 43 (idle): "{name}"\n')
    assert not [gap for gap in judge(gather([tmp_path])).gaps if gap.hint == "please report this"]
