"""The threads of a pool that hand on what was pickled: one that ends, or loses what it should send, keeps the pool's caller waiting."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Kind
from rankscope.pipeline import judge

# ruff: noqa: E501  (a row is one line)
HEAD = "start of 12 jobs on 4 workers\nTraceback (most recent call last):\n"
TAKER = '  File "{at}/threading.py", line 982, in run\n    self._target(*self._args, **self._kwargs)\n  File "{at}/multiprocessing/pool.py", line 579, in _handle_results\n    task = get()\n  File "{at}/multiprocessing/connection.py", line 251, in recv\n    return _ForkingPickler.loads(buf.getbuffer())\n'
FEEDER = '  File "{at}/multiprocessing/queues.py", line 264, in _feed\n    obj = _ForkingPickler.dumps(obj)\n'
LIB, WINDOWS = "/usr/lib/python3.11", "C:\\Python39\\lib"
WANTS_MORE = "TypeError: QuotaError.__init__() missing 2 required positional arguments: 'code' and 'body'\n"
HALTS = "\n(nothing more, the program hangs)\n"
BACKPORT = '  File "/env/lib/python2.7/site-packages/concurrent/futures/process.py", line 208, in _queue_manangement_worker\n    result_item = result_queue.get(block=True)\n'


def said(text: str, tmp_path: pathlib.Path) -> Certainty | None:
    """How sure it is that a task or a result of a pool was lost."""
    (tmp_path / "console.txt").write_text(text)
    found = [one for one in judge(gather([tmp_path])).findings if one.rule == "helper-gone" and one.kind is Kind.CAUSE]
    words = " ".join(reason.text for one in found for reason in one.because)
    return found[0].certainty if "pickle" in words else None


@pytest.mark.parametrize(
    ("traceback", "sure"),
    [
        pytest.param(TAKER.format(at=LIB) + WANTS_MORE, Certainty.LIKELY, id="an exception with two arguments"),
        pytest.param(TAKER.format(at=LIB).replace("/", "\\").replace("\\usr\\lib\\python3.11", WINDOWS) + WANTS_MORE, Certainty.LIKELY, id="on Windows"),
        pytest.param(TAKER.format(at=LIB) + "ModuleNotFoundError: No module named 'plugin_7'\n", Certainty.LIKELY, id="a module the parent has not"),
        pytest.param(TAKER.format(at=LIB).replace("multiprocessing", "billiard") + WANTS_MORE, Certainty.LIKELY, id="billiard"),
        pytest.param(BACKPORT + "TypeError: __init__() takes exactly 4 arguments (1 given)\n", Certainty.LIKELY, id="backport of futures"),
        pytest.param(FEEDER.format(at=LIB) + "_pickle.PicklingError: Can't pickle <function f.<locals>.g at 0x7f01>: attribute lookup failed\n", Certainty.POSSIBLE, id="a lambda"),
        pytest.param(FEEDER.format(at=LIB) + "TypeError: cannot pickle '_thread.lock' object\n", Certainty.POSSIBLE, id="a lock"),
    ],
)  # fmt: skip
def test_what_cannot_be_pickled_is_a_task_that_is_lost(traceback: str, sure: Certainty, tmp_path: pathlib.Path) -> None:
    assert said(HEAD + traceback + HALTS, tmp_path) is sure


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + FEEDER.format(at=LIB) + "BrokenPipeError: [Errno 32] Broken pipe\nresult: 12 of 12\n", id="its reader has ended"),
        pytest.param(HEAD + FEEDER.format(at=LIB) + "TypeError: 'NoneType' object is not callable\n", id="the interpreter ends"),
        pytest.param('concurrent.futures.process._RemoteTraceback:\n"""\n' + HEAD + FEEDER.format(at=LIB) + "TypeError: cannot pickle '_thread.lock' object\n\"\"\"\n\nThe above exception was the direct cause of the following exception:\n\n" + HEAD + "TypeError: cannot pickle '_thread.lock' object\n", id="it is raised again where the result is asked for"),
        pytest.param(HEAD + TAKER.format(at=LIB) + WANTS_MORE + "Done.\n", id="all was done"),
        pytest.param(HEAD + '  File "/job/train.py", line 7, in _feed\n    save(obj)\n' + WANTS_MORE, id="a function of the program's own"),
    ],
)  # fmt: skip
def test_who_is_told_or_has_ended_waits_for_no_task(text: str, tmp_path: pathlib.Path) -> None:
    assert said(text, tmp_path) is None


def test_an_exception_that_was_tried_by_hand(tmp_path: pathlib.Path) -> None:
    tried = ">>> pickle.loads(pickle.dumps(QuotaError(3, 'x')))\nTraceback (most recent call last):\n"
    pool = "with multiprocessing.Pool(4) as pool: pool.map(ask, pages)   # hangs\n"
    assert said(pool + tried + WANTS_MORE, tmp_path) is Certainty.POSSIBLE


WORKERS = """using pin_memory on device 0
Exception in background worker 3:
 {why}
Traceback (most recent call last):
  File "/env/lib/python3.10/site-packages/batchgenerators/dataloading/multi_threaded_augmenter.py", line 203, in __next__
RuntimeError: One or more background workers are no longer alive. Exiting. Please check the print statements above for the actual error message
"""


@pytest.mark.parametrize(
    ("why", "own"),
    [
        ("'patch_size_of_level'", True),
        ("could not broadcast input array from shape (3,64,64) into shape (2,64,64)", True),
        ("[Errno 28] No space left on device", False),
        ("Unable to allocate 3.1 GiB for an array with shape (1, 960, 960, 480)", False),
    ],
)
def test_a_background_worker_says_what_it_ended_with(why: str, own: bool, tmp_path: pathlib.Path) -> None:
    """An error of its own is why it is gone; what it lacked (memory, space) is a matter of another rule."""
    (tmp_path / "console.txt").write_text(WORKERS.format(why=why))
    found = judge(gather([tmp_path])).findings
    said = [one for one in found for reason in one.because if "an exception of its own" in reason.text]
    assert [(one.cls, one.certainty) for one in said] == ([("child-dead", Certainty.LIKELY)] if own else [])
