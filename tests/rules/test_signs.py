"""What programs say when something is wrong, line by line: each message is understood by the rule that explains it."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

# Wordings of drivers, kernels, launchers and libraries, each as its program writes it.
MESSAGES = """
gpu-failed | Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error
gpu-failed | GPU Recovery Action                               : Drain and Reset
gpu-failed | Remapping Failure Occurred             : Yes
gpu-failed | nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
gpu-failed | amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!
gpu-failed | mce: [Hardware Error]: Machine check events logged
gpu-failed | pcieport 0000:40:01.1: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
killed-for-memory | run.sh: line 7:  4711 Killed                  python train.py
killed-for-memory | Worker exceeded 95% memory budget. Restarting
limit-reached | OSError: unable to mmap 4096 bytes from file: Cannot allocate memory (12)
limit-reached | mlx5_core 0000:61:00.0: mlx5_cmd_check:795:(pid 71): ALLOC_UAR(0x802) op_mod(0x0) failed, status limits exceeded(0x8)
limit-reached | mlx5_core 0000:61:00.0: mlx5_cmd_out_err:803:(pid 71): CREATE_QP(0x500) op_mod(0x0) failed, status no resources(0xf)
limit-reached | ib_md.c:1678 UCX  ERROR ibv_open_device(mlx5_1) failed: Cannot allocate memory
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
rank-not-at-meeting | An ORTE daemon: ORTE was unable to reliably start one or more daemons.
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
shm-full | Unable to initialize shared memory key 'region_9' to requested size (67108864 bytes): No space left
disk-full | Usage of EmptyDir volume "cache" exceeds the limit "50Gi".
limit-reached | Error: system limit exceeded on number of pipes that can be open
limit-reached | create session key: disk quota exceeded: unknown.
limit-reached | fi_mr_regattr failed: -12 (Cannot allocate memory)
lock-file-left-behind | IO error: While lock file: /x/LOCK: Resource temporarily unavailable
stopped-from-outside | State:          FROZEN
storage-silent | [<0>] balance_dirty_pages+0x3a1/0x910
storage-silent | WARN DFSInputStream: Failed to connect to /10.1.1.7:50010 for block, add to deadNodes and continue.
limit-reached | OSError: [Errno 105] No buffer space available
limit-reached | FATAL:  sorry, too many clients already
killed-for-memory | 4711.0       OUT_OF_ME+     0:125
killed-for-memory | systemd[1]: trainer.service: Failed with result 'oom-kill'.
killed-for-memory | memory: usage 67108864kB, limit 67108864kB, failcnt 81221
disk-full | LustreError: 11-0: ost_write to node failed: rc = -28
disk-full | MPI_File_write_at_all: MPI_ERR_NO_SPACE
storage-silent | kernel: nfs4: state manager: check lease failed on NFSv4 server nas with error 110
storage-silent | Unable to attach or mount volumes: unmounted volumes=[data], timed out waiting for the condition
stopped-from-outside | Error response from daemon: container 4711abcd is paused
lock-file-left-behind | Timeout waiting to lock build logic queue. It is currently in use by another Gradle instance.
file-lock-unsupported | mount.nfs: rpc.statd is not running but is required for remote locking.
file-lock-unsupported | portalocker.exceptions.LockException: [Errno 95] Operation not supported
ib-transport | [n1:1 :0] ud_ep.c:269 UCX ERROR UD endpoint unhandled timeout error with local dev name : mlx5_0
ib-transport | n1.1234PSM2 could not send packet: Endpoint n2 unreachable
ib-transport | ib0: transmit timeout: latency 5170 msecs
ib-transport | cxi_core 0000:21:00.0: cxi0: HSN link down
ib-transport | efa 0000:10:1b.0 rdmap16s27: Failed to process command CREATE_QP (opcode 1) err -110
ib-transport | EI0013: The RDMA ROCE CQE operation status is abnormal.
packets-vanish | RuntimeError: [gloo/transport/tcp/pair.cc:589] Read error [10.0.0.8]:44921: Connection timed out
packets-vanish | ixgbe 0000:03:00.0 eth2: Detected Tx Unit Hang
packets-vanish | ena 0000:00:05.0 ens5: Found a Tx that wasn't completed on time, qid 3, index 211.
packets-vanish | IP 10.42.0.1 > 10.42.1.9: ICMP 10.42.7.4 unreachable - need to frag (mtu 1410), length 556
wrong-interface | Bootstrap : Using br-9c1f2d3e4a5b:172.19.0.1<0> Connect to 172.19.0.1<41111> failed : Connection refused
wrong-interface | None of the TCP networks specified to be included for out-of-band communications could be found
wrong-interface | WARNING: An invalid value was given for btl_tcp_if_include.  This
wrong-interface | Connect to 10.0.2.15<41111> failed : Connection refused
meeting-point-taken | EI0019: The IP address 10.1.1.2 and port 16666 have been bound.
meeting-point-taken | [ERROR] HCCL(1009464,all_reduce_test):2025-03-15-00:41:48.470.172 [hccl_socket.cc:110] [1009464][InitGroupStage][RanktableDetect] socket type[0], listen on ip[192.168.2.199] and specific port[16666] fail.
meeting-point-taken | Please check the port status and whether the port is been using by other process.
meeting-point-taken | Tried to launch distributed communication on port `29500`, but another process is utilizing it.
rank-not-at-meeting | Warning  Failed  kubelet  Error: ErrImagePull
rank-not-at-meeting | Warning  BackOff  2m  kubelet  Back-off restarting failed container init-pytorch in pod job-worker-0_ml
rank-not-at-meeting | pod group is not ready, 3 Running, 1 Pending, 4 minAvailable
rank-not-at-meeting | srun: error: Unable to create step for job 77: Requested node configuration is not available
rank-not-at-meeting | All nodes which are allocated for this job are already filled.
rank-not-at-meeting | {'GPU': 8.0} * 2 (PACK): 1+ pending placement groups
rank-not-at-meeting | TimeoutError: Timed out waiting for engine core processes to start.
rank-not-at-meeting | [ERROR] topo exchange server get socket timeout! timeout[120 s]
rank-not-at-meeting | tracker: waiting for 3 of 4 workers
store-lost | UNAVAILABLE: Socket closed while calling /tensorflow.CoordinationService/Heartbeat
store-lost | DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?
store-lost | TcpExtListenOverflows           18822              0.0      # on the host that listens at port 29500
store-lost | RuntimeError: Unable to get the NCCLUniqueID from the store within 30 seconds.
versions-differ | Bootstrap Root : mismatch in info from procs, nranks 16 vs 16, nroots 1 vs 1, iroot 0 vs 0, offset -3402629
versions-differ | NVRM: API mismatch: the client has the version 535.161.07, but
versions-differ | cuDNN version incompatibility: PyTorch was compiled against (8, 9, 2) but found runtime version (8, 6, 0).
versions-differ | RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is 0x2000000
versions-differ | RuntimeError: jaxlib is version 0.1.71, but this version of jax requires version >= 0.4.1.
versions-differ | but OMPI was not built with SLURM's PMI support and therefore cannot
versions-differ | ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found
versions-differ | AttributeError: Can't get attribute '_make_function' on <module 'cloudpickle.cloudpickle'>
versions-differ | TypeError: code() argument 13 must be str, not int
versions-differ | java.io.InvalidClassException: org.apache.spark.rdd.RDD; local class incompatible
peer-to-peer-broken | The call to cuIpcOpenMemHandle failed. This is an unrecoverable error and will cause the program to abort.
peer-to-peer-broken | NCCL WARN P2P is disabled between NVLINK connected GPUs 1 and 0.
peer-to-peer-broken | arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:
calls-differ | EI0005: 2024-04-24-06:32:27.781.599 The arguments for collective communication are inconsistent between ranks:parameter count, local end 16512
calls-differ | [rank_consistentcy_checker.cc:429] CMD information tag check fail. local[AllGather_x], remote[AllReduce_x]
calls-differ | [0] ERROR: GLOBAL:COLLECTIVE:OPERATION_MISMATCH: error
calls-differ | Collective Checking: BCAST (Rank 1) --> Collective call (BCAST) is Inconsistent with Rank 0's (ALLREDUCE).
calls-differ | Culprit rank 3; Error type: SIZE_OR_SYNTAX_MISMATCH, collective sequence number: 21
calls-differ | RuntimeError: disagreement between rank0 and rank1: rank0: 12, rank1: 13
calls-differ | AssertionError: sync_global_devices name mismatch ("save"). Expected: [1 1]; got: [1 2]
calls-differ | Message from rank 0 and tag 6 truncated; 4000 bytes received but buffer size is 400
sends-do-not-meet | Message: The application issued a set of MPI calls that can cause a deadlock!
sends-do-not-meet | [0] ERROR: GLOBAL:DEADLOCK:HARD: fatal error
sends-do-not-meet | rank 1 stuck: c10d::TCPStore::get (key="default_pg/0//cuda//2:3")
failed-first | The following tasks are unhealthy (stopped sending heartbeats): /job:jax_worker/replica:0/task:3
failed-first | /job:jax_worker/replica:0/task:2 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed unexpectedly.
failed-first | IndexError: list index out of range
failed-first | slurmctld: error: Nodes gpu-17 not responding, setting DOWN
failed-first | slurmctld[991]: Killing JobId=55 on failed node gpu-17
failed-first | 55        NODE_FAIL      0:0        gpu-[12-19]
failed-first | 1 job process is considered dead (unreachable via the RAS network)
failed-first | Normal   Preempted  3m  default-scheduler  Preempted by pod kube-system/x on node gpu-4
failed-first | Warning  TaintManagerEviction  3m  taint-eviction-controller  Marking for deletion Pod default/worker-1
failed-first | ERROR 05-01 10:00:00 [multiproc_executor.py:140] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
failed-first | Rank 3 scheduler is dead. Please check if there are relevant logs.
failed-first | distributed.scheduler - WARNING - Worker failed to heartbeat within 300 seconds. Closing: <WorkerState 'tcp://10.0.5.31:40111'>
failed-first | yhrun: error: cn1234: task 17: Aborted (core dumped)
failed-first | received SISTER_EOF attempting to communicate with sister MOM's
only-slow | Entering DeepGEMM JIT Pre-Compile session. It may take a long time (typically 10-20 mins)
only-slow | slow_operation_alarm.cc:133] The operation took 26m49.5s
only-slow | Constant folding an instruction is taking > 4s: fusion.12
only-slow | MIOpen(HIP): Warning [SearchImpl] Searching the best solution among 28416...
only-slow | CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.
person-asked | RemotePdb session open at 127.0.0.1:4444, waiting for connection ...
person-asked | debugpy: waiting for client on 0.0.0.0:5678
person-asked | Waiting for debugger attach on port 5678...
person-asked | Password for 'https://user@huggingface.co':
person-asked | Proceed ([y]/n)?
ranks-share-device | XGBoostError: Multiple processes within communication group running on same CUDA device is not supported
wrong-interface | misc/socket.cc:503 NCCL WARN Net : Call to recv from 172.18.0.1<34483> failed : Broken pipe
person-asked | pudb:6899: Please start a telnet session using a command like: telnet 127.0.0.1 6899
person-asked | embed (IPython/terminal/embed.py:406)
""".strip().splitlines()  # noqa: E501  (a message is one line)


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
    "meeting-point-taken": (
        "RuntimeError: EJ0002: The network port is down.\n"
        "[hccl_socket.cc:100] listen on ip[192.168.20.148] and specific port[16666] fail."
    ),
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
