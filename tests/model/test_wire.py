"""What the probe writes is what the reader gets; damage loses the damaged line and nothing else."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import RankscopeError
from rankscope.formats import snapshot as own
from rankscope.formats.gather import gather
from rankscope.formats.snapshot import read, recognises
from rankscope.model import wire
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Effort, Host, Item, Job, Snapshot, Sweep

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NUMBER = st.integers(0, 2**40)
REFS = st.builds(ProcessRef, st.sampled_from(["node1", "node2.cluster:7"]), st.integers(1, 99), NUMBER)
FRAMES = st.builds(Frame, TEXT, TEXT, st.integers(0, 5000), st.none() | TEXT.filter(bool))
STACKS = st.lists(FRAMES, max_size=5).map(Stack)
THREADS = st.builds(
    PythonThread, st.none() | NUMBER, STACKS, st.none() | TEXT, st.sampled_from(Trust), st.booleans(),
    st.none() | st.booleans(), st.lists(st.builds(Local, st.integers(0, 9), TEXT, TEXT, TEXT), max_size=3).map(tuple),
)  # fmt: skip
RECORDS = st.one_of(
    st.builds(PythonStacks, st.lists(THREADS, max_size=3).map(tuple), st.just("memory"), st.none() | TEXT),
    st.builds(Environ, st.dictionaries(TEXT, TEXT, max_size=3)),
    st.builds(OpenFiles, st.lists(st.builds(OpenFile, NUMBER, TEXT), max_size=3).map(tuple), st.booleans()),
    st.builds(
        Threads,
        st.lists(
            st.builds(KernelThread, NUMBER, TEXT, st.sampled_from("RSDT"), TEXT, still_s=st.none() | st.floats(0, 1e6)),
            max_size=3,
        ).map(tuple),
        ns_pid=st.none() | NUMBER,
    ),
)
GAPS = st.builds(Gap, TEXT, st.sampled_from(Why), TEXT, TEXT, st.none() | REFS, st.none() | TEXT)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A job of a few processes, seen a few times."""
    refs = tuple(draw(st.lists(REFS, min_size=1, max_size=3, unique=True)))
    processes = tuple(Process(ref, draw(st.sampled_from(Role)), rank=draw(st.none() | NUMBER)) for ref in refs)
    sweeps = []
    for index in range(draw(st.integers(1, 3))):
        items = {}
        for ref in refs:
            record = draw(RECORDS)
            items[ref, type(record)] = Item(ref, record)
        sweeps.append(Sweep(index, float(index), refs, tuple(items.values())))
    job = Job(draw(TEXT), draw(st.none() | REFS), draw(st.none() | NUMBER), draw(TEXT))
    effort = Effort(1.5, 1.0, draw(st.floats(0, 100)))
    gaps = tuple(draw(st.lists(GAPS, max_size=2)))
    return Snapshot(job, (Host("node1"),), processes, tuple(sweeps), gaps, effort, draw(st.booleans()))


def lines_of(snapshot: Snapshot) -> list[bytes]:
    lines: list[str] = []
    wire.write(snapshot, "a test", lines.append)
    return [line.encode() for line in lines]


def sample() -> Snapshot:
    ref = ProcessRef("node1", 7, 99)
    stack = Stack((Frame("main", "train.py", 3), Frame("step", "train.py", 17)))
    record = PythonStacks((PythonThread(7, stack, "MainThread"), PythonThread(8, stack, "twin")), "memory")
    sweep = Sweep(0, 1.0, (ref,), (Item(ref, record),))
    again = Sweep(1, 2.0, (ref,), (Item(ref, record),))
    return Snapshot(Job("torchrun"), (Host("node1"),), (Process(ref, Role.RANK, rank=5),), (sweep, again))


@settings(deadline=None)
@given(snapshots())
def test_a_snapshot_is_read_back_as_it_was_written(snapshot: Snapshot) -> None:
    """Collecting and judging are two programs joined by a file."""
    assert read(lines_of(snapshot)) == snapshot


def test_equal_stacks_are_written_once() -> None:
    """Two threads in two sweeps that stand in one place cost one stack and one word."""
    kinds = [json.loads(line)["is"] for line in lines_of(sample())]
    assert kinds.count("stack") == 1
    assert kinds.count("same") == 1


@given(st.integers(0, 10_000))
def test_a_snapshot_that_breaks_off_is_read_as_far_as_it_goes(cut: int) -> None:
    """A stream that ends in the middle gives what came, and is not called complete."""
    whole = b"".join(lines_of(sample()))
    head = len(lines_of(sample())[0])
    cut = head + cut % (len(whole) - head - 1)  # without its last end of a line it is whole
    got = read(whole[:cut].splitlines(keepends=True))
    assert not got.complete
    assert got.job == sample().job


@settings(deadline=None)
@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=20))
def test_damage_never_raises_and_is_reported(at: int, noise: bytes) -> None:
    """Overwritten bytes cost at most the lines they stand in."""
    lines = lines_of(sample())
    body = bytearray(b"".join(lines[1:]))
    at %= len(body)
    body[at : at + len(noise)] = noise
    got = read([lines[0], *bytes(body).splitlines(keepends=True)])
    assert got.job == sample().job


@given(st.binary(max_size=300))
def test_a_foreign_file_is_refused(content: bytes) -> None:
    """What does not begin like a snapshot is none."""
    if not recognises(content):
        with pytest.raises(RankscopeError, match="not a snapshot"):
            read(content.splitlines(keepends=True))


def test_a_newer_version_is_refused_with_what_to_do() -> None:
    """A file whose meaning we cannot know is not guessed at."""
    header = json.loads(lines_of(sample())[0])
    header["version"] = 2
    with pytest.raises(RankscopeError, match="version 2") as caught:
        read([json.dumps(header).encode()])
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("over", [-1, 0, 1, 3 * 1000])
def test_a_line_that_is_too_long_is_not_held(
    tmp_path: pathlib.Path, over: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came packed may unpack to a line without an end; the lines behind it are read, and the line is told."""
    monkeypatch.setattr(own, "LINE_LIMIT", limit := 1000)
    long = b'{"is":"gap","what":"%b","why":"denied"}\n' % (b"x" * (limit + over - 38))
    assert len(long) == limit + over
    lines = lines_of(sample())
    (tmp_path / "job.snap").write_bytes(b"".join([*lines[:-1], long, lines[-1]]))
    got = gather([tmp_path / "job.snap"])
    told = [(gap.what, gap.why) for gap in got.gaps]
    assert told == ([("a line of the snapshot", Why.DAMAGED)] if over >= 0 else [("x" * (limit - 39), Why.DENIED)])
    assert (got.sweeps, got.complete) == (sample().sweeps, True)


def test_gaps_are_bounded_whoever_noted_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were written, those of recorders that cannot be read, and those of damaged lines; that there are more is one."""
    monkeypatch.setattr(own, "MOST_GAPS", 5)
    lines = lines_of(sample())
    written = b'{"is":"gap","what":"stacks","why":"denied"}\n'
    dump = b'{"is":"evidence","of":"recorder-dump","data":{"source":"dump","place":"x","written_ns":1,"packed":"%"}}\n'
    for more in (written, dump, b'{"is":"process"}\n'):
        got = read([*lines[:-1], *[more] * 9, lines[-1]])
        assert len(got.gaps) == 6
        assert (got.gaps[-1].what, got.gaps[-1].why) == ("gaps", Why.CUT)


def test_lines_that_cannot_be_read_leave_room_for_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the look itself noted may be what rules go by."""
    monkeypatch.setattr(own, "MOST_UNREAD", 5)
    lines = lines_of(sample())
    got = read([*lines[:-1], *[b"{"] * 9, b'{"is":"gap","what":"stacks","why":"denied"}', lines[-1]])
    assert [gap.why for gap in got.gaps] == [Why.DAMAGED] * 5 + [Why.DENIED]


def test_unknown_lines_and_kinds_of_a_newer_program_become_gaps() -> None:
    """Within one version things are only added: what is new to us is left out, and said."""
    lines = lines_of(sample())
    new = [b'{"is":"hologram"}', b'{"is":"evidence","of":"auras","process":"node1:7:99","data":{}}']
    got = read([*lines[:-1], *new, lines[-1]])
    assert [gap.why for gap in got.gaps] == [Why.UNSUPPORTED, Why.UNSUPPORTED]
    assert got.sweeps == sample().sweeps
