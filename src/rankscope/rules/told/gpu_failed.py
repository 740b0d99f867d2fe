"""A GPU, its link or its memory has failed, and everything that talks to it waits.

## What it means
The device stopped answering: it fell off the bus, has memory errors that cannot be corrected, or its NVLink or PCIe link is
broken. The process that uses it hangs in the driver, the others wait for that process, and NCCL's time-out comes much later.

## How it is recognised
The kernel's log has an Xid that stands for hardware (48, 62-64, 74, 79, 92, 94, 95, 119, 120, 140, 143, 149, 154 …), a fatal
SXid of a switch, or PCIe errors on the device's port; `nvidia-smi` cannot open one GPU or shows `ERR!`; a program reports an
uncorrectable ECC or NVLink error; the driver asks for a reset (`GPU Recovery Action`); the drivers of Gaudi, Ascend, Intel, AMD and Trainium have messages of their own. Xids 13, 31, 43 and 45 usually come from the program and do not count.

## What to do
Drain the node: `nvidia-smi -q -i BUSID`, `dmesg -T | grep -i -e xid -e nvrm -e aer`, `dcgmi diag -r 3`, then reset or replace the
GPU. Restart the job elsewhere; nothing in the job's code is at fault.

## How to prevent it
A health check before each run (`dcgmi diag -r 2`), and alarms on Xid, row remapping and PCIe replay counters.
The numbers are explained in https://docs.nvidia.com/deploy/xid-errors/index.html; a case: https://github.com/rwth-i6/returnn/issues/1486
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._kernel import xid
from ._signs import POSSIBLE, Sign

_HARD = "(?:48|62|63|64|74|79|92|94|95|109|110|119|120|121|123|136|137|140|143|144|145|149|150|151|154|155|156)"
_HARD_XID = xid(_HARD)
# Where several ranks were given one GPU, it is no wonder that it is always the same.
_SHARED = r"[Dd]uplicate GPU|\bset_device\b|\bLOCAL_RANK\b|\b(?:all|both|two|several) (?:\w+ )?(?:ranks|processes|workers)\b[^\n]{0,30}\b(?:same|one) (?:\w+ )?(?:GPU|card|device)\b"
# A count of none, and a question that is answered by no.
_SOME = r"(?!(?:[^\n:=\d]{0,40}[:=]|[a-z ]{0,12}) *(?:0|No|None|False|N/A)\b)"
_SLOWED_DOWN = r"\bHW (?:Thermal |Power Brake )?Slowdown\s*: Active"
_TIMED = (
    r"\d ?(?:s|sec|seconds?|ms)/(?:it|step|iter|iteration|batch)\b|\b(?:it|step|iter|iteration|batch)e?s?/(?:s|sec)\b"
)
_SIGNS = (
    Sign(r"\b(?:gpu|device) (?:has )?fallen off the bus|\bGPU is lost\b|gpu (?:is )?lost\b", "a GPU fell off its bus"),
    Sign(_HARD_XID, "the kernel reports an Xid that stands for hardware"),
    # What the driver asks for (nvmlDeviceGetGpuRecoveryAction; its plain answer is None), as nvidia-smi -q and its queries show it.
    Sign(r"\bGPU Recovery Action\s*: *(?:GPU )?(?:Reset|(?:Node )?Reboot|Drain)\b", "the driver asks for a reset of a GPU or its node"),
    Sign(r"^(?:[\w:.-]{1,40}, *){1,8}(?:GPU )?(?:Reset|(?:Node )?Reboot|Drain(?: P2P| and Reset)?) *(?:,|$)", "the driver asks for a reset of a GPU or its node", also=(r"\bgpu[_ ]recovery[_ ]action\b",)),
    # dcgmi dmon -e 230: the last Xid of each GPU, alone or in the last column.
    Sign(rf"^GPU \d{{1,3}}(?: +[\w./-]{{1,20}}){{0,12}} +{_HARD} *$", "the last Xid of a GPU is one that stands for hardware", also=(r"^#? ?Entity\b[^\n]*\bXIDER *$",)),
    # nvidia-smi -q: counts since the driver was loaded stand before those of all time, which old errors stay in.
    Sign(r"\bVolatile\b[^\n]*\n(?:[^\n]*\n){0,7}?[^\n]*(?:[SD]RAM Uncorrectable(?: [\w-]+)?|Double Bit[^\n]*\n(?:[^\n]*\n){0,8}?[^\n]*Total)\s*: [1-9]", "memory or link errors that cannot be corrected"),
    Sign(r"\bLink \d{1,2}: (?:Replay|Recovery|CRC(?: \w+)?) Errors?: [1-9]\d{3,}|\bReplays Since Reset\s*: [1-9]\d{3,}", "the link of a GPU repeats what it sends again and again", POSSIBLE),
    # Numbers that are read as minutes too count only where the kernel writes them.
    Sign(r"Xid \(PCI[^)\n]*\): (?:38|54|56|57|58|61|158|160|171|172)\b", "the kernel reports an Xid that stands for hardware"),
    Sign(r"\bBus (?:Fatal|Uncorrectable) Error\b[^\n]*\bAssert|\binfo ?ROM is corrupted|\bERREVENT_ATHUB_INTERRUPT\b|\bRAS (?:event of type|poison (?:is )?consum)", "the device reports errors that cannot be corrected"),
    Sign(r"\bnvidia-smi\b[^\n]{0,60}(?<!NVML: )\bUnknown Error\b", "the driver cannot read a GPU any more", unless=(r"Failed to initialize NVML|initiali[sz]e NVML",)),
    Sign(r"Unable to determine the device handle", "the driver cannot open a GPU any more"),
    Sign(r"uncorrectable (?:volatile )?(?:ECC|NVLink|memory)" + _SOME + r"|double[- ]bit (?:ECC )?error" + _SOME + r"|ECC_UNCORRECTABLE|NvlinkUncorrectable|CUDA_ERROR_CONTAINED|Invalid access of peer GPU memory over nvlink|NETIR_LINK_DOWN|cudaErrorContained",
         "memory or link errors that cannot be corrected"),
    Sign(r"row[- ]remap\w*[^\n]{0,20}(?:fail\w*|pending)" + _SOME + r"|Remapping Failure Occurred *: *Yes", "memory rows could not be remapped"),
    Sign(r"nvswitch[^\n]{0,200}SXid[^\n]*(?:fatal|\b(?:1[12]\d{3}|2\d{4})\b)", "an NVSwitch reports an error"),
    Sign(r"\bERR!", "nvidia-smi cannot read a value of a GPU"),
    Sign(r"hardware stack error|CUDA_ERROR_HARDWARE|GSP (?:RPC )?(?:timeout|error)|Timeout after \d+s of waiting for RPC response from GPU",
         "the GPU's own processor does not answer"),
    Sign(r"GPU (?:requires|needs|is in need of) (?:a )?reset|Reset Required *: *Yes|RmInitAdapter failed|rm_init_adapter failed|Pending page blacklist\s*:\s*Yes|NVRM:[^\n]*(?:GPU at PCI\S* has fallen|failed to (?:allocate|copy)|Assertion failed: Sysmemdesc)", "the driver cannot bring a GPU up"),
    Sign(r"amdgpu[^\n]{0,200}(?:GPU reset(?:\(\d+\))? (?:begin|failed)|ring \S+ timeout|RAS\b[^\n]*(?:error|fatal)|uncorrectable|device lost|failed to (?:recover|reset))|(?:HBM|device)[^\n]{0,20}(?:multi[- ]bit|uncorrectable)[^\n]{0,10}ECC|\bnpu\b[^\n]{0,40}\b(?:lost|fault|unhealthy|offline)", "an accelerator's driver reports a fault"),
    Sign(r"mce: \[Hardware Error\](?!: Machine check events logg)|EDAC[^\n]*\bUE\b|Machine check(?! events logg)|Hardware Error[^\n]*[Ff]atal", "the machine reports a hardware error"),
    # The kernel says so of errors that were corrected, too.
    Sign(r"Machine check events logged", "the machine has logged errors, corrected or not", POSSIBLE, unless=(r"\bCE memory|Corrected error",)),
    Sign(r"\b(?:replac|swapp|reseat|exchang)\w{0,20}[^\n]{0,40}\b(?:GPU|card|riser|cable|PSU|power supply|NVLink bridge|board|motherboard)\b[^\n]{0,60}(?:fix|solv|work|cure|resolv|gone|help|stable|fine|never again|no more)|(?:fix|solv|work|cure|resolv|gone)\w{0,20}[^\n]{0,40}\b(?:replac|swapp|reseat)\w{0,20}[^\n]{0,30}\b(?:GPU|card|riser|cable|PSU|power supply|NVLink bridge)", "another part cured it", prose=True),
    # A function that is switched off to save power reads so too: its sound, or the second card of a notebook.
    Sign(r"^(?![^\n]*(?:Audio|USB|UCSI|Mobile|Max-Q))[^\n]*\(rev ff\)|\bdcgmi\b[^\n]*\b[Ff]ail|\|\s*(?:GPU Memory|PCIe|Memory Bandwidth|Diagnostic|Targeted Power|NVBandwidth)\s*\|\s*Fail", "a test of the device or its bus fails"),
    Sign(r"\b(?:one|a|two|the) (?:\w+ )?(?:GPU|card)s?(?: \d+)? (?:is|are|was|were|has|have)? ?(?:missing|gone|disappeared|vanished|not listed|no longer (?:listed|visible|there))\b|\b(?:nvidia-smi|lspci|rocm-smi|npu-smi)\b[^\n]{0,40}\b(?:shows?|lists?|sees?|finds?)\b[^\n]{0,12}\b(?:only )?(?:\d|one|three|five|seven) of (?:the )?(?:\d+|two|four|eight)\b", "a GPU is no longer there", prose=True),
    Sign(r"\b(?:always|only ever)\b[^\n]{0,30}\b(?:same|this|that|one) (?:physical )?(?:GPU|card|bus id|slot)\b|\b(?:without|excluding|leaving out|skipping)\b[^\n]{0,12}\b(?:GPU|card|device) ?#?\d\b[^\n]{0,30}\b(?:works?|runs?|fine|ok|pass\w*|no hang)\b", "it is always the same GPU", POSSIBLE, unless=(_SHARED,), prose=True),
    # A card that is slowed down makes a job slow where its steps are timed, and is no dead one.
    Sign(_SLOWED_DOWN, "the device reports that it cannot work as it should", unless=(_TIMED,)),
    Sign(_SLOWED_DOWN, "the device reports that it is slowed down", POSSIBLE),
    Sign(r"\bdevice (?:is )?wedged\b|\bAER:[^\n]*(?:Uncorrect\w*|Fatal)(?! *: *0)|NPU[^\n]{0,30}\bhealth\b[^\n]{0,12}\b(?:Critical|Alarm)\b", "the device or its link reports that it cannot work as it should", unless=(r"severity=Corrected",)),
    Sign(r"\b(?:PC|machine|computer|desktop|workstation|laptop|box|rig|tower|whole system|entire system|host|instance)\b[^\n]{0,50}\b(?:restarts?|reboots?|restarted|rebooted|powers? (?:itself )?off|powered off|shuts? (?:itself )?(?:down|off)|switch(?:es|ed)? (?:itself )?off|turns? (?:itself )?off|(?:just )?turned (?:itself )?off|shut (?:itself )?(?:down|off)|went (?:off|dark)|powered down)\b|\b(?:server|node)s?\b[^\n]{0,40}\b(?:reboots?|powers? off|powered off|switches off|crash(?:es|ed) and (?:restarts|reboots))\b", "the machine goes off under load: power, heat or a broken part", POSSIBLE, unless=(r"\b(?:needs?|have|had|has|must|until|after|before|requires?|only|please|try) (?:to |a |an |the )?(?:\w+ ){0,2}(?:reboot|restart|power)|\boom\b|out of memory|maintenance|preempt|\brestart\w*(?: of)? (?:the |its |that |a )?(?:\w+ )?(?:service|worker|job|process|server|pod|container|kernel|trainer|run|app|program)\b",), prose=True),
    Sign(r"\b(?:GPU|card|device)s?\b ?#?\d*[^\n]{0,24}\bthrottl(?!e[_ ]reasons|ers?\b)\w+|\bpower brake\b(?!\s*(?:Slowdown)?\s*: *Not)|\bthermal(?:ly)? throttl\w+", "a GPU is throttled", prose=True),
    Sign(r"\bLnkSta:[^\n]*\bWidth x[124]\b[^\n]*downgraded|\bLnkSta:[^\n]*Width x[124] \(downgraded\)|Link Width\s+Max\s*: (?:8|16)x\s+Current\s*: [124]x", "the link of a GPU runs on few lanes: a slot, riser or cable is bad"),
    Sign(r"\b(?:NVLink bridge|bridge|riser|cable|card|GPU|board|connector|module|DIMM)s?\b[^\n]{0,30}\b(?:not (?:been )?(?:properly |fully |correctly )?seated|loose|defective|faulty|(?:is|was|were) (?:broken|bad)|(?-i:RMA(?:e?d|s)?))\b", "a part is said to be bad", prose=True),
    Sign(r"\b(?:problem|hang|error|failure|it)\b[^\n]{0,12}\b(?:moves?|follows?|wanders?|goes)\b[^\n]{0,8}\b(?:with )?the (?:card|GPU|board)\b|\bswapp\w+\b[^\n]{0,30}\bmoves\b|\balways\b[^\n]{0,60}\bsame (?:physical )?(?:card|GPU|UUID|device|slot)\b", "the trouble goes where the card goes", unless=(_SHARED,), prose=True),
    Sign(r"(?:\b(?:exclud\w+|leav\w+ out|drain\w+|replac\w+|swapp\w+|avoid\w+|skipp\w+)|--exclude\b)[^\n]{0,20}\b(?:node|host|machine|GPU|card|board|server)\b", "it is gone without one node or card", POSSIBLE, cures=True),
    Sign(r"\b(?:GPU|card|device)s?\b[^\n]{0,30}\b(?:runs? at|stays? at|stuck at|sits at|drops? to|clocks? (?:at|of|is))\b[^\n]{0,10}\b[1-9]\d{2} ?MHz", "a GPU is throttled", prose=True),
    Sign(r"\b(?:nvidia-smi|rocm-smi|amd-smi|npu-smi|dcgmi)\b(?:(?! while| when| as | before| after| during)[^\n]){0,16}\b(?:hangs?|hung|blocks?|never returns?|does not return|is stuck|takes minutes)\b", "the driver does not answer on this node", prose=True),
    Sign(r"\b(?:took|tak\w+|left|leav\w+|kick\w+|remov\w+)\b[^\n]{0,30}\b(?:node|host|gpu|machine|server|card)[\w-]*\b[^\n]{0,20}\b(?:out\b|from the (?:list|allocation|hostfile|job|pool|set))", "it is gone without one node or card", POSSIBLE, cures=True),
    Sign(r"\bUncorrect\w* (?:hardware )?errors? (?:were |was )?detected|\bNPU\b[^\n]{0,40}\bALARM\b|\b0x80e0[\da-f]{4}\b", "the device reports errors that cannot be corrected"),
    Sign(r"\b(?:GPU|card|device)s?\b[^\n]{0,20}\b(?:disappears?|vanish\w*|drops? off|falls? off|goes missing|drops? out)\b", "a GPU is no longer there", prose=True),
    # The drivers of other makers: habanalabs (device.c, firmware_if.c), i915 and xe, pciehp and DPC of the kernel's PCI.
    Sign(r"\bDevice heartbeat failed|\bPCI link is broken|Failed to communicate with Device CPU|\bDevice is NOT usable\b|\bhabanalabs\b[^\n]*(?:uncorrectable|\bDERR\b|Failed to (?:reset|initialize the H/W))|declared device \S+ as wedged|\*ERROR\*[^\n]*(?:Failed to reset chip|FATAL HW error)",
         "an accelerator's driver reports a fault"),
    Sign(r"\bpciehp: Slot\([^)\n]*\): (?:Link Down|Card not present)|\bDPC: containment event|\bAER: (?:device recovery failed|can't recover)", "a device's link has gone", unless=(r"AER: device recovery successful",)),
    # torch_npu's names of what CANN reports (NPUQueue.cpp), the Neuron runtime's, and Cloud TPU's health of an instance.
    Sign(r"\b(?:UCE ERROR|HBM MULTI BIT ECC|SUSPECT MEM ERROR|HCCS LINK ERROR)\b|\bNRT_EXEC_HW_ERR_(?:NC_UE|HBM_UE|DMA_ABORT|REPAIRABLE_HBM_UE)|\bBAD_(?:TPU|SC)_CHIP\b", "the device reports errors that cannot be corrected"),
    Sign(r"\bgres/gpu count reported lower than configured", "the scheduler counts fewer GPUs than the node has"),
    Sign(r"PCIe Bus Error: severity=(?:Uncorrected|Fatal)", "PCIe errors that could not be corrected"),
    Sign(r"(?:PCIe Bus Error: severity=Corrected[^\n]*\n(?:[^\n]*\n){0,20}?[^\n]*){2}PCIe Bus Error: severity=Corrected", "the PCIe link corrects errors again and again", POSSIBLE),
    Sign(r"NVLink?\b[^\n]{0,60}\b(?:inactive|is down|replay error|fatal)", "an NVLink is down"),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "gpu-hardware-fault", 8, "a GPU or its link has failed", _SIGNS,
    ("dmesg -T | grep -i -e xid -e nvrm -e 'pcie bus error'", "nvidia-smi -q | grep -i -A3 -e 'bus id' -e ecc -e remap", "dcgmi diag -r 3"),
)  # fmt: skip
