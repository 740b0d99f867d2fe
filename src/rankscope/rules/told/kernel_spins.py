"""A kernel on the device never ends, and not because a peer is missing.

## What it means
A hand-written communication kernel (custom all-reduce, fused attention with flags, symmetric memory) polls a flag that will not come: two streams use one
communicator at once, ranks launched different grids, or blocks that wait for each other do not fit on the device together.

## How it is recognised
cuda-gdb or a GPU core shows threads in a polling load (`ld.volatile`, `ld_acquire`, `wait_flag`, `spin`, `multi_gpu_barrier`); all ranks are at 100 % GPU in the
same kernel, all of them arrived; only part of a kernel's blocks run; a library's kernel prints that a signal or counter did not come; it goes away with another backend or with the custom kernel off.
A device at 100 % under a kernel that somebody wrote (persistent, TMA, cuda-gdb) and no output; `__syncthreads()` below a condition on `threadIdx`.

## What to do
`cuda-gdb -p PID`, `info cuda kernels`. Switch the custom kernel off (vLLM, SGLang: `--disable-custom-all-reduce`), use one stream per communicator, update the
library that owns the kernel.

## How to prevent it
Cooperative launches for kernels whose blocks wait for each other; bounded polling.
Case: https://github.com/sgl-project/sglang/issues/31117
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._signs import POSSIBLE, Sign
from ._wordings import DEVICE_BARRIER, HALTS, MAKES_KERNELS

_POLL = (
    r"(?:ld[._]volatile|ld[._]acquire|ld\.global|st_flag|ld_flag|wait_flag|multi_gpu_barrier|waitPeer|block_barrier|"
    r"grid_sync|grid\.sync|spin\w*|poll\w*|busy[- ]?wait\w*|barrier_at_\w+|flag\b|nanosleep|trap)"
)
# The same where anything may follow: a word to its end, and then anything, can be divided in as many ways as it has letters.
_POLLS = _POLL.replace(r"\w*", "").replace(r"\w+", r"\w")
# Kernels that wait for other blocks or for copies of their own, as people name them.
_WRITTEN = (
    r"\b(?:persistent|mega|cooperative|warp[- ]speciali[sz]ed|tile|hand-written)[- ]?kernels?\b|\bTMA\b|"
    r"\bmbarriers?\b|\(cuda-gdb\)|\bCuTe\b|\bCUTLASS\b|\bThunderKittens\b|\bTileLang\b|@triton\.jit|\b__global__\b|"
    r"\bsplit-?k\b|\bNVSHMEM\w*|\bDeepEP\b|\w{0,24}(?:MegaM[oO][eE]|CuTe ?DSL|Cutedsl)\w*"
)
_SEVERAL = r"all_?reduce|all_?gather|all_?to_?all|Watchdog caught|\bNCCL\b|\branks? ?\d"
# Where direct access between the devices was switched off as well, that may be it.
_PEERS = r"NCCL_P2P_DISABLE ?= ?1"
# A row of NCCL's RAS by which all ranks of a communicator have begun as many calls: what the device waits for is theirs.
_IN_ORDER = r"^\s*(?:\d{1,9} +){4}(?!1 )\d{1,9} +\d{1,9} +RUNNING +OK"
# Ranks without work of their own take part in the calls of the others by a dummy: what a kernel waits for may be theirs.
_OF_TWO_KINDS = r"\bdummy[-_ ](?:run|batch|forward|step)\w*\b|\bidle ranks?\b|\branks? with(?:out)? (?:requests|tokens|work|data|batch\w*)\b"
_IN_VAIN = "the driver or a library waited in vain for a kernel"
_SIGNS = (
    Sign(r"\b(?:cuda-gdb|\(cuda-gdb\)|\(rocgdb|rocgdb -p|Switching focus to CUDA kernel|info cuda kernels|CUDA kernel \d|block \(\d+,\d+,\d+\), thread|BlockIdx|wave \d+)", "the debugger shows a kernel that still runs", also=(_POLL,)),
    Sign(r"\b(?:custom|one[- ]?shot|two[- ]?shot|lamport|mnnvl|trtllm|symm(?:etric)?[- _]?mem\w*|quick|fused|multimem|nvls|cross_device|nvshmem|deepep|push)\w{0,30}[- _]?(?:all[- _]?reduce|reduce|kernel|barrier|dispatch|combine)\w{0,20}[^\n]{0,100}(?:spin|poll|hang|hung|stuck|deadlock|never|100 ?%|flag|wait)",
         "a hand-written communication kernel does not end", prose=True),
    Sign(r"\bkernels?\b[^\n]{0,24}\b(?:every|each|all)\b[^\n]{0,40}\b(?:custom|one[- ]?shot|two[- ]?shot|lamport|multimem|symm(?:etric)?[- _]?mem\w*)[- _]?all[- _]?reduce\b", "every device is in a hand-written communication kernel", anywhere=(r"\b100 ?%", HALTS), prose=True),
    Sign(r"\b(?:torch\.(?:cuda|npu|xpu)\.synchronize|(?:cuda|hip|aclrt)\w{0,12}Synchronize\w*)\b[^\n]{0,120}\b(?:no|without an?|outside (?:of )?any|not in any) (?:\w+ ){0,2}collective", "ranks wait for their own devices, outside of any collective", prose=True),
    Sign(r"\b(?:disable[-_]custom[-_]all[-_]reduce|without (?:the )?custom|custom all-?reduce (?:off|disabled))[^\n]{0,80}(?:work|fix|fine|help|solv|no hang|resolv|disappear|\bstarts?\b|\bruns?\b|\bserves?\b|goes on)|(?:work|fix|fine|no hang|disappear|help)\w{0,20}[^\n]{0,60}disable[-_]custom[-_]all[-_]reduce", "it works without the custom kernel", unless=(_PEERS,), prose=True),
    Sign(r"kernel\b(?! of (?:an? |the )?(?:notebook|jupyter|session)\b)(?! (?:command|parameter|version|log|module|panic|driver|stack|thread|boot|message|buffer|\d))[^\n]{0,80}\b(?:never (?:ends?|returns?|finish\w*|completes?|exits?)|spins? (?:for ?ever|indefinitely|in|on)|infinite loop|does not (?:end|terminate|finish)|(?:is )?stuck|resident for)", "a kernel never ends", prose=True),
    Sign(r"\b(?:mbarrier|phase[- ]wait|try_wait|cluster|CTAs?|thread[- ]?blocks?|warps?|waves?|wavefronts?|SMs?|persistent kernel)\b[^\n]{0,80}\b(?:spins?|spinning|polls?|loops?|parked|remains?|left|never|stuck|waits? (?:for|on|in)|resident)\b|\b(?:spins?|spinning|polls?|parked|remains?|stuck)\b[^\n]{0,60}\b(?:mbarrier|phase[- ]wait|CTAs?|thread[- ]?blocks?|warps?|wavefronts?)\b", "part of a kernel's blocks wait for ever", anywhere=(r"\bkernel",), prose=True),
    Sign(r"\b(?:GPUs?|device|card|util\w*)\b[^\n]{0,30}\b100 ?%", "the device works without an end on a kernel that somebody wrote", anywhere=(_WRITTEN, HALTS + r"|no output|never"), unless=(_SEVERAL,), prose=True),
    # A barrier of all threads of a block below a condition that holds for some of them.
    Sign(r"\bif\b[^\n]*\b(?:threadIdx|tid|lane(?:_?id)?|warp_?id|laneid)\b[^\n]*\{[^\n}]*(?:\n[^\n}]*){0,8}?\b(?:__syncthreads(?:_\w+)?|__syncwarp|barrier\.sync|bar\.sync|s_barrier|cg::this_thread_block\(\)\.sync)\b", "a barrier of a block's threads stands where only some of them come", anywhere=(rf"{HALTS}|never",)),
    Sign(r"\b(?:kernel )?launch(?:es|ed)?\b[^\n]{0,16}\bnever (?:completes?|ends?|returns?|finish\w*)\b", "a kernel never ends", unless=(_SEVERAL,), prose=True),
    Sign(r"two (?:cuda )?streams[^\n]{0,60}(?:same|one) (?:communicator|comm\b|buffer)|(?:different|unequal|mismatch\w*) (?:grid|block|launch)(?: size| config\w*|s)?", "the kernel's ranks do not fit each other", prose=True),
    Sign(r"HW Exception by GPU[^\n]*GPU Hang|\bGPU Hang\b|(?:dispatch|combine)[^\n]{0,40}(?:receivers?|NVL|RDMA)[^\n]{0,40}time-?out|timeout check failed[^\n]*(?:kernel|barrier)|nvshmem\w*wait_until|nvshmemi?_\w*(?:spin|poll)", "a kernel waited too long for a flag"),
    # The limits of DeepEP and DeepGEMM are shorter than what a peer may take to compile its kernels.
    Sign(r"DeepEP[^\n]*time-?out|" + DEVICE_BARRIER, "a kernel waited too long for a flag", POSSIBLE, unless=(r"\b(?:still|while|whereas|is|are) (?:busy )?(?:compil|warming|captur|load|prepar|build|autotun)\w*", MAKES_KERNELS)),
    Sign(r"\b(?:spin\w*|stuck|loop\w*|hang\w*|wait\w*) in (?:nvshmem|rocshmem|ishmem)\w*|\bTimedout job\b|\bguc_id=\d+[^\n]*(?:timed? ?out|hang)|\bGPU HANG: ecode|\bEngine reset: engine_class|\bring \S+ timeout, signaled seq|(?:error|ret|code)(?: is)?\W{0,4}5070(?:14|17|34)\b", _IN_VAIN),
    Sign(r"\b(?:aicore|aicpu|vector core) time-?out", _IN_VAIN, unless=(_OF_TWO_KINDS,)),
    Sign(r"\b(?:nsys|nsight|profiler?|trace|rocprof\w*)\b[^\n]{0,30}\bkernel\b[^\n]{0,40}\b(?:runs?|lasts?|takes?|is running)\b[^\n]{0,20}\b(?:minutes|hours|\d{3,} ?s\b|for ?ever)|\bnever changes its (?:PC|program counter)\b|\b(?:PC|program counter)\b[^\n]{0,16}\b(?:never|does not) (?:change|move)", "a kernel never ends", prose=True),
    Sign(r"\b(?:attention|gemm|softmax|layer ?norm|conv\w*|kernel|top-?k|sort|scan|dispatch|combine)\b[^\n]{0,30}\bnever (?:finish|end|return|complete)\w*\b[^\n]{0,20}\b(?:for|with|when|at|if)\b[^\n]{0,30}\b(?:head|dim|shape|batch|seq\w*|size|length|dtype|block|expert|token)", "a kernel never ends for one shape", POSSIBLE, prose=True),
    Sign(r"\bonly (?:\d+|one|some|half|part) of (?:the |its |all )*(?:\d+ )?(?:workers?|schedulers?|blocks?|CTAs?|thread ?blocks?|clusters?|warps?|SMs?|programs?)\b[^\n]{0,24}\b(?:have |has |had |were |was |are |is |ever )*(?:start|launch|resident|schedul|run|begun|arriv|came)\w*", "not all blocks of a kernel run, and those that do wait for the others", anywhere=(_WRITTEN,), unless=(r"init_process_group|rendezvous|Watchdog caught",), prose=True),
    Sign(r"\b(?:device|kernel|GPU)s?\b (?:itself )?(?:prints?|printed|reports?|reported|says|tells)\b[^\n]{0,40}\b(?:time-?out|flag|signal|barrier|counter)\b|\b(?:host|CPU(?: side)?|driver)\b (?:spins?|polls?|busy-?waits?|loops?) (?:on|for|in)\b[^\n]{0,40}\b\w*(?:counter|flag|signal|recv|notify)\w*", "a kernel, or the host for it, polls a flag or counter that does not come", prose=True),
    Sign(r"\bgrid\b[^\n]{0,30}\b(?:larger|bigger|more)\b[^\n]{0,30}\b(?:SMs?|resident|fit|multiprocessors?)\b|\b(?:blocks?|CTAs?)\b[^\n]{0,30}\b(?:not|cannot) (?:all )?(?:be )?(?:fit|resident|co-?resident|scheduled)", "blocks wait for others that do not fit on the device", prose=True),
    Sign(r"\b(?:disabl\w+|without|turning off|no)\b[^\n]{0,14}custom[- _]all[- _]?reduce|--?-?disable[-_]custom[-_]all[-_]reduce|\bdisable_custom_all_reduce\b", "it works without the custom kernel", unless=(_PEERS,), cures=True),
    Sign(r"the launch timed out and was terminated|CUDA_ERROR_LAUNCH_TIMEOUT", "the driver ended a kernel that ran too long"),
    Sign(r"\b(?:cudaStreamSynchronize|cudaDeviceSynchronize|cuStreamSynchronize|cudaEventSynchronize|cuCtxSynchronize|hipStreamSynchronize|hipDeviceSynchronize)\b", "a rank waits for its device, and nothing says for what", POSSIBLE, unless=(_IN_ORDER,), prose=True),
    Sign(r"Xid \(PCI[^)\n]*\): (?:8|46)\b|\bqcm fence wait loop time-?out|\bMES failed to respon\w+ to msg|\bQueue preemption time ?out|\bResetting \w+ for (?:stopped heartbeat|preemption time ?out)", "the driver waited in vain for a kernel"),
    Sign(r"^(?![^\n]*nccl(?:Dev)?Kernel)[^\n]*(?:reduce|barrier|gather|scatter|dispatch|combine|wait|sync|poll|spin|signal|flag)[^\n]*<<<\(\d+,\d+,\d+\),\(\d+,\d+,\d+\)>>>", "the debugger shows a kernel that waits for others", unless=(r"CUDA Exception|CUDA_EXCEPTION|illegal memory",)),
    Sign(r"^(?![^\n]*nccl)#\d{1,3} +0x[0-9a-f]{4,18} in [^\n]{1,300}?<<<\(\d+,\d+,\d+\),\(\d+,\d+,\d+\)>>>", "the debugger stands in a kernel that has not ended", unless=(r"CUDA Exception|CUDA_EXCEPTION|illegal memory",)),
    # What such kernels print of themselves before they end their own wait (torch's symmetric memory, TransformerEngine's userbuffers).
    Sign(r"SymmetricMemory::\w+: rank \d+ failed to (?:receive|send) signal|\bSM \d+ \[\d+\]: ?expecting \d+,? got \d+", "a kernel waited too long for a flag"),
    Sign(r"\bmake_async_remote_copy\b|\b(?:pl|pltpu)\.semaphore_\w+|\bsemaphore_wait\b", "a kernel that somebody wrote waits for copies and flags of its own", anywhere=(r"block_until_ready|" + HALTS,), unless=(r"[Cc]oordination service|DEADLINE_EXCEEDED",)),
    Sign(_POLLS + r"[^\n]*\w\.cuh?:\d+", "device code polls", POSSIBLE),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "gpu-kernel-hang", 39, "a kernel on the device never ends", _SIGNS,
    ("cuda-gdb -p PID -ex 'info cuda kernels' -batch", "--disable-custom-all-reduce   # or the option of your library"),
)  # fmt: skip
