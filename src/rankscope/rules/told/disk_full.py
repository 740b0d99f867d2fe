"""There is no space or quota left where the job writes.

## What it means
A checkpoint, cache, log or spill file cannot be written. The writing rank fails or tries again for ever; the others wait in the
barrier behind the write.

## How it is recognised
`No space left on device` or `Disk quota exceeded` about a file that is not shared memory; a table of file systems at 100 %.
Of a running job: the file system itself, where the process that others wait for has a file open to write, has nothing left.
Or its thread stands in the handler of that error, as the interpreter tells. A line of its log alone is a possibility.

## What to do
    df -h PATH; df -i PATH; quota -s; lfs quota -hu $USER PATH    # space, file numbers, quota
    du -xsh CHECKPOINT_DIR ~/.cache $TMPDIR | sort -h

Free space or point the checkpoint, `TMPDIR`, `HF_HOME`, `TORCHINDUCTOR_CACHE_DIR` and
`TRITON_CACHE_DIR` elsewhere. Then resume from the last complete checkpoint.

## How to prevent it
Keep fewer checkpoints, check the free space before writing, let a failed write fail on all ranks.
Case: https://github.com/databrickslabs/dolly/issues/139
"""

# ruff: noqa: E501  (a sign is one line, and speaks of /dev/shm and /tmp)
from __future__ import annotations

from ._room import NCCL_SAYS, WATCHES_USED_UP, room_rule
from ._signs import LIKELY, POSSIBLE, Sign

# The kernel's keys have a quota of their own (keyrings(7)).
_KEYS = r"\b(?:session keyring|create session key|add_key|request_key)\b"
_SHM = (
    rf"{_KEYS}|/dev/shm|\buse[ _]memory[ _]fs[ _]is[ _]on|[Ee]mptyDir volume \"[^\"\n]*shm|'/(?:psm|wnsm)_|/sem\.\w|file </?torch_|shared memory|shm_open|shared_memory\.py|_posixshmem|\b_?SemLock(?:\.__init__)?\(|\bjoblib will operate in serial mode|posix_fallocate|insufficient shm|inotify|\b(?:sem_?get|shmget|msgget|msg_get_queue)\b|"
    + NCCL_SAYS
)
# Images that are mounted to be read only are always full.
_WRITTEN = r"/(?!dev|sys|proc|run|snap|boot|var/lib/snapd|cvmfs|usr/lib/wsl|var/lib/(?:apptainer|singularity)/mnt|\S*/mnt/session/|(?:media/)?cdrom)\S*$"
# In a row of df(1) what is left stands before the share that is used: a copy that is done to 100% has none.
_USED = r"(?<!\S)(?:-?[\d.,]+(?:[KMGTPE]i?)?B?|-)\s+"
_FOLDER = r"(?<![\w/])['\"‘]?/(?!dev/shm\b|(?:psm|wnsm|mp|sem|torch|nccl)[-_.])[\w.-]+/"
# A card of InfiniBand names its own tables so, and an image that is only read is always full.
_WRITABLE = r"^(?![^\n]*\b(?:ibv_\w+|mlx\d_\d+|verbs|squashfs\w*|squashfuse|iso9660|erofs|cramfs)\b)[^\n]*?"
# A source names what it would say.
_SAID = r"^\s*(?:log(?:ger|ging)?\.\w+|print|raise \w+|throw \w+|assert\w*)[ (]+f?['\"][^\n]*(?:No space left|ENOSPC|disk (?:is )?full|out of (?:disk )?space|no (?:free )?(?:disk )?space)"
_SIGNS = (
    # Where /dev/shm is full Ray's object store maps files below /tmp/ray; a page without room there is a SIGBUS.
    Sign(r"\bBus error\b|\bSIGBUS\b", "a process died of a bus error, as one does that touches a page of the object store for which there is no room", anywhere=(r"\bplasma\b|\bobject[- _](?:store|spilling)\b|\braylet\b", r"[ /]tmp/ray\b|\bspilling\b|\bfall-?back alloc\w*"), unless=(r"\bdev/shm\b",)),
    Sign(_WRITABLE + r"(?P<said>No space left on device|\bENOSPC\b|\[Errno 28\])", "a write found no space", unless=(_SHM, _SAID, WATCHES_USED_UP)),
    # Whatever else of the case speaks of shared memory: here stands which folder is full.
    Sign(rf"{_FOLDER}[^\s'\"’:]*['\"’]?: No space left on device|No space left on device: ?{_FOLDER}", "a write found no space", unless=(_SAID,)),
    Sign(_WRITABLE + _USED + r"100% +" + _WRITTEN, "a file system is full"),
    Sign(r"Disk quota exceeded|\bEDQUOT\b|\[Errno 122\]|quota (?:is )?(?:exceeded|reached|full)|\b(?:rc = |failed with |error:? )-122\b", "a write went over the quota", unless=(_KEYS,)),
    Sign(_WRITABLE + r"(?P<said>disk (?:is )?full|filesystem (?:is )?full|out of (?:disk )?(?:space|inodes)|no (?:free )?(?:disk )?space (?:left|on|available|remain)\w*)",
         "a file system is full", unless=(_SHM, WATCHES_USED_UP)),
    Sign(r"\bdf\b[^\n]{0,80}\b(?:100 ?%|IUse% 100)|IUse%\W{0,3}(?:is )?100|\b(?:IUse%|inodes?)\b[^\n]{0,24}100 ?%|(?<![\w.])/(?!dev/shm)[\w./-]+ (?:is |at |was )*(?:100 ?%|full\b)", "a file system is full", unless=(_SHM,), prose=True),
    Sign(r"\b(?:free(?:d|ing) (?:up )?(?:disk )?space|delet\w+ (?:old )?(?:checkpoints|files|caches?)|clear\w* (?:the )?cache|(?:TMPDIR|HF_HOME|TRITON_CACHE_DIR|TORCHINDUCTOR_CACHE_DIR|XDG_CACHE_HOME)=)", "space elsewhere cures it", POSSIBLE, cures=True),
    Sign(r"\b\d+ requested and \d+ written\b|MDB_MAP_FULL|MapFullError|OUT-OF-RESOURCE[^\n]*(?:space|/tmp)|basic_ios::clear: iostream error", "a write found no space", LIKELY),
    Sign(r"database or disk is full|SQLITE_FULL|StorageFull|os error 28|errno ?[=:] ?28\b|Not enough (?:free )?disk space|Insufficient disk space|cannot create temp file for here-document|No usable temporary directory",
         "a program says that its disk is full", unless=(_SHM, WATCHES_USED_UP)),
    Sign(r"(?:\b(?:disk|partition|volume|filesystem|file system|drive|scratch|home|SSD|NVMe)|/(?:tmp|var))\b[^\n]{0,40}\b(?:was|is|were|got|became|ran|runs|fills?|filled) (?:completely |almost )?(?:full|up)\b(?! to (?!100)\d)|\bquota\b[^\n]{0,30}\b(?:used up|exhausted|hit|exceed\w*|reached|full)\b", "a file system is full", unless=(_SHM,), prose=True),
    Sign(r"mkdir failed \[28\]|[Ee]mptyDir volume \"[^\"\n]*\" exceeds the limit|exceed\w* (?:its |the )?(?:total )?(?:local )?(?:ephemeral )?(?:local )?storage (?:limit|usage)|storage usage exceeds", "a volume or a temporary folder is full", unless=(_SHM,)),
    Sign(r"\b[1-9]\d* (?:full osd|pool\(s\) full)|\bpool '?\S+'? is full\b|\bOSD_FULL\b|\bPOOL_FULL\b|\bOST_?\S* [^\n]*\b100% /", "the file system's servers are full"),
    Sign(r"low on resource: ephemeral-storage|ephemeral[- ]storage[^\n]{0,60}exceed\w*|\bDiskPressure\b[^\n]*\bTrue\b|EvictionThresholdMet[^\n]*(?:storage|disk|nodefs|imagefs)", "the node's disk is full for its containers"),
    Sign(r"is over 9\d% full|" + _USED + r"9[89]% +" + _WRITTEN, "a file system is nearly full", POSSIBLE, unless=(_SHM,)),
    Sign(r"inline_container[^\n]*unexpected pos \d+ vs \d+", "a checkpoint was written shorter than it is", unless=(_SHM,)),
    Sign(r"PytorchStreamWriter failed writing[^\n]*: file write failed", "a checkpoint could not be written to its end", unless=(_SHM,)),
    Sign(r"\blocal disk's utilization is over capacity|\bcurrently (?:not able|unable) to persist (?:on|to) disk|\b507 Insufficient Storage|Delayed block allocation failed[^\n]*error 28\b|\b(?:rc = |failed with |error:? |errno:? )-28\b|\bMPI_ERR_NO_SPACE\b|\bdisk watermark \[|\b(?:image|node)fs\.(?:available|inodesFree) ?<|\bImageFS available below\b|(?<!\[)\bErrno 28\b(?![^\n]*inotify)", "a program says that its disk is full", unless=(_SHM,)),
    Sign(r"PytorchStreamWriter failed writing|unexpected pos \d+ vs \d+|write failed[^\n]*file too short", "a checkpoint could not be written", POSSIBLE),
    Sign(r"PMIX ERROR: NO-SPACE in file", "the daemons of MPI have no room for their session directory"),
)  # fmt: skip

_STEPS = ("df -h . ; df -i . ; quota -s", "du -xsh CHECKPOINT_DIR")


RULE = room_rule(
    __name__, __doc__, "storage-full", 12, "no space or quota is left where the job writes", _SIGNS, _STEPS, shm=False
)  # fmt: skip
