"""The few system calls in which a thread may wait for somebody else, by architecture (syscall(2) tables)."""

from __future__ import annotations

import os

_X86_64 = {
    0: "read", 1: "write", 7: "poll", 17: "pread64", 19: "readv", 20: "writev", 23: "select", 34: "pause", 35: "nanosleep",
    42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 69: "msgsnd",
    70: "msgrcv", 72: "fcntl", 73: "flock", 128: "rt_sigtimedwait", 202: "futex", 219: "restart_syscall",
    230: "clock_nanosleep", 232: "epoll_wait", 242: "mq_timedsend", 243: "mq_timedreceive", 247: "waitid", 257: "openat",
    270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4", 441: "epoll_pwait2",
}  # fmt: skip
_AARCH64 = {
    63: "read", 64: "write", 65: "readv", 66: "writev", 67: "pread64", 22: "epoll_pwait", 25: "fcntl", 32: "flock",
    56: "openat", 72: "pselect6", 73: "ppoll", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep",
    128: "restart_syscall", 137: "rt_sigtimedwait", 182: "mq_timedsend", 183: "mq_timedreceive", 188: "msgrcv",
    189: "msgsnd", 202: "accept", 203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg",
    242: "accept4", 260: "wait4", 441: "epoll_pwait2",
}  # fmt: skip

NAMES = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(os.uname().machine, {})

ON_FIRST_FD = frozenset(
    "read write readv writev pread64 connect accept accept4 sendto recvfrom sendmsg recvmsg fcntl flock"
    " mq_timedsend mq_timedreceive".split()
)
# Calls on an open queue whose fifth argument is a limit of time, NULL for none (mq_send(3), mq_receive(3)).
QUEUES = frozenset(("mq_timedsend", "mq_timedreceive"))
EPOLL = frozenset(("epoll_wait", "epoll_pwait", "epoll_pwait2"))
POLL = frozenset(("poll", "ppoll"))
