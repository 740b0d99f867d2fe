"""Shared memory (/dev/shm) is full or too small.

## What it means
NCCL, PyTorch's loaders and queues put buffers into /dev/shm. A container has 64 MB of it unless told otherwise. Who cannot get a
segment fails or dies with a bus error; the others see closed connections.

## How it is recognised
NCCL's `Error while creating shared memory segment`, `posix_fallocate failed: No space left on device`, PyTorch's
`unable to write to file </torch_…>` or `insufficient shared memory (shm)`, and workers `killed by signal: Bus error`; `[Errno 28]` from
`_multiprocessing.SemLock` (semaphores lie there too) while the disks have space.
Segments of size 0 in `ls -l /dev/shm`. `No space left on device` from NCCL, which writes only segments of shared memory.

## What to do
`df -h /dev/shm; ls -l /dev/shm`. Docker: `--shm-size=16g` or `--ipc=host`; Kubernetes: an `emptyDir` with `medium: Memory` on
/dev/shm. Remove segments that dead jobs left behind. For the moment: `NCCL_SHM_DISABLE=1`, fewer workers.

## How to prevent it
Check the size before the run (`df -h /dev/shm` inside the container). The mechanism: https://github.com/NVIDIA/nccl/issues/342
"""

# ruff: noqa: E501, S108  (a sign is one line, and speaks of /dev/shm)
from __future__ import annotations

from ._room import NCCL_SAYS, room_rule
from ._signs import POSSIBLE, Sign

_FILES = r"Errno 24|Too many open files|ancdata"
_SIGNS = (
    # pandarallel puts what its workers get into shared memory, where it has that setting.
    Sign(r"No space left on device", "a library that keeps its files in shared memory found no space", anywhere=(r"\buse[ _]memory[ _]fs[ _]is[ _]on|\buse_memory_fs=True",)),
    # joblib tries a semaphore when it is imported, and loky and billiard make theirs as multiprocessing does.
    Sign(r"(?:No space left on device|\[Errno 28\])[^\n]{0,80}\bjoblib will operate in serial mode", "a library tried a semaphore, and those lie in /dev/shm"),
    Sign(r"\b_?SemLock(?:\.__init__)?\((?:[^\n]*\n){1,4}?[^\n]*(?:\[Errno (?:28|38)\]|No space left)|(?:_posixshmem|shm_open|ftruncate|shared_memory\.py)[^\n]*(?:\n[^\n]*){0,4}?(?:\[Errno 28\]|No space left|\[Errno 12\]|Cannot allocate)", "semaphores and segments of multiprocessing lie in /dev/shm, and there is none, or no space"),
    Sign(r"(?:No space left|\[Errno 28\])[^\n]*'/(?:psm|wnsm|sem|mp|torch)[_.-]\w+'", "a segment of multiprocessing could not be made"),
    Sign(r"^(?:shm|tmpfs|none)\s.*\s(?:9[89]|100)% +/dev/shm\b|(?:9[89]|100)% +/dev/shm\b", "/dev/shm is full"),
    Sign(r"not enough (?:space|memory)[^\n]{0,60}(?:/dev/shm|shared[- ]memory|backing file)|Please check that /dev/shm|cannot allocate (?:\w+ )?shared memory|Failed to (?:allocate|create|map) (?:\w+ )*(?:shared memory|shm)\b|mm_posix\.c[^\n]*(?:No space|Not enough|fail)",
         "a library could not get a segment"),
    Sign(r"\b(?:creating|attaching to|extend\w*|open\w*) (?:shared memory segment|/dev/shm/)[^\n]*", "NCCL could not get a segment",
         also=(r"No space left|size \d+|to \d+ bytes|\(28\)|Cannot allocate",)),
    Sign(r"[Uu]nable to (?:initialize|create|open|grow|extend|attach to) (?:the )?shared memory (?:key|region|segment|object|pool)[^\n]*(?:No space|shm-size|Cannot allocate)|\bshared[- ]memory\b[^\n]{0,160}No space left on device|No space left on device[^\n]{0,80}\bshared[- ]memory\b|unable to create shared memory BTL|interprocess_exception[^\n]*No space left", "a library could not get a segment"),
    Sign(r"^It appears as if there is not enough space for /dev/shm", "a library could not get a segment"),
    Sign(r"[Ee]mptyDir volume \"[^\"\n]*shm[^\"\n]*\" exceeds|[Ee]mptyDir volume \"[^\"\n]*\" exceeds[^\n]*(?:\n[^\n]*)*?\n[^\n]*medium: ?Memory", "the volume of shared memory is over its limit"),
    # NCCL writes no files but segments of shared memory.
    Sign(NCCL_SAYS, "NCCL found no space, and all that it writes are segments in /dev/shm"),
    Sign(r"posix_fallocate[^\n]*No space left|fallocate[^\n]*No space left", "a segment could not be filled with memory"),
    Sign(r"insufficient shared memory|out of shared memory|increas\w* (?:the )?(?:shm|shared memory)(?: size|[- ]limit)?",
         "the loader says that shared memory is too small"),
    Sign(r"Bus error[^\n]*(?:shm|shared memory|worker)|killed by signal: Bus error|unexpected bus error", "a process died writing to shared memory"),
    Sign(r"unable to (?:write to|mmap(?![^\n]*Cannot allocate memory)|resize|allocate)[^\n]*(?:file </?torch|shared memory)|unable to open[^\n]*shared memory[^\n]*(?:No space left|Cannot allocate)", "PyTorch could not get a segment",
         unless=(_FILES,)),
    Sign(r"unable to open[^\n]*(?:file </?torch|shared memory)", "PyTorch could not open a segment", POSSIBLE, unless=(_FILES, r"No such file or directory \(2\)")),
    Sign(r"/dev/shm\b[^\n]*(?:No space left|\b100%(?! (?:faster|slower|more|less|of)\b)|full\b)|(?:No space left)[^\n]*/dev/shm", "/dev/shm is full"),
    Sign(r"\b(?:ncclShmOpen|shmOpen|shm(?:Send|Recv)\w*|THManagedMapAllocator|MapAllocator|_share_filename\w*|_new_shared\w*)\b[^\n]*", "a process dies while it fills a new segment", also=(r"[Bb]us error|SIGBUS",)),
    # Segments of NCCL, PyTorch, Python, Open MPI and PSM that could be made and not be filled; the names as these libraries give them.
    Sign(r"(?:^[-rwxs]{10}[.+@]? +\d+ +\S+ +\S+ +0 [^\n]*[ /](?:nccl-|torch_|psm_|sem\.|vader_segment|sm_segment|cuda\.shm|psm\d_shm|mpich_shm|ucx_shm|nvshmem)\S*(?:\n|\Z)){4}", "segments lie there that could be made and not be filled, of starts that have crashed"),
    Sign(r"(?<!PCIe )\bbus error\b|\bSIGBUS\b|exit(?:ed)?(?: with)?(?: code| status)?\W{1,3}(?:-7|135)\b", "a process died of a bus error, as one does that writes to shared memory without space", POSSIBLE),
    Sign(r"--?shm[-_]size\b|\bshm_size\b|--ipc[= ]?host\b|\bhostIPC\b|\b(?:medium: ?Memory|emptyDir)\b[^\n]*|(?:larger|bigger|more|remount\w{0,20}|mount\w{0,20})[^\n]{0,30}(?:/dev/shm|\bshm\b|shared memory)|NCCL_SHM_DISABLE ?= ?1", "it works with more shared memory", cures=True),
    Sign(r"Non-exist[ae]nt physical address|\bBUS_ADRERR\b|exceeds /dev/shm size|(?<!will create a )(?:shmem|shared[- ]memory) backing file|OUT-OF-RESOURCE in file [^\n]*sh(?:m|mem)", "a page of a mapped file could not be had"),
    Sign(r"\bBus error\b|\bSIGBUS\b", "a process of a job died of a bus error, as one does that writes to shared memory without space", anywhere=(r"NCCL|DataLoader|multiprocessing|num_workers|--workers|torchrun|mpirun|mpiexec|\branks?\b|\bMPI\b|torch/utils/data|ProcessGroup",), unless=(r"\b(?:np\.)?memmap\b|mmap_mode|IndexedDataset|\.bin\b[^\n]*truncat",)),
    Sign(r"^(?![^\n]*\b[0-4]?\d%)[^\n]*?(?:\b(?:default|only|just|merely)\b[^\n]{0,16}\b64 ?M(?:i?B)?\b[^\n]{0,20}\b(?:shm|shared memory)|\b(?:shm|shared memory)\b[^\n]{0,20}\b64 ?M(?:i?B)?\b)", "shared memory is small", prose=True),
    Sign(r"\b(?:no|without|missing)\b[^\n]{0,8}(?:/dev/shm|\bshm\b|shared memory)[^\n]{0,12}\b(?:volume|mount\w*|size)\b", "shared memory is small", prose=True),
    Sign(r"/dev/shm has only \d+ bytes", "shared memory is small", POSSIBLE),
    Sign(r"shm_open[^\n]*failed|/dev/shm[^\n]*\b64M\b", "shared memory may be too small", POSSIBLE),
    Sign(r"OMP: Error #179: Function Can't open SHM\d? failed", "the runtime of OpenMP cannot open shared memory"),
)  # fmt: skip

_STEPS = ("df -h /dev/shm; ls -l /dev/shm", "docker run --shm-size=16g …   (or --ipc=host)")


RULE = room_rule(
    __name__, __doc__, "shm-exhausted", 11, "shared memory (/dev/shm) is full or too small", _SIGNS, _STEPS, shm=True,
    yields_to=("batch-refused",),
)  # fmt: skip
