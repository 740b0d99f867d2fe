"""Where a node's Python is unknown to our own reader, our py-spy goes there and the node is asked once more."""

from __future__ import annotations

import zlib

import pytest

from rankscope.model.evidence.stacks import PythonStacks
from rankscope.model.snapshot import Snapshot
from rankscope.probe.engines import pyspy
from rankscope.probe.sweep import Plan
from rankscope.reach import gather as errand
from rankscope.reach.gather import Remote, gather
from rankscope.reach.transport import Options

from .conftest import Site


@pytest.fixture(autouse=True)
def tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errand, "py_spy", lambda: zlib.compress(b"a py-spy"))


def look(deadline_s: float = 20.0, send: bool = True) -> Snapshot:
    options = Options(send_py_spy=send)
    (job,) = gather(Remote("ssh", "node[1-2]", options), Plan(deadline_s=deadline_s))
    return job


def engines(job: Snapshot) -> dict[str, str]:
    items = [item for sweep in job.sweeps for item in sweep.items if item.process is not None]
    return {
        item.process.host: item.record.engine
        for item in items
        if item.process and isinstance(item.record, PythonStacks)
    }


@pytest.fixture
def half_unread(site: Site) -> Site:
    site.host("node1", (0, 1), world=4)
    site.host("node2", (2, 3), world=4, unread=True)
    site.second("node2", (2, 3), world=4, engine="py-spy")
    return site


def test_only_the_node_that_needs_it_is_asked_again(half_unread: Site) -> None:
    job = look()
    assert engines(job) == {"node1": "memory", "node2": "py-spy"}
    assert not [gap for gap in job.gaps if gap.what == "python-stacks"]
    assert len(half_unread.asked("node1").splitlines()) == 1


def test_it_stays_here_when_it_is_not_wanted(half_unread: Site) -> None:
    assert engines(look(send=False)) == {"node1": "memory"}


def test_it_stays_here_when_there_is_no_time(half_unread: Site) -> None:
    job = look(deadline_s=2.5)
    assert engines(job) == {"node1": "memory"}
    assert [gap.process.host for gap in job.gaps if gap.what == "python-stacks" and gap.process][:1] == ["node2"]


def test_it_stays_here_when_the_node_is_another_kind_of_machine(
    half_unread: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errand.platform, "machine", lambda: "riscv64")
    assert engines(look()) == {"node1": "memory"}


def test_a_second_answer_that_does_not_come_leaves_the_first(half_unread: Site) -> None:
    half_unread.say("node2.again", "")
    job = look()
    assert engines(job) == {"node1": "memory"}
    assert len(job.processes) == 4


def test_what_is_sent_is_a_program_of_this_machine(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    script = tmp_path / "py-spy"
    for text, whole in ((b"#!/bin/sh\n", b""), (b"\x7fELF rest", b"\x7fELF rest")):
        script.write_bytes(text)
        monkeypatch.setattr(pyspy, "executable", lambda: str(script))
        errand.py_spy.cache_clear()
        assert (zlib.decompress(errand.py_spy()) if whole else errand.py_spy()) == whole
    errand.py_spy.cache_clear()
