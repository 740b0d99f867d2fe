"""Host files of DeepSpeed, of MPI, and plain ones."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.errors import RankscopeError
from rankscope.reach import hostfile

TEXT = """\
# a comment
node1 slots=8
node2:8

node3 slots=8 max_slots=16  # the big one
10.0.0.4
fe80::1
node[5-6]
node1 slots=8
"""


def test_every_dialect_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "hosts"
    path.write_text(TEXT)
    assert hostfile.read_hosts(str(path)) == ("node1", "node2", "node3", "10.0.0.4", "fe80::1", "node5", "node6")


@pytest.mark.parametrize("text", ["", "# nothing\n", "-oProxyCommand=touch\n", "a;b slots=1\n"])
def test_a_file_without_usable_hosts_is_refused(tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "hosts"
    path.write_text(text)
    with pytest.raises(RankscopeError):
        hostfile.read_hosts(str(path))


def test_a_file_that_is_not_there_is_said_so() -> None:
    with pytest.raises(RankscopeError, match="cannot read the host file"):
        hostfile.read_hosts("/nonexistent/hosts")
