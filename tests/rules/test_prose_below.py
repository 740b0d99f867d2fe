"""What people write of devices, networks, files and releases: one sentence beside a log that ends, and its diagnosis."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import judge

SENTENCES = (pathlib.Path(__file__).parent / "sentences_below.txt").read_text().splitlines()

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

# Sentences with the words of a rule that say something else, beside a job that hangs.
OTHERWISE = """
lock-taken-twice | root 8241 0.0 0.0 172912 9120 pts/0 Sl 04:31 0:00 python solo.py abba
storage-silent | in build_and_load with FileLock: OSError: [Errno 116] Stale file handle
storage-silent | state D in nfs_flock, nfs3_proc_lock, nlmclnt_lock; reads and writes there work
disk-full | pyinotify ERROR] add_watch: cannot watch /srv/app WD=-1, Errno=No space left on device (ENOSPC)
kernel-spins | the kernel of a notebook: the import of this module never ends
lock-file-left-behind | Qt: Dead lock detected while activating a BlockingQueuedConnection
meeting-point-taken | both are endpoints of the same port, one for each PCIe link
packets-vanish | gke-gcsfuse-sidecar of the pod is PodInitializing, the worker waits
person-asked | (Pdb++) pp self.pool
meeting-point-unreachable | The client socket has timed out after 900s while trying to connect to (10.0.0.2, 29500).
another-version-cures | we run with NCCL_ALGO=Ring
another-version-cures | NCCL_PROTO and NCCL_NVLS_ENABLE are not set
another-version-cures | it hangs since 14.30 h
another-version-cures | memory went to 79.2 GB
driver-not-ready | I ran systemctl daemon-reload after a change of the unit
driver-not-ready | the fabric manager shows no errors
ib-transport | an undefined symbol error in another package was fixed before
ib-transport | there are no symbol errors on the switch
ib-transport | the network is RoCE v1
meeting-point-taken | the rdzv_id is the same on all nodes
meeting-point-taken | the port is not in use
limit-reached | pids.max is max
gpu-failed | all ranks always use the same GPU
peer-to-peer-broken | x = x.to(device); h = torch.zeros(1, 8, 64)
packets-vanish | we train a model on images of Squid and Octopus
packets-vanish | packets larger than 1500 bytes do pass
packets-vanish | istio is not installed, the pods have one container
file-lock-unsupported | py-spy shows no lock there
ib-transport | no link flaps on the switch
ib-transport | the mlx5 link never goes down
ib-transport | the subnet manager is not down
gpu-failed | the GPU is not throttled
kernel-failed-earlier | compute-sanitizer shows no errors
shm-full | df -h: shm 64M 0 64M 0% /dev/shm
versions-differ | the driver on all nodes is not different
limit-reached | the pids cgroup limit is unlimited, 10 processes run
gpu-failed | nvidia-smi never hangs
gpu-failed | the log rules out that a GPU was throttled
disk-full | /home is filled up to 3 %
disk-full | the disk is not full
versions-differ | two different libnccl are not loaded in one process
kernel-spins | nsys shows that no kernel runs for minutes
meeting-point-unreachable | MASTER_ADDR is set and is not wrong
only-slow | accelerate 1.6.0, cuda: 12.4, nvcc: 12.2
only-slow | first run: no point after 80 minutes; second run: none after 6 hours, the processes are there after that
killed-for-memory | DEBUG - try_to_send_signal: Sent signal 9 to the pid 2085232, SIGKILL
killed-for-memory | uwsgi: worker 2 is taking too much time to die...NO MERCY, died, killed by signal 9
helper-gone | the process is <defunct> and cannot be killed
helper-gone | [node16:mpi_rank_0][error_sighandler] Caught error: Segmentation fault (signal 11)
rank-not-at-meeting | Hello from rank 3 of 4 running on node9
call-missed | if rank == 0: store = dist.TCPStore(host, port, -1, True)
killed-for-memory | sacct never says OUT_OF_MEMORY
filesystem-stall | the dataset is not on a FUSE mount that hangs
storage-silent | it hangs for 10 seconds, ls prints nothing
storage-silent | ps: runc init in state D, its control group is FROZEN
pipe-full | it is the pipeline of a GPU node, 64 cards are full of work
pipe-full | the send queues are full on all three nodes
call-missed | it hangs after 10K or more iterations
failed-first | the web node waits, the worker's side is gone
failed-first | the process that it forked is not there any more
loader-silent | the DataLoader is kept for the whole run and never calls stop()
helper-gone | the parent waits until the child is killed by hand
versions-differ | main node with torch 1.9, 2 nodes with 8 GPUs each
driver-not-ready | memory of a card is taken, nvidia-smi shows Unknown Error for it
peer-to-peer-broken | NCCL_P2P_LEVEL=NVL: no change: data set of 5 GB; with a smaller one it starts
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


@pytest.mark.parametrize("line", OTHERWISE)
def test_a_sentence_of_something_else_is_no_sign(line: str, tmp_path: pathlib.Path) -> None:
    rule, _, sentence = line.partition(" | ")
    (tmp_path / "00_console.txt").write_text("epoch 0 step 10 loss 2.31\nepoch 0 step 20 loss 2.25\n")
    (tmp_path / "01_observation.txt").write_text(f"the job hangs, nothing more is printed\n{sentence}\n")
    assert rule not in {finding.rule for finding in judge(gather([tmp_path])).findings}


# The same words as a question, an advice, a supposition, or of another run: at most possible.
PERHAPS = """
gpu-failed | is it because nvidia-smi hangs?
gpu-failed | if nvidia-smi hangs, reboot the node
disk-full | make sure that the disk is full of data before the start
disk-full | check whether the disk is full
disk-full | last month the disk was full
storage-silent | check whether some process is in state D
another-version-cures | check whether there is a known bug in the driver
""".strip().splitlines()


@pytest.mark.parametrize("line", PERHAPS)
def test_a_sentence_that_only_supposes_is_no_strong_sign(line: str, tmp_path: pathlib.Path) -> None:
    rule, _, sentence = line.partition(" | ")
    (tmp_path / "00_console.txt").write_text("epoch 0 step 10 loss 2.31\nepoch 0 step 20 loss 2.25\n")
    (tmp_path / "01_observation.txt").write_text(f"the job hangs, nothing more is printed\n{sentence}\n")
    found = judge(gather([tmp_path])).findings
    assert [one for one in found if one.rule == rule and one.certainty is not Certainty.POSSIBLE] == []
