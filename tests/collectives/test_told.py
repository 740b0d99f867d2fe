"""Recorders that a rank tells itself, where its memory does not: by its worker server, or in the file it dumped."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.analysis.collectives.of_case import _filed
from rankscope.formats import recorder_told
from rankscope.model.evidence.calls import Calls
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.recorder_dump import MOST_BYTES, RecorderDump
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.prepare import folder
from rankscope.probe import worker_server
from rankscope.probe.collector import Target
from rankscope.probe.collectors import recorder_dump as collector

ENTRY = {
    "record_id": 4, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 5, "p2p_seq_id": 0, "op_id": 5,
    "profiling_name": "nccl:all_reduce", "time_created_ns": 7, "time_discovered_started_ns": 0,
    "time_discovered_completed_ns": 0, "input_sizes": [[3]], "output_sizes": [[3]], "input_dtypes": ["Float"],
    "output_dtypes": ["Float"], "state": "scheduled", "retired": False, "timeout_ms": 600000, "is_p2p": False,
}  # fmt: skip
DUMP = {"version": "2.10", "pg_config": {}, "pg_status": {}, "comm_lib_version": "", "entries": [ENTRY]}


def target(rank: int = 2, **seen: object) -> Target:
    """This process, as if it were a rank that was looked at."""
    ref = ProcessRef("here", os.getpid(), folder.started())
    return Target(Process(ref, Role.RANK, rank=rank), seen=dict(seen))


def in_a_call() -> PythonStacks:
    frames = (Frame("main", "train.py", 3), Frame("barrier", "/x/torch/distributed/distributed_c10d.py", 9))
    return PythonStacks((PythonThread(1, Stack(frames)),), "memory")


@contextlib.contextmanager
def serving(path, answers):
    """A server that gives each request the answer of its handler; None leaves it without one."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(8)
        held = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    handler = client.recv(4096).split(b" ")[1].rsplit(b"/", 1)[1].decode()
                    if answers.get(handler, b"") is None:
                        held.append(client)
                        continue
                    client.sendall(answers.get(handler, b"HTTP/1.1 404 Not Found\r\n\r\nunknown"))
                    client.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for client in held:
            client.close()


def good(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def test_the_worker_server_is_asked_for_the_recorder_that_has_entries(tmp_path):
    """A build for CUDA has two recorders, and the one of NCCL may be empty."""
    body = json.dumps(DUMP).encode()
    with serving(tmp_path / "s", {"dump_nccl_trace_json": good(b'{"version": "2.10"}'), "fr_trace_json": good(body)}):
        assert worker_server.recorder(str(tmp_path / "s")) == body
    with serving(tmp_path / "t", {"fr_trace_json": good(body)}):
        assert worker_server.recorder(str(tmp_path / "t")) == body
    with serving(tmp_path / "u", {}):
        assert worker_server.recorder(str(tmp_path / "u")) == b""


def test_a_worker_server_that_does_not_answer_costs_its_deadline(tmp_path):
    with serving(tmp_path / "s", {"dump_nccl_trace_json": None}), pytest.raises(OSError, match=r"time|answer"):
        worker_server.recorder(str(tmp_path / "s"), deadline_s=0.1)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_whatever_a_server_says_is_taken_without_harm(said, good_head):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall((b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" if good_head else b"") + said)
        theirs.shutdown(socket.SHUT_WR)
        found = worker_server._body(ours, time.monotonic() + 5)
    assert len(found) <= len(said)


def test_the_server_that_a_prepared_rank_noted_is_asked(tmp_path):
    path = tmp_path / "s"
    with serving(path, {"fr_trace_json": good(json.dumps(DUMP).encode())}):
        found = collector.collect(target(calls=Calls((), (), 0, 0, str(path))))
    assert isinstance(found, RecorderDump)
    read = recorder_told.read(found)
    assert isinstance(read, Recorder)
    assert (read.source, read.read_at_ns, read.entries[0].seq) == ("socket", found.written_ns, 5)


def test_only_a_socket_of_the_job_is_connected_to(tmp_path):
    (tmp_path / "file").write_text("x")
    found = collector.collect(target(calls=Calls((), (), 0, 0, str(tmp_path / "file"))))
    assert isinstance(found, Gap)
    assert found.why is Why.UNREACHABLE


def test_a_recorder_in_memory_needs_nobody_else(tmp_path):
    found = collector.collect(target(recorder=Recorder(()), calls=Calls((), (), 0, 0, str(tmp_path / "nobody"))))
    assert found is None


@pytest.mark.parametrize("name", ["TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "XDG_CACHE_HOME"])
def test_the_file_that_this_run_dumped_is_read(tmp_path, monkeypatch, name):
    """GIVEN the place that the environment names, THEN the dump of this rank counts, and one of an earlier run does not."""
    stem = tmp_path / "torch" / "comm_lib_trace_rank_"
    stem.parent.mkdir()
    monkeypatch.setattr(collector, "_environ",
                        lambda _: {name: str(tmp_path if name.startswith("XDG") else stem)})  # fmt: skip
    own = tmp_path / "torch" / "comm_lib_trace_rank_2"
    own.write_bytes(pickle.dumps(DUMP, protocol=2))
    found = collector.collect(target())
    assert isinstance(found, RecorderDump)
    assert (found.source, found.place) == ("dump", str(own))
    assert recorder_told.read(found).entries[0].op == "all_reduce"
    os.utime(own, (1, 1))
    assert collector.collect(target()) is None
    assert collector.collect(target(rank=3)) is None


def test_a_recorder_that_is_off_is_said_where_it_would_have_told_more(monkeypatch):
    """A rank that stands in no call of torch.distributed lacks nothing; one whose calls were noted does not either."""
    monkeypatch.setattr(collector, "_environ", lambda _: {})
    off = Recorder((), enabled=False)
    assert collector.collect(target(recorder=off)) is None
    said = collector.collect(target(recorder=off, **{"python-stacks": in_a_call()}))
    assert isinstance(said, Gap)
    assert "switched off" in said.detail
    assert "TORCH_FR_BUFFER_SIZE" in said.hint
    assert isinstance(collector.collect(target(**{"python-stacks": in_a_call()})), Gap)
    noted = {"python-stacks": in_a_call(), "calls": Calls((), (), 0, 0, "")}
    assert collector.collect(target(recorder=off, **noted)) is None


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=200).map(lambda data: base64.b64encode(zlib.compress(data)).decode()))
def test_any_dump_from_the_wire_is_a_recorder_or_a_gap(packed):
    assert isinstance(recorder_told.read(RecorderDump("dump", "x", 1, packed)), (Recorder, Gap))


def test_a_dump_that_unfolds_without_end_is_refused():
    bomb = base64.b64encode(zlib.compress(bytes(MOST_BYTES + 9), 9)).decode()
    assert isinstance(recorder_told.read(RecorderDump("dump", "x", 1, bomb)), Gap)


def test_a_dump_keeps_what_is_open_and_the_newest_of_the_rest():
    entries = [{**ENTRY, "record_id": n, "collective_seq_id": n, "retired": n not in (3, 499)} for n in range(500)]
    made = RecorderDump.of("dump", "x", 9, json.dumps({**DUMP, "entries": entries}).encode())
    kept = recorder_told.read(made).entries
    assert [entry.id for entry in kept] == [3, *range(372, 500)]


def test_a_file_beside_recorders_of_now_is_a_doubt():
    entry = RecorderEntry(0, "0", "default_pg", 1, "barrier")
    now, then = Recorder((entry,), source="memory", read_at_ns=90 * 10**9), Recorder((entry,), read_at_ns=50 * 10**9)
    assert list(_filed({0: now})) == []
    assert "40 s before the others" in next(_filed({0: now, 1: then}))


CHILD = """
import sys, torch, torch.distributed as dist
from torch._C._distributed_c10d import _WorkerServer
server = _WorkerServer(sys.argv[1])
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
for size in range(1, 6):
    dist.all_reduce(torch.ones(size))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.torch
def test_torchs_own_server_tells_its_recorder(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "s"
    command = [sys.executable, "-c", CHILD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        child.stdout.readline()
        ref = ProcessRef("here", child.pid, folder.started(child.pid))
        seen = {"calls": Calls((), (), 0, 0, str(path))}
        found = collector.collect(Target(Process(ref, Role.RANK, rank=0), seen=seen))
        child.stdin.close()  # type: ignore[union-attr]
    assert isinstance(found, RecorderDump)
    read = recorder_told.read(found)
    assert [entry.input_sizes for entry in read.entries] == [((size,),) for size in range(1, 6)]
