"""Readers of strangers' bytes: whatever comes, they neither fail nor hang, and what they give is sane."""

from __future__ import annotations

import gzip
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.analysis.frames import plain_name, wait_of
from rankscope.formats import (
    error_json,
    faulthandler,
    folded,
    gdb_text,
    native_sample,
    processes,
    pybt,
    pylist,
    pyspy_json,
    pyspy_text,
    pystack_text,
    strace,
    text,
)  # fmt: skip
from rankscope.formats.events import families
from rankscope.formats.gather import events, gather
from rankscope.formats.lines import clean, seconds
from rankscope.formats.records import Dump, read_all
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.labels import who
from rankscope.pipeline import judge

READERS = [
    error_json, faulthandler, folded, gdb_text, native_sample, processes, pybt, pylist, pyspy_json, pyspy_text,
    pystack_text, strace, text,
]  # fmt: skip
# Words of the formats themselves, so that what is invented comes near to what is real.
WORDS = st.sampled_from(
    [
        'Thread 12 (idle): "x"',
        "    f (a.py:1)",
        "#0  0x00 in f () from /lib/x.so",
        "Process 1: python",
        '  File "x.py", line 3 in f',
        "Traceback (most recent call last):",
        '  File "x.py", line 3, in f',
        "ValueError: x",
        "[rank3]: ",
        "Watchdog caught collective operation timeout: WorkNCCL(",
        "h:1:2 [0] NCCL WARN ",
        "Timed out waiting 5ms for recv operation to complete",
        "Fatal Python error: x",
        '(C) File "", line ?, in f (x)',
        "Waiting for the GIL",
        "[pid 3] read(3, <unfinished ...>",
        "PID STAT COMMAND",
        "1 D x",
        "f@a.py:1@0-3|4-7;g@b.py:2@0|1 1",
        "  1    x = 1",
        " >2    y = 2",
        "|   0  NVIDIA A100   On  |   00000000:07:00.0 Off |",
        "|  1MiB / 2MiB |  ERR! |",
        "JobState=FAILED Reason=x",
        "  Reason:   OOMKilled",
        "\x1b[31m",
        "\r",
        "\t",
        '{"log": "x"}',
        "Root Cause (first observed failure):",
        "  rank      : 0 (local_rank: 0)",
        "CollectiveFingerPrint(OpType=",
        "is running collective: CollectiveFingerPrint(",
        "50%|# | 1/2 [00:01<00:01, 1it/s]",
        "Last error:",
        "> ",
        "(((((",
        "))))",
        "<<<<",
        "\x00",
        "�",
    ]
)
TEXTS = st.lists(st.one_of(WORDS, st.text(max_size=40), st.just("\n")), max_size=40).map("".join) | st.lists(
    st.one_of(WORDS, st.text(max_size=40)), max_size=40
).map("\n".join)


@pytest.mark.parametrize("module", READERS, ids=lambda module: module.__name__.rsplit(".", 1)[-1])
@given(body=TEXTS)
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_without_failing(module: object, body: str) -> None:
    """A reader gives records of bounded size or nothing."""
    for record in module.read(body):  # type: ignore[attr-defined]
        if isinstance(record, Dump):
            assert len(record.thread.stack) <= 2048


@pytest.mark.parametrize("family", families(), ids=lambda module: module.NAME)
@given(body=TEXTS)
@settings(max_examples=40, deadline=None)
def test_any_line_is_safe_for_every_family_of_events(family: object, body: str) -> None:
    """Events name the line they stand on."""
    last = body.count("\n") + 1
    for event in read_all(family.Reader(), body):  # type: ignore[attr-defined]
        assert 1 <= event.line <= last  # type: ignore[union-attr]


@given(raw=st.binary(max_size=3000))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_a_file_lead_to_an_answer(raw: bytes, tmp_path: pathlib.Path) -> None:
    """A file of anything, plain or compressed, is judged or becomes a gap."""
    (tmp_path / "a").write_bytes(raw)
    (tmp_path / "b.gz").write_bytes(gzip.compress(raw)[: len(raw) // 2 + 20])
    (tmp_path / "c.gz").write_bytes(b"\x1f\x8b" + raw)
    judge(gather([tmp_path]))
    list(events([tmp_path]))


@given(raw=st.text(max_size=300))
def test_cleaning_never_invents_text(raw: str) -> None:
    """A cleaned line is no longer than the line, and has no control characters."""
    line = clean(1, raw)
    assert len(line.text) <= len(raw)
    assert "\x1b" not in line.text
    assert "\r" not in line.text


@given(label=st.text(max_size=80))
def test_any_label_is_read(label: str) -> None:
    """A label names a sane number of ranks or none."""
    assert len(who(label).ranks) <= 1 << 20


@given(stamp=st.text(alphabet="0123456789-T:.,Z+ ", max_size=35))
def test_any_stamp_is_a_time_or_nothing(stamp: str) -> None:
    assert seconds(stamp) is None or seconds(stamp) < 1e15  # type: ignore[operator]


@given(names=st.lists(st.text(max_size=60), max_size=8))
def test_any_frame_has_a_wait_state(names: list[str]) -> None:
    stack = Stack(Frame(name, "", 0, "x.so") for name in names)
    wait_of(stack)
    assert all(len(plain_name(name)) <= len(name) + 40 for name in names)
