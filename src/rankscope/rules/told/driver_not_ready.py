"""The driver, or a service it needs, is not up.

## What it means
On machines with NVSwitch CUDA works only when the fabric manager runs in exactly the driver's version; elsewhere the kernel module is not
loaded, or the driver was updated under running libraries. Every rank of that node fails or waits at its first CUDA call.

## How it is recognised
`system not yet initialized` (802), `system driver mismatch` (803), a fabric state that is not completed, `NVIDIA-SMI has failed`,
`Driver/library version mismatch`, a fabric manager that is inactive or of another version. Also an MPS server or IMEX service that
does not let the program in, and a container that lost its devices (`Failed to initialize NVML: Unknown Error` after `systemctl daemon-reload`).
A kernel module that the fabric manager or the device needs (`ib_umad`) is not loaded. Runtimes of Gaudi, TPU, Trainium and Ascend that
cannot open their device; a service that counts other devices than the driver does; an IMEX domain that is not up; pods of the GPU operator that still start.

## What to do
`systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric; cat /proc/driver/nvidia/version`. Install
nvidia-fabricmanager in the driver's version and start it; reboot after a driver update. Restart the container (or the MPS server:
`echo quit | nvidia-cuda-mps-control`) where only it lost its devices.

## How to prevent it
Pin both packages together; a node check before the scheduler hands the node out.
The error: https://github.com/pytorch/pytorch/issues/35710
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._outcomes import SERVES
from ._signs import POSSIBLE, Sign

_SIGNS = (
    Sign(r"nvls\.cc[^\n]*Cuda failure|(?:bind|creat\w{0,20}|allocat\w{0,20})[^\n]{0,40}(?:NVLink SHARP|NVLS|[Mm]ulticast)[^\n]*(?:fail|error|memory)|(?:NVLS|NVLink SHARP|[Mm]ulticast)[^\n]{0,60}(?:CUDA error|Cuda failure|\b401\b|failed)|system or configuration error in the Fabric Manager",
         "memory of the switches cannot be had: the fabric manager was restarted or is not complete"),
    Sign(r"Error 803|unsupported display driver / cuda driver combination|API mismatch: the client has the version|kernel module[^\n]{0,40}version[^\n]{0,60}(?:does not match|mismatch|but this)", "kernel module and library of the driver are of two releases", until=SERVES),
    Sign(r"Found no NVIDIA driver|no NVIDIA driver on your system|NVIDIA driver is not loaded|driver not loaded|nvidia-container-cli: (?:initialization|detection|mount) error|could not select device driver|Failed to load NVML|libnvidia-ml\.so[^\n]*(?:not found|No such)|libcuda\.so[^\n]*(?:cannot open|not found|No such)",
         "the driver is not there for the program"),
    Sign(r"cuInit\b[^\n]{0,60}(?:fail|error|unknown|returned)|CUDA driver initialization failed|CUDA unknown error|cudaErrorUnknown|CUDA_ERROR_UNKNOWN|Unexpected error from cudaGetDeviceCount|cudaErrorInitializationError", "CUDA cannot start", POSSIBLE, unless=(r"forked subprocess|\bfork\w*\b|multiprocessing|child process|subprocess",)),
    Sign(r"no CUDA-capable device is detected|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|No HIP GPUs are available|No CUDA GPUs are available", "no device is seen", POSSIBLE),
    Sign(r"/dev/kfd[^\n]*(?:Permission denied|No such|unable|fail)|amdgpu(?!: SRAT)[^\n]*not (?:loaded|found)|ROCk module is NOT loaded|dcmi (?:module|model) initialize failed|drvErr=87|TsdOpen failed|/dev/davinci\w*[^\n]*(?:No such|fail)|TPU is already in use by process|/dev/accel\d[^\n]*busy",
         "the device's driver does not let the program in"),
    Sign(r"system not yet initialized|SYSTEM_NOT_READY|cudaErrorSystemNotReady|(?:Error|failure|code|returned|error=) ?[\(\[]?802\b", "CUDA says that the system is not ready"),
    Sign(r"system (?:has|not|driver)[^\n]{0,30}driver[^\n]{0,20}mismatch|SYSTEM_DRIVER_MISMATCH|(?:Error|failure) 803\b|Driver/library version mismatch", "driver and library do not fit", until=SERVES),
    Sign(r"fabric ?manager[^\n]{0,80}(?:not (?:running|installed|started|active)|(?:can ?not|could not|unable to) (?:be )?(?:start|run|initiali[sz]e)\w*|inactive|dead|failed|fail|stopped|mismatch|different|older|newer|missing|version(?! is\b| ?:))|(?:not running|failed to start|(?:can ?not|could not|unable to) start|inactive|missing)[^\n]{0,40}fabric ?manager",
         "the fabric manager does not run, or not in the driver's version"),
    Sign(r"Fabric\b[^\n]{0,40}(?:In Progress|Not Started|incomplete|never reported|Failure)|^[^\S\n]*Fabric\s*\n\s*State\s*:\s*In Progress", "the fabric is not set up"),
    Sign(r"NVIDIA-SMI has failed because it couldn't communicate|Failed to initialize NVML|nvidia\.ko|modprobe[^\n]*nvidia|No devices were found|/dev/nvidia[^\n]*(?:No such file|missing|ENOENT|EPERM|Operation not permitted)",
         "the driver is not loaded"),
    # The fabric manager of NVLink 5 speaks to the switches by InfiniBand's management packets, and looks for ib_umad before it starts.
    Sign(r"\b(?:ib_umad|ib_uverbs|nvidia\w*|amdgpu(?!: SRAT)|habanalabs|gdrdrv)\b[^\n]{0,16}\b(?:has not been|is not|was not|not|could not be|isn't) (?:loaded|inserted|found)\b|\bNo (?:NVSwitch|Infiniband|IB) devices? (?:found|detected)[^\n]{0,60}(?:fabric|NVL)", "a kernel module that the GPUs need is not loaded", unless=(r"(?:successfully|now) loaded|\bnot (?:needed|required)\b",)),
    Sign(r"\b(?:ibv_reg_mr|fi_mr_reg|memory registration|reg_mr|[Rr]egister\w* memory)\b[^\n]{0,100}\b(?:cudaMalloc\w*|hipMalloc|device memory|GPU (?:memory|buffers?|pointers?))\b[^\n]{0,40}\b(?:fail\w*|Bad address|EFAULT)", "the network card cannot take memory of the device: GPUDirect's kernel module is not there"),
    Sign(r"\b[Nn]umber of (?:GPUs?|devices|accelerators|cards)\b[^\n]{0,60}?\b(?P<one>\d{1,3}) (?:is not equal to|is not|does(?:n't| not) (?:equal|match)|differs from|!=) [^\n]{0,60}?\b(?!(?P=one)\b)\d{1,3}\b", "a service of the node counts other devices than the driver"),
    Sign(r"nvidia-peermem|nv_peer_mem", "GPUDirect's kernel module is named", POSSIBLE, also=(r"not loaded|missing|fail|No such",), prose=True),
    Sign(r"CUDA_ERROR_MPS_\w+|cudaErrorMps\w+|\bMPS (?:client|server|control daemon)\b[^\n]*(?:fail|not ready|not be (?:reached|started)|not running|denied|too many|exhausted)|hardware resources required to create MPS client|nvidia-cuda-mps-\w+[^\n]*(?:not running|defunct|dead|killed)", "the server that shares the GPU does not let the program in"),
    Sign(r"MNNVL[^\n]*(?:not working|fail|error)|imex[-_ ]channels?\b[^\n]*(?:missing|No such|fail|not|denied)|cuMemImportFromShareableHandle[^\n]*(?:fail|error|not permitted)|CU_MEM_HANDLE_TYPE_FABRIC[^\n]*(?:fail|not supported|not permitted|800|801)", "memory of other nodes of the NVLink fabric cannot be had: IMEX is not set up"),
    Sign(r"Cuda failure (?:3 )?'initialization error'", "CUDA cannot start", POSSIBLE, unless=(r"forked subprocess|\bfork\w*\b|multiprocessing|child process|subprocess",)),
    Sign(r"\b(?:driver|nvidia-\w+|kernel)\b[^\n]{0,40}\b(?:upgrad|updat|install)\w*[^\n]{0,60}\b(?:until (?:a |the )?(?:reboot|restart)|needs? a reboot|not rebooted|without (?:a )?reboot)|\bunattended[- ]upgrad\w+[^\n]{0,80}\b(?:driver|CUDA|GPU)", "the driver was replaced under the running system", prose=True),
    Sign(r"\b(?:containers?|pods?)\b[^\n]{0,30}\b(?:no longer|does(?:n't| not)|do not|cannot|can't|lost|loses?)\b[^\n]{0,16}\b(?:see|find|access|its|their|the)?\b[^\n]{0,8}\bGPUs?\b|nvidia-smi[^\n]{0,40}(?:NVML|initiali[sz]e)[^\n]{0,12}Unknown Error", "the container lost its devices", prose=True),
    Sign(r"\bsystemctl daemon-reload\b", "the container lost its devices", anywhere=(r"\b(?:NVML|nvidia-smi|GPUs?|CUDA)\b",), prose=True),
    Sign(r"\bfabric ?manager\b[^\n]{0,40}(?<!\b0 )\berrors?\b", "the fabric manager reports errors", prose=True),
    Sign(r"\b(?:NVML|driver)\b[^\n]{0,16}\bmismatch|\bdriver\b[^\n]{0,30}\b(?:upgrad|updat|replac)\w*\b[^\n]{0,16}\bwhile\b", "the driver was replaced under the running system", prose=True),
    Sign(r"failed call to cuInit|\bdrv(?:Err|RetCode) ?= ?[1-9]\d*|\baclInit failed|GPU driver is not loaded|(?:PI|UR_RESULT)_ERROR_DEVICE_NOT_FOUND|No device of requested type available|could not create device node", "the driver does not let the program in", unless=(r"forked subprocess|os\.fork\b",)),
    Sign(r"hipErrorNoDevice|no ROCm-capable device", "no device is seen", POSSIBLE),
    Sign(r"imex[^\n]{0,60}(?:not running|fail|timed? out|inactive|unavailable)|\bimex\b[^\n]*\n(?:activating|inactive|failed|deactivating|unknown)\s*$|^[^\S\n]*Domain State: (?!UP\b)\w+", "the IMEX service does not run"),
    # What Gaudi's, Google's and Amazon's runtimes say where the driver, or who else has the device, keeps them out.
    Sign(r"synStatus ?= ?(?!20\b)\d+\b[^\n]*Device acquire failed|\bdcmi model initialized failed|Unable to initialize backend '(?:cuda|rocm|tpu|METAL)'[^\n]*(?:no supported devices|No visible|initialization failed)|\bnrt_init failed|\b(?:habanalabs|amdgpu|nvidia|i915|xe)\w*: (?:Unknown symbol|disagrees about version of symbol)|Couldn't open (?:device|iommu group):? ?/dev/(?:accel|vfio/)|\bTPU initialization failed\b|\bNRT:nrt_init\b[^\n]*(?:Unable to|fail|not available)|Unable to determine Neuron Driver version|Could not open the nd\d|No neuron device available", "the device's driver does not let the program in"),
    # The operator that puts drivers on the nodes of Kubernetes: its pods, and what their validator says while it waits.
    Sign(r"\bnvidia-(?:driver|container-toolkit|operator-validator|device-plugin|fabricmanager)\S*\s+0/\d+\s+(?:CrashLoopBackOff|Error|Init:|ImagePull)|waiting for nvidia container stack to be setup", "the driver of the node is still being set up", until=r"\bnvidia-operator-validator\S*\s+1/1\s+Running|all validations are successful"),
    Sign(r"couldn't find libnvidia-ml\.so|could not insert '?(?:nvidia|amdgpu|habanalabs|xe|i915)|nvidia-persistenced failed to initialize|^[^\S\n]*Fabric\s*\n\s*State\s*:\s*Not Started", "the driver is not loaded, or its services are not up"),
    Sign(r"\bGPUs Ready state: not-ready", "the GPUs of a confidential machine were not set ready"),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "driver-not-ready", 17, "the driver or its fabric manager is not ready", _SIGNS,
    ("systemctl status nvidia-fabricmanager", "nvidia-smi -q | grep -A2 Fabric; cat /proc/driver/nvidia/version", "journalctl -u nvidia-fabricmanager -b"),
)  # fmt: skip
