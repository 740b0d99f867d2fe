"""The kernel's log: dead devices, dead links, killed and blocked processes, file systems that do not answer."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re

from ._table import TableReader, pattern

NAME = "kernel"
NEEDLES = (
    "Xid", "NVRM", "mlx5", "mlx4", "Out of memory", "oom", "blocked for more than", "not responding", "AER:", "PCIe Bus Error", "Machine check",
    "segfault", "Lustre", "I/O error", "EXT4-fs", "XFS", "nfs:", "ceph", "fuse", "bnxt", "irdma", "efa ", "gpfs", "GPFS", "mmfs", "Link is Down",
    "link down", "device handle", "Memory cgroup", "Hardware Error", "NVSwitch", "SXid", "D state", "hung_task", "INFO: task", "general protection",
    "DMAR", "IOMMU", "soft lockup", "rcu",
)  # fmt: skip

_TABLE = (
    pattern("kernel.xid", r"NVRM: Xid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<xid>\d+)(?:, (?:pid='?(?P<pid>\d+)|pid=<unknown>)?'?(?:, name=(?P<name>[^,]*))?)?"),
    pattern("kernel.sxid", r"nvidia-nvswitch\d*: SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<xid>\d+)"),
    pattern("kernel.nic_error", r"(?:mlx[45]_core|bnxt_en|irdma|ice|efa) (?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F:.]+?):? .*(?:[Ee]rror|down|[Ff]atal|[Tt]imeout|reset)"),
    pattern("kernel.link_down", r"(?P<ifname>\b(?:eth|en|ib|mlx|bond|roce)[\w.]{0,32})\S{0,32}:? .{0,400}[Ll]ink (?:is )?[Dd]own"),
    pattern("kernel.oom_kill", r"(?:Out of memory|Memory cgroup out of memory): (?:Killed|Kill) process (?P<pid>\d+) \((?P<name>[^)]*)\)"),
    pattern("kernel.oom_kill", r"oom-kill:constraint=(?P<constraint>\w+).{0,2000}?task=(?P<name>[^,]{1,64}),pid=(?P<pid>\d+)"),
    pattern("kernel.oom_kill", r"(?:invoked oom-killer|oom_reaper: reaped process (?P<pid>\d+))"),
    pattern("kernel.hung_task", r"INFO: task (?P<name>\S+?):(?P<pid>\d+) blocked for more than (?P<seconds>\d+) seconds"),
    pattern("kernel.fs_stalled", r"(?:nfs: server (?P<server>\S+) not responding|Lustre.*(?:lost|timed out|not responding)|ceph: .*hung|(?:mmfs|GPFS).*(?:deadlock|not responding|lost))"),
    pattern("kernel.io_error", r"(?:I/O error, dev (?P<device>\w+)|EXT4-fs error|XFS .*(?:error|shutdown)|Buffer I/O error)"),
    pattern("kernel.pcie_error", r"PCIe Bus Error: severity=(?P<severity>\w+(?: \([\w-]+\))?)"),
    pattern("kernel.machine_check", r"(?:Machine check|\[Hardware Error\]|EDAC .* UE )"),
    pattern("kernel.segfault", r"(?P<name>\S{1,64})\[(?P<pid>\d{1,10})\]:? (?:segfault at|general protection)"),
    pattern("kernel.iommu_fault", r"(?:DMAR: .*fault|AMD-Vi: .*(?:IO_PAGE_FAULT|Event logged))"),
    pattern("kernel.lockup", r"(?:soft lockup|rcu\w* .*detected stalls)"),
    pattern("gpu.lost", r"Unable to determine the device handle for (?:GPU|gpu) ?(?P<pci>[0-9a-fA-F:.]+)", flags=re.IGNORECASE),
)  # fmt: skip


class Reader(TableReader):
    """The table."""

    def __init__(self) -> None:
        super().__init__(_TABLE)
