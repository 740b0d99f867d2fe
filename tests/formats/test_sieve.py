"""Big logs are sieved by grep, whatever state the machine is in; what grep could not give is said."""

from __future__ import annotations

import os
import pathlib
import tempfile
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import sieve
from rankscope.formats.files import BUFFER
from rankscope.formats.gather import gather
from rankscope.formats.kept import Ends
from rankscope.model.gap import Why
from rankscope.model.snapshot import Snapshot

STEP = "step 1 of many\n"
STEPS = STEP * (BUFFER // len(STEP) + 1)
FULL = "OSError: [Errno 28] No space left on device\n"
START = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'start'\n"


class Pieces:
    """A stream that gives one piece a time."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)

    def read1(self, _: int) -> bytes:
        return next(self._pieces, b"")


@pytest.fixture
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    """A log that does not fit into the buffer; it tells its trouble at its end."""
    path = tmp_path / "train.log"
    path.write_text(START + STEPS + FULL)
    return path


def grep(folder: pathlib.Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another grep, first on the PATH."""
    (folder / "grep").write_text(script)
    (folder / "grep").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def errors(snapshot: Snapshot) -> list[str]:
    """The exceptions that were read, and where."""
    events = [e for sweep in snapshot.sweeps for item in sweep.items for e in getattr(item.record, "events", ())]
    return [f"{e.line}: {e.fields['type']}" for e in events if e.event == "python.exception"]


BOTH = ["3: KeyError", f"{STEPS.count(chr(10)) + 4}: OSError"]


def test_a_full_disk_costs_no_log(log: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that hangs since /tmp is full is judged beside it."""
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    snapshot = gather([log])
    assert (snapshot.gaps, errors(snapshot)) == ((), BOTH)


def test_a_grep_that_cannot_be_started_is_done_without(
    log: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The readers see every line themselves."""
    grep(tmp_path, "#!/proc/none\n", monkeypatch)
    snapshot = gather([log])
    assert (snapshot.gaps, errors(snapshot)) == ((), BOTH)


def test_a_grep_that_gives_up_is_said(
    log: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it gave before is kept."""
    grep(tmp_path, "#!/bin/sh\nhead -n 3 | /bin/grep -n ''\nexit 2\n", monkeypatch)
    snapshot = gather([log])
    (gap,) = snapshot.gaps
    assert (gap.what, gap.why) == (str(log), Why.FAILED)
    assert "status 2" in gap.detail
    assert errors(snapshot) == BOTH[:1]


@given(
    lines=st.lists(st.integers(0, 40).map(lambda size: b"x" * size), max_size=8),
    cuts=st.lists(st.integers(1, 9), min_size=1, max_size=9),
)
def test_grep_gets_every_line_up_to_the_limit(lines: list[bytes], cuts: list[int]) -> None:
    """However the stream comes, no line ends elsewhere and none is much longer than the limit."""
    whole, pieces, at = b"\n".join(lines), [], 0
    while at < len(whole):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(whole[at : at + size])
        at += size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "LINE_LIMIT", limit := 5)
        given = b"".join(sieve._shortened(Pieces(pieces), Ends(), threading.Event())).split(b"\n")  # type: ignore[arg-type]
    assert [line[:limit] for line in given] == [line[:limit] for line in whole.split(b"\n")]
    assert max(map(len, given)) <= limit + 2 * max(cuts)
