"""A file system does not answer, and who touches it stands still.

## What it means
A network, parallel or FUSE file system lost its server or connection. Every access blocks inside the kernel (state D), often also
`ls`, `py-spy` and the kill command. The rank or loader worker that reads there is the culprit's victim; the mount is the culprit.

## How it is recognised
The kernel says `nfs: server … not responding`, `blocked for more than 120 seconds`, Lustre or GPFS lost a connection; processes in
state D whose wait channel or kernel stack belongs to a file system (rpc_wait_bit_killable, fuse_, nfs, ll_, cl_, ceph, xfs, jbd2);
`Stale file handle`, `Transport endpoint is not connected`; strace shows a call on a path that does not return. Disks and paths to them
that are gone (NVMe, SCSI, iSCSI, multipath, ZFS), HDFS without its data nodes, a pod's volume that is not mounted (not one that
another node has: `Multi-Attach error`; then the storage answers, and the pod does not start). Data on a share with which it hangs, and
on a local disk with which it does not.

## What to do
`cat /proc/PID/stack /proc/PID/wchan`, `timeout 5 stat PATH`, `dmesg -T | tail -50`, `mount | grep PATH`. Bring the server back, or
`umount -f -l` the mount; processes in state D cannot be killed before that.

## How to prevent it
Soft mounts with time-outs for data that can be read again, staging to local disks, limits on small-file access.
Cases: https://github.com/nfs-ganesha/nfs-ganesha/issues/1327 and https://github.com/aws/efs-utils/issues/374
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._kernel import DRIVER, WOKEN_BY_SIGNALS
from ._signs import POSSIBLE, Sign
from ._wordings import HALTS

_KERNEL = (
    r"(?<!\w)(?:rpc_wait_bit_killable|nfs\w*_\w+|nfs4?_\w+|__fuse_\w+|fuse_\w+|request_wait_answer|ll_\w+|"
    r"cl_(?:sync|lock|io)\w*|ldlm_\w+|osc_\w+|ptlrpc_\w+|"
    r"cxiWait\w*|gpfs\w*|mmfs\w*|ceph_\w+|cifs_\w+|SendReceive2|beegfs\w*|wait_on_page_bit\w*|folio_wait_bit\w*|"
    r"io_schedule|blkdev_\w+|xfs_\w+|jbd2_\w+|"
    r"autofs4?_\w+|v9fs_\w+|smb2_\w+|compound_send_recv|wait_for_response|balance_dirty_pages\w*|bit_wait_io|"
    r"(?:__)?wait_on_buffer|rq_qos_wait|wbt_wait|blk_mq_get_tag|ext4_\w+|btrfs_\w+|zio_wait|dmu_\w+|ocfs2_\w+|"
    r"gfs2_\w+|dlm_\w+|vvp_\w+|obd_\w+|wekafs\w*|lookup_slow|"
    r"cv_wait_common|txg_wait\w*|zil_commit|p9_client_rpc|virtio_fs\w*|wait_for_common_io|xlog_wait|rwsem_down_(?:read|write)_slowpath(?!(?:[^\n]*\n){1,12}?[^\n]*\[(?:nvidia|amdgpu|mlx5|ib_)))"
)
# What the kernel and its file systems say when a server answers again.
_BACK = (
    r"Connection restored|\bserver \S+ OK\b|\bis responding\b|\bback online\b|\brecovered\b|\brejoined\b|"
    r"\b(?:osd|mds|mon)\d*\b[^\n]*\b(?:up|session established|reconnect success)\b"
)
# A frozen control group of the first version shows its processes in state D.
_FROZEN = r"(?-i:\bFROZEN\b)|freezer\.state|cgroup\.freeze"
# Who asks a device's driver stands in that, and in no file system.
_OF_FILES = r"^(?![^\n]*\b(?:none|nothing|nobody|no (?:process|thread|task)\w*) (?:\w+ )?in (?:state )?(?-i:D)\b)(?![^\n]*(?:\b(?:nvidia-smi|NVML|rocm-smi|amd-smi|npu-smi)\b|/dev/nvidia))[^\n]*?"
# It stands in a lock over NFS: reads and writes of the same mount may do well.
_LOCKS = r"\bnlmclnt_\w+|\bnfs\w*_(?:flock|proc_lock)\b"
# An ESTALE below who takes or gives a lock: the file of the lock was removed, and no mount.
_LOCKING = r"\b(?:FileLock|filelock|flock|lockf|simpleflock|SoftFileLock|portalocker)\b"
# Storage behind a network, as people call it.
_REMOTE = r"\b(?:NFS|CIFS|SMB|Samba|NAS|SSHFS|EFS|FSx|Lustre|GPFS|Ceph\w*|BeeGFS|GlusterFS|JuiceFS|gcsfuse|s3fs|goofys|blobfuse\d?|rclone|Google Drive|Azure Files)\b|\b(?:network(?:ed)?|remote|shared|mounted|cloud|external) (?:network )?(?:drives?|shares?|mounts?|storage|disks?|volumes?|file ?systems?|buckets?|folders?)\b"
_PS = r"\bps (?:-?aux\w*|faux\w*)\b|\bSTAT\b|\bWCHAN\b|\bS\b +\bPID\b|PID +\w+"
# Before the letter stand columns, and no state, options or files of a command.
_COLUMNS = r"(?:(?:(?![ \t](?-i:[RSTIZt][sl<N+]{0,4})[ \t]|[ \t]--?[a-z]|\.py\b|=)[^\n])*[ \t])?"
_ROW_OF_D = rf"^[ \t]*(?:\S+[ \t]+)?(?:\d+(?=[ \t]))(?:[ \t]+\d+(?=[ \t])){{0,2}}(?=[ \t]){_COLUMNS}(?-i:D[sl<N+]{{0,4}})(?!\S|[ \t]+(?:{WOKEN_BY_SIGNALS}(?!\S)|mem_cgroup_))"
_ROW_OF_R = r"^(?![^\n]* ps\b)[ \t]*(?:\S+[ \t]+)?(?:\d+[ \t]+){1,3}(?:.*[ \t])?(?-i:R[sl<N+]{0,4})[ \t][^\n]*\bpython"
# Caches whose library takes a lock for each file: that it works elsewhere tells of locks.
_LOCKING_CACHES = r"\b(?:HF_HOME|HF_DATASETS_CACHE|HF_HUB_CACHE|TRANSFORMERS_CACHE|TORCH_EXTENSIONS_DIR)\b"

_SIGNS = (
    Sign(r"network (?:drive|share|mount|storage)[^\n]{0,80}(?:lost|down|unstable|gone|disconnect\w*|unavailable)|(?:lost|losing) (?:its |the )?connection to (?:the )?(?:nfs|storage|file server|mount|share)", "a network drive was lost", prose=True),
    Sign(r"\b(?:df|ls|stat|lsof|du|find(?! (?:that|out|it|this|a|the|no)\b)|cat|cd|mount|touch)\b (?:[^\s,;]+ ){0,4}?(?:on (?:it|that node|the mount) )?(?:hangs?|blocks?|never returns?|does not return|stands? still)(?![-/.]\w)|\b(?:hangs?|blocks?)\b[^\n,;]{0,20}\b(?:df|ls)\b", "plain commands on files hang", prose=True),
    Sign(r"\bwaiting \d+(?:\.\d+)? sec(?:onds)?, \w+: on \w+|\bWaiting \d+(?:\.\d+)? sec since\b[^\n]*\bthread \d+|\bmmdiag\b[^\n]*\bwaiters\b(?!\W*$)", "GPFS has long waiters"),
    Sign(_OF_FILES + r"(?P<said>\b(?:in|state|status) (?-i:D)\b)(?![\w'-]| ?[:=] ?[\d.]| (?:minor|major)\b)", "a process is in uninterruptible sleep", unless=(_FROZEN, DRIVER, _LOCKS), until=_BACK),
    Sign(r"\b(?:nfs: server \S+|(?<!lockd: )server \S+) (?:is )?not responding|\bnfs4?: state manager: check lease failed|\bnfs4_reclaim_open_state: \w+ reclaim failed|\bceph: mds\d+ (?:reconnect denied|hung|caps stale|rejected session)|\bgfs2: fsid=\S+ [^\n]*withdrawn|\bo2net: [^\n]*has been idle for", "a file server does not answer", until=_BACK),
    Sign(r"\b(?:Lustre|LustreError|MDS|OST)[^\n]*(?:Connection[^\n]*lost|not responding|timed out|evicted)|ceph[^\n]*(?:hung|stuck|slow ops)|"
         r"(?:mmfs|GPFS)[^\n]*(?:deadlock|waiter|lost|expel)|beegfs[^\n]*(?:timed? ?out|unreachable)|BeeGFS_\w+\([^\n]*(?:Connect failed|[Rr]etr)|MessagingTk[^\n]*[Rr]etrying communication", "a parallel file system lost its connection", until=_BACK),
    Sign(_KERNEL, "the kernel stands in a file system", unless=(_LOCKS,), also=(r"kill -9|cannot be killed|can(?:not|'t) (?:be )?kill|none can be killed|unkillable|refusing to freeze|kernel stack|uninterruptible|(?-i:(?<![%\w])D[sl<N+]*(?!\w))|state[: ]+D\b|blocked for more|uninterruptible|/proc/\d+/(?:stack|wchan)|\[<0",)),
    Sign(r"\b(?:top|htop|ps|atop)\b[^\n]{0,60}\b(?:with|has|have|had|as|shows|in) (?:an? |the )?(?:red )?(?:(?-i:D)(?=[,.;]|\s*$)|letter (?-i:D)\b)", "a process list shows it in state D, and its files are on a network drive", anywhere=(r"\b(?:network|nfs|remote|shared) (?:drive|share|mount|disk|volume|storage)\b",), prose=True),
    Sign(_OF_FILES + r"(?P<said>(?<![-\w])(?:state|stat)\b[^\n]{0,10}\b(?-i:D)\b|\b(?-i:D) state\b|\bD \(disk sleep\)|uninterruptible sleep|disk sleep)", "a process is in uninterruptible sleep", unless=(_FROZEN, DRIVER, _LOCKS), prose=True),
    # One look catches who reads or writes for a moment: beside others that run it counts where somebody says that something stands.
    Sign(_ROW_OF_D, "ps shows a process in state D", also=(_PS,), unless=(DRIVER, _ROW_OF_R)),
    Sign(_ROW_OF_D, "ps shows a process in state D", also=(_PS,), anywhere=(HALTS,), unless=(DRIVER,)),
    Sign(rf"{_ROW_OF_D}[ \t]+\d+:\d\d[ \t]+(?:\\_ )?(?:\S*/)?u?mount(?:\.\w+)? ", "ps shows a mount in state D", POSSIBLE, unless=(_FROZEN,)),
    Sign(r"\b(?:ps|top|htop|state|STAT|status)\b[^\n]{0,24}\b(?-i:D[sl+]?)\b(?![\w'-])", "a process in state D cannot be killed", also=(r"kill -9|cannot be killed|can't be killed|unkillable|SIGKILL has no effect",), unless=(DRIVER,), prose=True),
    Sign(r"\b(?:storage|file|NFS|metadata|object|Lustre|Ceph|GPFS|BeeGFS)\b ?(?:servers?|nodes?|targets?|system|backend)\b[^\n]{0,30}\b(?:was|were|is|are|went|being) (?:down|offline|rebooted|unreachable|overloaded|unavailable)\b|\b(?:OST|MDS|OSD|NSD)s?\b ?\w{0,6} (?:was|were|is|are|went) (?:down|offline|inactive)\b", "a file server was away", prose=True),
    Sign(r"\b(?:every|any|each|all) (?:access\w*|reads?|writes?|opens?|stats?|I/O)\b[^\n]{0,30}\b(?:blocks?|hangs?|stalls?|times? out)\b", "somebody says that storage does not answer", prose=True),
    Sign(r"\b(?:lustre|LustreError)\b[^\n]*\b(?:operation \w+ to (?:node )?\S+ failed|rc = -1(?:07|10|08|11))", "a parallel file system lost its connection", until=_BACK),
    Sign(r"\b(?:NFS|Lustre|GPFS|Ceph\w*|BeeGFS|Weka\w*|GlusterFS|MinIO|EFS|FSx|file ?system|storage|the mount|file share)\b[^\n]{0,16}\b(?:was|were|is|are|went|being) (?:down|offline|unreachable|unavailable|gone|away)\b", "a file server was away", prose=True),
    Sign(r"INFO: task \S+ blocked for more than \d+ seconds", "the kernel reports a task that is blocked", unless=(DRIVER,)),
    Sign(r"Stale (?:NFS )?file handle|\[Errno 116\]|\bESTALE\b|/[^\s:]*['\"]?: Transport endpoint is not connected|Transport endpoint is not connected:? ['\"]/|\b(?:gcsfuse|s3fs|goofys|sshfs|\w*fuse)\b[^\n]*transport endpoint is not connected", "a mount went away", unless=(_LOCKING,)),
    Sign(r"^[^\S\n]*(?:\[pid +\d+\] |\d+ +)?(?:openat?|stat|lstat|newfstatat|statx|pread64|read|getdents64|unlink|rename|fsync|close|access)\((?![^\n]*\) += )[^\n]*(?:\"/|</)[^\n]*(?:unfinished|$)",
         "a call on a file does not return", POSSIBLE, also=(r"strace|unfinished",)),
    Sign(r"\b(?:nfs|lustre|gpfs|weka|beegfs|ceph|fuse|s3fs|goofys|gcsfuse|efs|fsx|cifs|smb|glusterfs|juicefs|jfs|mount(?:ed)?(?: point)?|file ?system|filesystem|storage)\b"
         r"[^\n]{0,60}\b(?:hang|hung|hangs|unresponsive|not respond|stall|stuck|frozen|unreachable|(?<!-)blocks|blocked|never returns?)",
         "somebody says that storage does not answer", unless=(r"\bflock\b|file ?lock\b",), prose=True, until=_BACK),
    Sign(r"has not responded in \d+ seconds|libceph[^\n]{0,200}(?:osd|mds|mon)[^\n]{0,200}(?:down|closed|hunting|socket error)|gluster[^\n]*(?:disconnected|not connected|timed out)|(?:sunrpc|rpcbind|\bnfs\w*)\b[^\n]{0,40}(?:timed out|not responding)", "a file server does not answer", until=_BACK),
    # Disks and what carries them: NVMe, SCSI, iSCSI, multipath, ATA, ZFS, RAID.
    Sign(r"\bnvme nvme\d+: (?:controller is down|I/O \d+[^\n]*(?:timeout|aborting)|Device not ready|Abort status|Removing after probe failure)|\bnvme\d+: (?:queue \d+: timeout request|starting error recovery|failed nvme_keep_alive_end_io)|\bno usable path - requeuing I/O|\brejecting I/O to (?:offline|dead) device|\bhostbyte=DID_(?:TIME_OUT|NO_CONNECT|TRANSPORT_DISRUPTED|TRANSPORT_FAILFAST)|connection\d+:\d+: (?:ping timeout|detected conn error)|remaining active paths: 0\b|\bata\d+(?:\.\d+)?: (?:exception Emask|failed command|hard resetting link|COMRESET failed)|"
         r"^ *state: SUSPENDED\b|encountered an uncorrectable I/O failure and has been suspended|\bmd/raid\S*: Disk failure|\btask abort\b[^\n]*(?:scmd|sd )|\bblk_update_request: (?:I/O|critical \w+) error", "a disk does not answer", until=r"recovered|path is up|link up|remaining active paths: [1-9]|reinstated|queue resumed"),
    Sign(r"\bslow (?:request|operation): \w+ [^\n]*(?:timeout|timed out|cost: ?[1-9]\d+)|\bcannot (?:get|put|head) object\b[^\n]*(?:timeout|timed out)", "a file system on an object store waits for its store", until=_BACK),
    Sign(r"^[^\S\n]*\d+ +[\w.+-]+ +(?:-?\d+|rt) +-?\d+ +[\d.]+[kmgt]? +[\d.]+[kmgt]? +[\d.]+[kmgt]? +(?-i:D) +[0-4]?\d(?:\.\d+)? +[\d.]+ +[\d:.]+ +(?:\S*/)?(?:python|pt_|ray|mpirun|java|\w*train)", "top shows a process of the job in uninterruptible sleep", unless=(_FROZEN, DRIVER, _LOCKS)),
    # HDFS.
    Sign(r"\bDFS\w*\b[^\n]*(?:Failed to connect to|Slow (?:ReadProcessor|waitForAckedSeqno)|add to deadNodes|[Cc]ould not obtain block)|\bAll datanodes [^\n]*are bad\b|\bBlockMissingException\b|\bNameNode\b[^\n]*\bin safe mode\b", "a distributed file system does not answer"),
    Sign(r"\bUnable to attach or mount volumes\b|\b(?:Mount|Attach)Volume\.\w+ failed\b(?![^\n]*\bsync (?:configmap|secret) cache\b)|\bFailedAttachVolume\b", "a volume of a pod is not mounted", unless=(r"\bMulti-Attach error\b",), until=r"\bStarted container\b|\bSuccessful(?:ly )?(?:Attach\w*|mounted)\b|\b[1-9]\d*/[1-9]\d* +Running\b"),
    Sign(r"^[^\S\n]*State:\s*(?-i:D) \(disk sleep\)", "a process is in uninterruptible sleep", unless=(_FROZEN, DRIVER, _LOCKS)),
    Sign(r"\btask:\S+\s+state:D\b", "the kernel shows a task in uninterruptible sleep", unless=(_FROZEN, DRIVER, _LOCKS)),
    Sign(r"\bonly (?:the )?(?:master|root|first|main|one|zeroth)(?: rank| process| task)?(?: 0)? (?:reads?|opens?|writes?|loads?)\b|\brank 0 (?:alone )?(?:reads?|opens?) (?:it|the file)\b", "it goes through when one rank alone reads the file", anywhere=(r"\b(?:I/?O|HDF5|NFS|Lustre|GPFS|BeeGFS|file ?systems?)\b",), cures=True),
    Sign(r"\blocal (?:disks?|SSDs?|drives?|NVMe|storage|scratch|volumes?|cop(?:y|ies)|paths?|fold\w+|director\w+|file ?systems?)\b|\b(?:cop(?:y|ied|ying)|mov(?:ed?|ing)|stag(?:ed?|ing))\b[^\n]{0,40}\b(?:to|on|onto)\b[^\n]{0,16}(?:/tmp\b|/scratch\b|\bNVMe\b|\bSSD\b|\blocal\w*)", "it works with the data on a local disk", cures=True, anywhere=(HALTS, _REMOTE), unless=(_LOCKING_CACHES, r"\bf?lock(?:s|ed|f|ing|file)?\b|sqlite|No space left|quota|/dev/shm|shared memory|Permission denied|out of memory|\bmmap|(?:triton|inductor|jit|compil\w+|extensions?|kernel|autotune)\W(?:\w+\W)?(?:cache|dir)",)),
    # slurmd after UnkillableStepTimeout (slurm.conf(5)); a device's driver may hold such a process as well.
    Sign(r"\bDUE TO JOB NOT ENDING WITH SIGNALS\b", "a process of a step did not end by SIGKILL", POSSIBLE),
    Sign(r"metadata I/O error|EXT4-fs error|XFS[^\n]*(?:shut ?down|log I/O error)|Remounting filesystem read-only|\bfile ?system (?:became|is now|went|turned) read-only|Read-only file system", "a file system failed", POSSIBLE),
    Sign(r"Input/output error|\[Errno 5\]|I/O error, dev", "storage answers with errors", POSSIBLE),
    Sign(r"load average: *\d{3,}|load (?:average )?(?:of|is|at) \d{3,}", "the load is high", POSSIBLE, also=(r"idle|wa\b|iowait|0\.\d+ us",)),
    Sign(r"\bmmfs\w*: [^\n]*lease renewal is overdue", "the file system hears nothing of a node", POSSIBLE),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "filesystem-stall", 12, "a file system does not answer", _SIGNS,
    ("cat /proc/PID/stack /proc/PID/wchan", "timeout 5 stat PATH; dmesg -T | tail -50", "mount | grep -e nfs -e lustre -e fuse -e gpfs"),
)  # fmt: skip
