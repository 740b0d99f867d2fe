"""A log that ends well is of a run that is over: what troubled it before is no cause, unless its end hangs."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.endings import ended_well
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge

TROUBLE = """\
step 1 loss 2.1
OSError: [Errno 28] No space left on device: '/ckpt/part-0'
the checkpoint of step 1 was skipped
"""
GOOD = """\
Training complete
2025-02-03 10:11:12 INFO Finished training in 31 minutes
[INFO] job 4711 succeeded
Process 812 exits successfully.
srun: step finished with exit code 0
`Trainer.fit` stopped: `max_epochs=4` reached.
{'train_runtime': 81.2, 'train_samples_per_second': 50.1}
=========== 31 passed, 2 skipped in 4.11s ===========
4711          bert        gpu        lab         64  COMPLETED      0:0
Saved the final checkpoint to /ckpt/last
INFO:     Application shutdown complete.
Finished: SUCCESS
[exiting program at iteration 800] datetime: 2025-02-03 10:11:12
Final accuracy: 0.81
[rank3]: done; exit 0
+ exit 0
done""".splitlines()
NOT_SO_GOOD = r"""Training complete\nTraceback (most recent call last):
Training complete\n^C
Training complete\n[rank0]:[E203 10:11:12.1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout
Training complete, but the process does not exit
It hangs after "Training complete"
training is not complete
epoch 3 is complete, waiting for the others
rank 0: training complete\nrank 1: step 4
exit code: 1
============ 1 failed, 30 passed in 4.11s ============
all tasks are ended by their supervisors
+ exit 0\n+ kill -CHLD 812\n+ sleep 0.1
waiting until the job is done
amdgpu 0000:03:00.0: amdgpu: GPU reset succeeded, trying to resume
[2020-12-14T09:44:58.306] [63532.0] done with job
INFO: Finished server process [1169]\nINFO: Started server process [2964]\nINFO: Application startup complete.
!!!!!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!!!!!\n===== 372 passed, 81 skipped in 1796.22s (0:29:56) =====
RuntimeError: CUDA error: device-side assert triggered\n[12/09 17:21:46 d2.engine.hooks]: Total training time: 0:00:01
EngineDeadError\nFinished server process [1]
nvidia-cuda-validator-9j7mq   0/1   Completed          0     7d\ndcgm-exporter-cv6rg   0/1   CrashLoopBackOff   495   42h
one ends gracefully, the others wait for a new node
training is over, the job still runs
setup is done\nls does not come back\nafter umount all well again""".splitlines()


def _ended(folder: pathlib.Path, text: str, name: str = "run.log") -> bool:
    (folder / name).write_text(text)
    return ended_well(case_of(gather([folder])))


@pytest.mark.parametrize("line", GOOD)
def test_trouble_before_a_good_end_is_no_cause(line: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "run.log").write_text(TROUBLE)
    assert judge(gather([tmp_path])).verdict is not None
    (tmp_path / "run.log").write_text(f"{TROUBLE}{line}\n")
    assert judge(gather([tmp_path])).verdict is None


@pytest.mark.parametrize("lines", [line.replace("\\n", "\n") for line in NOT_SO_GOOD])
def test_an_end_that_is_none(lines: str, tmp_path: pathlib.Path) -> None:
    assert not _ended(tmp_path, f"{TROUBLE}{lines}\n")


def test_the_end_of_one_log_is_not_that_of_another(tmp_path: pathlib.Path) -> None:
    assert _ended(tmp_path, "step 9\nTraining complete\n", "rank0.log")
    assert not _ended(tmp_path, "step 7\nstep 8\n", "rank1.log")


def test_who_looks_at_stacks_has_a_reason(tmp_path: pathlib.Path) -> None:
    assert _ended(tmp_path, "Training complete\n")
    stack = 'Thread 1 (idle): "MainThread"\n    wait (threading.py:331)\n    main (run.py:9)\n'
    assert not _ended(tmp_path, f"Process 9: python run.py\nPython v3.11.4\n\n{stack}", "stacks.txt")


def test_settings_beside_a_log_say_nothing(tmp_path: pathlib.Path) -> None:
    assert _ended(tmp_path, "Training complete\n")
    assert _ended(tmp_path, "retries:\n  on: TimeoutError\n", "run.yaml")


def test_a_manual_beside_a_log_tells_of_what_may_happen(tmp_path: pathlib.Path) -> None:
    assert _ended(tmp_path, "Training complete\n")
    assert _ended(tmp_path, "If a rank hangs at step 0, look at its stacks.\n", "README.md")
    assert not _ended(tmp_path, "a rank hangs at step 0\n", "note.txt")


DUMPED = """\
test_a_child_that_hangs_is_dumped (test_pool.PoolTest) ... Fatal Python error: Aborted

Thread 0x00007f2f5bfff700 (most recent call first):
  File "/src/tests/test_pool.py", line 88 in hang
  File "/usr/lib/python3.9/threading.py", line 930 in _bootstrap
ok
Ran 4 tests in 11.873s

"""


@pytest.mark.parametrize(("last", "over"), [("OK\n", True), ("FAILED (errors=1)\n", False), ("OK\n" + DUMPED, False)])
def test_what_tests_dumped_on_purpose_came_before_their_end(last: str, over: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "unittest.log").write_text(DUMPED + last)
    assert ended_well(case_of(gather([tmp_path]))) is over


PODS = "NAME           READY   STATUS      RESTARTS      AGE\njob-master-0   0/1     Completed   0             5h12m\n"
WORKER = "job-worker-0   0/1     {status}   1 (5h9m ago)  5h12m\n"
EARLIER = "torch.distributed.DistNetworkError: failed to connect: Name or service not known\n"


@pytest.mark.parametrize(
    ("status", "beside", "over"),
    [
        ("Completed", "eval_accuracy = 0.92\n", True),
        ("Running  ", "eval_accuracy = 0.92\n", False),
        ("Error    ", "eval_accuracy = 0.92\n", False),
        ("Completed", "the next job hangs since an hour\n", False),
    ],
)
def test_pods_that_all_completed_are_a_run_that_is_over(
    status: str, beside: str, over: bool, tmp_path: pathlib.Path
) -> None:
    """What became of an earlier container of one of them is over as well."""
    (tmp_path / "kubectl get pods.txt").write_text(PODS + WORKER.format(status=status))
    (tmp_path / "kubectl logs job-worker-0 --previous.txt").write_text(EARLIER)
    (tmp_path / "kubectl logs job-worker-0.txt").write_text(beside)
    assert ended_well(case_of(gather([tmp_path]))) is over
