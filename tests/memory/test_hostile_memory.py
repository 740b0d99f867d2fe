"""Whatever bytes a process holds, reading them ends soon, within bounds, with an answer or one of our own refusals."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.pieces import BytesMemory
from rankscope.memory import (
    dicts,
    elf,
    frames,
    interpreter,
    layouts,
    lines,
    maps,
    runtime,
    search,
    source,
    tasks,
    values,
)
from rankscope.memory.code import CodeReader, Codes, NotCode
from rankscope.memory.frames import RawFrame
from rankscope.memory.layouts import Layout, own
from rankscope.memory.names import Names
from rankscope.memory.objects import Objects
from rankscope.memory.source import Pages, ProcessMemory, Unreadable

BASE = 0x5000_0000
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LAYOUTS = st.sampled_from([layouts.table(version) for version in layouts.TABLES])
# Mostly small numbers, flags and pointers back into the same piece, so that rings and absurd lengths are the rule.
WORDS = st.one_of(
    st.integers(0, 64),
    st.integers(0, 511).map(lambda n: BASE + 8 * n),
    st.sampled_from([2**31, 2**40, 2**63, 2**64 - 1, 0x19 << 2, 0x0101010101010101, 1 << 9, 1 << 4]),
    st.integers(0, 2**64 - 1),
)
PIECES = st.lists(WORDS, min_size=64, max_size=512).map(lambda words: struct.pack(f"<{len(words)}Q", *words))
REFUSALS = (Unreadable, NotCode, struct.error)


@QUICK
@given(PIECES, LAYOUTS, st.integers(0, 500))
def test_arbitrary_memory_is_walked_within_bounds(piece: bytes, layout: Layout, start: int) -> None:
    """Threads, frames, code, strings, dicts, names and values: no crash, no endless ring, no unbounded read."""
    memory = BytesMemory({BASE: piece})
    objects, family, address = Objects(memory, layout, {}), runtime.Family(), BASE + 8 * start
    codes, shown = CodeReader(objects, Codes()), values.Values(objects, strings=True)
    raw = RawFrame(address, address, 0)
    for attempt in (
        lambda: interpreter.threads(memory, layout, address),
        lambda: interpreter.lock(memory, layout, address, address),
        lambda: interpreter.finalizing(memory, layout, address),
        lambda: frames.walk(memory, layout, address, 500),
        lambda: codes.at(address),
        lambda: objects.text(address),
        lambda: objects.data(address, 1 << 20),
        lambda: objects.items(address, 4096),
        lambda: list(dicts.entries(objects, address)),
        lambda: dicts.attribute(objects, address, "_name"),
        lambda: shown._show(address, True),
        lambda: shown._show(address, False),
        lambda: list(shown._globals(raw, True)),
        lambda: Names(objects, family).of(interpreter.ThreadState(address, 1, 1, address, address), None, None),
    ):
        try:
            attempt()
        except REFUSALS:
            continue
    assert memory.reads < 100_000


@QUICK
@given(PIECES, LAYOUTS)
def test_arbitrary_memory_is_searched_within_bounds(piece: bytes, layout: Layout) -> None:
    """What looks like an interpreter is an address in the piece or just before it; the search ends."""
    memory, mapping = BytesMemory({BASE: piece}), maps.Mapping(BASE, BASE + len(piece), "rw-p", 0, "0:0", 0, "")
    for address in (*search.shaped(memory, [mapping], [mapping], layout), *search.marked(memory, [mapping])):
        assert BASE - 4096 < address < BASE + len(piece)
    assert memory.reads < 2000


@QUICK
@given(st.binary(max_size=400), st.integers(-100, 1 << 30), st.integers(-4, 5000))
def test_arbitrary_line_tables_give_a_number(table: bytes, first: int, at: int) -> None:
    """A damaged table gives some line, never an error."""
    for read in (lines.lnotab, lines.ranges, lines.locations):
        assert isinstance(read(table, first, at), int)


@QUICK
@given(st.binary(max_size=2000))
def test_arbitrary_text_of_the_kernel_is_parsed(raw: bytes) -> None:
    """Maps and status files may hold any bytes, since programs choose names."""
    for mapping in maps.parse(raw):
        assert isinstance(mapping.path, str)
    list(maps.images(maps.parse(raw)))


@QUICK
@given(st.binary(max_size=600))
def test_arbitrary_images_are_refused_or_searched(data: bytes) -> None:
    """A file that only begins like an ELF image is no reason to fail."""
    for each in (data, b"\x7fELF\x02\x01" + data):
        with_symbols(each)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small shared object with a symbol and a named section."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("image")
    source_file, made = folder / "a.c", folder / "a.so"
    source_file.write_text(
        '__attribute__((section(".PyRuntime"))) long _PyRuntime[4] = {1};\nstatic long hidden = 2;\n'
        "long *use(void) { return &hidden; }\n"
    )
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-o", made, source_file], check=True)
    return made.read_bytes()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), min_size=1, max_size=30),
    cut=st.integers(0, 20_000),
)
def test_damaged_images_are_refused_or_searched(image: bytes, changes: list[tuple[int, int]], cut: int) -> None:
    """Bytes changed and tails lost in a real image never lead to an error of another kind, in a file or in memory."""
    data = bytearray(image)
    for at, value in changes:
        data[at % len(data)] = value
    with_symbols(bytes(data))
    with_symbols(bytes(data[: cut % len(data)]))


def with_symbols(data: bytes) -> None:
    """Search an image, as a file and as loaded."""
    for look in (
        lambda: elf.in_bytes(data, ["_PyRuntime", "hidden", "nonesuch"]),
        lambda: elf.in_memory(BytesMemory({BASE: data}), BASE, ["_PyRuntime"]),
    ):
        try:
            look()
        except elf.BadElf:
            continue


def test_symbols_are_found_in_the_file_and_in_memory(image: bytes, tmp_path: Path) -> None:
    """Dynamic ones through the hash table, others through .symtab, and a named section where both are gone."""
    path = tmp_path / "a.so"
    path.write_bytes(image)
    found = elf.in_file(str(path), ["_PyRuntime", "hidden", "nonesuch"])
    assert set(found) == {"_PyRuntime", "hidden"}
    place = elf.section(str(path), ["PyRuntime", ".PyRuntime"])
    assert place is not None
    assert place[0] == found["_PyRuntime"]
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        mapping = maps.find(maps.parse(maps.read("/proc", child.pid)), "a.so")
        assert mapping is not None
        with ProcessMemory("/proc", child.pid) as memory:
            loaded = elf.in_memory(memory, mapping[0].start, ["_PyRuntime", "hidden"])
            assert loaded == {"_PyRuntime": found["_PyRuntime"]}
            assert memory.read(mapping[0].start + loaded["_PyRuntime"], 8) == struct.pack("<Q", 1)
        child.kill()


@QUICK
@given(st.lists(WORDS, min_size=0, max_size=100), st.integers(0, 2**64 - 1))
def test_an_arbitrary_record_of_offsets_gives_a_layout_or_none(words: list[int], version: int) -> None:
    """Offsets that a process tells of itself are believed only within reason."""
    head = own.COOKIE + struct.pack("<Q", version) + struct.pack(f"<{len(words)}Q", *words)
    for number in (version, 0x030D00F0, 0x030E00F0):
        layout = own.layout(own.COOKIE + struct.pack("<Q", number) + head[16:])
        assert layout is None or max(layout.thread_size, layout.code_size, layout.frame_size) < 1 << 25


def test_reading_stops_at_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to read, a process costs no more than its share."""
    monkeypatch.setattr(source, "READS_LIMIT", 10)
    here = ctypes.create_string_buffer(8)
    at = ctypes.addressof(here)
    with ProcessMemory("/proc", os.getpid()) as memory:
        for _ in range(10):
            memory.read_some(at, 1)
        with pytest.raises(Unreadable, match="budget"):
            memory.read_some(at, 1)


@QUICK
@given(st.lists(st.tuples(st.integers(-64, 3 * 4096 + 64), st.integers(0, 9000)), max_size=20))
def test_pages_hold_what_memory_holds(asked: list[tuple[int, int]]) -> None:
    """Whatever is asked for, also beyond the end and across pages, is as without them, or refused as without them."""
    memory = BytesMemory({BASE: bytes(range(256)) * 48})
    pages = Pages(memory)
    for at, size in asked:
        for plain, kept in ((memory.read, pages.read), (memory.read_some, pages.read_some)):
            assert outcome(kept, BASE + at, size) == outcome(plain, BASE + at, size)


def outcome(read: Callable[[int, int], bytes], address: int, size: int) -> bytes | None:
    try:
        return read(address, size)
    except Unreadable:
        return None


def test_a_page_is_fetched_once_until_the_look_is_over() -> None:
    """After that it may hold something else."""
    pieces = {BASE: bytes(4096)}
    memory = BytesMemory(pieces)
    pages = Pages(memory)
    assert [pages.read(BASE + at, 8) for at in (0, 8, 4088)] == [bytes(8)] * 3
    assert memory.reads == 1
    memory._pieces = [(BASE, b"\1" * 4096)]
    assert pages.read(BASE, 1) == b"\0"
    pages.forget()
    assert pages.read(BASE, 1) == b"\1"


def test_addresses_beyond_memory_are_refused() -> None:
    """Null, negative and kernel addresses never reach the kernel."""
    with ProcessMemory("/proc", os.getpid()) as memory:
        for address, size in ((0, 8), (-8, 8), (1 << 60, 8), (BASE, 0), (BASE, 1 << 40)):
            with pytest.raises(Unreadable):
                memory.read(address, size)


def test_a_layout_without_a_table_is_none() -> None:
    """A version nobody measured is not guessed from its neighbour."""
    assert layouts.table((3, 7)) is None
    assert layouts.table((3, 15)) is None
    assert tasks.parse(1, b"\nState:\t?").state == "?"
