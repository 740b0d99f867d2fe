"""The file system cannot lock, and the program keeps trying.

## What it means
Download caches, dataset builders and compilers take an advisory lock on a file. Some network, cloud and FUSE mounts do not implement
`flock` or `fcntl` locks; the call fails every time, and lock classes with a polling loop never give up.

## How it is recognised
A debug log repeats `Lock … not acquired … waiting 0.05 seconds` for one lock and no other holder is seen; `flock` or `lockf`
answers `Function not implemented` (38), `No locks available` (37) or `Operation not supported` (95). Or a stack stands in a call
that locks (filelock, portalocker, h5py, SQLite, lmdb) on a network's file system whose files can be read, and no holder is seen.
Or one command was run twice there, and came further when it was told to take no lock.

## What to do
`flock -n PATH/test true; echo $?` on that mount. Put the cache on a local disk (`HF_HOME`, `HF_DATASETS_CACHE`, `TORCH_EXTENSIONS_DIR`,
`TRITON_CACHE_DIR`), or mount with locking (Lustre: `-o flock`; NFS that one host
alone writes to: `-o local_lock=all`); HDF5: `HDF5_USE_FILE_LOCKING=FALSE`.

## How to prevent it
Local caches per node by default. Cases: https://github.com/huggingface/datasets/issues/329 and /6744
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._runs_twice import Run, runs
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import HOLDER_SEEN

# Calls that lock a file, and where the file lies; nobody else is said to hold the lock.
_LOCKS = (
    r"^(?:_?lock_file|_?acquire|_?lock|flock|lockf|_?try_acquire|__enter__|__init__|open|File|make_fid|open_dataset|"
    r"_?create_lock|_?connect) \((?:[^\n]*/)?(?:filelock|portalocker|fasteners|zc/lockfile|lockfile|"
    r"oslo_concurrency/lockutils|h5py|netCDF4|tables/file|diskcache|sqlite3|zarr/sync\w*|flufl/lock|lmdb|shelve|"
    r"joblib/_store\w*)\b|(?:fcntl\.)?\b(?:flock|lockf)\((?:[^\n)]*LOCK_EX|\d+</)"
)
_REMOTE = (
    r"\b(?:NFS(?:v?[34](?:\.\d)?)?|nfs4?|[Ll]ustre|GPFS|BeeGFS|beegfs|CephFS|ceph|[Gg]luster\w*|\w*FUSE|s3fs|gcsfuse|"
    r"sshfs|SMB|CIFS|cifs|EFS|Azure ?Files|WEKA|wekafs|network (?:drive|share|volume|file ?system|mount)|"
    r"shared (?:drive|file ?system|volume))\b|/nfs\w*/|/lustre/|/gpfs/|/beegfs/"
)
_OTHERS = (
    r"\b(?:stale|left[- ]?over|left behind|orphan\w*|(?:by|from|of) (?:pid|process) \d+|holder|held by|"
    r"(?:was|were|got|is) (?:killed|crashed|interrupted)|not responding|D state|unreachable|oom)\b|nfs: server|"
    r"_run_ninja_build|\bls\b[^\n]{0,30}\b(?:hangs|blocks)"
)

# Who cannot lock and says that it does without, goes on (dask.distributed, huggingface_hub, filelock).
_GOES_ON = r"[Cc]ontinuing without (?:a )?lock|[Ff]alling back to SoftFileLock"

_SIGNS = (
    # flock(2): over NFS an exclusive lock needs a file that is open to write.
    Sign(r"\bLock\w*(?:Error|Exception)\b[^\n]*(?:\[Errno 9\]|Bad file descriptor)", "a lock over NFS is refused to a file that is open to read", anywhere=(r"\bNFS\b|\bnfs4?\b",)),
    Sign(r"database is locked|disk I/O error[^\n]*sqlite|sqlite3\.OperationalError", "a database file cannot be locked", POSSIBLE, until=r"\b(?:committed|succeeded|written)\b"),
    Sign(r"lock[^\n]*not acquired[^\n]*waiting|(?:could not|unable to|failed to) (?:acquire|obtain|get) (?:the )?(?:file )?lock[^\n]*(?:retry|again|waiting)",
         "the same lock is tried again and again", unless=(r"file_baton",), until=r"\block\b[^\n]*(?<!not )\bacquired\b"),
    Sign(r"\b(?:flock|lockf|fcntl|F_SETLK|filelock|file lock|Lock\w*(?:Error|Exception)|lock(?:ing)? (?:a |the )?file|\.lock\b)[^\n]*(?:\bENOSYS\b|\bENOLCK\b|\bENOTSUP\b|EOPNOTSUPP|Errno 3[78]|Errno 95|Errno 524|Function not implemented|No locks available|not (?:supported|implemented))",
         "locking is refused by the file system", unless=(_GOES_ON,)),
    Sign(r"\b(?:Function not implemented|No locks available)|\[Errno (?:3[78]|524)\]|Unknown error 524", "the call that failed can be a lock",
         LIKELY, also=(r"lock",), unless=(_GOES_ON, r"\bSemLock\(")),
    Sign(r"locking protocol\b|HDF5_USE_FILE_LOCKING ?=? ?[\"']?FALSE[^\n]{0,60}(?:work|fix|solv|help|resolv)|(?:work|fix|solv|help|resolv)\w{0,20}[^\n]{0,60}(?:HDF5_USE_FILE_LOCKING|use-file-locking|nolock\b|local_lock|localflock|-o flock)", "locks do not work on that file system"),
    Sign(r"\bwithout (?:the )?(?:-o ?)?[`'\"]?flock\b|\bnoflock\b|\bwithout lockd\b|\bno lockd\b|\bmounted[^\n]{0,30}\bnolock\b|\b(?:does not|doesn't|cannot|no) support (?:\w+ ){0,2}(?:flock|(?:file )?locks?|locking)\b", "the file system is mounted without locks", prose=True),
    Sign(r"\b(?:fcntl\.)?(?:flock|lockf)\([^\n]*\n(?:[^\n]*\n){0,2}?\s*(?:\w+\.)*\w*Error: \[Errno (?!11\b|35\b|13\b|24\b|28\b)\d+\]", "the call that locks a file fails", unless=(_GOES_ON,)),
    # To give a lock back waits for nobody: a traceback that ends there tells that the call was refused.
    Sign(r"(?:❱ *\d+ *[│|](?=[^\n]*\bLOCK_UN\))[^\n]*|\bin _?(?:release|unlock|__exit__)\w*\n[^\n]*)\b(?:flock|lockf)\([^\n)]*\bLOCK_UN\)", "giving a lock back fails on a network's file system", anywhere=(_REMOTE,), unless=(_GOES_ON,)),
    Sign(r"\blockd: (?:cannot monitor|server \S+ not responding)|\brpc\.statd is not running but is required|\b(?:rpc\.)?statd\b[^\n]{0,30}\b(?:not running|could not contact|unable to)|\bnlmclnt_\w+", "the server of an NFS mount's locks does not answer", until=r"lockd: server \S+ OK"),
    Sign(r"\bADIOI_Set_lock\b|File locking failed in|requires fcntl\(2\) to be implemented|\blmdb\.\w*Error\b[^\n]*(?:not implemented|No locks|temporarily|Invalid argument)|does not (?:appear to )?support (?:flock|locking)", "locking is refused by the file system"),
    Sign(r"\b(?:mov\w+|copy\w+|sett\w+|set|point\w+|put\w*|chang\w+)\b[^\n]{0,30}(?:HF_HOME|HF_DATASETS_CACHE|HF_HUB_CACHE|TRANSFORMERS_CACHE|cache[_ ]dir\w*|datasets? cache|lock dir\w*)[^\n]{0,50}\b(?:to|on|onto|into)\b[^\n]{0,20}(?:/tmp|/scratch|local|SSD|NVMe|home)", "the cache works on another file system", cures=True),
    Sign(rf"\b(?:file ?lock|flock|lockf|locks?)\b[^\n]{{0,30}}\b(?:never|not|cannot|can't)\b[^\n]{{0,40}}(?:{_REMOTE})", "a lock on a network's file system is never taken", unless=(_OTHERS,), prose=True),
    Sign(r"database is locked|disk I/O error[^\n]*sqlite|locking protocol", "a database file on a network's file system cannot be locked", anywhere=(_REMOTE,)),
    Sign(r"\bno (?:flock|locks?|locking|POSIX locks?|lockd)\b[^\n]{0,12}\b(?:support\w*|implement\w*)\b|\bno support for (?:flock|lock\w*)", "the file system is mounted without locks", prose=True),
    Sign(r"unable to f?lock file[^\n]*errno = (?:37|38|95|524)", "HDF5 could not lock its file"),
    Sign(r"unable to lock file[^\n]*errno = 11\b", "HDF5 could not lock its file", unless=(HOLDER_SEEN,)),
    Sign(_LOCKS, "a file of a network's file system is locked, and the call does not come back", LIKELY, anywhere=(_REMOTE,), unless=(_OTHERS,)),
    Sign(r"\b(?:acquire|_acquire|lock) \((?:[^\n]*/)?(?:filelock|portalocker|fasteners)[^\n]*\)", "a thread waits in a file lock", POSSIBLE, unless=(HOLDER_SEEN,)),
)  # fmt: skip

_TITLE = "the file system does not support locks, and the program keeps trying"
_STEPS = (
    "flock -n PATH/.probe true; echo $?",
    "df -T PATH; mount | grep PATH",
    "export HF_HOME=/local/cache TORCH_EXTENSIONS_DIR=/local/ext",
)
# How a command is told not to lock files: by an option, or by a variable before it.
_UNLOCKED = regex(
    r" --?(?:no-?(?:file-?)?lock(?:s|ing)?|without-lock(?:s|ing)?|lock(?:s|ing)?=(?:no|off|false|none|0))\b", re.I
)
_NOT_LOCKING = regex(
    r"\w{0,40}(?:LOCK(?:S|ING)?=(?:0|no|off|false|none)|(?:NO|DISABLE|SKIP)_\w{0,20}LOCK\w{0,8}=(?:1|yes|on|true))",
    re.I,
)


def check(case: Case) -> Iterator[Finding]:
    compared = [] if case.snapshot.live else list(_further_without_locks(case))
    found = [*hits(case, _SIGNS), *compared]
    if found:
        made = finding(RULE, case, found, _TITLE, _STEPS)
        yield replace(made, compared=made.compared or bool(compared))


def _further_without_locks(case: Case) -> Iterator[Hit]:
    """A command on a network's file system that comes further when it locks nothing."""
    if not any(one.find(_REMOTE) for one in accounts(case)):
        return
    told = runs(case)
    for run in (run for run in told if _locks_nothing(run)):
        plain = " ".join(_UNLOCKED.sub(" ", run.command).split())
        for other in told:
            same = other.command == plain and not _locks_nothing(other)
            if same and not run.broken_off and (other.broken_off or run.further_than(other)):
                says = "the same command comes further when it takes no lock"
                yield Hit(Sign("", says), run.account, run.text)
                return


def _locks_nothing(run: Run) -> bool:
    return _UNLOCKED.search(run.command) is not None or any(map(_NOT_LOCKING.fullmatch, run.settings))


RULE = make_rule(__name__, __doc__, "file-lock-unsupported", 14, check)
