"""Leanings of numbers that programs end with: errno of Linux (errno(3)), errors of CUDA (cudaError_t, CUresult),
results of NCCL (nccl.h), Xid of NVIDIA's driver (its Xid catalogue), signals and exit codes (signal(7))."""

# ruff: noqa: E501  (a row is one line)

from __future__ import annotations

from ._leanings import Lean

_ERRNO = {
    5: "filesystem-stall 2 gpu-hardware-fault 1", 12: "resource-limit 2 oom-kill 1", 16: "driver-not-ready 1", 24: "resource-limit 4",
    28: "storage-full 3 shm-exhausted 2", 32: "dead-rank 1", 35: "lock-order-deadlock 2", 37: "file-lock-unsupported 4",
    38: "file-lock-unsupported 3", 98: "rendezvous-port 4", 99: "wrong-interface 3", 101: "wrong-interface 2 network-blackhole 2",
    103: "dead-rank 2", 104: "dead-rank 2", 107: "filesystem-stall 3", 110: "network-blackhole 3",
    111: "rank-never-joined 1 rendezvous-port 1 wrong-interface 1", 112: "network-blackhole 3", 113: "network-blackhole 3",
    116: "filesystem-stall 4", 122: "storage-full 4",
}  # fmt: skip
_CUDA = {
    2: "dead-rank 1", 3: "fork-after-device-init 2 driver-not-ready 2", 30: "fork-after-device-init 2 driver-not-ready 2",
    35: "version-mismatch 3", 46: "driver-not-ready 2 device-mapping 2", 100: "driver-not-ready 3", 101: "device-mapping 3",
    209: "version-mismatch 3", 214: "gpu-hardware-fault 4", 217: "p2p-iommu-hardware 3", 222: "version-mismatch 3",
    304: "driver-not-ready 3", 700: "cuda-async-error 4", 702: "gpu-kernel-hang 3", 710: "cuda-async-error 4", 716: "cuda-async-error 4",
    719: "cuda-async-error 3 gpu-hardware-fault 1", 802: "driver-not-ready 4", 803: "version-mismatch 4", 804: "version-mismatch 4",
    999: "driver-not-ready 3",
}  # fmt: skip
_XID = {
    **dict.fromkeys((13, 31, 43, 68, 69), "cuda-async-error 4"),
    **dict.fromkeys((46, 61, 62, 109), "gpu-kernel-hang 2 gpu-hardware-fault 2"),
    **dict.fromkeys(
        (48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 136, 137, 140, 144, 145, 149, 154), "gpu-hardware-fault 5"
    ),
}
_ENDS = {
    "-6|134": "dead-rank 1 cuda-async-error 1", "-7|135": "shm-exhausted 3", "-9|137": "oom-kill 2", "-11|139": "dead-rank 2 child-dead 2",
    "-4|132": "version-mismatch 2", "-8|136": "dead-rank 1",
}  # fmt: skip
_NCCL = {
    "ncclRemoteError|remote process exited": "dead-rank 3",
    "ncclInvalidUsage": "device-mapping 2",
    "ncclSystemError": "wrong-interface 1 resource-limit 1 shm-exhausted 1",
    "ncclInternalError": "version-bug 2",
}

NUMBERS = (
    *(Lean(to, rf"\b(?:[Ee]rrno:? ?|errno ?= ?){number}\b", f"errno {number}") for number, to in _ERRNO.items()),
    *(
        Lean(to, rf"\b(?:CUDA|cuda|cu[A-Z]\w*|CUresult|cudaError)\b[^\n]{{0,40}}(?:error|code|status)?[ (:=]{{1,3}}{number}\b", f"CUDA error {number}")
        for number, to in _CUDA.items()
    ),
    *(Lean(to, rf"\bXid\b[^\n]{{0,40}}?[):] ?{number}\b", f"Xid {number}") for number, to in _XID.items()),
    *(
        Lean(to, rf"\b(?:exit ?code|exitcode|return ?code|exit status|exited with)\W{{0,4}}(?:{number})\b", f"exit code {number}")
        for number, to in _ENDS.items()
    ),
    *(Lean(to, rf"\b(?:{name})\b", f"NCCL says {name.split('|')[0]}") for name, to in _NCCL.items()),
)  # fmt: skip
