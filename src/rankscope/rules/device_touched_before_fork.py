"""A device context or registered memory was carried across a fork.

## What it means
The parent used CUDA (or registered memory for InfiniBand, EFA) before it forked workers. Neither survives a fork: the child fails at
its first use, or hangs when it shares pages with the network card.

## How it is recognised
`Cannot re-initialize CUDA in forked subprocess`, `initialization error` in a worker, the text of libfabric and libibverbs about
`fork()` and `RDMAV_FORK_SAFE`.

## What to do
`multiprocessing.set_start_method("spawn")` (vLLM: `VLLM_WORKER_MULTIPROCESSING_METHOD=spawn`), or no `torch.cuda` call before the
workers start; for RDMA `RDMAV_FORK_SAFE=1` (EFA: `FI_EFA_FORK_SAFE=1`).

## How to prevent it
Spawn by default; query devices with NVML, which keeps no context. Case: https://github.com/vllm-project/vllm/issues/7151
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._text import CERTAIN, POSSIBLE, Sign, text_rule

_SIGNS = (
    Sign(r"should only be initialized inside your training function|notebook_launcher[^\n]*(?:CUDA|already)|CUDA (?:has been|was|is) (?:already )?initialized (?:before|prior)", "a device was used before the workers were started"),
    Sign(r"Cannot re-?initialize (?:CUDA|XPU|NPU|MUSA|HIP) in forked (?:sub)?process", "the library says so itself", CERTAIN, speaker=False),
    Sign(r"RDMAV?_FORK_SAFE|FI_EFA_FORK_SAFE|IBV_FORK|ibv_fork_init|fork[^\n]{0,80}(?:libfabric|EFA|ibverbs|rdma)|(?:libfabric|EFA|ibverbs)[^\n]{0,80}fork\(\)",
         "the network library warns of a fork"),
    Sign(r"\b(?:CUDA error: |cuda\w*Error\w*: ?|cuda failure[^\n]*)initialization error|cudaErrorInitializationError|CUDA_ERROR_NOT_INITIALIZED", "CUDA cannot be initialised in a child",
         also=(r"fork|worker|subprocess|child|_bootstrap|multiprocess",)),
    Sign(r"\b(?:CUDA|cuda|GPU)[^\n]{0,60}(?:before|prior to)[^\n]{0,20}\bfork|\bfork\w*[^\n]{0,40}after[^\n]{0,30}(?:CUDA|cuda) (?:init|context)", "a device was used before the fork", prose=True),
    Sign(r"_lazy_init[^\n]*\n(?:.*\n){0,12}.*(?:_worker_loop|popen_fork)", "a forked child initialises a device", POSSIBLE),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "fork-after-device-init", 16, "a process that had used its device forked workers that use it too", _SIGNS,
    ("torch.multiprocessing.set_start_method('spawn', force=True)", "VLLM_WORKER_MULTIPROCESSING_METHOD=spawn"),
)  # fmt: skip
