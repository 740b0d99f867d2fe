"""Python 2 has one lock of all imports, and no frame of it: the line at which a thread waits for a lock tells."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

STACK = """\
Thread 3 (Thread 0x7f52a8ffb700 (LWP 412)):
Traceback (most recent call first):
{mark}  File "{lib}/requests_ntlm/fetch.py", line 214, in load_tokens
    {source}
  File "{lib}/requests_ntlm/fetch.py", line 90, in refresh
    self.load_tokens()
"""
LISTED = """\
 212        \"""Reads what was kept.\"""
 213        tokens = {}
>214        import zlib
 215        with self.lock:
 216            tokens.update(self.kept)
"""
OLD, NEW = "/usr/lib/python2.7/dist-packages", "/usr/lib/python3.11/site-packages"
GIL, LOCK = "  Waiting for the GIL\n", "  Waiting for a lock (e.g. GIL)\n"


@pytest.mark.parametrize(
    ("stack", "listed", "told"),
    [
        (STACK.format(mark=GIL, lib=OLD, source="import zlib"), "", True),
        (STACK.format(mark=LOCK, lib=OLD, source="from xml.sax import handler"), "", True),
        (STACK.format(mark=GIL, lib=OLD, source="import zlib").replace("    import zlib\n", ""), LISTED, True),
        (STACK.format(mark=GIL, lib=NEW, source="import zlib"), "", False),
        (STACK.format(mark="", lib=OLD, source="import zlib"), "", False),
        (STACK.format(mark=GIL, lib=OLD, source="important = self.read()"), "", False),
        (STACK.format(mark=GIL, lib=OLD, source="x = zlib.crc32(data)"), LISTED.replace("214", "14"), False),
    ],
    ids=["import", "from", "listed", "Python 3", "runs", "no import", "another line"],
)
def test_who_waits_at_an_import(stack: str, listed: str, told: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "py-bt.txt").write_text(stack)
    (tmp_path / "py-list.txt").write_text(f"{listed}\n")
    assert ("import-waited-for" in {one.rule for one in judge(gather([tmp_path])).findings}) is told
