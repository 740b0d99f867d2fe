"""What may be seen on this host and of a process, and why not more (ptrace(2), capabilities(7), proc(5))."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.process import ProcessRef
from . import procfs
from .abandon import Blocked, Send, guarded
from .collector import Touch, collectors

_DAC_READ_SEARCH, _SYS_PTRACE, _SYS_ADMIN = 2, 19, 21  # numbers of capabilities(7)
_PAGE = "rankscope explain ptrace"
_ATTACH = (
    f"sudo -E rankscope diagnose   # or sysctl kernel.yama.ptrace_scope=0; py-spy and gdb are refused as well ({_PAGE})"
)


@dataclass(frozen=True)
class Check:
    """One thing that was checked: ``fine`` or not, what we saw, and what to do about it."""

    name: str
    fine: bool
    text: str
    do: str = ""


@dataclass(frozen=True)
class Rights:
    """What this process of ours may do."""

    uid: int
    capabilities: int
    yama: int | None  # None: the kernel has no Yama

    def has(self, number: int) -> bool:
        return bool(self.capabilities >> number & 1)

    @property
    def traces(self) -> bool:
        return self.has(_SYS_PTRACE)


def rights(proc: str = "/proc") -> Rights:
    """Our own user, effective capabilities, and what Yama asks for."""
    status = _status(f"{proc}/self/status")
    try:
        yama: int | None = int(procfs.read(f"{proc}/sys/kernel/yama/ptrace_scope"))
    except (OSError, ValueError):
        yama = None
    return Rights(os.geteuid(), int(status.get("CapEff", "0"), 16), yama)


def host(proc: str = "/proc") -> Iterator[Check]:
    """What holds for every process of this host."""
    mine = rights(proc)
    status = _status(f"{proc}/self/status")
    yield _user(mine)
    yield _yama(mine)
    yield _seccomp(status)
    yield _hidepid(proc)
    yield _container(proc)
    yield _stillness(proc)
    yield _requests()
    yield from _tools()


def _user(mine: Rights) -> Check:
    names = [name for number, name in ((_SYS_PTRACE, "CAP_SYS_PTRACE"), (_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"),
                                       (_SYS_ADMIN, "CAP_SYS_ADMIN")) if mine.has(number)]  # fmt: skip
    held = f" with {', '.join(names)}" if names else " without capabilities that matter here"
    if mine.traces:
        return Check("rights", True, f"uid {mine.uid}{held}: processes of all users can be read")
    return Check("rights", True, f"uid {mine.uid}{held}: only processes of this user can be read",
                 "sudo -E rankscope diagnose   # processes of other users as well")  # fmt: skip


def _yama(mine: Rights) -> Check:
    if mine.yama is None:
        return Check("yama", True, "not in this kernel: nothing is restricted beyond users")
    words = {
        0: "0: nothing is restricted beyond users",
        1: "1: only ancestors of a process may read it, even within one user",
        2: "2: only with CAP_SYS_PTRACE",
        3: "3: nobody may read another process until the next boot",
    }
    fine = mine.yama == 0 or (mine.traces and mine.yama < 3)
    do = "" if fine else f"sudo sysctl kernel.yama.ptrace_scope=0   # or run as root ({_PAGE})"
    return Check("yama", fine, f"ptrace_scope {words.get(mine.yama, str(mine.yama))}", do)


def _seccomp(status: dict[str, str]) -> Check:
    mode = status.get("Seccomp", "0")
    if mode == "0":
        return Check("seccomp", True, "no filter on our system calls")
    return Check("seccomp", True, f"a filter is on our system calls (mode {mode}); it may refuse ptrace: --native needs it",
                 "containers: --cap-add SYS_PTRACE")  # fmt: skip


def _hidepid(proc: str) -> Check:
    for line in procfs.read(f"{proc}/self/mounts").decode("utf-8", "replace").splitlines():
        _, place, kind, options, *_rest = line.split(" ")
        if kind == "proc" and place == proc:
            value = next((one.partition("=")[2] for one in options.split(",") if one.startswith("hidepid=")), "0")
            if value not in ("0", "off"):
                return Check("hidepid", False, f"{proc} is mounted with hidepid={value}: processes of other users are not shown",
                             "run as root, or join the group of its gid= option")  # fmt: skip
    return Check("hidepid", True, f"{proc} shows processes of all users")


def _container(proc: str) -> Check:
    marks = [path for path in ("/.dockerenv", "/run/.containerenv") if os.path.exists(path)]
    try:
        first = procfs.stat(proc, 1).comm
    except OSError:
        first = "unknown"
    if marks or first not in ("init", "systemd", "launchd", "openrc-init", "runit", "s6-svscan", "unknown"):
        return Check("container", True, f"this looks like a container (process 1 is {first}): only its own processes are visible",
                     "run on the host to see other containers")  # fmt: skip
    return Check("container", True, f"process 1 is {first}: this looks like a whole machine")


def _stillness(proc: str) -> Check:
    try:
        known = b"se.exec_start" in procfs.read(f"{proc}/self/sched")
    except OSError:
        known = False
    if known:
        return Check("stillness", True, "the kernel tells when a thread last ran: one look gives its age")
    return Check("stillness", False, f"{proc}/PID/sched does not say when a thread last ran",
                 "take several sweeps: --sweeps 3 --interval 15")  # fmt: skip


def _requests() -> Check:
    """What does more than look, though it changes nothing: engines that may pause are named by their own option."""
    kinds = sorted(one.kind for one in collectors() if one.touch is Touch.ASKS)
    return Check("requests", True, f"read-only, to servers of the job and the GPU driver: {', '.join(kinds)}")


def _tools() -> Iterator[Check]:
    from .engines import pyspy

    spy = pyspy.executable()
    yield Check(
        "py-spy", bool(spy), spy or "not found", "" if spy else "pip install py-spy   # the second reader of stacks"
    )
    stack = importlib.util.find_spec("pystack") is not None
    yield Check("pystack", True, "installed" if stack else "not installed (the optional extra native)",
                "" if stack else "pip install 'rankscope[native]'   # for native stacks and core files")  # fmt: skip
    gdb = shutil.which("gdb")
    yield Check("gdb", True, gdb or "not found; nothing here needs it")


@dataclass(frozen=True)
class Access:
    """What may be seen of one process. ``refused`` is the kernel's word, empty when its memory can be opened."""

    ref: ProcessRef
    uid: int = -1
    refused: str = ""
    other_pids: bool = False
    other_files: bool = False
    because: str = ""
    do: str = ""


def processes(refs: Sequence[ProcessRef], proc: str = "/proc") -> list[Access]:
    """Try to open each process as a reader of its memory would; opening pauses nobody."""
    out = []
    mine = rights(proc)
    for answer in guarded(refs, lambda ref, send: _try(proc, ref, mine, send), lambda _: 2.0):
        if isinstance(answer.said, Blocked):
            out.append(Access(answer.step, refused="no answer", because="opening its memory stood still"))
        else:
            out.append(Access(answer.step, **json.loads(answer.said)))
    return out


def _try(proc: str, ref: ProcessRef, mine: Rights, send: Send) -> None:
    """Runs in the guarded child."""
    said: dict[str, object] = {}
    try:
        said["uid"] = os.stat(f"{proc}/{ref.pid}").st_uid
        os.close(os.open(f"{proc}/{ref.pid}/mem", os.O_RDONLY | os.O_CLOEXEC))
        said["other_pids"] = _namespace(proc, "self", "pid") != _namespace(proc, str(ref.pid), "pid")
        said["other_files"] = _namespace(proc, "self", "mnt") != _namespace(proc, str(ref.pid), "mnt")
    except OSError as error:
        said["refused"] = error.strerror or str(error)
        said["because"], said["do"] = _reason(proc, ref, mine)
    send(json.dumps(said).encode())


def _namespace(proc: str, pid: str, kind: str) -> str:
    return os.readlink(f"{proc}/{pid}/ns/{kind}")


def _reason(proc: str, ref: ProcessRef, mine: Rights) -> tuple[str, str]:
    """Why the kernel refused, as far as it can be told from outside."""
    try:
        uids = set(_status(f"{proc}/{ref.pid}/status")["Uid"].split())
        dumpable = os.stat(f"{proc}/{ref.pid}").st_uid == int(min(uids)) if len(uids) == 1 else False
    except (OSError, KeyError, ValueError):
        return "the process ended", ""
    if uids != {str(mine.uid)} and not mine.traces:
        whose = f"it belongs to uid {', '.join(sorted(uids))} and we are {mine.uid}"
        return whose, f"sudo -E rankscope diagnose   # or as its user ({_PAGE})"
    if not dumpable:
        return "it is not dumpable (it changed its user, or asked for it)", f"run as root ({_PAGE})"
    if mine.yama:
        return f"Yama's ptrace_scope is {mine.yama}", _ATTACH
    if _may_look(proc, ref.pid):
        return "we may look at it but not attach, as with Yama's ptrace_scope 1", _ATTACH
    return "it has capabilities or a user namespace of its own", f"run as root outside its container ({_PAGE})"


def refusal(proc: str, ref: ProcessRef) -> tuple[str, str]:
    """Why the memory of a process is closed to us, and what opens it."""
    try:
        return _reason(proc, ref, rights(proc))
    except (OSError, ValueError):
        return "", f"run as the job's user or root ({_PAGE})"


def _may_look(proc: str, pid: int) -> bool:
    """Whether the kernel lets us read what asks for PTRACE_MODE_READ alone (ptrace(2)): Yama refuses only the rest."""
    try:
        os.close(os.open(f"{proc}/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _status(path: str) -> dict[str, str]:
    lines = procfs.read(path).decode("utf-8", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
