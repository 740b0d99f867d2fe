"""Where ranks stand is told by stacks and recorders; what a tool lists stands nowhere, and some ways to wait are everybody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.known_cases import read
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis, Finding
from rankscope.pipeline import judge


def judged(folder: Path, text: str) -> Diagnosis:
    """A case whose items begin with ``=== label``, judged as its files would be."""
    (folder / "case").write_text(text)
    items = folder / "items"
    items.mkdir()
    read(folder / "case").lay_out(items)
    return judge(gather([items]))


def said(diagnosis: Diagnosis, rule: str) -> Finding | None:
    return next((one for one in diagnosis.findings if one.rule == rule), None)


REDUCES = """\
#0  0x00007f5ee0b19bbf in __GI___poll (fds=0x55c3a8, nfds=9, timeout=0) at ../sysdeps/unix/sysv/linux/poll.c:29
#1  0x00007f5ede44b0d3 in opal_progress () from libopen-pal.so.40
#2  0x00007f5edf0a65d8 in ompi_request_default_wait () from libmpi.so.40
#3  0x00007f5edf0bb1f0 in PMPI_Allreduce ()
"""
SOCKETS = 'ESTAB    0 0 10.20.4.11:40022 10.20.4.10:35111   users:(("orted",pid=9930,fd=22))\n'


@pytest.mark.parametrize("tool", ["ss -tnp, node2", "sudo lsof -nP -i | grep python (worker 3)", "netstat -tn (node2)"])
def test_what_a_tool_lists_stands_nowhere(tool: str, tmp_path: Path) -> None:
    found = judged(tmp_path, f"=== gdb rank 2\n{REDUCES}=== {tool}\n{SOCKETS}")
    assert said(found, "ranks-stand-apart") is None


def test_of_whom_is_told_where_he_is_stands_there(tmp_path: Path) -> None:
    found = judged(tmp_path, f"=== gdb rank 2\n{REDUCES}=== rank 1\nfinished its last batch, idle\n")
    assert said(found, "ranks-stand-apart") is not None
