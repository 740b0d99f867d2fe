"""Direct transfers between the GPUs of a machine do not work (IOMMU, ACS, topology).

## What it means
With the IOMMU or PCIe access control on, transfers from GPU to GPU are sent through the root complex, where they are lost or damaged. The
driver still says that peers can reach each other, so the first collective hangs with all GPUs at 100 %.

## How it is recognised
It works with `NCCL_P2P_DISABLE=1`; `lspci -vvv` shows `ACSCtl: SrcValid+ … ReqRedir+` on bridges; the kernel logs IO_PAGE_FAULT or DMAR
faults; a peer test gives a wrong or odd matrix; numbers turn wrong (NaN) only with several cards, since they are in another machine; an all-reduce of one kernel over PCIe is the last that was begun. NCCL's hint of a "collective mismatch" is misleading here.

## What to do
`p2pBandwidthLatencyTest` of the CUDA samples; switch the IOMMU off or to pass-through (`iommu=pt`, BIOS), switch ACS off on the
bridges (`setpci`); until then `NCCL_P2P_DISABLE=1`.

## How to prevent it
Make the bus test part of the machine's acceptance. Case: https://github.com/NVIDIA/nccl/issues/257
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS, halted

_SIGNS = (
    Sign(r"iommu=(?:pt|soft|off)[^\n]{0,60}(?:work|fix|solv|help|resolv)|(?:work|fix|solv|help|resolv)\w{0,20}[^\n]{0,60}(?:iommu=(?:pt|soft|off)|NCCL_NET_GDR_(?:LEVEL|DISABLE|READ)|HSA_ENABLE_SDMA ?= ?0|disabl\w+ ACS)|NCCL_NET_GDR_(?:LEVEL|DISABLE) ?= ?\w+[^\n]{0,60}(?:work|fix|solv|help|resolv)", "it works when devices do not talk directly", prose=True),
    Sign(r"\b(?:work|fine|\bok\b|pass|complete|no hang|run|help|fix|solv|resolv)\w*[^\n]{0,60}NCCL_P2P_LEVEL ?= ?(?:NVL|LOC|0|PIX)|NCCL_P2P_LEVEL ?= ?(?:NVL|LOC|0|PIX)[^\n]{0,60}(?:work|fine|\bok\b|pass|complete|no hang|help|fix|solv|resolv)", "it works when only near devices talk directly", prose=True),
    Sign(r"doesn't support faster communication broadband via P2P|(?<!NCCL INFO )Could not enable P2P between|cudaDeviceEnablePeerAccess[^\n]*(?:fail|error)|cudaIpcOpenMemHandle[^\n]*(?:fail|error|invalid)|mapping of buffer object failed|p2p\.cc[^\n]*Cuda failure", "a device cannot open its peer's memory", unless=(r"\bimex\b|\bMNNVL\b",)),
    Sign(r"ze(?:Mem|CommandList)\w{0,40}(?:Ipc|Peer)[^\n]*(?:fail|INVALID|error)|hipIpcOpenMemHandle[^\n]*(?:fail|error|invalid)|cuda:[1-9]\W{0,3}\)?[^\n]{0,24}\b(?:gives?|are|is|returns?|contains?|becomes?|yields?)\b (?:all |only )?(?:zeros?|garbage|nans?)\b", "a device cannot read its peer's memory"),
    Sign(r"\b(?:VT-d|IOMMU|(?:amd_|intel_)?iommu=\w+|AMD-Vi|\bACS\b|setpci|pci=\w*acs\w*|NCCL_P2P_(?:DISABLE|LEVEL)|NCCL_SHM_USE_CUDA_MEMCPY|CUDA_DISABLE_P2P|uvm_disable_hmm|NVreg_\w*P2P\w*)\b", "it works when devices do not talk directly", cures=True),
    Sign(r"\b(?:unless|until|without|only (?:with|after))\b[^\n]{0,24}NCCL_P2P_(?:LEVEL|DISABLE)", "it works only without peer-to-peer transfers", prose=True),
    Sign(r"\b(?:pairs?|GPUs?|cards?|devices?)\b[^\n]{0,40}\b(?:across|on different|between|on other)\b[^\n]{0,16}\b(?:sockets?|switches|root complex\w*|NUMA nodes?|CPUs)\b[^\n]{0,60}\b(?:hang|stuck|fail|never|stall)\w*", "it hangs between cards of different sockets or switches", POSSIBLE, prose=True),
    Sign(r"\b(?:VM|virtual machine|guest|pass-?through|hypervisor|Proxmox|KVM|ESXi|QEMU|VFIO)\b[^\n]{0,100}\b(?:garbage|hang\w*|zeros?|wrong|fail\w*|corrupt\w*|never)\b", "GPUs are passed through to a virtual machine, and do not reach each other", POSSIBLE, anywhere=(r"\bGPUs?\b|\bcuda:1|NCCL",), prose=True),
    Sign(r"\b(?:cuda|cu|hip)Memcpy(?:3D)?Peer\w*\b[^\n]{0,60}\b(?:never|hangs?|hung|stuck|blocks?|fails?|does not)\b|\bpeer cop(?:y|ies)\b[^\n]{0,40}\b(?:never|hangs?|stuck|fails?)\b", "copies between devices do not end", prose=True),
    Sign(r"\.(?:to|cuda)\([^)\n]{1,20}\)[^\n]{0,60}(?<![.\w])(?:zeros|nans?|garbage)\b(?!\()", "what is copied from GPU to GPU arrives damaged", prose=True),
    Sign(r"\b(?:p2p|peer-to-peer)[- ](?:patch\w*|enabled driver|kernel modules?|modules?|hack)\b", "a driver with peer-to-peer transfers that the maker does not support is used", POSSIBLE, prose=True),
    Sign(r"^(?:#\d+ +(?:0x[\da-f]+ in )?)?(?:at::native::copy_device_to_device|(?:cuda|cu|hip)Memcpy(?:3D)?Peer\w*)", "a rank waits in a copy from device to device", unless=(r"illegal memory|out of memory",)),
    Sign(r"peer access is not supported|cudaErrorPeerAccess\w+|peer mapping resources exhausted", "a device cannot reach its peer"),
    Sign(r"\b(?:work|fine|ok|pass|complete|no hang|run|help|fix|solv|resolv|go(?:es)? away|disappear)\w*[^\n]{0,60}(?:NCCL_P2P_DISABLE ?= ?1|P2P (?:is )?(?:disabled|off)|without P2P|disabl\w+ P2P)|"
         r"(?:NCCL_P2P_DISABLE ?= ?1|disabl\w+ P2P|P2P (?:is )?(?:disabled|off)|without P2P)[^\n]{0,80}(?:work|fine|\bok\b|pass|complete|no hang|run|help|fix|solv|resolv|finish|success)", "it works without peer-to-peer transfers", prose=True),
    Sign(r"\b(?:hang|hung|stuck|fail|corrupt)\w*[^\n]{0,40}(?:only )?(?:with|when|if)[^\n]{0,20}(?:P2P|peer[- ]to[- ]peer)[^\n]{0,20}(?:on|enabled)", "it hangs only with peer-to-peer transfers", prose=True),
    Sign(r"\.(?:to|cuda)\([^\n]*\)\s*\n(?:[^\n]*\n){0,1}?[^\n]*tensor\(\[+(?:0\.(?:0+)?(?:e[+-]\d+)?,? *)+\]+, device='cuda:[1-9]|\b(?:zeros?|garbage|wrong values?|corrupt\w*|NaNs?)\b[^\n]{0,60}\b(?:copied|copy|copies|copying|transferr?\w*|moved?|moving|\.to\()[^\n]{0,40}\b(?:between|from|to)\b[^\n]{0,20}\b(?:GPUs?|cuda|cards?|devices?)|\b(?:cop(?:y|ies|ied|ying)|transfers?)\b[^\n]{0,40}\bbetween (?:the |two )?(?:GPUs|cards|devices)[^\n]{0,40}\b(?:zeros?|garbage|wrong|corrupt\w*|NaNs?)\b", "what is copied from GPU to GPU arrives damaged"),
    Sign(r"\b(?:NaNs?|not-a-number|garbage|(?:wrong|corrupt\w*|damaged) (?:results?|values?|outputs?|loss\w*|gradients?|data))\b[^\n]{0,80}\b(?:only|just|as soon as|whenever)\b[^\n]{0,24}\b(?:more than (?:one|a single|1)|several|multiple|two or more|both|2\+?|multi)[- ]?(?:GPUs?|cards?|devices?)\b|\b(?:one|single|1)[- ](?:GPU|card|device)\b[^\n]{0,24}\b(?:fine|works?|ok|correct|good|normal)\b[^\n]{0,60}\b(?:more|several|multiple|two|both|2)\b[^\n]{0,24}\b(?:NaNs?|not-a-number|garbage)\b", "numbers come out wrong only where several GPUs work together, and the machine is another", POSSIBLE, anywhere=(r"\b(?:new|newer|old|previous|other|another|different|replaced|second) (?:server|machine|motherboard|mainboard|board|chassis|platform|workstation|host|system|box)\b|\b(?:moved|move|transplanted|swapped|migrated)\b[^\n]{0,40}\b(?:server|machine|motherboard|mainboard|chassis|workstation)\b|\bPCIe (?:switch\w*|riser\w*)|\bBIOS\b",), prose=True),
    Sign(r"ACSCtl:[^\n]*(?:SrcValid\+|ReqRedir\+)", "PCIe access control redirects transfers between devices"),
    # RCCL warns so on every such machine, the well ones too, and its warning has the word hang.
    Sign(r"Missing \"?(?:amd_)?iommu=(?:pt|on)\"? from kernel command line|^BOOT_IMAGE=(?![^\n]*iommu)", "the kernel was booted without iommu=pt", POSSIBLE, anywhere=(r"(?<!instability or )(?<!instablity or )" + HALTS + r"|\b(?:all_?reduce|barrier|broadcast|all_?gather\w*) \([^()\s]+\.pyx?:\d+\)", r"\bRCCL\b|\bAMD Instinct\b", r"IOMMU group: \d|Missing \"?(?:amd_)?iommu="), unless=(r"Avg bus bandwidth|Collective test concluded",)),
    Sign(r"IO_PAGE_FAULT|DMAR:[^\n]*fault", "the IOMMU refused a transfer", LIKELY),
    Sign(r"\b(?:IOMMU|ACS|VT-d|AMD-Vi)\b[^\n]{0,60}(?:enabled|on\b|turned on|active|disabl\w+[^\n]{0,30}(?:fix|work|solv|help))", "the IOMMU or access control is on", anywhere=(HALTS + r"|P2P|p2p|peer|\b(?:work|solv|help|fix)\w*\b|\w \([^()\s]+\.pyx?:\d+\)",), prose=True),
    Sign(r"P2P=Enabled[^\n]*Matrix[^\n]*\n\s*D\\D[^\n]*(?:\n\s*(?:\(|\^C|[^\n]*(?:Killed|killed|hang)|\Z)|\Z)", "the test of peers stops where peers are used"),
    Sign(r"NCCL_P2P_(?:DISABLE=1|LEVEL=(?:LOC|NVL|0)) [^\n]*\n(?:[^\n]*\n){0,12}?\s*\d+ +\d+ +(?:float|half|double|b?float16|u?int\w*) +\w+ +-?\d+ +[\d.]+ ", "it works without peer-to-peer transfers", anywhere=(r"\b(?:all_?reduce|barrier|broadcast|all_?gather\w*) \([^()\s]+\.pyx?:\d+\)|no rows|" + HALTS,)),
    Sign(r"P2P is disabled between NVLINK connected GPUs|(?:cu|cuda|hip)Ipc(?:Open|Get)MemHandle\b[^\n]{0,80}(?:failed|return value|invalid|error)|(?:invalid|error|failed)[^\n]{0,60}\b(?:cu|cuda|hip)IpcOpenMemHandle|open_mem_handle[^\n]*(?:invalid|error|fail)", "a device cannot open its peer's memory", unless=(r"container|--ipc|pid namespace",)),
    Sign(r"P2P access from peer device is not supported by the chipset|amdgpu: failed to map peer|cannot be used for peer-to-peer DMA as the client and provider", "the kernel refuses transfers from device to device", POSSIBLE, anywhere=(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)",)),
    Sign(r"arm-smmu[^\n]*event 0x10 received|arm-smmu[^\n]*(?:F_TRANSLATION|Unhandled context fault)", "the IOMMU refused a transfer"),
    Sign(r"NCCL_IGNORE_DISABLED_P2P set by environment to [1-9]", "peer-to-peer transfers are used although the driver says that they do not work here", passing=True, anywhere=(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)",)),
    Sign(r"^\s*GPU\d+\b[^\n]*\b(?:CNS|TNS|GNS)\b", "the driver says that some devices cannot reach each other", POSSIBLE, anywhere=(HALTS + r"|\b(?:all_?reduce|barrier|broadcast|all_?gather\w*) \([^()\s]+\.pyx?:\d+\)",)),
    Sign(r"CAN(?:NOT)? Access Peer Device", "the matrix of peers was asked for", LIKELY, anywhere=(r"CANNOT Access Peer|until (?:the process|it) is killed|" + HALTS,)),
    Sign(r"\b(?:simpleP2P|p2pBandwidthLatencyTest|Verification error)\b(?! (?:pass|work|succe|run|complet|is fine|ok\b))[^\n;]{0,80}(?:fail|hang|error|Nan|0\.00)", "the test of peers fails", prose=True),
    Sign(r"P2P/(?:direct pointer|IPC|CUMEM)|via P2P|isAllDirectP2p 1", "peers are used directly, over the bus, and the first call hangs", POSSIBLE, anywhere=(HALTS + r"|neither (?:returns|finishes)|100 ?%", r"\b(?:[345]0[6789]0|[12]080|A\d000|A10G?|L40S?|L4|RTX|GTX|TITAN|GeForce|Ada)\b|^GPU\d\b[^\n]*\b(?:PHB|SYS|NODE|PXB|PIX)\b|\bno NVLink|without NVLink"), unless=(r"via NET/|^GPU\d\b[^\n]*\bNV\d+\b|SeqNum=\d{3,}|illegal memory|out of memory|Connection refused|Error while creating shared memory",)),
    Sign(r"Init COMPLETE|Connected all (?:rings|trees)", "the communicator is up, and its first call hangs on cards without NVLink", POSSIBLE, anywhere=(HALTS + r"|neither (?:returns|finishes)|100 ?%", r"^GPU\d\b[^\n]*\b(?:PHB|SYS|NODE|PXB|PIX)\b|\b(?:4090|3090|5090|2080 ?Ti|RTX \w+)\b", r"P2P"), unless=(r"via NET/|^GPU\d\b[^\n]*\bNV\d+\b|SeqNum=\d{3,}|illegal memory|out of memory|Connection refused|Error while creating shared memory|Could not enable P2P|P2P is disabled",)),
)  # fmt: skip

_STEPS = (
    "NCCL_P2P_DISABLE=1 torchrun …   # proves it",
    "lspci -vvv | grep -e ACSCtl; dmesg | grep -i -e iommu -e dmar",
    "p2pBandwidthLatencyTest",
)
_TITLE = "direct transfers between the GPUs of this machine do not work"
_WITHOUT = regex(r"\bNCCL[_ ]P2P[_ ](?:DISABLE[ =]1|LEVEL[ =](?:LOC|NVL|0))\b")
# Rows of nccl-tests, and steps.
_RESULTS = (
    r"^ *\d+ +\d+ +(?:float|half|double|b?float16|u?int\w*) +\w+ +-?\d+ +[\d.]+ |# Avg bus bandwidth|"
    r"\b(?:step|iter\w*|epoch)\W+\d+\b[^\n]*\bloss\b"
)


def check(case: Case) -> Iterator[Finding]:
    found = [*hits(case, _SIGNS), *_tried(case), *_one_kernel(case)]
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


# An all-reduce of one kernel, which writes into the memory of its peers; the table of nvidia-smi topo -m, without NVLink and with it.
_ONE_KERNEL = (
    r"\bPCIe (?:one-?shot|two-?shot|custom)[ _]all_?reduce\b|"
    r"\b(?:one-?shot|custom)[ _]all_?reduce\b[^\n]{0,40}\b(?:over|via|on) PCIe\b"
)
_OVER_BUS, _OVER_NVLINK = r"^\s*GPU\d\b[^\n]*\b(?:PHB|SYS|NODE|PXB|PIX)\b", r"^\s*GPU\d\b[^\n]*\bNV\d+\b"


def _one_kernel(case: Case) -> Iterator[Hit]:
    """An all-reduce of one kernel over the bus was begun, whoever only informs of it, and something stands."""
    known = accounts(case)
    if not any(one.find(HALTS + r"|\bsilence\b|\b100 ?%") for one in known) or case.snapshot.live:
        return
    if not any(one.find(_OVER_BUS) for one in known) or any(one.find(_OVER_NVLINK) for one in known):
        return
    for one in known:
        if (line := one.find(_ONE_KERNEL)) is not None:
            yield Hit(Sign("", "a kernel writes into the memory of its peer over the bus", POSSIBLE), one, line)


def _tried(case: Case) -> Iterator[Hit]:
    """A run without peers, by its heading, that gave results, beside one that stands."""
    if not halted(case):
        return
    for one in accounts(case):
        line = one.find(_RESULTS) if _WITHOUT.search(one.label) else None
        if line is not None:
            yield Hit(Sign("", "it works without peer-to-peer transfers"), one, line)


RULE = make_rule(__name__, __doc__, "p2p-iommu-hardware", 28, check)
