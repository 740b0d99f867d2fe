"""Numbers and names that look like a code, a state or an error: an address, a pid, an id, a setting, the subject of a commit."""

# ruff: noqa: E501  (a line of a log is one line)
from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Kind
from rankscope.pipeline import judge

START = "2024-05-01 10:11:12 INFO starting train.py, 8 ranks\n"
PS = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
TOP = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
DF = "Filesystem      Size  Used Avail Use% Mounted on\n"


def accused(folder: Path, text: str, name: str = "train.log") -> set[str]:
    """The rules that name a cause which is likely at least."""
    (folder / name).write_text(text)
    return {
        one.rule
        for one in judge(gather([folder])).findings
        if one.kind is Kind.CAUSE and one.certainty is not Certainty.POSSIBLE
    }


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("kernel-failed-earlier", "[1371.3] NVRM: Xid (PCI:0000:31:00): 79, pid=4711, GPU has fallen off the bus.\n"),
        ("kernel-failed-earlier", "[1371.3] NVRM: Xid (PCI:0000:13:00): 94, pid='<unknown>', Contained: SM (0x1).\n"),
        (
            "kernel-failed-earlier",
            "health.go:71] Ignoring the following XIDs for health checks: map[13:true 31:true 43:true]\n",
        ),
        ("gpu-failed", "Namespace(lr=0.0001, seed=139, xid=79, port=29500)\n"),
        ("gpu-failed", "autovacuum: oldest xid 79\n"),
        ("gpu-failed", "gpu monitor: watching for Xid 48, 63, 74, 79, 94, 95\n"),
        ("gpu-failed", "GPU[0]\t\t: Uncorrectable ECC errors: 0\n"),
        ("gpu-failed", "GPU 0: double bit ECC errors: 0, row remap failure: No\n"),
        ("ib-transport", "Thread 7 (LWP 137):\n#0  0x00007f3c in ibv_poll_cq (wc=0x7ffd) at infiniband/verbs.h:2822\n"),
        ("ib-transport", "[0] NCCL INFO NET/IB: ibv_query_port mlx5_0 lid 110 mtu 4096\n"),
        ("ib-transport", "[    9.0] mlx5_core 0000:48:00.1 ens3f1np1: Link down\n"),
        ("packets-vanish", "[    1.2] i40e 0000:3d:00.1 eno2: NIC Link is Down\n"),
        ("packets-vanish", "    137 segments retransmitted\n    TCPTimeouts: 110\n"),
        ("limit-reached", "#0  0x00007f3c in ibv_reg_mr (pd=0x5581, addr=0x7f11, length=4096, access=12)\n"),
        ("limit-reached", "fs.aio-max-nr = 65536\nuser.max_cgroup_namespaces = 127235\n"),
        ("limit-reached", START + '48ab137 Handle "Too many open files"\n'),
        ("killed-for-memory", START + "Status of job 137: RUNNING\n"),
        ("killed-for-memory", START + "exit status of process 137 is 0\n"),
        ("killed-for-memory", ">       assert proc.returncode == -9\nE       assert 1 == -9\n"),
        (
            "killed-for-memory",
            "NAME               READY   STATUS    RESTARTS   AGE\noomkilled-test-0   1/1     Running   0   137m\n",
        ),
        ("disk-full", "HEAD is now at 48ab137 fix No space left on device in checkpoint writer\n"),
        ("disk-full", "copied 100% /data/train.bin\n"),
        ("disk-full", DF + "/dev/loop9  2.1G  2.1G     0 100% /var/lib/apptainer/mnt/session/rootfs\n"),
        ("stopped-from-outside", "rt_sigaction(SIGTSTP, {sa_handler=SIG_IGN}, {sa_handler=SIG_DFL}, 8) = 0\n"),
        ("stopped-from-outside", TOP + "    138 eve       20   0   13.1g   1.7g   1.3g T   0.0   0.3   0:37.00 vim\n"),
        ("storage-silent", PS + "bob  143 99.0  0.0  15432  9137 ?  Sl   10:00 137:00 python train.py --grade D\n"),
        ("storage-silent", PS + "bob  143  0.0  0.0  15432  9137 ?  S    10:00   0:00 less D\n"),
        ("storage-silent", "Number of parameters in G: 30.1M\nNumber of parameters in D: 2.8M\n"),
        ("storage-silent", "=== mmdiag: waiters ===\n"),
        ("meeting-point-taken", "Port 29500 is already in use, trying port 29501\n"),
    ],
)
def test_a_number_or_name_in_another_role_accuses_nobody(rule: str, text: str, tmp_path: Path) -> None:
    assert rule not in accused(tmp_path, text)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("gpu-failed", "dmesg shows xid 79 for the third card\n"),
        ("gpu-failed", "XidCriticalError: Xid=79 on Device=GPU-13; marking device as unhealthy.\n"),
        ("gpu-failed", "GPU 0: uncorrectable ECC errors: 3\n"),
        ("gpu-failed", "GPU 3: row remap failure: Yes\n"),
        ("kernel-failed-earlier", "[1371.3] NVRM: Xid (PCI:0000:48:00): 31, pid=79, name=python, MMU Fault\n"),
        ("ib-transport", "ibv_modify_qp returned 110\n"),
        ("limit-reached", "ibv_reg_mr returned errno 12\n"),
        ("killed-for-memory", START + "worker process exited with code 137\n"),
        ("disk-full", DF + "/dev/sdb1        97G   97G     0 100% /data\n"),
        ("storage-silent", PS + "bob  143  0.0  0.0  15432  9137 ?  D    10:00   0:07 python train.py --mode S\n"),
        (
            "stopped-from-outside",
            TOP + "    138 eve       20   0   13.1g   1.7g   1.3g T   0.0   0.3   0:37.00 python\n",
        ),
        ("packets-vanish", "[ 9371.2] i40e 0000:3d:00.1 eno2: NIC Link is Down\n"),
    ],
)
def test_in_its_own_role_it_does(rule: str, text: str, tmp_path: Path) -> None:
    assert rule in accused(tmp_path, text)


@pytest.mark.parametrize(
    ("rule", "announced", "happened"),
    [
        ("disk-full", "will retry on: No space left on device", "OSError: [Errno 28] No space left on device: '/data/x.pt'"),
        ("killed-for-memory", "supervisor: restart on exit code 137", "2024-05-01 11:11:12 ERROR worker 3 exited with exit code 137"),
    ],
)  # fmt: skip
def test_what_is_announced_hides_nothing_that_happens_later(
    rule: str, announced: str, happened: str, tmp_path: Path
) -> None:
    assert rule not in accused(tmp_path, f"2024-05-01 10:11:12 INFO {announced}\n")
    assert rule in accused(tmp_path, f"2024-05-01 10:11:12 INFO {announced}\n{happened}\n")


def test_the_message_of_a_commit_is_history(tmp_path: Path) -> None:
    commit = f"commit {'1379c0d1' * 5}\nAuthor: Bob <bob@example.org>\nDate:   Wed May 1 10:11:12 2024 +0200\n\n"
    assert not accused(
        tmp_path, commit + "    Retry when the store is lost: Connection refused, Broken pipe\n", "git.txt"
    )


BROKEN = "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly.\n"


@pytest.mark.parametrize(
    ("rule", "text", "beside"),
    [
        ("disk-full", "OSError: [Errno 28] No space left on device: '/data/x.pt'\n", "tmpfs   63G     0   63G   0% /dev/shm\n"),
        ("disk-full", "OSError: [Errno 28] No space left on device: '/data/x.pt'\n", "+ docker run --shm-size=64g -v /dev/shm:/dev/shm\n"),
        ("storage-silent", "OSError: [Errno 116] Stale file handle: '/data/x.pt'\n", "filelock==3.13.4\n"),
        ("helper-gone", BROKEN, "triton==2.2.0\n"),
        ("packets-vanish", "misc/socket.cc:538 NCCL WARN Connect to 10.0.0.7<4511> failed : No route to host\n", "127.0.0.1 localhost\n"),
    ],
)  # fmt: skip
def test_what_is_installed_or_mounted_everywhere_hides_nothing(
    rule: str, text: str, beside: str, tmp_path: Path
) -> None:
    assert rule in accused(tmp_path, text + beside)


def test_an_installed_compiler_is_no_compiler_that_broke(tmp_path: Path) -> None:
    assert "compiler-gone" not in accused(tmp_path, BROKEN + "triton==2.2.0\n")
