"""Defects of releases that public threads have established: library, versions, what shows them, what cures them."""

# ruff: noqa: E501  (a defect is one row)
from __future__ import annotations

from dataclasses import dataclass

_GH = "https://github.com/"


@dataclass(frozen=True)
class Defect:
    """Versions from ``first`` up to, not including, ``fixed`` have it; all of ``shows`` must be in the evidence.

    Without a library the versions are part of ``shows``. ``alone`` says that its signs identify it even where nobody names a version.
    """

    library: str
    first: str
    fixed: str
    shows: tuple[str, ...]
    what: str
    cure: str
    thread: str = ""
    alone: bool = False


_HANGS = r"\b(?:hangs?|hung|stuck|freez\w+|frozen|stall\w*|dead-?lock\w*|time[sd]?[- ]?out|never (?:returns?|finish\w*|ends?))\b"
_ABORT = r"ncclCommAbort|commReclaim|commFree|abortCommsFromMap"
_LAUNCH = r"cudaLaunchKernel|ncclLaunchKernel|ncclStrongStreamLaunch"
_BLOCKING = r"CUDA_LAUNCH_BLOCKING"

DEFECTS = (
    # --- NCCL
    Defect("nccl", "2.13", "2.17", (_BLOCKING, _LAUNCH), "it hands work to its proxy only after the launch returns, and the launch waits for the kernel",
           "unset CUDA_LAUNCH_BLOCKING, or NCCL 2.17 and later", _GH + "NVIDIA/nccl/issues/750"),
    Defect("torch", "1.13", "2.1", (_BLOCKING, _LAUNCH), "its NCCL hands work to the proxy only after the launch returns, and the launch waits for the kernel",
           "unset CUDA_LAUNCH_BLOCKING, or a PyTorch with NCCL 2.17 and later", _GH + "pytorch/pytorch/pull/97843"),
    Defect("nccl", "2.0", "2.15", (r"Failed to find reverse path|Could not find (?:a )?path",), "the topology search does not know this machine", "NCCL 2.15 or later"),
    Defect("nccl", "2.0", "2.16", (r"\bH100|H800|Hopper|sm_90",), "this release is older than the GPU's support", "NCCL 2.16 or later"),
    Defect("nccl", "2.0", "2.26", (r"\b(?:B200|GB200|B300|RTX 50[789]0|RTX PRO 6000|Blackwell|sm_1[02]0)", r"no kernel image|illegal memory access|unhandled cuda error|invalid device function|" + _HANGS), "this release is older than the GPU's support", "NCCL 2.26 or later"),
    Defect("nccl", "2.3.0", "2.3.7", (r"bootstrap|ncclCommInit|MultiWorkerMirrored|init", _HANGS), "sockets that are used again let the set-up hang", "NCCL 2.3.7 or later", _GH + "tensorflow/tensorflow/issues/27207"),
    Defect("nccl", "2.4.2", "2.4.7", (r"hang|stuck|recv",), "hangs in socket transfers", "NCCL 2.4.7 or later; NCCL_LL_THRESHOLD=0 until then", _GH + "NVIDIA/nccl/issues/238"),
    Defect("nccl", "2.7.0", "2.7.6", (r"\bA100|GA100|sm_80", _HANGS), "it is not ready for the A100", "NCCL 2.7.6 or later", _GH + "pytorch/pytorch/pull/42645"),
    Defect("nccl", "2.8.0", "2.8.4", (r"all_?to_?all|ncclSend|ncclRecv|FinalizeGPUQueue",), "point-to-point calls in a group do not end", "NCCL 2.8.4 or later", _GH + "horovod/horovod/issues/2601"),
    Defect("nccl", "2.19", "2.22", (r"ncclLaunchKernelBefore_NoUncapturedCuda|ncclLaunch(?:Prepare|Finish)|ncclStrongStream(?:Wait|Acquire|Synchronize)\w*",), "captured and uncaptured operations wait for each other when they are launched", "NCCL 2.22 or later; no CUDA graphs of collectives until then, or NCCL_GRAPH_MIXING_SUPPORT=0 where nothing is mixed", _GH + "vllm-project/vllm/issues/2770"),
    Defect("nccl", "2.17.1", "2.18", (_ABORT,), "ncclCommAbort waits for the other ranks", "NCCL 2.18 or later", _GH + "pytorch/pytorch/issues/119215"),
    Defect("nccl", "2.25", "2.26.2", (_ABORT,), "ncclCommAbort does not return", "NCCL 2.26.2 or later", _GH + "pytorch/pytorch/issues/149153"),
    Defect("nccl", "2.12", "2.17.1", (r"ncclProxy(?:Destroy|Stop)|ncclCommDestroy|commDestroySync|ncclSocket(?:Close|Recv|Wait)|socketWait",), "a socket is closed without telling the peer, who waits for it", "NCCL 2.17.1 or later", _GH + "pytorch/pytorch/pull/97843"),
    Defect("nccl", "2.28", "2.30.4", (r"ncclLocalOpAppend|SaveProxy|\bGB10\b|DGX Spark", _HANGS), "descriptors of its proxy get lost between hosts", "NCCL 2.30.4 or later; no CUDA graphs (--enforce-eager) until then", _GH + "sgl-project/sglang/issues/33289"),
    Defect("nccl", "2.29", "2.29.3", (r"aarch64|arm64|\bGB\d00\b|\bGH200\b|\bGB10\b|Grace|Graviton", _HANGS), "compare-and-swap can fail on ARM and is not tried again", "NCCL 2.29.3 or later", _GH + "NVIDIA/nccl/releases/tag/v2.29.3-1"),
    # --- plug-ins and other collective libraries
    Defect("", "", "", (r"ofi-nccl\W{0,12}v?1\.1[89]\b", r"broadcast|" + _HANGS), "the plug-in aws-ofi-nccl 1.18 hangs in large broadcasts between nodes", "aws-ofi-nccl 1.20 (EFA installer 1.49) or later", _GH + "aws/deep-learning-containers/pull/6668"),
    Defect("nccl", "2.19", "2.99", (r"NET/OFI[^\n]*Unable to register memory[^\n]*(?:RC: -22|Invalid argument)",), "it allocates memory that libfabric of EFA installers before 1.29 cannot register", "EFA installer 1.29 or later; FI_EFA_SET_CUDA_SYNC_MEMOPS=0 until then", _GH + "aws/aws-ofi-nccl/issues/584", alone=True),
    Defect("rocm", "6.0", "6.4.1", (r"\bRCCL|rccl", r"proxy ?(?:Service|Progress|thread)", _HANGS), "RCCL's proxy thread ends too early", "ROCm 6.4.1 or later", _GH + "ROCm/rccl/pull/1702"),
    Defect("rocm", "7.0", "7.0.2", (r"MI35\d|gfx950", _HANGS), "RCCL's low-latency protocol misses a fence on this GPU", "ROCm 7.0.2 or later; NCCL_PROTO=Simple until then", _GH + "ROCm/rccl/pull/1946"),
    Defect("grpc", "1.48.0", "1.48.1", (r"\bray\b|raylet|grpc", _HANGS), "connections of this release hang", "grpcio 1.48.1 or later", _GH + "ray-project/ray/issues/27299"),
    Defect("grpc", "1.52.0", "1.53", (r"\bray\b|raylet|grpc", _HANGS), "connections of this release hang", "another release of grpcio", _GH + "ray-project/ray/pull/32245"),
    # --- frameworks
    Defect("dask", "2021.10", "2021.11", (r"distributed|dask", r"errored|raise[sd]?|Error\b", _HANGS), "after a task that failed, later computations wait for ever", "dask and distributed 2021.11.0 or later", _GH + "dask/distributed/issues/5497"),
    Defect("dask", "2021.9", "2022.5.1", (r"distributed|dask", r"reconnect\w*|Worker reconnection|stuck in \W?processing", ), "a worker that connects again and its scheduler do not agree on what it holds", "dask and distributed 2022.5.1 or later", _GH + "dask/distributed/issues/5480"),
    Defect("kombu", "5.2.3", "5.4", (r"redis", r"re-?connect\w*|restart\w*|Connection to broker lost|stops? consuming"), "after the broker came back the worker does not consume any more", "kombu 5.4.0 or later", _GH + "celery/celery/issues/8030"),
    Defect("celery", "5.2.3", "5.4.1", (r"redis", r"re-?connect\w*|restart\w*|Connection to broker lost", r"(?:stops?|stopped|not|never|no longer|without) (?:consum|process|pick)\w*|" + _HANGS), "after the broker came back the worker does not consume any more", "kombu 5.4.0 or later", _GH + "celery/celery/issues/8030"),
    Defect("lightning", "1.2.0", "1.2.4", (r"\bddp\b|DistributedDataParallel|DDPPlugin", r"\b(?:epoch|checkpoint|validation)\b", _HANGS), "ranks do not agree about a checkpoint after some epochs", "Lightning 1.2.4 or later", _GH + "Lightning-AI/pytorch-lightning/issues/5865"),
    Defect("flashinfer", "0.6.7", "0.6.8", (r"trtllm", _HANGS), "an attention kernel does not end", "flashinfer 0.6.7.post2 or later", _GH + "sgl-project/sglang/pull/22098"),
    Defect("", "", "", (r"(?:pthread_create|clone3?|spawn a new \w+ ?thread|start new thread)[^\n]*(?:\n[^\n]*){0,2}?Operation not permitted", ), "the seccomp filter of the container runtime does not know clone3, which newer systems make threads with", "Docker 20.10.10, Podman 3.4, runc 1.0.2 or later; --security-opt seccomp=unconfined until then", _GH + "podman-container-tools/podman/issues/11862"),
    # --- interpreter and system
    Defect("python", "3.7", "3.11.6", (r"wakeup \(?(?:[^\n]*/)?concurrent/futures/process|_ThreadWakeup",), "ProcessPoolExecutor blocks in its own wake-up pipe when much is submitted", "Python 3.11.6, 3.12.1 or later", _GH + "python/cpython/issues/105829"),
    Defect("python", "3.12.0", "3.12.1", (r"wakeup \(?(?:[^\n]*/)?concurrent/futures/process|_ThreadWakeup",), "ProcessPoolExecutor blocks in its own wake-up pipe when much is submitted", "Python 3.12.1 or later", _GH + "python/cpython/issues/105829"),
    Defect("python", "3.9", "3.10.11", (r"interpreter_clear|_PyThreadState_DeleteExcept|PyInterpreterState_(?:Clear|Delete)", r"Finalize|EndInterpreter"), "the end of an interpreter takes a lock twice", "Python 3.10.11, 3.11.3 or later", _GH + "python/cpython/issues/102126"),
    Defect("python", "3.11.0", "3.11.3", (r"interpreter_clear|_PyThreadState_DeleteExcept|PyInterpreterState_(?:Clear|Delete)", r"Finalize|EndInterpreter"), "the end of an interpreter takes a lock twice", "Python 3.11.3 or later", _GH + "python/cpython/issues/102126"),
    Defect("python", "3.9", "3.12", (r"PicklingError|Can't pickle|unpicklable", r"concurrent[./]futures|ProcessPoolExecutor", r"shutdown|cancel_futures|" + _HANGS), "ProcessPoolExecutor does not end after a task that cannot be pickled", "Python 3.12 or later", _GH + "python/cpython/issues/116685"),
    Defect("glibc", "2.25", "2.41", (r"pthread_cond_(?:wait|signal|broadcast)[^\n]*\n(?:[^\n]+\n){0,40}?[^\n]*pthread_cond", r"lost wake-?up|missed (?:signal|wake)|__condvar|G1|cond_signal"),
           "condition variables can lose a wake-up", "glibc 2.41 or a distribution's fix", "https://sourceware.org/bugzilla/show_bug.cgi?id=25847"),
)  # fmt: skip
