"""What people write of devices, networks, files and releases: one sentence beside a log that ends, and its diagnosis."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

SENTENCES = """
gpu-hardware-fault | the workstation reboots by itself when both cards are under load
gpu-hardware-fault | as soon as training starts on all four GPUs the machine powers off
gpu-hardware-fault | the server crashes and restarts without any log after a few hours of training
gpu-hardware-fault | GPU 5 throttles to 300 MHz and is ten times slower than the rest, power brake is shown
gpu-hardware-fault | excluding node gpu-17 from the allocation makes the hang disappear; with it every job hangs
gpu-hardware-fault | after a cold reboot the eighth GPU is not listed any more
gpu-hardware-fault | dcgmi diag -r 3 fails on GPU 2 in the memory test
gpu-hardware-fault | always rank 37, whatever node order: it is the same physical card by its UUID
gpu-hardware-fault | swapping the two cards moves the problem with the card
gpu-hardware-fault | lspci -vv: LnkSta: Speed 2.5GT/s (downgraded), Width x1 (downgraded)
gpu-hardware-fault | one of the NVLink bridges was not seated properly
p2p-iommu-hardware | with VT-d disabled in the BIOS everything runs
p2p-iommu-hardware | two GPUs on the same switch work, any pair across sockets hangs in the first all_reduce
p2p-iommu-hardware | inside the VM the copy from GPU 0 to GPU 1 returns garbage; on the host it is right
p2p-iommu-hardware | NCCL hangs unless NCCL_P2P_LEVEL=PHB is set
p2p-iommu-hardware | after disabling ACS with setpci the test passes
p2p-iommu-hardware | NCCL_P2P_DISABLE=1 makes it train, at lower speed
driver-not-ready | nvidia-smi works but cuInit returns 802 after the driver update; fabric manager is still the old version
driver-not-ready | after the unattended upgrade of the driver nothing can use CUDA until a reboot
driver-not-ready | systemctl status nvidia-fabricmanager says inactive (dead)
driver-not-ready | the container does not see the GPUs any more after systemctl daemon-reload
driver-not-ready | with NCCL_NVLS_ENABLE=0 it starts; fabric manager log shows errors about multicast
cuda-async-error | with CUDA_LAUNCH_BLOCKING=1 the error moves to an embedding lookup with an index out of range
cuda-async-error | the stack points at all_reduce but compute-sanitizer reports an out-of-bounds write in our own kernel
cuda-async-error | labels contained the value 151 for 150 classes
gpu-kernel-hang | one GPU stays at 100% while all others idle, the kernel in cuda-gdb never changes its PC
gpu-kernel-hang | nsys shows a kernel that runs for 40 minutes
gpu-kernel-hang | the flash attention backward never finishes for head dim 256
gpu-kernel-hang | disabling the custom all reduce makes it stable
gpu-kernel-hang | it spins in the barrier of the fused kernel because the grid is larger than the number of SMs
version-bug | worked with torch 2.0.1, hangs since 2.1
version-bug | downgrading nccl to 2.18.3 solves it
version-bug | reverting to the previous driver fixed the hang
version-bug | pinning grpcio==1.47 helps
version-bug | only happens with Python 3.12, 3.11 is fine
version-bug | same container with vllm 0.6.2: no problem
version-bug | this started when we moved from CUDA 11.8 to 12.1
version-bug | fixed on main by commit 3fa2
version-bug | works on Ubuntu 20.04 but hangs on 22.04 with the same wheels
version-mismatch | node 3 was reinstalled and has driver 535, the others 525
version-mismatch | head node runs ray 2.9 and the workers 2.10
version-mismatch | two different libnccl are loaded in one process
version-mismatch | the rank on the new machine has NCCL 2.20, the others 2.18
version-mismatch | client pickled with numpy 2, the workers have numpy 1.26
version-mismatch | mpirun is Open MPI 4, mpi4py was built with MPICH
ib-transport-error | with NCCL_IB_DISABLE=1 it is slow but does not hang
ib-transport-error | one HCA port flaps; switch shows symbol errors
ib-transport-error | setting NCCL_IB_GID_INDEX=3 fixed it
ib-transport-error | only over RoCE, over TCP everything is fine
ib-transport-error | ib_write_bw between the two nodes hangs as well
ib-transport-error | the subnet manager was down
network-blackhole | ping works but no data arrives for messages larger than 1400 bytes
network-blackhole | after ufw disable on both machines it connects
network-blackhole | idle connections are dropped by the NAT after 350 seconds
network-blackhole | tcpdump shows SYNs going out and no answer
network-blackhole | it works inside one availability zone, not across
network-blackhole | security group allowed only port 22 and 29500
wrong-interface | NCCL picks docker0 although the nodes talk over ens3
wrong-interface | both hosts resolve their own name to 127.0.1.1
wrong-interface | setting GLOO_SOCKET_IFNAME to the ethernet card solved it
wrong-interface | the worker registers with its IB address that the head cannot reach
wrong-interface | turning the VPN off helps
wrong-interface | NCCL tries the IPv6 link-local address
rendezvous-port | two jobs on the same node use the default port
rendezvous-port | after changing --master_port it starts
rendezvous-port | MASTER_ADDR points to the login node
rendezvous-port | the rendezvous id is reused by the restarted job
store-timeout | rank 0 exits first and takes the store with it
store-timeout | with 4096 ranks the TCPStore of rank 0 cannot answer in time
store-timeout | redis restarts and all workers lose the barrier keys
file-lock-stale | an earlier job was killed while it compiled; rm -rf ~/.cache/torch_extensions helps
file-lock-stale | there is a .lock file from last week in the cache
file-lock-stale | deleting the lock let all ranks go on
file-lock-stale | every rank waits for the extension that nobody builds
file-lock-unsupported | the home directory is on NFS mounted with nolock
file-lock-unsupported | flock on the scratch file system returns ENOSYS
file-lock-unsupported | HDF5_USE_FILE_LOCKING=FALSE solves it
file-lock-unsupported | moving HF_HOME from Lustre to /tmp makes load_dataset return
filesystem-stall | ls on the data directory hangs too on that node
filesystem-stall | the process cannot be killed even with kill -9, ps shows D
filesystem-stall | one of the storage servers was down during that time
filesystem-stall | df hangs
filesystem-stall | the S3 mount stopped answering, all workers are in uninterruptible sleep
storage-full | the disk of node 2 was full when the checkpoint was written
storage-full | quota of the user was used up
storage-full | /tmp had no space left so the compiler cache could not be written
shm-exhausted | docker run with --ipc=host works
shm-exhausted | df -h /dev/shm shows 64M, all used
shm-exhausted | with emptyDir medium Memory mounted at /dev/shm it runs
resource-limit | ulimit -n was 1024; with 65535 it runs
resource-limit | memlock is 64 kB in the slurm prolog
resource-limit | pids cgroup limit of the pod is 512
resource-limit | sharing strategy file_system instead of file_descriptor cures it
oom-kill | dmesg shows that the OOM killer took the worker
oom-kill | host RAM grows by 2 GB per epoch until the job is killed
oom-kill | kubectl describe shows OOMKilled for worker-3
exit-hang | training prints Done and then the process never exits
exit-hang | all results are written but the shell prompt does not come back
exit-hang | the job stays in the queue after the last epoch until the time limit
exit-hang | calling os._exit(0) at the end works around it
exit-hang | wandb.finish() blocks at the end
exit-hang | ranks 1-7 have exited, rank 0 sits in destroy_process_group
""".strip().splitlines()

# The same words where nobody complains.
NOTHING = """
please reboot the machine after the installation
the driver was updated last week and the machine was rebooted; it trains
all nodes have driver 535
NCCL uses ens3, which all nodes share
ib_write_bw gives 196 Gb/s between all pairs
ping works, iperf3 as well
the home directory is on NFS
/dev/shm has 64 GB, 2 GB used
ulimit -n is 65535
we moved the cards to other slots last year
the job array runs two jobs per node
""".strip().splitlines()


def verdict(folder: pathlib.Path, log: str, sentence: str) -> str | None:
    (folder / "00_console.txt").write_text(log)
    (folder / "01_observation.txt").write_text(sentence + "\n")
    found = judge(gather([folder])).verdict
    return found.cls if found else None


@pytest.mark.parametrize("line", SENTENCES)
def test_a_sentence_is_understood(line: str, tmp_path: pathlib.Path) -> None:
    cls, _, sentence = line.partition(" | ")
    log = "epoch 0 step 10 loss 2.31\nepoch 0 step 20 loss 2.25\n"
    assert verdict(tmp_path, log, "the job hangs, nothing more is printed\n" + sentence) == cls


@pytest.mark.parametrize("sentence", NOTHING)
def test_a_sentence_without_trouble_means_nothing(sentence: str, tmp_path: pathlib.Path) -> None:
    log = "".join(f"epoch 0 step {step} loss 2.3\n" for step in range(10, 60, 10))
    assert verdict(tmp_path, log, sentence) is None
