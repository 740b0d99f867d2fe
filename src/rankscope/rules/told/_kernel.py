"""Whose code a kernel stack stands in: the drivers of devices, which are no file systems; waits that no storage makes."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

# Modules as the kernel writes them behind a frame, and functions by which their files are opened, asked and closed
# (NVIDIA's open-gpu-kernel-modules, Linux drivers/gpu/drm/amd and drivers/infiniband).
DRIVER = (
    r"(?:\[(?:nvidia(?:_uvm|_modeset|_drm|_peermem|_fs)?|nv_peer_mem|gdrdrv|amdgpu|amdkfd|amddrm_ttm|i915|xe|"
    r"habanalabs|mlx[45]_(?:core|ib)|ib_(?:core|uverbs|umad)|rdma_u?cm|irdma|efa|bnxt_re|hns_roce\w*|drv_\w+)\]"
    r"|\b(?:uvm_(?:ioctl|unlocked_ioctl|open|release|va_space_\w+|page_t\w+|gpu_\w+|api_\w+|spin_loop)|"
    r"nvidia_(?:ioctl|unlocked_ioctl|close|open|mmap|poll)\w*|nvkms_\w+|nv_(?:open|close)_device|"
    r"rm_(?:ioctl|init_adapter|shutdown_adapter|free_unused_clients)|"
    r"os_acquire_(?:mutex|semaphore|rwlock_\w+)|_nv\d{6}rm|kfd_(?:ioctl|release|process)\w*|amdgpu_(?!top)\w+|ib_uverbs_\w+|uverbs_\w+|mlx5_(?:cmd|ib|core)_\w+)\+0x)"
)

# Wait channels of sleeps that signals end, in which a process is in state D only while a control group of the first version
# freezes it (Linux 6.1 on: TASK_FROZEN in include/linux/sched.h is shown as D).
WOKEN_BY_SIGNALS = (
    r"(?:hrtimer_nanosleep|do_nanosleep|futex_(?:do_)?wait\w*|do_(?:sys_|e)?poll\w*|poll_schedule_timeout\S*|ep_poll|"
    r"do_epoll_wait|do_select|"
    r"do_wait\w*|wait_woken|sk_wait_data|inet_csk_accept|(?:anon_)?pipe_(?:read|write)|unix_stream_\w+|do_sigtimedwait|sigsuspend)"
)


def xid(numbers: str) -> str:
    """The driver's code of a fault, one of ``numbers``: not the numbers of the address before it, or of the pid behind it.

    Databases, NFS and DHCP count their own ``xid``, and who watches for some codes or ignores them names them all.
    """
    ours = r"(?-i:\bX(?:id|ID)s?)|(?<![(,{])\bxids?(?= ?(?:\d|errors?\b|codes?\b|numbers?\b))"
    quiet = r"^(?![^\n]*\b(?:ignor\w+|watch\w* for|monitor\w* for|skip\w*|exclud\w+)\b[^\n]*\bXIDs?\b)"
    others = r"(?![^\n]*\b(?:nfsd?|rpc|dhc\w+|zk|zookeeper|session|transactions?|auto-?vacuum|vacuum|oldest|postgres\w*)\b[^\n]{0,40}\bxid)[^\n]*?"
    rest = r"(?:_ERRORS)?(?: ?\(PCI[^)\n]*\)|\{[^}\n]*\})?(?:[ :=#(,]|errors?\b|codes?\b|numbers?\b)*(?:\d+(?:, ?| and | & |/))*"
    return f"{quiet}{others}(?:{ours}){rest}{numbers}\\b"
