"""Words that a rule looks for, in another role: pushed data are no steps, other pods no other run, a list of causes no cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge

RAY = (
    "(raylet) A worker died or was killed while executing a task by an unexpected system error. Some common causes include: "
    "(1) the process was killed by the OOM killer due to high memory usage, (2) ray stop --force was called. "
    "If the process was killed by the kernel OOM killer, see dmesg."
)
HANGS = "the job hangs, nothing more is printed\n"
WORKERS = "the seven workers of the pool wait, it hangs\n"


def judged(folder: Path, text: str, name: str = "observations") -> Diagnosis:
    """One file of somebody's, judged as ``rankscope analyze`` does."""
    (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("call-missed", HANGS + "the workers are joined, and may push more data into the queue afterwards"),
        ("call-missed", HANGS + "8 GPUs: no rollout ends any more after 4-6 steps"),
        ("call-missed", HANGS + "with fewer ranks the barrier ends at once"),
        ("limit-reached", "ibv_reg_mr of host memory works, of the card's it fails"),
        (
            "kernel-failed-earlier",
            "CUDA error: an illegal memory access was encountered\nnvidia-fabricmanager.service: failed",
        ),
        ("killed-for-memory", RAY),
        ("meeting-point-taken", HANGS + "agents of the other pods are still running and cannot join the rendezvous"),
        (
            "meeting-point-taken",
            HANGS + "the command line has no --nnodes, --node-rank or --rdzv-endpoint\nnum_nodes=1 works",
        ),
        ("versions-differ", HANGS + "three machines with different CUDA versions: alike"),
        ("one-rank-prepares", "two nodes: 100x slower than on one node"),
        ("ib-transport", "OFI poll failed (ofi_events.c:1077:MPIDI_OFI_handle_cq_error:Input/output error - CANCELED)"),
        ("storage-silent", HANGS + "processes: none in state D"),
        ("gpu-failed", "NVRM: Xid (PCI:0000:48:00): 13, pid=4123, Graphics SM Warp Exception on (GPC 0, TPC 0)"),
        ("gpu-failed", "NVRM: Xid (PCI:0000:0b:00): 31, pid=119, name=python, Ch 00000008, MMU Fault"),
        ("disk-full", "ib_verbs.h:84 UCX ERROR ibv_exp_query_device(mlx5_0) returned 38: No space left on device"),
        ("peer-to-peer-broken", "DMAR: IOMMU enabled\nDMAR: Intel(R) Virtualization Technology for Directed I/O"),
        ("peer-to-peer-broken", "n1:12:30 [0] NCCL INFO Could not enable P2P between dev 1(=5e000) and dev 0(=3b000)"),
        ("ib-transport", "n0:16:37 [4] NCCL WARN NET/IB : mlx5_0:1 Got async event : GID table change"),
        ("meeting-point-taken", "Port 8787 is already in use.\nHosting the HTTP server on port 41231 instead"),
        ("ends-never", HANGS + "all samples in one file: hangs; in several files: works"),
        ("fork-took-a-lock", WORKERS + "OMP_NUM_THREADS=1: score pass 1 246.5s, pass 2 169.9s, all 417.6s"),
        ("fork-took-a-lock", WORKERS + "MKL_NUM_THREADS=1   pass #2   31 min"),
        ("rank-not-at-meeting", HANGS + "the tasks are dropped, the training loop has not started"),
        ("rank-not-at-meeting", HANGS + "all workers are up; the first epoch is not yet started"),
        (
            "another-version-cures",
            HANGS + "84 run.fit INFO Updating rho, bounds (0.002, 0.2)\nlibgomp: Thread creation failed",
        ),
        ("releases-compared", HANGS + "(<0.293.0>) returned ok, it works\n(<0.305.0>) fails with an error"),
    ],
)
def test_nothing_is_read_from_a_word_in_another_role(rule: str, text: str, tmp_path: Path) -> None:
    assert rule not in {finding.rule for finding in judged(tmp_path, text).findings}


def test_threads_of_one_process_are_no_ranks(tmp_path: Path) -> None:
    text = "stage 0, in init_replica: waits for a lock\nstage 1, in all_reduce: waits\n"
    (tmp_path / "sick").mkdir()
    (tmp_path / "threads").mkdir()
    beside = {finding.rule for finding in judged(tmp_path / "sick", text, "stages").findings}
    within = {finding.rule for finding in judged(tmp_path / "threads", text, "threads of the server").findings}
    assert "ranks-stand-apart" in beside - within


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("kernel-spins", "RuntimeError: DeepEP error: timeout (dispatch CPU)"),
        ("ends-never", "a viewer runs on and on, the process does not exit"),
        ("ends-never", "after this text the script does not return to the prompt"),
    ],
)
def test_what_others_may_have_done_is_only_possible(rule: str, text: str, tmp_path: Path) -> None:
    sure = {finding.rule: finding.certainty for finding in judged(tmp_path, text).findings}
    assert sure[rule] is Certainty.POSSIBLE


def test_a_child_that_is_named_by_its_local_rank_has_failed(tmp_path: Path) -> None:
    text = "the child process with local_rank 1 has thrown an error; the main script hangs"
    assert "failed-first" in {finding.rule for finding in judged(tmp_path, text).findings}


def test_a_table_of_messages_beside_a_log_hides_nothing(tmp_path: Path) -> None:
    table = "# When a job hangs\n## Messages\n| line | usually |\n|---|---|\n| `Xid 79` | drain the node |\n"
    (tmp_path / "alone").mkdir()
    (tmp_path / "beside").mkdir()
    seen = "2026-11-01 10:00:00 kernel: NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus\n"
    assert judged(tmp_path / "alone", table, "notes").verdict is None
    verdict = judged(tmp_path / "beside", table + seen, "notes").verdict
    assert verdict is not None
    assert verdict.cls == "gpu-hardware-fault"
