"""A launcher that was told to end its job by a signal: whether that is a rank that others miss, or just the end of a run."""

# ruff: noqa: E501  (a line of a log is one line)
from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis, Kind

STEPS = "step 5 loss 0.1667\nstep 10 loss 0.0909\nstep 15 loss 0.0625\nstep 20 loss 0.0476\n"
ASKED = "W1129 23:05:28.272000 11591 torch/distributed/elastic/agent/server/api.py:753] Received {} death signal, shutting down workers\n"
PASSED_ON = "W1129 23:05:28.272000 11591 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 11646 closing signal SIGTERM\n"
RAISED = """Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/torch/distributed/elastic/multiprocessing/api.py", line 86, in _terminate_process_handler
    raise SignalException(f"Process {{os.getpid()}} got signal: {{sigval}}", sigval=sigval)
torch.distributed.elastic.multiprocessing.api.SignalException: Process 11591 got signal: {}
"""
MISSED = "[rank3]:[W1129 23:05:31.112 socket.cpp:460] recvValue failed on node b: Connection reset by peer\nthe other nodes hang in all_reduce\n"


def judged(folder: pathlib.Path, **texts: str) -> Diagnosis:
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    return pipeline.judge(gather([folder]), 30.0)


@pytest.mark.parametrize("signal", ["15", "Signals.SIGTERM"])
def test_the_end_of_a_run_that_somebody_asked_for_accuses_no_rank(tmp_path: pathlib.Path, signal: str) -> None:
    """A scheduler, a time limit or a person ended it; what led to that is not told, so the evidence is not enough."""
    found = judged(tmp_path, console=STEPS + ASKED.format(signal) + PASSED_ON + RAISED.format(signal))
    assert found.verdict is None
    assert found.evidence_weak
    (note,) = [one for one in found.findings if one.rule == "failed-first"]
    assert note.kind is Kind.NOTE
    assert "SIGTERM" in note.title


def test_others_that_miss_its_ranks_make_it_the_rank_that_died(tmp_path: pathlib.Path) -> None:
    asked = ASKED.format("15") + PASSED_ON + RAISED.format("15")
    found = judged(tmp_path, node_a=STEPS + asked, node_b=STEPS + MISSED)
    assert found.verdict is not None
    assert found.verdict.cls == "dead-rank"


def test_other_signals_are_nobody_s_way_to_end_a_job(tmp_path: pathlib.Path) -> None:
    """SIGHUP comes where a terminal is closed; the job was to go on."""
    found = judged(tmp_path, console=STEPS + ASKED.format("1") + PASSED_ON + RAISED.format("1"))
    assert found.verdict is not None
    assert found.verdict.cls == "dead-rank"
