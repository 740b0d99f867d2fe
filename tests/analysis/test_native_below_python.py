"""Where the frames of Python end in the job's own code, the native stack of the same thread tells for what message it waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis.frame_tables import WaitKind
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of

HEAD = 'Process 70: python -u train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {tid} (idle): "MainThread"\n'
SENDS = (
    "    0x7fccbc2a3f16 (libc.so.6)\n    pthread_cond_timedwait (libc.so.6)\n"
    "    gloo::transport::tcp::UnboundBuffer::waitSend (libtorch_cpu.so)\n"
    "    c10d::ProcessGroupGloo::SendWork::wait (libtorch_cpu.so)\n"
    "    pybind11::cpp_function::dispatcher (libtorch_python.so)\n"
)
READS = "    0x7fccbc2a3f16 (libc.so.6)\n    read (libc.so.6)\n    decode (libav.so)\n"
OWN = "    hand_around (train.py:27)\n    train (train.py:43)\n    <module> (train.py:48)\n"


@pytest.mark.parametrize(
    ("below", "kind"),
    [(SENDS, WaitKind.P2P), (READS, WaitKind.USER), ("", WaitKind.USER)],
    ids=["a message", "a read", "none"],
)
def test_the_wait_for_a_message_is_seen_below_the_frame_that_calls_it(
    below: str, kind: WaitKind, tmp_path: Path
) -> None:
    (tmp_path / "rank_0_pid_70.txt").write_text(HEAD.format(tid=70) + below + OWN)
    case = case_of(gather([tmp_path]))
    (standing,) = case.standings.values()
    assert standing.kind is kind
    assert standing.user_frame is not None
    assert standing.user_frame.function == "hand_around"
