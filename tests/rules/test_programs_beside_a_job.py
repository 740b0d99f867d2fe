# ruff: noqa: E501  (a line of a log is one line)
"""What befell a program beside the job, on the same machine, says nothing of the job; cores are read from their lists."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge

OOM = """[1234567.123456] {asks} invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=300
[1234567.133456] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task={ends},pid=99123,uid=1000
[1234567.143456] Out of memory: Killed process 99123 ({ends}) total-vm:34567890kB, anon-rss:1234567kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1234kB oom_score_adj:300
"""
LIST = """TIME                            PID  UID  GID SIG     COREFILE EXE                            SIZE
Tue 2026-11-24 14:11:24 UTC   48213 1000 1000 {signal} present  {program}   512.3M
"""
INFO = """           PID: 48213 (python)
           UID: 1000 (ml)
           GID: 1000 (ml)
        Signal: 11 (SEGV)
     Timestamp: Tue 2026-11-24 14:11:23 UTC (2min ago)
  Command Line: /opt/conda/bin/python3.11 -u train.py --config big.yaml
    Executable: /opt/conda/bin/python3.11
 Control Group: /system.slice/slurmstepd.scope/job_4711/step_0/user/task_3
          Unit: slurmstepd.scope
         Slice: system.slice
       Boot ID: 5aa1
    Machine ID: 5ab1
      Hostname: node18
       Storage: /var/lib/systemd/coredump/core.python.1000.5aa1.48213.1700000000000000.zst (present)
  Size on Disk: 512.3M
       Message: Process 48213 (python) of user 1000 dumped core.

                Stack trace of thread 48213:
                #0  0x00007f3a1c2b1a2c n/a (libtorch_cuda.so + 0x2b1a2c)
                #1  0x00007f3a1c2b1f00 _ZN5torch8autograd6Engine17evaluate_functionE (libtorch_cpu.so + 0x2b1f00)
                #2  0x00007f3a1c2b1f40 start_thread (libc.so.6 + 0x8f40)
                #3  0x00007f3a1c2b1f80 clone3 (libc.so.6 + 0x10f80)
                ELF object binary architecture: AMD x86-64
"""
SOCKETS = """State      Recv-Q Send-Q Local Address:Port    Peer Address:Port Process
LISTEN     0      128          0.0.0.0:22           0.0.0.0:*     users:(("sshd",pid=900,fd=3))
CLOSE-WAIT 1      0       10.0.0.5:44312     10.0.0.9:443   users:(("{program}",pid=1234,fd=12))
ESTAB      0      0       10.0.0.5:29500     10.0.0.6:51022   users:(("python",pid=4587,fd=50))
"""


def judged(folder: pathlib.Path, text: str) -> Diagnosis:
    (folder / "saved.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize(
    ("asks", "ends", "accused"),
    [("python3", "python3", True), ("chrome", "python3", True), ("python3", "chrome", False), ("mongod", "mongod", False)],
)  # fmt: skip
def test_who_was_killed_counts_and_not_who_asked_for_memory(
    tmp_path: pathlib.Path, asks: str, ends: str, accused: bool
) -> None:
    verdict = judged(tmp_path, OOM.format(asks=asks, ends=ends)).verdict
    assert (verdict is not None and verdict.cls == "oom-kill") is accused
    assert accused or verdict is None


def test_one_of_the_job_that_is_killed_after_a_stranger_is_told(tmp_path: pathlib.Path) -> None:
    verdict = judged(
        tmp_path, OOM.format(asks="chrome", ends="chrome") + OOM.format(asks="python3", ends="python3")
    ).verdict
    assert verdict is not None
    assert verdict.cls == "oom-kill"


@pytest.mark.parametrize("signal", ["SIGSEGV", "11"])
def test_a_list_of_cores_tells_that_a_program_crashed(tmp_path: pathlib.Path, signal: str) -> None:
    verdict = judged(tmp_path, LIST.format(signal=signal, program="/opt/conda/bin/python3.11")).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == ("dead-rank", Certainty.POSSIBLE)


def test_what_is_told_of_one_core_is_read_as_well(tmp_path: pathlib.Path) -> None:
    assert [one.cls for one in judged(tmp_path, INFO).findings] == ["dead-rank"]


def test_a_core_of_the_desktop_is_none_of_the_job(tmp_path: pathlib.Path) -> None:
    assert judged(tmp_path, LIST.format(signal="SIGSEGV", program="/usr/lib/firefox/firefox")).verdict is None


@pytest.mark.parametrize(("program", "accused"), [("snapd", False), ("python", True)])
def test_a_connection_that_a_daemon_has_not_closed_is_its_own_affair(
    tmp_path: pathlib.Path, program: str, accused: bool
) -> None:
    verdict = judged(tmp_path, SOCKETS.format(program=program)).verdict
    assert (verdict is not None) is accused


@pytest.mark.parametrize(("pod", "accused"), [("grafana-0", False), ("train-1", True)])
def test_a_pod_of_the_site_that_ran_out_of_memory_is_none_of_the_job(
    tmp_path: pathlib.Path, pod: str, accused: bool
) -> None:
    rows = f"NAME         READY   STATUS      RESTARTS   AGE\ntrain-0      1/1     Running     0          3h\n{pod}    0/1     OOMKilled   3          9d\n"
    verdict = judged(tmp_path, rows).verdict
    assert (verdict is not None) is accused


@pytest.mark.parametrize(
    ("log", "accused"),
    [("kombu.redis: connection lost, trying again\n", True), ("step 7 loss 2.1\n", False)],
    ids=["asked by the job", "of nobody's concern"],
)
def test_a_server_that_the_job_asks_is_no_stranger(log: str, accused: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "worker.log").write_text(log)
    found = judged(tmp_path, OOM.format(asks="redis-server", ends="redis-server"))
    assert ("killed-for-memory" in {one.rule for one in found.findings}) is accused
