"""NCCL's RAS, as text and JSON of several releases."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import pipeline
from rankscope.analysis.collectives.ras import judge
from rankscope.formats import ras
from rankscope.formats.gather import gather
from rankscope.model.evidence.ras import RasReport
from rankscope.model.gap import Gap
from rankscope.probe import ras as probe_ras


def rank(number: int, reduces: int, pid: int | None = None) -> dict:
    counts = {"AllReduce": reduces, "Broadcast": 1}
    return {"rank": number, "host": "10.0.0.1", "pid": pid or 500 + number, "cuda_dev": number,
            "status": {"init_state": 0}, "collective_counts": counts}  # fmt: skip


def communicator(name: str, ranks: list[dict], missing: list[dict] | None = None) -> dict:
    return {"hash": name, "size": len(ranks) + len(missing or []), "ranks": ranks, "missing_ranks": missing or []}


def report(*communicators: dict) -> RasReport:
    found = ras.read(json.dumps({"nccl_version": "2.28.7", "communicators": list(communicators)}, indent=1).encode())
    assert isinstance(found, RasReport), found
    return found


def test_equal_counts_accuse_nobody():
    assert judge([report(communicator("0xa", [rank(n, 7) for n in range(4)]))]) == ()


def test_the_rank_with_fewer_launches_is_behind():
    (state,) = judge([report(communicator("0xa", [rank(n, 7 - (n == 2)) for n in range(4)]))])
    assert (state.kind, state.op, state.seq, list(state.culprits)) == ("missing_rank", "AllReduce", 7, [2])
    assert "skew" in state.detail


def test_two_equal_reports_are_a_hang_and_a_moving_rank_is_late():
    behind = report(communicator("0xa", [rank(n, 7 - (n == 2)) for n in range(4)]))
    earlier = report(communicator("0xa", [rank(n, 7 - 2 * (n == 2)) for n in range(4)]))
    assert judge([behind, behind])[0].kind == "missing_rank"
    assert judge([earlier, behind])[0].kind == "straggler"


def test_ranks_of_a_small_communicator_are_named_as_ranks_of_the_job():
    everybody = communicator("0xworld", [rank(n, 1) for n in range(4)])
    pair = communicator("0xpair", [rank(0, 9, pid=501), rank(1, 8, pid=503)])
    (state,) = judge([report(everybody, pair)])
    assert (list(state.culprits), state.ranks) == ([3], (1, 3))


def test_a_rank_that_does_not_answer_is_without_evidence():
    silent = {"rank": 3, "host": "10.0.0.1", "pid": 503, "status": {"unresponsive": True, "considered_dead": True}}
    (state,) = judge([report(communicator("0xa", [rank(n, 7) for n in range(3)], [silent]))])
    assert (state.kind, list(state.culprits), state.detail) == ("no_evidence_rank", [3], "considered dead by RAS")


def test_the_comma_that_one_release_forgets_is_put_back():
    silent = {"rank": 3, "host": "10.0.0.1", "nvml_dev": 3, "status": {"unresponsive": True}}
    good = json.dumps({"communicators": [communicator("0xa", [rank(0, 7)], [silent])]}, indent=2)
    bad = good.replace('"nvml_dev": 3,', '"nvml_dev": 3')
    assert bad != good
    assert ras.read(bad.encode()) == ras.read(good.encode())


TEXT = """\
Communicators... (0.00s)
=============
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         4         8         8   RUNNING  MISMATCH
Warnings
========
#0-0 (78db921d1c117b4a) MISMATCH
  Communicator ranks have different {op} operation counts
{lines}
"""
ONE = (
    "  7 ranks have launched up to operation 64\n"
    "  Rank 5 has launched up to operation 60 -- GPU 1 managed by process 77 on node n1"
)
MANY = (
    "  6 ranks have launched up to operation 64\n  2 ranks have launched up to operation 63\n"
    "  Rank 1 -- GPU 1 managed by process 71 on node n0\n  Rank 4 -- GPU 0 managed by process 76 on node n1"
)


@pytest.mark.parametrize(("op", "lines", "ranks"), [("AllReduce", ONE, [5]), ("collective", MANY, [1, 4])])
def test_the_text_form_names_outliers(op, lines, ranks):
    raw = TEXT.format(op=op, lines=lines).encode()
    assert ras.recognises(raw)
    found = ras.read(raw)
    assert isinstance(found, RasReport)
    (state,) = judge([found])
    assert (state.kind, state.seq, list(state.culprits)) == ("missing_rank", 64, ranks)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,0123 #()RankGPUhas\n', max_size=300).map(str.encode))
def test_any_bytes_are_survived(raw):
    for start in (b"", b"{", b'{"communicators": ['):
        found = ras.read(start + raw)
        assert isinstance(found, (RasReport, Gap))
        if isinstance(found, RasReport):
            judge([found, found])


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["rank", "size", "ranks", "missing_ranks", "status", "pid", "host", "collective_counts"]
                ),
                x,
                max_size=4,
            )
        ),
    )
)
def test_any_fields_are_survived(value):  # fmt: skip
    found = ras.read(json.dumps({"communicators": [value, {"ranks": [value], "missing_ranks": value}]}).encode())
    assert isinstance(found, (RasReport, Gap))
    if isinstance(found, RasReport):
        judge([found])


def test_the_live_report_is_asked_with_one_fixed_question():
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(4096))
                connection.sendall(b"SERVER PROTOCOL 2\n" + TEXT.format(op="AllReduce", lines=ONE).encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        found = probe_ras.ask(f"127.0.0.1:{listener.getsockname()[1]}")
        thread.join(5)
    assert isinstance(found, RasReport)
    assert list(judge([found])[0].culprits) == [5]
    assert asked == [b"CLIENT PROTOCOL 2\nTIMEOUT 3\nVERBOSE STATUS\n"]


def test_no_ras_is_no_gap():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert probe_ras.ask(f"127.0.0.1:{port}") is None


def test_a_healthy_report_of_the_fields_missing_ranks_is_no_alarm(tmp_path):
    ranks = [
        {"rank": rank, "host": "n1", "pid": 70 + rank, "collective_counts": {"AllReduce": 41}} for rank in range(3)
    ]
    comm = {"hash": "0x7", "size": 3, "ranks_count": 3, "missing_ranks_count": 0, "ranks": ranks, "missing_ranks": []}
    (tmp_path / "ras.json").write_text(json.dumps({"nccl_version": "2.28.7", "communicators": [comm]}, indent=1))
    assert pipeline.judge(gather([tmp_path])).verdict is None


MISMATCH = """NCCL version 2.28.9 compiled with CUDA 13.0
Communicators... (0.00s)
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         8         8         8   RUNNING  MISMATCH
#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  7 ranks have launched up to operation 6650
  Rank 3 has launched up to operation 6649 -- GPU 3 managed by process 6247 on node 10.0.109.86
"""
PASSED_ON = [
    "{}", "2026-11-24 14:11:24 {}", "[pod/train-0/main] {}", "[1,0]<stdout>:{}", "node18: {}", "0: {}", "train-0  | {}",
    '{{"log":"{}\\n","stream":"stdout","time":"2026-11-24T14:11:24.0Z"}}',
]  # fmt: skip


@pytest.mark.parametrize("form", PASSED_ON)
def test_a_report_is_read_behind_whatever_passed_it_on(form, tmp_path):
    (tmp_path / "saved.txt").write_text("".join(f"{form.format(line)}\n" for line in MISMATCH.splitlines()))
    verdict = pipeline.judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, str(verdict.ranks)) == ("collective-missed-by-rank", "3")
