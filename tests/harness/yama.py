"""Run a command as Yama's ``ptrace_scope`` 1 would have it, on any kernel and as any user: ``python yama.py COMMAND…``.

The kernel then asks for an ancestor wherever it checks for PTRACE_MODE_ATTACH: ptrace(2), process_vm_readv(2),
pidfd_getfd(2), and of /proc/PID the files mem, syscall, stack and personality (ptrace(2), proc(5)). What is checked for
PTRACE_MODE_READ stays open to the same user: fd, fdinfo, environ, maps, io, wchan and the links. Here a filter of
seccomp_unotify(2) refuses the same calls to the command and to everything it starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import re
import socket
import struct
import sys
import threading

_LIBC = ctypes.CDLL(None, use_errno=True)
# seccomp, openat, openat2, process_vm_readv, process_vm_writev, ptrace, pidfd_getfd, open (0: there is none).
_NUMBERS = {"x86_64": (317, 257, 437, 310, 311, 101, 438, 2), "aarch64": (277, 56, 437, 270, 271, 117, 438, 0)}
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_ALLOW, _NOTIFY, _REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050000 | errno.EPERM
_CLOSED = re.compile(r"/proc/(\d+)(?:/task/\d+)?/(mem|syscall|stack|personality)")


def program() -> bytes:
    """The filter: opening is asked about, attaching is refused, all else is allowed."""
    _, openat, openat2, readv, writev, ptrace, getfd, plain = _NUMBERS[platform.machine()]
    asked, refused = [openat, openat2, *([plain] if plain else [])], [readv, writev, ptrace, getfd]
    calls = [(number, _NOTIFY) for number in asked] + [(number, _REFUSE) for number in refused]
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, _ARCH[platform.machine()]), (0x06, 0, 0, _ALLOW), (0x20, 0, 0, 0)]
    for number, action in calls:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, action)]
    return b"".join(struct.pack("=HBBI", *one) for one in (*code, (0x06, 0, 0, _ALLOW)))


def works() -> bool:
    """Whether such a filter can be put on a process here; tried in a child, since it stays."""
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            install()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def install() -> int:
    """Put the filter on this process; the descriptor on which it asks."""
    code = program()
    keep = ctypes.create_string_buffer(code)
    head = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(code) // 8, ctypes.addressof(keep)))
    _LIBC.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    handle = _LIBC.syscall(_NUMBERS[platform.machine()][0], 1, 8, head)  # SECCOMP_FILTER_FLAG_NEW_LISTENER
    if handle < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return int(handle)


def answer(handle: int, tool: int) -> None:
    """Answer one question: refuse what would attach to a process that the command did not start."""
    asked = bytearray(80)
    fcntl.ioctl(handle, _RECEIVE, asked)
    number, pid, _, call, _, _, *args = struct.unpack("=QIIiIQ6Q", asked)
    path = _path(pid, args[0] if call == _NUMBERS[platform.machine()][-1] else args[1])
    found = _CLOSED.fullmatch(path)
    refused = (
        0
        if found is None or _started_by(int(found.group(1)), tool)
        else errno.EACCES
        if found.group(2) == "mem"
        else errno.EPERM
    )
    fcntl.ioctl(handle, _SEND, struct.pack("=QqiI", number, 0, -refused, 0 if refused else _CONTINUE))


def _path(pid: int, address: int) -> str:
    """The string that a process passes; paths of interest are short."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(256).split(b"\0")[0].decode("utf-8", "replace")


def _started_by(pid: int, tool: int) -> bool:
    """Whether a process is the tool or descends from it."""
    while pid not in (0, 1, tool):
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                pid = int(stat.read().rpartition(b")")[2].split()[1])
        except OSError:
            return True  # gone: the kernel says so itself
    return pid == tool


def _serve(handle: int, tool: int) -> None:
    while True:
        try:
            answer(handle, tool)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINTR, errno.ESRCH, errno.EIO, errno.EACCES):
                return


def main(command: list[str]) -> int:
    """Run the command below the filter, and end as it does."""
    ours, theirs = socket.socketpair()
    tool = os.fork()
    if not tool:
        handle = install()
        socket.send_fds(theirs, [b"x"], [handle])
        os.close(handle)
        ours.close()
        theirs.close()
        os.execvp(command[0], command)
    handle = socket.recv_fds(ours, 1, 1)[1][0]
    threading.Thread(target=_serve, args=(handle, tool), daemon=True).start()
    return os.waitstatus_to_exitcode(os.waitpid(tool, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
