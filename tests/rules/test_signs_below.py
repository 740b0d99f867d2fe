"""What programs say of devices, networks, files and limits, line by line, and lines like them that mean nothing."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

# Wordings of drivers, transports, launchers and meshes, each as its program writes it, next to what the reporter saw.
MESSAGES = """
disk-full | Watching for file changes with StatReloader; OSError: [Errno 28] No space left on device: 'epoch_3.pt'
storage-silent | [Wed Jun 28 13:19:11 2023] block nvme2n2: no usable path - requeuing I/O
limit-reached | pyinotify ERROR] add_watch: cannot watch /srv/app WD=-1, Errno=No space left on device (ENOSPC)
store-lost | [E socket.cpp:957] [c10d] The client socket has timed out after 900s while trying to connect to (10.0.0.2, 29500).
shm-full | [gpu01:2211] Signal code: Non-existant physical address (2)
shm-full | torchrun: line 1: 4411 Bus error (core dumped) python train.py --workers 8
shm-full | ValueError: The configured object store size (20.0 GB) exceeds /dev/shm size (0.06 GB).
shm-full | [node7:11] PMIX ERROR: OUT-OF-RESOURCE in file gds_shmem2.c at line 912
gpu-failed | pcieport 0000:60:03.1: AER: Uncorrected (Fatal) error received: 0000:61:00.0
gpu-failed | HW Power Brake Slowdown : Active
gpu-failed | xe 0000:03:00.0: [drm] device wedged, needs recovery
driver-not-ready | CUDA_ERROR_MPS_CONNECTION_FAILED: MPS client failed to connect to the MPS control daemon
driver-not-ready | NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system
driver-not-ready | NCCL WARN Cuda failure 3 'initialization error'
versions-differ | [node2:991] PMIX ERROR: UNPACK-PAST-END in file unpack.c at line 44
kernel-failed-earlier | Failed to synchronize the NPU: error code is 507035, vector core execution exception
kernel-failed-earlier | ========= Invalid __global__ write of size 16 bytes
kernel-failed-earlier | ops/gather.hip:88: rows: block: [12,0,0], thread: [3,1,0] Assertion `row < rows` failed.
kernel-spins | [drm] *ERROR* Tile0: GT0: Timedout job: seqno=42, guc_id=9, flags=0x0 in python3 [9120]
kernel-spins | error code is 507014, aicore timeout
ib-transport | MPIDI_OFI_handle_cq_error(1042): OFI poll failed (ofi_events.c:1042:Input/output error)
ib-transport | bnxt_en 0000:5e:00.0: bnxt_re: Failed to modify HW QP
ib-transport | fi_getinfo error: ret -61, providers 0
versions-differ | INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.54) and framework PJRT API version 0.51).
storage-silent | error: *** STEP 63532.0 STEPD TERMINATED ON cn106 AT 2020-12-14T09:44:56 DUE TO JOB NOT ENDING WITH SIGNALS ***
storage-silent | the file system became read-only
packets-vanish | curl master:23456: upstream connect error or disconnect/reset before headers
packets-vanish | ucp_ep_create: Destination is unreachable
packets-vanish | the broadcast works after unset http_proxy
wrong-interface | ValueError: 'ib0' is not a valid network interface
wrong-interface | OSError: [Errno 99] error while attempting to bind on address ('10.4.3.2', 29500)
wrong-interface | the coordinator's name resolved to 127.0.1.1
wrong-interface | the second machine's worker announces tcp://127.0.0.1:43111
meeting-point-taken | [LightGBM] [Fatal] Binding port 12400 failed
meeting-point-taken | EJ0001: Failed to initialize the HCCP process. Reason: Maybe the last training process is running.
meeting-point-unreachable | ConnectionRefusedError: [Errno 111] Connection refused (tracker at 10.0.0.1:9091)
store-lost | UNAVAILABLE: Failed to send RPC to coordination service.
file-lock-unsupported | File locking failed in ADIOI_Set_lock(fd 13,cmd F_SETLKW/7,type F_WRLCK/1,whence 0)
lock-file-left-behind | Another process must be compiling /var/tmp/cache/MODULE_1, been waiting for: 120.0 minutes
peer-to-peer-broken | hipIpcOpenMemHandle failed: invalid device pointer
peer-to-peer-broken | x.to('cuda:1') gives zeros
ends-never | disconnect (ray/_private/worker.py:2301)
driver-not-ready | failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)
driver-not-ready | RuntimeError: aclInit failed, drvRetCode=87
driver-not-ready | Native API returns: -1 (PI_ERROR_DEVICE_NOT_FOUND)
driver-not-ready | openat(AT_FDCWD, "/dev/nvidia0", O_RDWR) = -1 EPERM (Operation not permitted)
gpu-failed | amdgpu 0000:29:00.0: uncorrectable hardware errors detected in umc block
gpu-failed | NPU 5 health status ALARM, error code 0x80e01801
ib-transport | cxip_ep_cq_error: UNDELIVERABLE
ib-transport | mlx5_core 0000:a1:00.0: health compromised - reached miss count
meeting-point-unreachable | The node could not connect to GCS at 10.0.0.1:6379 within 5s
meeting-point-unreachable | connect(5, {sin_port=htons(29500), sin_addr=inet_addr("10.0.0.1")}, 16) = -1 ECONNREFUSED
wrong-interface | connect(12, {sin_port=htons(39121), sin_addr=inet_addr("127.0.1.1")}, 16) = -1 ECONNREFUSED
disk-full | RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 1088 vs 980
storage-silent | LustreError: 11-0: fsx-OST0001: operation ldlm_enqueue to node 10.0.0.9 failed: rc = -107
peer-to-peer-broken | #3 0x00007f21c4 in cudaMemcpyPeerAsync () from libcudart.so
ends-never | __exit__ (asyncio/runners.py:59)
driver-not-ready | RuntimeError: HIP error: hipErrorNoDevice
versions-differ | NCCL WARN socketFinalizeAccept from 10.0.0.2<41234>: wrong magic 1c != 5a3b9e0077c1d2e4
packets-vanish | [LightGBM] [Warning] Connecting to rank 1 failed, waiting for 33750 milliseconds
packets-vanish | http proxy answers CONNECT node2:29500 with 403
peer-to-peer-broken | simpleP2P: Verification error @ element 1: val = 0.000000, ref = 4.000000
lock-file-left-behind | acquire of SoftFileLock /data/cache/index.lock
""".strip().splitlines()

# The same words where nothing is wrong.
NOTHING = """
pcieport 0000:60:03.1: AER: enabled with IRQ 28
HW Slowdown : Not Active
HW Thermal Slowdown : Not Active
nvidia-cuda-mps-server started with pid 991
ERROR SUMMARY: 0 errors
pod annotation sidecar.istio.io/inject: "false"; both pods READY 1/1
interface eth0 has IPv4 10.0.0.3
distributed.worker: Start worker at: tcp://127.0.0.1:43111
Another process must be compiling /var/tmp/cache/MODULE_1, been waiting for: 0.2 minutes
this file system does support flock
[LightGBM] [Info] Binding port 12400 succeeded
x.to('cuda:1') gives the same values
""".strip().splitlines()


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_understood(message: str, tmp_path: pathlib.Path) -> None:
    rule, _, line = message.partition(" | ")
    (tmp_path / "rank_3.log").write_text(f"step 41\n{line}\n")
    (tmp_path / "observation.txt").write_text("after that the job hangs\n")
    found = judge(gather([tmp_path])).findings
    assert rule in {finding.rule for finding in found}


@pytest.mark.parametrize("line", NOTHING)
def test_a_line_like_it_means_nothing(line: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "rank_3.log").write_text(f"step 41\n{line}\nstep 42\nstep 43\n")
    assert judge(gather([tmp_path])).verdict is None


@pytest.mark.parametrize(("label", "below"), [("stacks, 16 of 16", True), ("stacks, 15 of 16", False)])
def test_one_stack_of_as_many_as_there_are_is_that_of_all(label: str, below: bool, tmp_path: pathlib.Path) -> None:
    """Of all but one it is not: that one may be missing from the call."""
    stack = 'Thread 1 (idle): "MainThread"\n    all_to_all_single (torch/distributed/distributed_c10d.py:4385)\n    f (a.py:9)\n'
    late = (
        "[rank{0}]: [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLTOALL_BASE, \
NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600011 milliseconds before timing out.\n"
    )
    (tmp_path / f"{label}.txt").write_text(stack)
    (tmp_path / "watchdog.txt").write_text(late.format(0) + late.format(15))
    verdict = judge(gather([tmp_path])).verdict
    assert (verdict is not None and verdict.cls == "stuck-below-program") is below
