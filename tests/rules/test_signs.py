"""What programs say when something is wrong, line by line: each message is understood by the rule that explains it."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

# Wordings of drivers, kernels, launchers and libraries, each as its program writes it.
MESSAGES = """
gpu-failed | Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error
gpu-failed | Remapping Failure Occurred             : Yes
gpu-failed | nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
gpu-failed | amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!
gpu-failed | mce: [Hardware Error]: Machine check events logged
gpu-failed | pcieport 0000:40:01.1: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
killed-for-memory | run.sh: line 7:  4711 Killed                  python train.py
killed-for-memory | Worker exceeded 95% memory budget. Restarting
limit-reached | OSError: unable to mmap 4096 bytes from file: Cannot allocate memory (12)
limit-reached | semget: No space left on device
limit-reached | max locked memory       (kbytes, -l) 64
shm-full | RuntimeError: could not unlink: not enough space in /dev/shm
shm-full | NCCL WARN Error while creating shared memory segment /dev/shm/nccl-aB3dE5 (size 9637888)
shm-full | NCCL WARN Call to posix_fallocate failed : No space left on device
storage-silent | OSError: [Errno 116] Stale file handle: '/data/shard-3'
storage-silent | umount: '/mnt/data': Transport endpoint is not connected
file-lock-unsupported | BlockingIOError: unable to lock file, errno = 11, error message = 'Resource temporarily unavailable'
device-touched-before-fork | CUDA has been initialized before the `notebook_launcher` could create a forked subprocess.
driver-not-ready | RuntimeError: Found no NVIDIA driver on your system.
driver-not-ready | Unable to open /dev/kfd read-write: Permission denied
driver-not-ready | nvidia-imex: service is not running, failed to connect
stopped-from-outside | JobId=77 JobState=SUSPENDED Reason=None
versions-differ | google.protobuf.runtime_version.VersionError: Detected incompatible Protobuf Gencode/Runtime versions
versions-differ | RuntimeError: The NVIDIA driver on your system is too old (found version 11040).
known-defect | NCCL WARN Failed to find reverse path from remNode 3 to GPU/1B000
kernel-failed-earlier | Memory access fault by GPU node-2 on address 0x7f00. Reason: Page not present
kernel-failed-earlier | RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasSgemm
kernel-failed-earlier | NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, MMU Fault
meeting-point-taken | torch.distributed.elastic.rendezvous.api.RendezvousClosedError
meeting-point-unreachable | RuntimeError: Failed to add any wildcard listeners
meeting-point-unreachable | An ORTE daemon: ORTE was unable to reliably start one or more daemons.
gil-waited-for | Thread 0x7F01 (idle+gil): "MainThread"
lock-taken-twice | Found one Java-level deadlock:
lock-taken-twice | WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=4711)
kernel-spins | RuntimeError: CUDA error: the launch timed out and was terminated
helper-gone | billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 3.
failed-first | Deadlock detected from rank: 3
failed-first | RuntimeError: Rank 3 successfully reached monitoredBarrier, but received errors while waiting
person-asked | interaction (pdb.py:365)
stopped-from-outside | 4711 pts/2    T    0:01 python train.py --rank 3
stopped-from-outside | [1]  + 4711 suspended  python train.py
stopped-from-outside | kernel: PM: suspend entry (deep)
lock-file-left-behind | zypper: System management is locked by the application with pid 77 (zypper).
lock-file-left-behind | INFO (theano.gof.compilelock): Waiting for existing lock by process '7163' (I am process '7204')
lock-file-left-behind | Blocking waiting for file lock on build directory
storage-silent | kernel: sd 6:0:0:1: rejecting I/O to offline device
storage-silent | kernel: nvme nvme2: I/O 832 QID 14 timeout, aborting
shm-full | Unable to initialize shared memory key 'region_9' to requested size (67108864 bytes). Error: No space left on device
disk-full | Usage of EmptyDir volume "cache" exceeds the limit "50Gi".
limit-reached | Error: system limit exceeded on number of pipes that can be open
limit-reached | create session key: disk quota exceeded: unknown.
""".strip().splitlines()


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_understood(message: str, tmp_path: pathlib.Path) -> None:
    rule, _, line = message.partition(" | ")
    (tmp_path / "rank_3.log").write_text(f"epoch 1 step 1 loss 2.3\n{line}\n")
    found = judge(gather([tmp_path])).findings
    assert rule in {finding.rule for finding in found}


# The same words where another part of the text gives them another meaning; the rule of the words keeps silent.
OTHERWISE = {
    "killed-for-memory": "[CRITICAL] WORKER TIMEOUT (pid:7)\n[ERROR] Worker (pid:7) was sent SIGKILL! Perhaps out of memory?",
    "limit-reached": "RuntimeError: can't start new thread: failed to create thread\npthread_create: Operation not permitted",
    "shm-full": "RuntimeError: unable to open shared memory object </torch_7> in read-write mode: Too many open files (24)",
    "lock-file-left-behind": "Detected CUDA files, compiling and loading fused kernels\nTime to load fused_adam op: 2.1 seconds",
    "ib-transport": "NCCL WARN Call to ibv_reg_mr failed\nNCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory",
    "peer-to-peer-broken": (
        'NCCL WARN Missing "iommu=pt" from kernel command line\nRCCL version 2.18\nsomebody asked why it hangs\n'
        "# Avg bus bandwidth    : 41.2"
    ),
    "packets-vanish": "NCCL INFO Bootstrap : Using interface lo\nconnect: No route to host",
    "ends-never": "training finished\nthe process stays\nWatchdog caught collective operation timeout",
    "helper-gone": "Restarting worker 3, which never returned\noom_kill 1",
    "meeting-point-unreachable": "rendezvous at head:29500\nName or service not known\n7/8 clients joined, waiting for clients",
    "driver-not-ready": "CUDA unknown error\nCannot re-initialize CUDA in forked subprocess",
}  # fmt: skip


@pytest.mark.parametrize("rule", OTHERWISE)
def test_words_with_another_meaning_beside_them(rule: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "rank_3.log").write_text(OTHERWISE[rule] + "\n")
    assert rule not in {finding.rule for finding in judge(gather([tmp_path])).findings}
