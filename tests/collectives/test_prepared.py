"""Prepared ranks: what they note, how it is read from outside, and what follows."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import types
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.waiting import wait_until
from memory.standing import label, pythons
from rankscope.analysis.collectives import find
from rankscope.analysis.collectives.prepared import join
from rankscope.model import calls_file as layout
from rankscope.model.evidence.calls import Calls, NotedCall, NotedGroup
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.gap import Gap
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.prepare import folder, wrap
from rankscope.prepare.notes import Notes
from rankscope.prepare.ring import Ring
from rankscope.probe.collector import Target
from rankscope.probe.collectors import calls as collector

HOME = os.path.join(os.path.dirname(__file__), "..", "..", "src")


@pytest.fixture
def ring(tmp_path, monkeypatch):
    """The ring of this process, in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Ring()
    yield made
    made.remove()
    os.close(made._fd)


def noted(pid: int = 0) -> Calls:
    pid = pid or os.getpid()
    found = collector.collect(Target(Process(ProcessRef("here", pid, folder.started(pid)), Role.RANK)))
    assert isinstance(found, Calls), found
    return found


def begin(ring: Ring, op: str, n: int = 1, **given: int) -> int:
    told = {"group": group(ring), "site": 0, "peer": -1, "root": -1, "tag": 0, "numel": 4, "reduction": 0, "dtype": 0}
    return ring.begin(layout.OPS.index(op), n=n, **{**told, **given})


def group(ring: Ring) -> int:
    return ring.text("group", "0", {"name": "0", "desc": "default_pg", "backend": "gloo", "ranks": [0, 1]})


def test_a_call_is_seen_from_outside_in_each_of_its_states(ring):
    """Inside, posted, waited for, over."""
    site = ring.text("site", "a", [["main", "/job/train.py", 7]])
    begin(ring, "send", peer=1, site=site)
    for step in (ring.goes_on, ring.waits, ring.ends):
        step(begin(ring, "recv", peer=1, tag=5))
        if step is ring.waits:
            ring.goes_on(3)
    found = noted()
    assert [call.state for call in found.calls] == ["inside", "posted", "waiting", "done"]
    assert (found.calls[0].op, found.calls[0].peer, found.calls[0].frames[0].line) == ("send", 1, 7)
    assert (found.calls[1].tag, found.groups[0].ranks, found.begun) == (5, (0, 1), 4)


def test_an_unfinished_call_is_kept_while_the_ring_turns(ring):
    """Of the finished ones only the newest are given; what the ring has overwritten is not."""
    begin(ring, "broadcast", root=1)
    for n in range(2, layout.CAPACITY):
        ring.ends(begin(ring, "all_reduce", n))
    assert noted().calls[0].op == "broadcast"
    assert len(noted().calls) == collector.NEWEST + 1
    for n in range(3):
        ring.ends(begin(ring, "all_reduce", n))
    ring.ends(1)  # too late: its place has another call
    assert noted().calls[0].op == "all_reduce"


NOTES_A_CALL = """
import rankscope.prepare, rankscope.prepare.notes, rankscope.prepare.server, rankscope.prepare.wrap
from rankscope.model.calls_file import OPS
from rankscope.prepare.ring import Ring
ring = Ring()
group = ring.text("group", "0", {"name": "0", "desc": "default_pg", "backend": "gloo", "ranks": [0, 1]})
ring.begin(OPS.index("send"), n=1, group=group, site=0, peer=1, root=-1, tag=0, numel=4, reduction=0, dtype=0)
print("begun", flush=True)
input()
ring.remove()
"""


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_the_package_runs_on_each_python_that_a_job_may_have(python, tmp_path):
    env = {**os.environ, "PYTHONPATH": HOME, "XDG_RUNTIME_DIR": str(tmp_path)}
    job = subprocess.Popen(
        [python, "-c", NOTES_A_CALL],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = job.stdout.readline()
        assert said == "begun\n", job.communicate("\n", timeout=20)
        assert [call.peer for call in noted(job.pid).calls] == [1]
    finally:
        job.communicate("\n", timeout=20)
    assert job.returncode == 0


def test_a_forked_child_is_not_taken_for_its_parent(ring):
    """It inherited the descriptor, but the file says whose it is."""
    begin(ring, "barrier")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    target = Target(Process(ProcessRef("here", child, folder.started(child)), Role.RANK))
    assert collector.collect(target) is None
    os.close(writer)
    os.close(reader)
    os.waitpid(child, 0)


def test_files_of_dead_processes_are_taken_away(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    home = folder.folder()
    dead = os.path.join(home, f"{os.getpid()}-1{layout.SUFFIX}")
    alive = os.path.join(home, f"{os.getpid()}-{folder.started()}.sock")
    for path in (dead, alive):
        open(path, "w").close()
    folder.sweep_out()
    assert os.listdir(home) == [os.path.basename(alive)]


def test_a_folder_of_others_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "rankscope").mkdir(mode=0o755)
    with pytest.raises(PermissionError):
        folder.folder()


def test_a_wrapper_lets_everything_through_when_noting_fails(monkeypatch):
    """The job gets its result, its own exceptions, and nothing of ours."""
    module = types.SimpleNamespace(init_process_group=lambda: None)

    def send(tensor, dst=None, group=None, tag=0):
        if dst is None:
            raise ValueError("no destination")
        return tensor

    monkeypatch.setattr(wrap, "_notes_of", lambda module: 1 / 0)
    made = wrap._wrapped(send, 1, module)
    assert made("x", dst=1) == "x"
    assert made.__name__ == "send"
    with pytest.raises(ValueError, match="no destination"):
        made("x")


def test_arguments_are_noted_by_name_and_by_place(ring, monkeypatch):
    """World ranks become ranks of the group; a call that failed is over."""
    pg = object()
    world = types.SimpleNamespace(pg_names={pg: "3"}, pg_group_ranks={pg: {4: 0, 6: 1}}, pg_map={pg: ("gloo", None)})
    module = types.SimpleNamespace(_world=world, GroupMember=types.SimpleNamespace(WORLD=pg))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__file__="/lib/torch/__init__.py"))
    monkeypatch.setattr("rankscope.prepare.notes.Ring", lambda: ring)
    monkeypatch.setattr(wrap, "_notes", [Notes(module)])

    def send(tensor, dst=None, group=None, tag=0, group_dst=None):
        if tensor is None:
            raise RuntimeError("gone")

    made = wrap._wrapped(send, 1, module)
    made("x", 6, None, 9)
    made("x", group_dst=1)
    with pytest.raises(RuntimeError):
        made(None, dst=6)
    found = noted().calls
    assert [(call.peer, call.tag, call.n, call.group, call.state) for call in found] == [
        (1, 9, 1, "3", "done"), (1, 0, 1, "3", "done"), (1, 0, 2, "3", "done"),
    ]  # fmt: skip
    assert found[0].frames[0].file == __file__


@given(st.binary(max_size=400), st.integers(0, 9000), st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_never_breaks_the_reader(text, begun, records):
    """It comes from the job, which is not trusted."""
    head = layout.HEADER.pack(
        layout.MAGIC, 1, layout.RECORD.size, layout.CAPACITY, layout.TEXT_SIZE, 1, 1, begun, len(text)
    )
    body = head.ljust(layout.HEADER_SIZE, b"\0") + text.ljust(layout.TEXT_SIZE, b"\0")
    raw = (body + records * 40).ljust(layout.FILE_SIZE, b"\1")[: layout.FILE_SIZE]
    found = collector.parse(raw, begun, 0)
    assert isinstance(found, Calls)
    assert len(found.calls) <= layout.CAPACITY


def test_a_file_of_another_version_is_a_gap():
    head = layout.HEADER.pack(layout.MAGIC, 2, 96, 1, 1, 1, 1, 0, 0)
    assert isinstance(collector.parse(head.ljust(layout.FILE_SIZE, b"\0"), 0, 0), Gap)


WORLD = NotedGroup("0", "default_pg", "gloo", (0, 1))


def calls(*made: NotedCall, group: NotedGroup = WORLD) -> Calls:
    return Calls(made, (group,), len(made), 10**12)


def message(number: int, op: str, peer: int, n: int, state: str = "done", tag: int = 0) -> NotedCall:
    return NotedCall(number, op, "0", state, peer=peer, n=n, tag=tag, numel=4, dtype="Float", entered_ns=number * 10**9)


def judged(*of_rank: Calls):
    return find({rank: join(None, noted, rank) for rank, noted in enumerate(of_rank)}, len(of_rank))


def test_a_send_without_its_receive_names_who_should_have_received():
    found = judged(calls(message(1, "send", 1, 1), message(2, "send", 1, 2, "inside")), calls(message(1, "recv", 0, 1)))
    assert (found.kind, list(found.culprits), found.states[0].pair) == ("p2p_unmatched", [1], (0, 1))
    assert not found.weak


def test_a_receive_without_its_send_names_who_should_have_sent():
    found = judged(calls(message(1, "recv", 1, 1, "waiting")), calls(message(1, "recv", 0, 1)))
    assert (list(found.culprits), found.states[0].pair, found.states[0].op) == ([1], (1, 0), "recv")


def test_two_ranks_that_send_first_wait_in_a_circle():
    found = judged(calls(message(1, "send", 1, 1, "inside")), calls(message(1, "send", 0, 1, "inside")))
    assert (found.kind, found.cycles) == ("circular_wait", ((0, 1),))


def test_messages_with_different_tags_do_not_meet():
    found = judged(calls(message(1, "send", 1, 1, "inside", tag=1)), calls(message(1, "recv", 0, 1, "inside", tag=2)))
    assert found.kind == "circular_wait"


def test_a_message_that_nobody_waits_for_holds_nobody_up():
    """An isend that is never waited on may be over or not: nobody knows, and nobody stands in it."""
    found = judged(calls(message(1, "send", 1, 1, "posted")), calls(message(1, "recv", 0, 1)))
    assert found.kind == "no_hang"


def test_messages_of_nccl_are_left_to_its_own_recorder():
    """There a send returns long before it is over."""
    nccl = NotedGroup("0", "default_pg", "cuda:nccl", (0, 1))
    assert join(None, calls(message(1, "send", 1, 1, "inside"), group=nccl), 0) is None


@given(st.lists(st.tuples(st.sampled_from(["recorded", "noted"]), st.integers(0, 50)), max_size=20))
def test_joining_keeps_every_entry_once_and_in_order(made):
    entries = tuple(RecorderEntry(at, "0", "", at, "all_reduce", created_ns=when) for at, when in enumerate(
        sorted(when for kind, when in made if kind == "recorded")))  # fmt: skip
    mine = [when for kind, when in made if kind == "noted"]
    noted = calls(*(NotedCall(at + 1, "send", "0", peer=1, n=at + 1, entered_ns=when) for at, when in enumerate(mine)))
    joined = join(Recorder(entries), noted, 0)
    assert Counter(entry.op for entry in joined.entries) == Counter(all_reduce=len(entries), send=len(mine))
    assert [entry.created_ns for entry in joined.entries] == sorted(when for _, when in made)
    assert len({entry.id for entry in joined.entries}) == len(made)
    assert not made or joined.entries[0].id == 0


JOB = """
import rankscope.prepare
import os, sys, threading
import torch, torch.distributed as dist
{also}
dist.init_process_group("gloo")
rank, data = dist.get_rank(), torch.ones(4)
dist.all_reduce(data)
print("ready", flush=True)
{then}
threading.Event().wait()
"""


@pytest.fixture
def job(tmp_path):
    """Start a prepared job on this host; every process is ended afterwards."""
    started = []

    def start(then: str, world: int = 2, also: str = "") -> list[subprocess.Popen[bytes]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        (tmp_path / "train.py").write_text(JOB.format(then=then, also=also))
        env = {**os.environ, "PYTHONPATH": HOME, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1",
               "WORLD_SIZE": str(world), "XDG_RUNTIME_DIR": str(tmp_path)}  # fmt: skip
        command = [sys.executable, str(tmp_path / "train.py")]
        started.extend(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**env, "RANK": str(rank)})
            for rank in range(world)
        )
        assert all(process.stdout.readline() == b"ready\n" for process in started)
        return started

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def diagnosis(pid: int) -> dict:
    command = [sys.executable, "-m", "rankscope", "diagnose", f"pid:{pid}", "--json", "--stuck-after", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": HOME}, check=False)
    return json.loads(done.stdout)


def stands(pid: int, op: str) -> bool:
    return any(call.op == op and call.state != "done" for call in noted(pid).calls)


@pytest.mark.torch
def test_a_gloo_send_without_its_receive_is_certain(job):
    """GIVEN two prepared ranks, WHEN one sends and the other never receives, THEN that one is named for certain."""
    pytest.importorskip("torch")
    ranks = job("if rank == 0:\n    dist.send(data, 1)")
    wait_until(lambda: stands(ranks[0].pid, "send"), within=20)
    wait_until(lambda: (diagnosis(ranks[0].pid)["verdict"] or {}).get("certainty") == "certain", within=30)
    verdict = diagnosis(ranks[0].pid)["verdict"]
    assert (verdict["class"], verdict["ranks"]) == ("p2p-order-deadlock", [1])
    assert "send 0→1" in verdict["title"]


@pytest.mark.torch
def test_a_prepared_rank_answers_on_a_socket_and_forks_safely(job):
    """The worker server listens where only this user reaches it; a forked child has no part in it."""
    pytest.importorskip("torch")
    also = "def child():\n    pid = os.fork()\n    if not pid:\n        os._exit(forgotten())\n    return os.waitpid(pid, 0)[1]\n"
    also += "def forgotten():\n    from rankscope.prepare import server, wrap\n"
    also += "    return len(server._SERVERS) + bool(wrap._notes[0])\n"
    ranks = job("dist.barrier() if child() == 0 else None\nif rank: dist.barrier()", also=also)
    wait_until(lambda: stands(ranks[1].pid, "barrier"), within=20)
    path = noted(ranks[0].pid).server
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(path)
        asked.sendall(b"POST /handler/ping HTTP/1.0\r\n\r\n")
        assert asked.recv(1000).startswith(b"HTTP/1")
    assert os.stat(os.path.dirname(path)).st_mode & 0o077 == 0
