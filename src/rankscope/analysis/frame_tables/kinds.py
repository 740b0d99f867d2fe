"""The kinds of waiting, and how much each of them says."""

from __future__ import annotations

import enum


class WaitKind(str, enum.Enum):
    """What a thread is waiting for or busy with."""

    COLLECTIVE = "collective"  # a collective of a process group
    P2P = "p2p"  # a send or receive between two ranks
    STORE = "store"  # the key-value store of the job
    RENDEZVOUS = "rendezvous"  # joining the job or a new group
    DATA = "data"  # the next batch of a loader
    QUEUE = "queue"  # an item of a queue, or room in one
    LOCK = "lock"  # a mutex
    CONDITION = "condition"  # a condition, event, semaphore or future
    CHILD = "child"  # the end of a process or thread
    PIPE = "pipe"  # a pipe or a connection between processes
    SOCKET = "socket"  # a network peer
    DEVICE = "device"  # work on the GPU
    STORAGE = "storage"  # a file system
    GIL = "gil"  # the interpreter lock
    IMPORT_LOCK = "import-lock"  # a module that another thread imports
    FILE_LOCK = "file-lock"  # an advisory lock on a file
    FILE_BATON = "file-baton"  # a lock file that its builder deletes
    SLEEP = "sleep"  # the clock
    INPUT = "input"  # a person: input() or a debugger prompt
    COMPILE = "compile"  # a compiler or its helper process
    CHECKPOINT = "checkpoint"  # writing or reading a checkpoint
    EXIT = "exit"  # the end of the program
    BACKWARD = "backward"  # autograd, in which gradient collectives may run
    IDLE = "idle"  # a helper thread without work
    USER = "user"  # running code of the job itself
    LIBRARY = "library"  # running code of a library
    UNKNOWN = "unknown"  # no frames


# The more a kind says, the higher; an outer library frame outranks an inner one that says less.
STRENGTH = {
    WaitKind.SLEEP: 1,
    WaitKind.LOCK: 1,
    WaitKind.CONDITION: 1,
    WaitKind.SOCKET: 1,
    WaitKind.PIPE: 1,
    WaitKind.STORAGE: 1,
    WaitKind.QUEUE: 2,
    WaitKind.CHILD: 3,
    WaitKind.STORE: 3,
    WaitKind.BACKWARD: 3,
    WaitKind.CHECKPOINT: 2,
    WaitKind.IDLE: 3,
    WaitKind.DATA: 4,
    WaitKind.RENDEZVOUS: 4,
    WaitKind.COMPILE: 4,
    WaitKind.DEVICE: 4,
    WaitKind.COLLECTIVE: 5,
    WaitKind.P2P: 5,
    WaitKind.FILE_BATON: 5,
    WaitKind.FILE_LOCK: 5,
    WaitKind.IMPORT_LOCK: 5,
    WaitKind.INPUT: 5,
    WaitKind.EXIT: 5,
    WaitKind.GIL: 6,
}
