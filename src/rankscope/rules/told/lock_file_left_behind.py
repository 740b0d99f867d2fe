"""A lock file was left behind by a builder that is gone, and everybody waits for somebody to delete it.

## What it means
Some tools lock by the mere existence of a file: PyTorch's extension builder (`file_baton`), some download caches, package builders.
If the builder is killed, the file stays, and each later process polls for its removal for ever.

## How it is recognised
`wait (torch/utils/file_baton.py)` or a soft lock's polling loop at the end of a stack; the last line of the log says that an extensions
root is used; nobody builds. The fix in the field is to delete the file.
A program that refuses to start because of the lock of an earlier run (`Directory cannot be locked`, `Error acquiring the state lock`, `00LOCK-`).
Who polls in `filelock` for a lock that the program makes as a `SoftFileLock`, whose file is older than the run; or whose file
is that old, and `fuser`, `lsof` or `lslocks` answer nothing.
One that says whose lock it waits for (Theano, TensorFlow Hub, package managers, Bazel), and a table of who has the file open beside the wait.

A named segment of shared memory that exists already (`FileExistsError` from `shm_open`): an interrupted run has left it, with the state of its barriers.

## What to do
`ls -la ~/.cache/torch_extensions/*/*/lock`; if no compiler runs on any host that shares the directory, delete the lock file (or the
whole build directory) and start again.

## How to prevent it
A cache directory per node (`TORCH_EXTENSIONS_DIR`), prebuilt extensions, no kill -9 during the first step.
Case: https://github.com/PASSIONLab/OpenEquivariance/issues/156
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.compilers import RUNS
from ...analysis.identity import module_path_of
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import HOLDER_SEEN

_BUILDING = rf"^(?:.*/)?(?:ninja|nvcc|c\+\+|g\+\+|cicc|ptxas|cc1plus)\b|\[\d+/\d+\] |{RUNS}|\b_run_ninja_build \("
_EXTENSION = (
    r"cpp_extension|torch_extensions|load_inline|JIT(?:-| )compil|extension module|triton[_ ]cache|\.cache/|ninja|"
    r"fused[_ ]kernels"
)
_REFUSED = r"Function not implemented|No locks available|not (?:appear to )?support (?:flock|lock)"

_ROW = r"^\S+ +\d+ +\S+ +\d+[-ruw][WRwrUuxXN] .*\.lock\b|^\S+ +\d+ +(?:FLOCK|POSIX|OFDLCK) .*\.lock\b"
# Somebody is said to be at work with it.
_HELD = (
    r"\b(?:is|are) (?:still )?(?:running|alive|at work)\b[^\n]{0,40}\b(?:holds?|has|owns) (?:it|the lock)|"
    r"lock (?:was )?(?:acquired|released|obtained)\b"
)
_SIGNS = (
    Sign(r"compiling and loading fused kernels|Loading extension module \S+\.\.\.\s*\Z|Building extension module \S+\.\.\.\s*\Z", "the log ends where an extension is built or loaded", LIKELY, unless=(r"done with compiling|Time to load|ninja: (?:error|no work)|FAILED:|rror:",)),
    # aiter's copy of PyTorch's baton (aiter/jit/utils/file_baton.py); who builds says so as well.
    Sign(r"\bwaiting for (?:the )?baton\b", "a process waits for the lock file of a builder", POSSIBLE, unless=(_BUILDING,), until=r"\bfinish build\b|\bbaton (?:was )?released\b|\bimport \[\w"),
    Sign(r"\bwait \(?(?:[^\n]*/)?file_baton|file_baton\.py[^\n]*wait|FileBaton", "a thread polls for the removal of a lock file", unless=(_BUILDING,)),
    Sign(r"\b(?:acquir|wait|poll|hang|hung|stuck|tim(?:ed?|ing) ?out)\w*[^\n]{0,60}(?<!use )(?:SoftFileLock|\bsoft_?lock(?!up))|(?<!use )(?:SoftFileLock|\bsoft_?lock(?!up))[^\n]{0,60}\b(?:acquir|wait|poll|hang|hung|stuck|tim(?:ed?|ing) ?out)|O_EXCL[^\n]*lock", "a lock that is only a file is waited for", LIKELY),
    # Who creates it has the lock: open(2) with O_EXCL fails while it is there.
    Sign(r"\bopen(?:at)?\((?:AT_FDCWD, )?(?P<lock>\"[^\"\n]{0,200}lock[^\"\n]{0,60}\"), [^\n]{0,80}\bO_EXCL\b[^\n]{0,60}\bEEXIST\b[^\n]*\n(?:[^\n]*\n){0,7}?[^\n]{0,40}\bopen(?:at)?\((?:AT_FDCWD, )?(?P=lock), [^\n]{0,140}\bEEXIST\b", "a program tries again and again to create a lock file that is there already", POSSIBLE, unless=(_BUILDING, _HELD)),
    Sign(r"(?<!use )SoftFileLock|\bsoft_?lock(?!up)", "a lock that is only a file is named", POSSIBLE),
    Sign(r"Still waiting to acquire lock on|Lock file exists in build directory|Lock acquisition failed[^\n]*\.lock|(?:fuser|lsof)\b[^\n]{0,160}\.lock\b[^\n]{0,200}(?:\n[^\n]{0,200}){0,2}?(?:[Nn]o output|no process|nobody)", "a lock file is waited for, and nobody is seen to work on it", unless=(_BUILDING,)),
    # Named segments are made with O_EXCL (multiprocessing.shared_memory with create=True): of a run that was killed they stay.
    Sign(r"_posixshmem\.shm_open\((?:[^\n]*\n){1,3}?[^\n]*FileExistsError: \[Errno 17\]|^shm_open\([^\n]*O_EXCL[^\n]*\bEEXIST\b", "a segment of shared memory that only one can make is there already: a run that was killed has left it, or another one uses the name", unless=(_HELD,)),
    # Theano, TensorFlow Hub, Matplotlib, yum, zypper, dpkg, pacman, Mercurial, Cargo, Bazel: they tell whose lock they wait for, or what to delete.
    Sign(r"Waiting for existing lock by |To manually release the lock, delete|already being downloaded by '[^'\n]+'\. Waiting|(?:is|are) currently holding the \w+ lock|is locked by the application with pid|frontend(?: lock)? was locked by another process|Waiting for cache lock|unable to lock database|waiting for lock on (?:repository|working directory)|"
         r"Another command \(pid=\d+\) is running|libtpu(?:_| multi-process )lockfile|Timeout waiting to lock\b|\b[Cc]annot create lock\b[^\n]*File exists|\b[Ll]ock ?file (?:was )?found\b|\b[Ww]aiting to acquire lock (?:on|for|at) [`'\"]?/|\bCould not acquire lock\(s\)|\bWhile lock(?:ing)? file: [^\n]*(?:Resource temporarily|held|already)|\b[Aa]nother (?:process|instance|job) is (?:already |still )?holding\b[^\n]{0,30}\block|\bheld by (?:pid|process) \d+\W{1,3}(?:dead|gone|not running|defunct)\b|failed to acquire the following lock file", "a program waits for the lock of another process", unless=(_BUILDING, _HELD, _REFUSED)),
    Sign(r"Blocking waiting for file lock on", "Cargo waits for the lock of another process", until=r"^\s*(?:Updating|Downloading|Downloaded|Compiling|Checking|Fresh|Finished|Running|Installed) ", unless=(_BUILDING, _HELD, _REFUSED)),
    Sign(r"\b(?:remove|delete) (?:this|the|that) (?:lock )?(?:file|directory|folder)\b[^\n]{0,20}(?:and try again|manually|to continue)", "a program says that a lock file may be deleted", also=(r"\block\b|\.lock\b|_lock\b|another[^\n]{0,20}process",), unless=(_BUILDING, _HELD, _REFUSED)),
    Sign(r"The file lock '[^'\n]+' could not be acquired|filelock\.\w*\.?Timeout\b", "the time for a file lock ran out", unless=(_BUILDING, _HELD, _REFUSED)),
    Sign(r"\b_?acquire\w* \((?:[^\n]*/)?(?:filelock|portalocker|fasteners)/", "a file lock is waited for, and who has it is seen beside", anywhere=(_ROW,), unless=(_BUILDING, _REFUSED)),
    Sign(r"unable to lock file[^\n]*errno = 11\b", "HDF5 finds its file locked, and a process that has it open is seen", anywhere=(HOLDER_SEEN,), unless=(_REFUSED,)),
    # Locks that are a file, a link or a folder: Optuna's journal, TensorFlow Hub, Theano and its successors, Matplotlib, soft locks.
    Sign(r"\b(?:acquire|get_lock_file) \((?:[^\n]*/)?optuna/storages/_?journal/|\b_wait_for_lock_to_disappear\b|\b_?lock\w* \((?:[^\n]*/)?compile(?:/|\.)?\w*lock\.py|\b_lock_path \((?:[^\n]*/)?matplotlib/cbook|\(?(?:[^\s(]*/)?filelock/_soft(?:\.py|/)|^acquire \((?:[^\n]*/)?lockfile/\w{1,12}lockfile\.py|^_?lock \((?:[^\n]*/)?flufl/lock/", "a thread polls for the removal of a lock file", unless=(_BUILDING, _HELD)),
    Sign(r"Another process must be compiling\b[^\n]*waiting for: *(?:[3-9]\d|\d{3,})", "a process waits for another one's build for longer than any build takes", unless=(_BUILDING,)),
    Sign(r"\b(?:rm|remov\w+|delet\w+|clean\w+|clear\w+)\b[^\n]{0,50}(?:\block(?:s|ed|file)?\b|\.lock\b|torch_extensions|\.triton|triton[/_ ]cache|extension cache)", "removing the lock file helped", cures=True),
    Sign(r"\b(?:nobody|no one|no process|none|no rank)\b[^\n]{0,12}\b(?:builds?|compiles?|is building|is compiling)\b", "an extension is waited for, and nobody builds it", anywhere=(_EXTENSION + r"|\bextension\b",), prose=True),
    Sign(r"\block(?: ?file)?\b[^\n]{0,20}\bfrom (?:last|yesterday|an? (?:earlier|old|previous)|\w+ (?:days|weeks|months) ago)", "a lock file is said to be left over", prose=True),
    # Snakemake, Terraform, DVC, Nextflow, Mercurial, restic, Borg, R, MongoDB: they refuse to start where an ended run left its lock.
    Sign(r"Directory cannot be locked|the remaining lock was likely caused by|LockException: Error: Directory|Error (?:acquiring|locking) (?:the )?state(?: lock)?\b|Unable to acquire lock\b[^\n]*(?:another|session|terminated|DVC)|(?:another|other) (?:DVC|Nextflow|conda|mamba|restic|borg|hg) process is running or was terminated|"
         r"repository is already locked|Failed to create/acquire the lock|failed to lock directory|00LOCK-|\b--(?:force-)?unlock\b|\bforce-unlock\b|abandoned transaction found|old lock file[^\n]*overwriting|unclean shutdown detected[^\n]*lock", "a program refuses to start: the lock of an earlier run is still there", unless=(_BUILDING, _HELD)),
    Sign(r"\b(?:had|have|need(?:ed|s)?) to (?:delete|remove|rm|clean)\b[^\n]{0,60}\block\b", "removing the lock file helped", prose=True),
    Sign(r"\b(?:kill\w*|died|crash\w*|interrupt\w*|preempt\w*)\b[^\n]{0,20}\b(?:during|while|in the middle of)\b[^\n]{0,12}\b(?:build\w*|compil\w+|JIT|download\w*)", "an earlier build was cut off", anywhere=(r"\block\b",), prose=True),
    Sign(r"index\.lock'?: File exists|Another git process seems to be running|(?:pid ?file|lock ?file|\.lock\b|\.pid\b)[^\n]{0,80}(?:already exists|still exists|is present)|(?:already (?:locked|running)|locked by)[^\n]{0,40}\bpid\b[^\n]{0,40}(?:not running|dead|no such|gone)|Could not get lock /var/lib", "a lock file is in the way"),
    Sign(r"\b(?:stale|left[- ]?over|orphan\w*|left behind|dead(?![- ]?lock)|leftover)[^\n:;]{0,40}\block\b|\block(?: file)?\b[^\n]{0,40}(?:stale|left[- ]?over|orphan\w*|left behind)",
         "a lock file is said to be left over", prose=True),
    Sign(r"\b(?:lock|\.lock|pid) ?(?:file)?\b[^\n]{0,80}\b(?:exists?|present|found)\b[^\n]{0,20}(?:waiting|sleeping|retry)", "a lock file is there and is waited for", unless=(_BUILDING,)),
    Sign(r"\bpid \d+\b[^\n]{0,30}\b(?:does not exist|no longer|is gone|is dead|is not in ps|not in the process list|not running|doesn't exist|ended)|(?:no|nobody|none)\b[^\n]{0,30}\b(?:owns?|owner|holds? (?:it|the lock))", "who took the lock is gone", anywhere=(r"\block\b[^\n]{0,80}\b(?:held|owned|taken|acquired|waiting)|\.lock\b|Another (?:command|process|instance)\b",), unless=(r"\b(?:mutex|threading|RLock)\b",), prose=True),
    Sign(r"\bno (?:\w+ (?:or|and) )?(?:nvcc|ninja|compiler|builder|build|cicc|gcc|hipcc)\b[^\n]{0,30}\b(?:in ps|runs?|running|process|is seen|at work|alive)", "an extension is waited for, and nobody builds it", anywhere=(_EXTENSION,), unless=(r"_run_ninja_build|ninja (?:sleeps|waits|hangs|is stuck)|_communicate \(",), prose=True),
    Sign(r"\b(?:earlier|previous|first|last|prior|one)\b[^\n]{0,20}\b(?:run|build|import|start|job|attempt|compilation)\b[^\n]{0,30}\b(?:interrupted|killed|cancell?ed|stopped|aborted|died|crashed|preempted)", "an earlier build was cut off", anywhere=(_EXTENSION,), unless=(_BUILDING,), prose=True),
    Sign(r"\block\b[^\n]{0,40}\b(?:\w+ )?(?:days?|weeks?|months?|years?) old|\b(?:fuser|lsof)\b[^\n]{0,24}\b(?:empty|nothing|no one|nobody|no process)|\bnobody has it open|\bno process (?:has|holds) (?:it|the lock)", "the lock is old and nobody has it open", anywhere=(r"\block\b",), unless=(_BUILDING, r"FUTEX|mutex"), prose=True),
    Sign(r"\b(?:waiting|sleeping|blocked|waits?)\b[^\n]{0,12}\b(?:for|on)\b[^\n]{0,30}/\S*\block(?:file)?\b(?![^\n]*\b(?:took|waited|acquired|ok|done)\b)|\bLOCKERROR:|\block \S+ was found\b|(?<!\bzc)(?<!\bimport )\.(?:lockfile|conda_lock)\b(?!\.\w|\()", "a program waits for a lock file", unless=(_BUILDING, r"No locks available|Function not implemented|\bflock\(")),
    Sign(r"\b(?:rm|remov\w+|delet\w+)[^\n]{0,60}(?:\.lock\b|lock file|torch_extensions)[^\n]*(?:help|fix|work|solv|continu)", "removing the lock file helped", prose=True),
    Sign(r"Using \S+ as PyTorch extensions root[^\n]*(?:\n[^\n]*PyTorch extensions root[^\n]*)*\s*\Z", "the log ends where an extension is built", POSSIBLE, unless=(r"Building extension|ninja: |Loading extension",)),
    Sign(r"waiting (?:for|on) (?:the )?(?:lock|other process)[^\n]*(?:\.lock|lock file)|Another process is (?:already )?building", "a process waits for another one's build", POSSIBLE),
)  # fmt: skip

_TITLE = "a lock file was left behind and is waited for"
_STEPS = (
    "find ~/.cache/torch_extensions -name lock -ls",
    "remove the lock file when no builder runs on any host that shares it",
)


def check(case: Case) -> Iterator[Finding]:
    found = [*hits(case, _SIGNS), *_waited_for(case)]
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


def _waited_for(case: Case) -> Iterator[Hit]:
    """Who polls in filelock for a lock that the program makes as a soft one, by its source: that is held as long as its file is
    there, whoever made it. Likely left behind where a listing shows that it was made long before this run; whose file is so old
    and was found to be open nowhere is soft without a source: who asks the kernel for a lock opens the file anew, with O_TRUNC."""
    if case.snapshot.live or any(one.find(pattern) for one in accounts(case) for pattern in _IN_USE):
        return
    soft = any(_SOFT.search(event.text) for one in accounts(case) for event in one.events if event.event in _CODE)
    old = _made_before(case)
    if not soft and not (old and _open_nowhere(case, old.rsplit(None, 1)[-1])):
        return
    for account in accounts(case):
        for seen in account.seen:
            if seen.stack and module_path_of(seen.stack[-1]) in _POLLS:
                says = "a lock that is only a file is waited for"
                sure = Sign("", f"{says}, and the file was there long before this run: {old}"[:200]) if old else None
                yield Hit(sure or Sign("", says, POSSIBLE), account, seen.text.split("\n", 1)[0])
                return


def _open_nowhere(case: Case, name: str) -> bool:
    """Whether somebody asked at a prompt who has a file open, or who holds locks, and the next prompt follows at once."""
    for account in accounts(case):
        told = [event.text for event in account.events]
        for text, answer in zip(told, [*told[1:], "$"]):
            asked = _ASKED.match(text)
            if asked and (asked["locks"] or name in text) and _PROMPT.match(answer):
                return True
    return False


_PROMPT = regex(r"^[^\s$#]{0,80}[$#](?: |$)")
_ASKED = regex(r"^[^\s$#]{0,80}[$#] (?:sudo )?(?:(?:fuser|lsof)\b|(?P<locks>lslocks)\b)[^;&]{0,200}$")


def _made_before(case: Case) -> str:
    """The row of a listing that shows a lock file from long before the first moment that any log or date(1) tells; "" for none."""
    lines = [event for event in case.events if event.event == "text.line"]
    told = [event.at_s for event in lines if event.at_s is not None]
    told += [moment for event in lines if (moment := _shown_by_date(event.text)) is not None]
    for event in lines if told else ():
        row = _LOCK_ROW.search(event.text)
        made = _moment(row["when"], min(told)) if row else None
        if made is not None and min(told) - made > _LONG_BEFORE_S:
            return event.text.strip()
    return ""


def _shown_by_date(text: str) -> float | None:
    """The moment that date(1) prints, on a clock of its own."""
    if (found := _DATE.match(text)) is None:
        return None
    try:
        return datetime.strptime(" ".join(found.groups()), "%b %d %H:%M:%S %Y").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


_DATE = regex(r"^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d) [A-Z+\d-]{1,6} (\d{4})\s{0,9}$")


def _moment(text: str, near: float) -> float | None:
    """What ls(1) writes of a time, in seconds since the epoch on a clock of its own; without a year it is of the last one."""
    words = " ".join(text.replace("T", " ").split())
    year = datetime.fromtimestamp(near, timezone.utc).year
    for form, said in (("%Y-%m-%d %H:%M", words), ("%Y %b %d %H:%M", f"{year} {words}"), ("%b %d %Y", words)):
        try:
            made = datetime.strptime(said, form).replace(tzinfo=timezone.utc)
        except ValueError:
            continue
        late = form.startswith("%Y %b") and made.timestamp() > near + _LONG_BEFORE_S
        return (made.replace(year=year - 1, day=min(made.day, 28)) if late else made).timestamp()
    return None


_CODE = ("text.source", "text.line")
_SOFT = regex(r"\bSoft(?:File)?Lock\(|\bimport SoftFileLock\b|\bSoftFileLock as\b")
_POLLS = ("filelock/_api.py", "filelock/_soft.py", "filelock/__init__.py", "filelock/_core/_acquire.py")
# Rows of fuser(1), with and without -v, and of lsof(8): somebody has the file open.
_OPEN = r"^\S{0,200}lock: +(?:\S+ +)?\d{2,9}\b|^\S{1,64} +\d{2,9} +[FfrcemM.]{3,6} +\S|^\S{1,64} +\d{2,9} +\S{1,64} +\d{1,5}[-ruw]\w? [^\n]{0,300}lock"
_IN_USE = (_BUILDING, _HELD, _OPEN, _REFUSED)
_LONG_BEFORE_S = 12 * 3600  # more than the clocks of two zones may differ
_LOCK_ROW = regex(
    r"^[-l][rwxsStT-]{9}[.+@]? +\d{1,9} +\S{1,64} +\S{1,64} +\d{1,18} +"
    r"(?P<when>\d{4}-\d\d-\d\d[ T]\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} +(?:\d\d:\d\d|\d{4}))\S{0,20}(?: [+-]\d{4})? +\S{0,300}lock\S{0,80}$",
)

RULE = make_rule(__name__, __doc__, "file-lock-stale", 15, check)
