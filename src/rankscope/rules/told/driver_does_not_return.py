"""A process stands in a device's driver inside the kernel, and nothing in user space can free it.

## What it means
It asked the GPU's or the network card's driver for something and sleeps there, in state D, behind a lock of the driver or for an answer of the
device. It cannot be killed, and its ranks wait for it. The program is in order, and so are the file systems.

## How it is recognised
A kernel stack (`dmesg`, `/proc/PID/stack`, "blocked for more than 120 seconds") of a process in state D whose frames are of a driver: `[nvidia_uvm]`, `[nvidia]`,
`[amdgpu]`, `[mlx5_core]`, `uvm_ioctl`, `ib_uverbs_…`; no frame of a file system.

systemd that finds processes around after SIGKILL, behind an error of their device.

## What to do
`dmesg -T | grep -i -e xid -e nvrm -e 'blocked for more'`: an error of the device, or a second task that holds the driver's lock. Drain the
node, reset the GPU (`nvidia-smi --gpu-reset`) or reboot; then change the driver's release.

## How to prevent it
Drivers of one known release on all nodes; a node check that asks the driver with a time limit (`timeout 20 nvidia-smi`).
Case: https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1333
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._kernel import DRIVER
from ._signs import Sign

_ASLEEP = (
    r"state:D\b|\bstate\b[^\n]{0,10}\b(?-i:D)\b|\b(?-i:D) (?:state|\(disk sleep\))|uninterruptible|"
    r"blocked for more than \d+ sec|cannot be killed|can'?t be killed|unkillable|kill -9|SIGKILL has no effect|"
    r"(?-i:\sD[sl<N+]*\s)"
)
_ON_DEVICE = r"\bCUDA error\b|\bXid\b|\b(?:cuda|hip|nccl|ggml_cuda|ROCm)\w*[^\n]{0,40}\b(?:error|fail\w*)\b|\b(?:nvidia|amdgpu|habanalabs|npu)\b"
_SIGNS = (
    Sign(DRIVER, "a process sleeps in the kernel inside a device's driver", anywhere=(_ASLEEP,), speaker=False),
    # systemd gives a unit up whose processes SIGKILL does not end: these sleep in the kernel.
    Sign(r"\b(?:Processes still around after (?:final )?SIGKILL|still around after (?:final )?SIGKILL|Failed to kill control group|[Uu]nit process \d+ \([^)\n]{1,64}\) remains running after unit stopped)", "not even SIGKILL ends a process that had work on a device", anywhere=(_ON_DEVICE,), unless=(r"\b(?:nfs|lustre|gpfs|cifs)\b",), speaker=False),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "stuck-below-program", 13, "a process stands in a device's driver inside the kernel", _SIGNS,
    ("dmesg -T | grep -i -e xid -e nvrm -e 'blocked for more' | tail -50", "cat /proc/PID/stack; timeout 20 nvidia-smi", "drain the node; reset the device or reboot"),
)  # fmt: skip
