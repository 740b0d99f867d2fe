"""A kernel failed on the device, and the message surfaced somewhere else.

## What it means
CUDA errors are asynchronous and sticky: a kernel reads out of bounds, and the next call that happens to ask the device gets the error. In
distributed jobs that is often the NCCL watchdog, so that a memory bug in a model looks like a failure of the network.

## How it is recognised
`an illegal memory access was encountered`, `device-side assert triggered`, `unspecified launch failure` or `misaligned address`, also
when raised in `watchdogHandler`, `isCompleted`, `cudaEventQuery` or `ncclCommWatchdog`. Also a call that a stream under capture does not
allow (`hipErrorCapturedEvent`, `operation not permitted when stream is capturing`).

## What to do
Run once with `CUDA_LAUNCH_BLOCKING=1` (the stack then points at the kernel), or under `compute-sanitizer --target-processes all`; switch off
custom kernels one by one (attention backend, fused optimizers, CUDA graphs). Leave the communication library alone.

## How to prevent it
Check indices and labels on the host in debug runs; update the kernel's library. Case: https://github.com/vllm-project/vllm/pull/9532
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._kernel import xid
from ._signs import POSSIBLE, Sign
from ._wordings import DEVICE_BARRIER

# A kernel that ends its own wait, or that the driver ended for its length, fails in the same words; it is told by its own message before.
_ENDED = (
    r"timeout check failed|(?:receivers?|sender|forwarder)\b[^\n]{0,30}time-?out|SymmetricMemory::\w+: rank \d+ failed|\bSM \d+ \[\d+\]: ?expecting \d+|\bTimedout job\b|\bGPU HANG: ecode|\bEngine reset: engine_class|\bpciehp: Slot|\bDevice heartbeat failed",
    DEVICE_BARRIER,
)
# What a process could not map it reads nevertheless: the lack of memory was first.
_AFTER_A_LACK = r"\b(?:CUDA|HIP|NPU) (?:driver )?[Ee]rror: out of memory\b[^\n]*\n(?:[^\n]*\n){0,6}?[^\n]*\b(?:later|then|afterwards)\b[^\n]*illegal memory access"
_SIGNS = (
    Sign(r"illegal memory access|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS|Warp Out-of-range|CUDA_EXCEPTION_\d+|Warp Illegal", "a kernel touched memory that is not its own", unless=(_AFTER_A_LACK, r"nvidia-fabricmanager\.service: [Ff]ailed|fabric ?manager[^\n]{0,20}(?:not running|failed to start)",)),
    Sign(r"device-side assert|cudaErrorAssert\b|indexSelectSmallIndex|Assertion `?(?:srcIndex|t >= 0|idx|index)\b[^\n]*failed", "a kernel's own check failed", unless=(DEVICE_BARRIER,)),
    Sign(r"\.(?:cuh?|hip|py):\d+:[^\n]*\bblock: \[\d+, ?\d+, ?\d+\],? thread: \[\d+, ?\d+, ?\d+\][^\n]*[Aa]ssert|\bAssertion\b[^\n]*failed[^\n]*\b(?:on|in) (?:the )?(?:device|GPU|kernel)|_assert_fail[^\n]*\.cuh?:\d+", "a kernel's own check failed", unless=(DEVICE_BARRIER,)),
    Sign(r"MTE instruction is out of range|HSA_STATUS_ERROR_(?:MEMORY_\w+|EXCEPTION|ILLEGAL_INSTRUCTION)|Queue 0x[0-9a-f]+ abort\w* with error|(?:vec|cube|aiv|aic)\w* (?:error|exception)[^\n]*(?:errcode|core)|\bpage fault\b[^\n]*\b(?:gfxhub|mmhub|amdgpu)|\b(?:gfxhub|mmhub)\b[^\n]*page fault", "a kernel failed"),
    Sign(r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|cudaErrorLaunchFailure|misaligned address|illegal instruction was encountered|invalid program counter|an illegal instruction",
         "a kernel failed", unless=_ENDED),
    Sign(r"Memory access fault by GPU|HSA_STATUS_ERROR|hipErrorIllegalAddress|aicore (?:exception|error)|AICPU exception|vector core exception", "a kernel failed"),
    Sign(r"cudaErrorMisalignedAddress|CUDA_ERROR_(?:MISALIGNED_ADDRESS|ILLEGAL_INSTRUCTION|INVALID_PC|INVALID_ADDRESS_SPACE|ASSERT)|hipErrorLaunchFailure|an? illegal instruction|operation not supported on global/shared address space|\b(?:[Cc]uda|CUDA|Triton) (?:[Ee]rror|failure)\b[^\n]{0,20}\b(?:700|710|715|716|717|718|719)\b|(?:error|ret|code)(?: is)?\W{0,4}507(?:011|015|018|035|057)\b", "a kernel failed"),
    Sign(r"(?:UR_RESULT|PI|ZE_RESULT)_ERROR_DEVICE_LOST", "a kernel failed", unless=_ENDED),
    # Events and calls that a stream whose work is being recorded into a graph does not allow (CUDA and HIP, error codes 900 to 907).
    Sign(r"operation (?:not permitted|would make the legacy stream depend|failed due to a previous error)\b[^\n]{0,40}\b(?:captur\w+)\b|\b(?:cuda|hip)Error(?:CapturedEvent|StreamCapture\w+)|\bCUDA_ERROR_(?:CAPTURED_EVENT|STREAM_CAPTURE_\w+)", "a call was made that a stream under capture does not allow"),
    Sign(r"\bSegmentation fault from GPU at 0x", "a kernel touched memory that is not its own"),
    Sign(r"=+ Invalid __(?:global|shared|local)__ (?:read|write|atomic)|compute-sanitizer[^\n]*\b[1-9]\d* errors?|ERROR SUMMARY: [1-9]\d* error|CUDA Exception: Warp", "a checker shows a kernel that touches memory that is not its own"),
    Sign(r"\b(?:compute-sanitizer|cuda-memcheck)\b[^\n]{0,60}\b(?:reports?|shows?|finds?|found|names?)\b(?! (?:no|nothing|none|0)\b)|\bout-of-bounds (?:write|read|access|store|load)\b", "a checker shows a kernel that touches memory that is not its own", prose=True),
    Sign(r"CUDA_LAUNCH_BLOCKING ?= ?1[^\n]{0,60}\b(?:moves?|points?|shows?|error|appears?|fails?)\b", "launched one by one, another call fails: the error came from a kernel", prose=True),
    Sign(r"\b(?:labels?|targets?|(?<!list )(?<!tuple )(?<!string )(?<!deque )(?<!object )(?<!pop )(?<!assignment )index|indices|class ids?|token ids?|vocab\w*|input_?ids?|position ids?)\b[^\n]{0,50}\b(?:out of (?:range|bounds)|larger than|exceed\w*|beyond|(?:value|id|index)? ?\d+ (?:for|of|with|but)[^\n]{0,12} \d+ (?:classes|labels|tokens|entries|positions))\b", "an index is larger than its table", POSSIBLE, prose=True),
    Sign(r"\b(?:blocking launch(?:es)?|launch(?:es)? (?:are |is )?blocking|synchronous launches|launched one by one)\b[^\n]{0,60}\b(?:assert\w*|errors?|fails?|illegal|points?)\b|\bassert\w*\b[^\n]{0,20}\bin (?:\w+ )?(?:nll_loss|scatter\w*|gather\w*|embedding\w*|index\w*|cross_entropy)", "launched one by one, another call fails: the error came from a kernel", prose=True),
    Sign(r"CU(?:BLAS|DNN)_STATUS_(?:EXECUTION_FAILED|MAPPING_ERROR)|CUFFT_EXEC_FAILED|CU(?:SPARSE|SOLVER)_STATUS_EXECUTION_FAILED|HIPBLAS_STATUS_EXECUTION_FAILED|miopenStatusUnknownError", "a library's kernel failed"),
    Sign(r"CU(?:BLAS|DNN|SPARSE|SOLVER)_STATUS_INTERNAL_ERROR|HIPBLAS_STATUS_INTERNAL_ERROR", "a library's kernel failed", POSSIBLE),
    Sign(xid("(?:13|31|43)"), "the kernel's log shows a fault of a program on the GPU"),
    # 45 follows whatever ended the channel: a kernel's fault, a broken link, a program's end.
    Sign(xid("45"), "the kernel's log shows that a channel of a program on the GPU was ended", POSSIBLE),
    Sign(r"\b(?:watchdogHandler|ncclCommWatchdog|isCompleted|finishedGPUExecutionInternal)", "the watchdog met a CUDA error", POSSIBLE,
         also=(r"CUDA error|CUDA kernel errors|cuda\w+Error",)),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "cuda-async-error", 20, "a kernel failed earlier; the message only surfaced here", _SIGNS,
    ("CUDA_LAUNCH_BLOCKING=1 torchrun …", "compute-sanitizer --target-processes all torchrun …"),
)  # fmt: skip
