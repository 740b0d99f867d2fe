"""A device context or registered memory was carried across a fork.

## What it means
The parent used CUDA (or registered memory for InfiniBand, EFA) before it forked workers. Neither survives a fork: the child fails at
its first use, or hangs when it shares pages with the network card.

## How it is recognised
`Cannot re-initialize CUDA in forked subprocess`, `initialization error` in a worker, the text of libfabric and libibverbs about
`fork()` and `RDMAV_FORK_SAFE`, Open MPI's warning of a fork, DALI's and torch_xla's refusals; a forked child whose stack ends in a lock of
the device's or network card's driver.

## What to do
`multiprocessing.set_start_method("spawn")` (vLLM: `VLLM_WORKER_MULTIPROCESSING_METHOD=spawn`), or no `torch.cuda` call before the
workers start; for RDMA `RDMAV_FORK_SAFE=1` (EFA: `FI_EFA_FORK_SAFE=1`).

## How to prevent it
Spawn by default; query devices with NVML, which keeps no context. Case: https://github.com/vllm-project/vllm/issues/7151
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._signs import CERTAIN, POSSIBLE, Sign

_DEVICE = (
    r"(?:torch\.cuda\.\w{1,40}|\.cuda\(|\.to\(.cuda|cuInit|cudaGetDeviceCount|cuda_?is_?available|get_device_\w{1,40}|"
    r"device_count\(|jax\.(?:local_)?devices|jax\.device_count|"
    r"make_gpu_client|tf\.config\.list_\w*devices|cupy|cudf|rmm\.|pycuda|hipInit|npu\.\w+|xpu\.\w+|CUDA context|the GPU|GPU context)"
)
_CHILD = (
    r"\bfork|multiprocess|ProcessPool|\bPool\b|\bProcess\(|DataLoader|loader|popen_fork|_worker_loop|"
    r"workers? (?:are|were|is|was) (?:made|started|created)"
)
# What Open MPI's warning says itself of what may come is not that it came.
_STANDS_TOO = r"^(?![^\n]*(?:\bjob may hang, crash|data corruption))[^\n]*?\b(?:hang|hung|stuck|never|initialization error|NOT_INITIALIZED|fail|block|frozen|crash)"
_STANDS = r"hang|hung|stuck|never|initialization error|NOT_INITIALIZED|fail|block|frozen|crash"
_SIGNS = (
    Sign(r"should only be initialized inside your training function|notebook_launcher[^\n]*(?:CUDA|already)|CUDA (?:has been|was|is) (?:already )?initialized (?:before|prior)[^\n]{0,40}(?:launch|fork|spawn|subprocess|process|worker|train\w* function)", "a device was used before the workers were started"),
    Sign(r"Cannot re-?initialize [\w-]{2,20} in (?:a )?forked (?:sub)?process", "the library says so itself", CERTAIN, speaker=False),
    Sign(r"^(?!(?:export +|[-\s\"']+)?\w+_FORK_SAFE\W{1,4}\w+\W?$)[^\n]*?(?:RDMAV?_FORK_SAFE|FI_EFA_FORK_SAFE|IBV_FORK|ibv_fork_init|\bfork[^\n]{0,80}\b(?:libfabric|EFA|ibverbs|rdma)|\b(?:libfabric|EFA|ibverbs)[^\n]{0,80}fork\(\))",
         "the network library warns of a fork"),
    Sign(r"(?:\b(?:CUDA|HIP|MUSA|cuda\w*|hip\w*|cu[A-Z]\w*|THCudaCheck|LogicError)\b|\.cuh?\b|what\(\)|error ?= ?3)[^\n]{0,80}initialization error|hipError(?:NotInitialized|InitializationError)|cudaErrorInitializationError|CUDA_ERROR_NOT_INITIALIZED", "CUDA cannot be initialised in a child",
         anywhere=(r"fork|worker|subprocess|child|_bootstrap|multiprocess|\bPool\b|celery|gunicorn|uwsgi|preload|num_workers|joblib|n_jobs|[Ll]oader",)),
    Sign(rf"{_DEVICE}[^\n]{{0,60}}\b(?:in|by|from) the (?:parent|main process|launcher|master|driver|caller)\b|\b(?:parent|main process|launcher|master|driver|application)\b[^\n]{{0,40}}(?:called|calls|ran|runs|used|uses|touched|touches|initiali[sz]ed|asked)\b[^\n]{{0,30}}{_DEVICE}",
         "a device was used in the parent before its workers were made", anywhere=(_CHILD, _STANDS), unless=(r"\bspawn\b[^\n]{0,30}(?:is|was) (?:used|set)|OutOfMemory|out of memory",), prose=True),
    Sign(r"\b(?:model|tensors?|data|batch|context|weights|network|features?)\b[^\n]{0,30}\b(?:on|to|onto|in) (?:the |a )?(?:GPU|cuda|device)\b[^\n]{0,40}\bbefore\b[^\n]{0,40}\b(?:loader|workers?|pool|fork\w*|process(?:es)?|children)\b", "a device was used before the workers were made", anywhere=(_CHILD, _STANDS + r"|nothing|sleep|stops|time"), prose=True),
    Sign(r"\b(?:CUDA|cuda|GPU)[^\n]{0,60}(?:before|prior to)[^\n]{0,20}\bfork|\bfork\w*[^\n]{0,40}after[^\n]{0,30}(?:CUDA|cuda) (?:init|context)", "a device was used before the fork", prose=True),
    Sign(r"is_available\(\)[^\n]{0,60}\bFalse\b[^\n]{0,40}\b(?:child(?:ren)?|workers?|fork\w*|Pool|subprocess\w*)|\b(?:child(?:ren)?|workers?|fork\w*|Pool|subprocess\w*)\b[^\n]{0,60}is_available\(\)[^\n]{0,20}\bFalse", "the device is there for the parent and not for its children", prose=True),
    Sign(r"\b(?:torch\.cuda|cuda|cp\.cuda|pynvml|nvml)\.(?:device_count|is_available|get_device_\w+|current_device|mem_get_info|init|set_device|getDeviceCount|runtime\.\w+)\(", "the script asks for devices, then starts processes that cannot have them",
         also=(r"\b(?:multiprocessing|mp)\.(?:Process|Pool)\(|ProcessPoolExecutor\(|\bos\.fork\(|\bPool\(|\bProcess\(target",), anywhere=(r"(?:cuda (?:runtime )?error|CUDA error|error:?) ?\(?(?:3|30|46|100|304|999)\)?|unknown error|initialization error|CUDA driver error|all CUDA-capable devices are busy|driver shutting down",), unless=(r"\bspawn\b|forkserver",)),
    Sign(r"Cannot fork a process when (?:the CUDA|there is a CUDA)", "the library says so itself", CERTAIN, speaker=False),
    Sign(r"can't create new processes if CUDA is already initialized", "a device was used before the workers were started"),
    Sign(r"\bCUDA context for device \d+ already exists on process ID", "a device was used before the workers were started", POSSIBLE),
    Sign(r"Runtime is already initialized\. Do not use the XLA|Cannot replicate if number of devices \(1\) is different from \d+", "a device was used before the workers were started"),
    # Open MPI warns of every fork below a network that registers memory (mpi_warn_on_fork).
    Sign(r"has executed an operation involving a call\b", "the network library warns of a fork", passing=True, anywhere=(_STANDS_TOO,)),
    Sign(r"has executed an operation involving a call\b", "the network library warns of a fork", POSSIBLE, passing=True),
    # A lock of the device's driver that another thread of the parent held: the driver was in use there before the fork.
    Sign(r"^(?:___?lll_lock_wait\w*|futex\w*|pthread_\w*lock\w*|__GI___pthread_mutex_lock)\b[^\n]*\n(?:[^\n]*\n){0,6}?(?:[^\n]*\b(?:libcuda|libamdhip64|libhsa-runtime64|libascendcl|libze_\w+|libmlx[45]|libibverbs|libefa)\b|(?:cu[A-Z]|cuda[A-Z]|hip[A-Z]|hsa|ibv_|mlx[45]_)\w*\b)", "a forked child waits for a lock of the device's driver, which its parent had in use",
         anywhere=(r"popen_fork|\bos_?fork|_worker_loop|\bfork\(\)|\bforked\b|gunicorn|uwsgi|celery",), unless=(r"take_gil|PyGILState_Ensure|gil_scoped",)),
    Sign(r"^(?:hsa\w*|rocr::\S*|hip[A-Z]\w*|cu(?:da)?[A-Z]\w*)\b[^\n]*\n(?:[^\n]*\n){0,60}?_launch \([^\n]*popen_fork", "a forked child waits for its device", anywhere=(r"\.to\(.(?:cuda|hip)|\.cuda\(|\bcuda\b[^\n]*before|set_device\(",), unless=(r"\bspawn\b",)),
    # Pages that are registered with the card are not the child's (ibv_fork_init(3)): it falls over its parent's memory.
    Sign(r"\bSegmentation fault\b|\bSIGSEGV\b|\bAddress not mapped\b|\bBus error\b", "a process crashed in a job that forks workers while its network card has registered memory", POSSIBLE,
         anywhere=(r"\b(?:InfiniBand|ibverbs|openib|mlx[45]\w*|RDMA|RoCE|EFA)\b|\bbtl[_ ]openib", r"\b\w*Multiprocess\w*|\bnum_workers ?[=:] ?[1-9]|\bDataLoader\b|\bos\.fork\b|\bPool\(", r"\b(?:default|fork)\b[^\n]{0,12}\bstart[ _]?method|\bstart[ _]?method\b[^\n]{0,12}\bfork\b|\bos\.fork\b|\bforked\b"), unless=(r"\b(?:spawn|forkserver)\b[^\n]{0,24}\b(?:too|as well|also|same|crash)",)),
    Sign(r"_lazy_init[^\n]*\n(?:.*\n){0,12}.*(?:_worker_loop|popen_fork)", "a forked child initialises a device", POSSIBLE),
    Sign(r"fork\(\)-safety requested but init failed", "the library of the card cannot be made safe for fork: it was used before", POSSIBLE),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "fork-after-device-init", 16, "a process that had used its device forked workers that use it too", _SIGNS,
    ("torch.multiprocessing.set_start_method('spawn', force=True)", "VLLM_WORKER_MULTIPROCESSING_METHOD=spawn"),
)  # fmt: skip
