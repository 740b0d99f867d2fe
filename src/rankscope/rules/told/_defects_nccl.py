"""Defects of NCCL's releases and of what it is plugged into: versions, what shows them, what cures them."""

# ruff: noqa: E501  (a defect is one row)
from __future__ import annotations

from ._defects import GITHUB as _GH
from ._defects import HANGS, Defect

_NCCL = _GH + "NVIDIA/nccl/"
_ABORT = r"ncclCommAbort|commReclaim|commFree|abortCommsFromMap"
_LAUNCH = r"cudaLaunchKernel|ncclLaunchKernel|ncclStrongStreamLaunch"
_BLOCKING = r"CUDA_LAUNCH_BLOCKING"
_ALL_TO_ALL = r"all_?to_?allv?|ncclSend|ncclRecv|sendrecv|send/recv"
_ARM = r"aarch64|arm64|\bGB\d00\b|\bGH200\b|\bGB10\b|DGX Spark|Grace|Graviton"

NCCL = (
    Defect("nccl", "2.13", "2.17", (_BLOCKING, _LAUNCH), "it hands work to its proxy only after the launch returns, and the launch waits for the kernel",
           "unset CUDA_LAUNCH_BLOCKING, or NCCL 2.17 and later", _NCCL + "issues/750"),
    Defect("torch", "1.13", "2.1", (_BLOCKING, _LAUNCH), "its NCCL hands work to the proxy only after the launch returns, and the launch waits for the kernel",
           "unset CUDA_LAUNCH_BLOCKING, or a PyTorch with NCCL 2.17 and later", _GH + "pytorch/pytorch/pull/97843"),
    Defect("nccl", "2.0", "2.15", (r"Failed to find reverse path|Could not find (?:a )?path",), "the topology search does not know this machine", "NCCL 2.15 or later"),
    Defect("nccl", "2.0", "2.16", (r"\bH100|H800|Hopper|sm_90",), "this release is older than the GPU's support", "NCCL 2.16 or later"),
    Defect("nccl", "2.0", "2.26", (r"\b(?:B200|GB200|B300|RTX 50[789]0|RTX PRO 6000|Blackwell|sm_1[02]0)", r"no kernel image|illegal memory access|unhandled cuda error|invalid device function|" + HANGS), "this release is older than the GPU's support", "NCCL 2.26 or later"),
    # Said at every start where it is so; the launch then fails, or what a kernel needs fits nevertheless.
    Defect("nccl", "2.0", "2.26", (r"ncclMaxSharedMem \d+ exceeds device/fn maxSharedMem", r"\b(?:fails?|failed|failure|abort\w*|crash\w*|invalid argument|unhandled cuda error)\b|" + HANGS), "it asks for more shared memory per kernel than this GPU has", "NCCL 2.26 or later", _GH + "NVIDIA/nccl-tests/issues/287"),
    Defect("nccl", "2.29", "2.99", (r"NET/IB ?:? unable to allocate requests", r"\bRMA\b|ncclRmaProxy\w*|PutSignal|cuStreamWaitValue\w*|ncclPut\w*|doneSeq"), "its RMA proxy drops a transfer for which no request is free, and the stream waits for its number", "a later NCCL; fewer transfers at the same time until then", _NCCL + "issues/2119", alone=True),
    Defect("nccl", "2.1", "2.1.15", (r"cudaFree", HANGS), "freeing device memory waits for its kernel, which waits for the network", "NCCL 2.1.15 or later", "https://docs.nvidia.com/deeplearning/nccl/release-notes/rel_2.1.15.html"),
    Defect("nccl", "2.3.0", "2.3.7", (r"bootstrap|ncclCommInit|MultiWorkerMirrored|init", HANGS), "sockets that are used again let the set-up hang", "NCCL 2.3.7 or later", _GH + "tensorflow/tensorflow/issues/27207"),
    Defect("nccl", "2.4.2", "2.4.7", (r"hang|stuck|recv|deadlock",), "hangs in socket transfers", "NCCL 2.4.7 or later; NCCL_LL_THRESHOLD=0 until then", _NCCL + "issues/238"),
    Defect("nccl", "2.7.0", "2.7.6", (r"\bA100|GA100|sm_80", HANGS), "it is not ready for the A100", "NCCL 2.7.6 or later", _GH + "pytorch/pytorch/pull/42645"),
    Defect("nccl", "2.8.0", "2.8.4", (_ALL_TO_ALL + r"|FinalizeGPUQueue",), "point-to-point calls in a group do not end", "NCCL 2.8.4 or later", _GH + "horovod/horovod/issues/2601"),
    Defect("nccl", "2.11", "2.12.10", (_ALL_TO_ALL, HANGS), "sends and receives of no bytes are counted wrongly by its proxy", "NCCL 2.12.10 or later", _NCCL + "issues/696", weak=True),
    Defect("nccl", "2.12", "2.18", (r"all_?to_?allv?|irregular|imbalanced|asymmetric", HANGS), "uneven sends and receives over several nodes do not end", "NCCL 2.18 or later", _NCCL + "issues/788", weak=True),
    Defect("nccl", "2.15", "2.15.5", (r"graph", r"captur\w+", HANGS), "two graphs captured in turns wait for each other", "NCCL 2.15.5 or later", _GH + "facebookresearch/nccl/pull/17"),
    Defect("nccl", "2.12", "2.17.1", (r"ncclProxy(?:Destroy|Stop)|ncclCommDestroy|commDestroySync|ncclSocket(?:Close|Recv|Wait)|socketWait",), "a socket is closed without telling the peer, who waits for it", "NCCL 2.17.1 or later", _GH + "pytorch/pytorch/pull/97843"),
    Defect("nccl", "2.17.1", "2.18", (_ABORT,), "ncclCommAbort waits for the other ranks", "NCCL 2.18 or later", _GH + "pytorch/pytorch/issues/119215"),
    Defect("nccl", "2.18.1", "2.18.3", (r"bfloat16|bf16", r"SHARP|CollNet", HANGS), "reductions of bfloat16 in the switches do not end where cards are fewer than GPUs", "NCCL 2.18.3 or later; no SHARP until then", "https://docs.nvidia.com/deeplearning/nccl/release-notes/rel_2-18-1.html"),
    Defect("nccl", "2.19", "2.20.3", (_ALL_TO_ALL, HANGS), "connecting all ranks with all others can hang", "NCCL 2.20.3 or later; NCCL_CUMEM_ENABLE=0 until then", _NCCL + "issues/1134", weak=True),
    Defect("nccl", "2.19", "2.20", (r"NVLS", HANGS), "the set-up of reductions in the NVSwitches can hang", "NCCL 2.20 or later; NCCL_NVLS_ENABLE=0 until then", _NCCL + "issues/1197", weak=True),
    Defect("nccl", "2.19", "2.22", (r"ncclLaunchKernelBefore_NoUncapturedCuda|ncclLaunch(?:Prepare|Finish)|ncclStrongStream(?:Wait|Acquire|Synchronize)\w*",), "captured and uncaptured operations wait for each other when they are launched", "NCCL 2.22 or later; no CUDA graphs of collectives until then, or NCCL_GRAPH_MIXING_SUPPORT=0 where nothing is mixed", _GH + "vllm-project/vllm/issues/2770"),
    Defect("nccl", "2.19", "2.22", (r"cuda[- _]?graphs?|graph captur\w+|captur\w+[^\n]{0,20}graph", HANGS, r"captur|replay|mix"), "captured and uncaptured operations wait for each other when they are launched", "NCCL 2.22 or later; no CUDA graphs of collectives until then", _GH + "sgl-project/sglang/issues/7602", weak=True),
    Defect("nccl", "2.25", "2.26.2", (_ABORT,), "ncclCommAbort does not return", "NCCL 2.26.2 or later", _GH + "pytorch/pytorch/issues/149153"),
    Defect("nccl", "2.25", "2.27.5", (r"illegal memory access|out[- ]of[- ]bounds|unhandled cuda error", r"all_?reduce", r"\b(?:bf16|bfloat16|RTX|Blackwell|sm_120|tensor split|P2P)\b"), "a large all-reduce writes beyond its buffer", "NCCL 2.27.5 or later", _GH + "noonghunna/club-3090/pull/892"),
    Defect("nccl", "2.14", "2.29.3", (_ARM, r"ncclLocalOpAppend|SaveProxy|ncclProxyGetPostedOps"), "its proxy loses descriptors on ARM, where compare-and-swap may fail and is not tried again, until a launch waits for a free one for ever", "NCCL 2.29.3 or later", _GH + "marin-community/marin/pull/8038"),
    Defect("nccl", "2.14", "2.29.3", (_ARM, HANGS), "its proxy loses descriptors on ARM, where compare-and-swap may fail and is not tried again", "NCCL 2.29.3 or later", _NCCL + "releases/tag/v2.29.3-1", weak=True),
    Defect("nccl", "2.28", "2.30.4", (r"ncclLocalOpAppend|SaveProxy|\bGB10\b|DGX Spark", HANGS), "descriptors of its proxy get lost between hosts", "NCCL 2.30.4 or later; no CUDA graphs (--enforce-eager) until then", _GH + "sgl-project/sglang/issues/33289"),
    Defect("nccl", "2.29", "2.30.4", (r"\bGB200\b", r"context[- ]parallel\w*|\bCP\b|non-?contiguous", HANGS), "groups of GPUs that do not lie side by side hang", "NCCL 2.30.4 or later", _GH + "NVIDIA-NeMo/RL/pull/3351"),
    Defect("nccl", "2.30", "2.31.2", (r"enqueue_nccl_transfer_group|jaxpp|NCCL_RMA|Copy Engine|\bncclPut\w*|symmetric (?:window|memory)", HANGS), "one-sided transfers and collectives of the copy engine can hang", "NCCL 2.31.2 or later", _GH + "NVIDIA/jaxpp/issues/11"),
    # --- plug-ins, RCCL
    Defect("", "", "", (r"ofi-nccl\W{0,12}v?1\.1[89]\b", r"broadcast|" + HANGS), "the plug-in aws-ofi-nccl 1.18 hangs in large broadcasts between nodes", "aws-ofi-nccl 1.20 (EFA installer 1.49) or later", _GH + "aws/deep-learning-containers/pull/6668"),
    Defect("nccl", "2.19", "2.99", (r"NET/OFI[^\n]*Unable to register memory[^\n]*(?:RC: -22|Invalid argument)",), "it allocates memory that libfabric of EFA installers before 1.29 cannot register", "EFA installer 1.29 or later; FI_EFA_SET_CUDA_SYNC_MEMOPS=0 until then", _GH + "aws/aws-ofi-nccl/issues/584", alone=True),
    Defect("nccl", "2.25", "2.27.3", (r"Could not find NET with id",), "its search of a path to the cards fails between nodes", "NCCL 2.27.3 or later", _GH + "NVIDIA-NeMo/Speech/issues/13996", weak=True),
    Defect("libfabric", "1.12", "1.12.1", (r"\befa\b|EFA", HANGS), "transfers over EFA hang", "a later libfabric", _GH + "ofiwg/libfabric/issues/6565"),
    Defect("rocm", "5.7", "6.0", (r"\bRCCL|rccl", r"\bXLA|jax|tensorflow", HANGS), "RCCL hangs below XLA", "ROCm 6.0 or later", _GH + "openxla/xla/pull/11122"),
    Defect("rocm", "6.0", "6.4.1", (r"\bRCCL|rccl", r"proxy ?(?:Service|Progress|thread)", HANGS), "RCCL's proxy thread ends too early", "ROCm 6.4.1 or later", _GH + "ROCm/rccl/pull/1702"),
    Defect("rocm", "7.0", "7.0.2", (r"MI35\d|gfx950", HANGS), "RCCL's low-latency protocol misses a fence on this GPU", "ROCm 7.0.2 or later; NCCL_PROTO=Simple until then", _GH + "ROCm/rccl/pull/1946"),
)  # fmt: skip
