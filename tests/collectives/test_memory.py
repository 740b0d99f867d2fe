"""The recorder read from memory: a ring laid out as the compiler lays it out, every era, damage, and a real process."""

from __future__ import annotations

import json
import os
import stat
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pieces import BytesMemory
from rankscope.formats import flight_recorder
from rankscope.memory import recorder
from rankscope.memory.buildid import SymbolCache
from rankscope.memory.recorder_entry import LAYOUTS, Layout, Torn
from rankscope.memory.recorder_ring import Reading, UnknownRing
from rankscope.memory.runtime import Families
from rankscope.memory.source import Unreadable
from rankscope.model.evidence.recorder import GroupConfig, GroupStatus, Recorder
from rankscope.model.gap import Gap, Why

AT, RING, HEAP = 0x10000, 0x200000, 0x900000
MODERN = LAYOUTS[0]


class Process:
    """Memory of a process that holds a flight recorder."""

    def __init__(self, layout: Layout, capacity: int = 8) -> None:
        self.layout, self.capacity = layout, capacity
        self.head = bytearray(512)
        self.entries: list[bytearray] = []
        self.heap = bytearray()
        self.issued = 0

    def keep(self, data: bytes) -> int:
        at = HEAP + len(self.heap)
        self.heap += data + b"\0" * (-len(data) % 8 + 8)
        return at

    def text(self, raw: bytearray, at: int, value: str, base: int) -> None:
        data = value.encode()
        pointer = base + at + 16 if len(data) < 16 else self.keep(data)
        struct.pack_into("<QQ", raw, at, pointer, len(data))
        if len(data) < 16:
            raw[at + 16 : at + 16 + len(data)] = data

    def numbers(self, raw: bytearray, at: int, values: list[int], base: int, room: int) -> None:
        inside = len(values) <= room
        pointer = base + at + 16 if inside else self.keep(struct.pack(f"<{len(values)}q", *values))
        struct.pack_into("<QII", raw, at, pointer, len(values), max(room, len(values)))
        if inside:
            struct.pack_into(f"<{len(values)}q", raw, at + 16, *values)

    def issue(
        self, label: str, seq: int, sizes: list[list[int]], done: bool, group=("0", "default_pg"), p2p=False
    ) -> None:
        number, self.issued = self.issued, self.issued + 1
        slot = number % self.capacity
        raw, base, shift = bytearray(self.layout.entry), RING + slot * self.layout.entry, self.layout.shift
        struct.pack_into("<Q", raw, 0, number)
        struct.pack_into("<Q", raw, 8 + shift, 0)
        self.text(raw, 16 + shift, group[1], base)
        self.text(raw, 48 + shift, group[0], base)
        struct.pack_into("<QQQ", raw, 80 + shift, seq, 0, number + 1)
        self.text(raw, 104 + shift, label, base)
        struct.pack_into("<qq", raw, 168 + shift, 1_790_000_000_000_000_000 + number, 600_000)
        raw[184 + shift] = p2p
        for offset in (232, 304):
            self.numbers(raw, offset + shift, [len(dims) for dims in sizes], base, 4)
        flat = [number for dims in sizes for number in dims]
        self.numbers(raw, 376 + shift, flat + flat, base, 8)
        for offset in (280, 352):
            types = self.keep(b"\x06" * len(sizes))
            struct.pack_into("<QQQ", raw, offset + shift, types, types + len(sizes), types + len(sizes))
        if self.layout.thread:
            self.text(raw, self.layout.thread + shift, "python", base)
        raw[self.layout.entry - 8] = done
        if slot == len(self.entries):
            self.entries.append(raw)
        else:
            self.entries[slot] = raw

    def tree(self, at: int, nodes: list[bytes]) -> None:
        """A std::map with a root and at most two children."""
        addresses = [self.keep(b"\0" * 32 + node) for node in nodes]
        root = addresses[len(nodes) // 2] if nodes else 0
        ends = (addresses[0], addresses[-1]) if nodes else (AT + at + 8,) * 2
        struct.pack_into("<5Q", self.head, at + 8, 0, root, *ends, len(nodes))
        for number, address in enumerate(addresses):
            left = addresses[0] if len(nodes) == 3 and number == 1 else 0
            right = addresses[2] if len(nodes) == 3 and number == 1 else 0
            struct.pack_into("<4Q", self.heap, address - HEAP, 1, AT + at + 8 if address == root else root, left, right)

    def memory(self) -> BytesMemory:
        begin, end = RING, RING + len(self.entries) * self.layout.entry
        struct.pack_into("<B", self.head, 0, 1)
        struct.pack_into(
            "<QQQQQQ", self.head, 48, begin, end, end, self.capacity, self.issued % self.capacity, self.issued
        )
        status = [struct.pack("<QQ", key, self.keep(struct.pack("<qqq", 5 + key, -1, 4 + key))) for key in range(3)]
        self.tree(self.layout.status, status)
        group = bytearray(96)
        self.text(group, 0, "default_pg", 0)
        self.text(group, 32, "0", 0)
        members = self.keep(struct.pack("<4Q", *range(4)))
        struct.pack_into("<QQQ", group, 64, members, members + 32, members + 32)
        at = HEAP + len(self.heap) + 32
        self.text(group, 0, "default_pg", at)
        self.text(group, 32, "0", at)
        self.tree(self.layout.groups, [bytes(group)])
        if self.layout.library:
            self.text(self.head, self.layout.library, "2.27.5", AT)
        ring = b"".join(self.entries) or b"\0"
        return BytesMemory({AT: bytes(self.head), RING: ring, HEAP: bytes(self.heap)})


def filled(layout: Layout, issued: int = 6, open_from: int = 5, capacity: int = 8) -> Process:
    process = Process(layout, capacity)
    for number in range(issued):
        process.issue("nccl:a_long_collective_name" if number % 2 else "gloo:all_reduce", number + 1,
                      [[3, 4], [number]] if number % 3 else [[1] * 9], done=number < open_from)  # fmt: skip
    return process


def read(process: Process, tail: int = 128) -> Recorder:
    return Reading(process.memory(), AT, tail).recorder()


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_ring_of_either_era_is_read(layout):
    found = read(filled(layout))
    library, thread = "2.27.5" if layout.library else "", "python" if layout.thread else ""
    assert (found.version, found.library, found.capacity, found.source) == (layout.name, library, 8, "memory")
    assert [entry.id for entry in found.entries] == list(range(6))
    assert [entry.done for entry in found.entries] == [True] * 5 + [False]
    first, second = found.entries[:2]
    assert (first.op, first.backend, first.input_sizes, first.thread) == ("all_reduce", "gloo", ((1,) * 9,), thread)
    assert (second.op, second.output_sizes, second.input_dtypes) == (
        "a_long_collective_name",
        ((3, 4), (1,)),
        ("Float",) * 2,
    )
    assert (second.group, second.desc, second.seq, second.timeout_ms) == ("0", "default_pg", 2, 600_000)
    assert found.status == {str(key): GroupStatus(5 + key, -1, 4 + key) for key in range(3)}
    assert found.groups == (GroupConfig("0", "default_pg", (0, 1, 2, 3)),)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_ring_that_has_turned_comes_oldest_first(layout):
    found = read(filled(layout, issued=21, open_from=20, capacity=8))
    assert [entry.id for entry in found.entries] == list(range(13, 21))


def test_old_finished_operations_are_left_out_and_unfinished_ones_never():
    process = filled(MODERN, issued=30, open_from=30, capacity=64)
    process.entries[3][MODERN.entry - 8] = 0
    assert [entry.id for entry in read(process, tail=4).entries] == [3, 26, 27, 28, 29]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_members_of_a_batch_are_over_when_the_batch_is(layout):
    """Torch never marks them: only the entry that follows them, with the same numbers."""
    process = Process(layout, capacity=64)
    for number in range(3):
        over = number < 2
        process.issue("nccl:send 0->1", number, [[4]], done=False, p2p=True)
        process.issue("nccl:recv 0<-1", number, [[4]], done=False, p2p=True)
        process.issue("nccl:coalesced", number, [], done=over, p2p=True)
    assert [entry.done for entry in read(process).entries] == [True] * 6 + [False] * 3
    assert [entry.id for entry in read(process, tail=1).entries] == [6, 7, 8]


def test_messages_name_both_ends():
    process = Process(MODERN)
    process.issue("nccl:recv 3<-0", 0, [[4]], done=False, p2p=True)
    (entry,) = read(process).entries
    assert (entry.op, entry.peer, entry.is_p2p) == ("recv", (0, 3), True)


def test_a_recorder_that_is_off_says_so():
    process = Process(MODERN)
    memory = process.memory()
    off = bytearray(process.head)
    off[0] = 0
    struct.pack_into("<QQQ", off, 48, 0, 0, 0)
    assert not Reading(BytesMemory({AT: bytes(off)}), AT, 8).recorder().enabled
    assert Reading(memory, AT, 8).recorder().enabled


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_foreign_or_damaged_memory_is_never_guessed_at(data):
    process = filled(MODERN)
    memory = process.memory()
    pieces = {AT: bytearray(process.head), RING: bytearray(b"".join(process.entries)), HEAP: bytearray(process.heap)}
    for _ in range(data.draw(st.integers(1, 6))):
        piece = pieces[data.draw(st.sampled_from(sorted(pieces)))]
        at = data.draw(st.integers(0, len(piece) - 8)) // 8 * 8
        struct.pack_into("<Q", piece, at, data.draw(st.sampled_from([0, 1, AT, RING, HEAP, 1 << 40, (1 << 64) - 1])))
    memory = BytesMemory({at: bytes(piece) for at, piece in pieces.items()})
    try:
        found = Reading(memory, AT, 8).recorder()
    except (UnknownRing, Torn, Unreadable, struct.error):
        return
    assert isinstance(found, Recorder)


class Moving:
    """Memory in which the ring moves on with every look at its head."""

    def __init__(self, process: Process, times: int) -> None:
        self.process, self.times, self.inner = process, times, process.memory()

    def read(self, address: int, size: int) -> bytes:
        if address == AT and size == 96 and self.times:
            self.times -= 1
            self.process.issue("gloo:barrier", 99, [], done=False)
            self.inner = self.process.memory()
        return self.inner.read(address, size)

    read_some = read


def test_a_ring_that_moves_while_it_is_read_is_read_again():
    assert Reading(Moving(filled(MODERN, capacity=64), 3), AT, 8).recorder().entries[-1].op == "barrier"
    with pytest.raises(Torn):
        Reading(Moving(filled(MODERN, capacity=64), 1000), AT, 8).recorder()


def test_a_process_without_torch_has_no_recorder():
    found = recorder.read_recorder(os.getpid(), cache=SymbolCache("/nonexistent"))
    assert isinstance(found, Gap)
    assert found.why is Why.MISSING


def test_the_two_rings_of_one_process_are_laid_side_by_side():
    nccl, gloo = filled(MODERN, issued=6), filled(MODERN, issued=2)
    merged = recorder.joined([read(nccl), read(gloo)])
    assert len(merged.entries) == 8
    assert [entry.id for entry in merged.entries] == list(range(8))
    assert {entry.group for entry in merged.entries} > {"0"}


CHILD = """
import json, pickle, sys, torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
group = dist.new_group([0], group_desc="some group with a long description")
for number in range(2100):
    dist.all_reduce(torch.ones(number % 7 + 1, 3), group=group if number % 2 else None)
dist.barrier()
dist.all_gather([torch.ones(2, dtype=torch.bfloat16)], torch.ones(2, dtype=torch.bfloat16))
c10d = torch._C._distributed_c10d
sites = pickle.loads(c10d._dump_fr_trace(includeStackTraces=True))["entries"][-20:]
sites = [[[frame["filename"], frame["line"]] for frame in entry["frames"]] for entry in sites]
print(json.dumps({"dump": c10d._dump_fr_trace_json(includeCollectives=True).decode(), "sites": sites}), flush=True)
sys.stdin.read()
"""


@pytest.mark.torch
def test_a_real_process_reads_as_its_own_dump_says(tmp_path):
    """Every field of every entry, of two groups, equals what torch itself writes of the same process."""
    pytest.importorskip("torch")
    cache = SymbolCache(str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        found = recorder.read_recorder(child.pid, cache=cache, tail=10_000)
        sited = recorder.read_recorder(child.pid, cache=cache, families=Families())
        child.stdin.close()  # type: ignore[union-attr]
    if isinstance(found, Gap):
        pytest.skip(found.detail)
    said = json.loads(line)
    dump = flight_recorder.read(said["dump"].encode())
    assert isinstance(dump, Recorder)
    assert isinstance(sited, Recorder)
    places = [[[frame.file, frame.line] for frame in entry.frames] for entry in sited.entries[-20:]]
    assert places == said["sites"]
    assert len(found.entries) == len(dump.entries) == 2000
    assert list(found.entries) == list(dump.entries)
    assert found.status == dump.status
    kept = tmp_path / "rankscope" / "symbols.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert SymbolCache(str(tmp_path))._known == cache._known


def test_a_cache_that_others_may_write_is_not_believed(tmp_path):
    kept = tmp_path / "rankscope" / "symbols.json"
    kept.parent.mkdir()
    kept.write_text('{"abc": {"x": 5}}')
    kept.chmod(0o666)
    assert SymbolCache(str(tmp_path))._known == {}
    kept.chmod(0o600)
    assert SymbolCache(str(tmp_path))._known == {"abc": {"x": 5}}
    kept.write_text("[1, 2")
    assert SymbolCache(str(tmp_path))._known == {}
