"""py-spy dump --native: of a frame in the kernel's vdso, or in code made at run time, an address may be all that is known."""

from __future__ import annotations

from rankscope.formats.pyspy_text import read
from rankscope.formats.records import Dump, Record

DUMP = """Thread 41 (active): "MainThread"
    0x7ffe11ab36f6
    cuMemFree_v2 (libcuda.so.550.54.15)
    empty_cache (torch/cuda/memory.py:170)
    main (train.py:12)
"""
PROSE = DUMP.replace("    0x7ffe11ab36f6\n", "    0x7ffe11ab36f6 is what we do not know\n")


def functions(text: str) -> list[list[str]]:
    found: list[Record] = list(read(text))
    return [[frame.function for frame in one.thread.stack] for one in found if isinstance(one, Dump) and one.native]


def test_a_bare_address_hides_none_of_the_frames_below_it() -> None:
    assert functions(DUMP) == [["main", "empty_cache", "cuMemFree_v2"]]


def test_an_address_in_a_sentence_ends_the_dump() -> None:
    """What somebody writes below a header is no frame: the frames behind it are quoted anew."""
    headed = next(one.thread for one in read(PROSE) if isinstance(one, Dump))
    assert (headed.tid, len(headed.stack)) == (41, 0)
    assert functions(PROSE) == [["main", "empty_cache", "cuMemFree_v2"]]
