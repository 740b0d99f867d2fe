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
gpu-hardware-fault | my PC just turned off in the middle of the epoch, no log
gpu-hardware-fault | one GPU runs at 210 MHz under load, all others at 1980
gpu-hardware-fault | nvidia-smi hangs on this node and rank 12 never answers again
gpu-hardware-fault | after we took gpu-04 out of the node list it runs for days
gpu-hardware-fault | volatile uncorrectable ECC count is 14 on device 3
gpu-hardware-fault | the vendor exchanged the board and it is stable since
p2p-iommu-hardware | cudaMemcpyPeer between device 0 and 1 never returns
p2p-iommu-hardware | on this EPYC board it only works with IOMMU switched off in the firmware
p2p-iommu-hardware | export NCCL_P2P_DISABLE=1 solved my problem on 2x4090
p2p-iommu-hardware | tensor.to(1) of a tensor on GPU 0 shows all zeros
p2p-iommu-hardware | with the p2p patch removed from the open kernel module the hang is gone
driver-not-ready | the A100 node was rebooted and fabricmanager failed to start
driver-not-ready | torch.cuda.is_available() is False although nvidia-smi shows 8 cards; error 802
driver-not-ready | host driver was upgraded while containers were running, NVML mismatch
cuda-async-error | compute-sanitizer finds an invalid global read of size 4 in our gather kernel
cuda-async-error | the error message changes every run, with blocking launches it is an assert in nll_loss
gpu-kernel-hang | the GPU is at 100% with 80 W and the attention kernel never completes
gpu-kernel-hang | one-shot allreduce spins forever on the flag of rank 3
gpu-kernel-hang | --disable-custom-all-reduce avoids the freeze
version-bug | 2.3.1 is affected, 2.4.0 is not
version-bug | after rolling back to driver 535 it did not happen again
version-bug | we cannot reproduce with NCCL 2.19, with 2.20 it takes ten minutes to hang
version-bug | this is a regression in transformers 4.45
version-bug | upgrading torch to 2.6 makes the problem go away
version-bug | LD_PRELOAD of libnccl 2.21 fixed everything
version-mismatch | container on host A is 23.10 and on host B 24.01
version-mismatch | the driver on two of the eight nodes is older
version-mismatch | PyTorch was compiled against NCCL 2.18 but loads the system's 2.12
ib-transport-error | mlx5_2 goes down for a second every few minutes according to the switch log
ib-transport-error | falls back to sockets with NCCL_NET=Socket and then trains
ib-transport-error | wrong GID index, RoCE v1 instead of v2
ib-transport-error | PFC is not configured on that switch
network-blackhole | firewalld drops everything except ssh between the nodes
network-blackhole | MTU is 9000 on one side and 1500 on the switch
network-blackhole | the port range for ephemeral ports is blocked by the security group
network-blackhole | TCP connections that are quiet for an hour are silently removed by the firewall
wrong-interface | NCCL_SOCKET_IFNAME was set to eno1 but that NIC has no cable
wrong-interface | Gloo binds to loopback because /etc/hosts maps the hostname to 127.0.1.1
wrong-interface | ray picked the wifi address of the head
wrong-interface | mpirun works after excluding docker0 and virbr0
rendezvous-port | port 29500 was still held by an old python process
rendezvous-port | the master port differs between the two launch commands
rendezvous-port | hostname of node 0 cannot be resolved from node 1
store-timeout | the agent of node 0 has left, so the others cannot reach the store
store-timeout | etcd lost its leader and the agents never came back
file-lock-stale | I had to delete ~/.cache/torch_extensions/py38_cu117/fused/lock by hand
file-lock-stale | all workers print 'waiting for lock' since the first one was OOM killed during the build
file-lock-unsupported | filelock never gets the lock on our BeeGFS home
file-lock-unsupported | h5py open hangs on Lustre mounted without flock
filesystem-stall | the NFS server was rebooted and this client never recovered
filesystem-stall | every access to /data blocks, load average is 400
filesystem-stall | gpfs waiters everywhere at that moment
storage-full | no space left in /scratch when saving
storage-full | inode quota reached
shm-exhausted | container has the default 64MB of shared memory
shm-exhausted | increasing shm to 16g fixed the bus error
resource-limit | too many open files with 64 workers
resource-limit | max user processes is 4096 and each rank starts 600 threads
resource-limit | locked memory limit prevents registration of buffers
oom-kill | memory of the node goes up until the kernel kills python
oom-kill | exit code 137
oom-kill | sacct says OUT_OF_MEMORY
exit-hang | after trainer.fit finished the script does not come back to the shell
exit-hang | prints the final accuracy and then sits there until ctrl-c
exit-hang | hangs in interpreter shutdown joining a thread
exit-hang | pytest reports 12 passed and then never exits
rendezvous-port | a zombie of yesterday's run still listens on 29500
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
the port is 29500, as in the other scripts
NCCL_NET=Socket is set in all our images
the driver on all nodes is the same
every read of the data set takes 3 ms
GPU clocks are at 1980 MHz
the build was compiled against CUDA 12.4
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
