"""The interpreter's own list of its threads, who holds its lock, and whether it is shutting down."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from .layouts import Layout
from .objects import I32, U64
from .source import Memory, Pages, Unreadable
from .tasks import Task

INTERPRETERS_LIMIT = 64
THREADS_LIMIT = 8192
ATTEMPTS = 4
# glibc's struct pthread keeps the kernel's id of the thread here; musl keeps it there. Up to 3.10 Python knows only the
# address of that structure. Elsewhere it is searched for (see find_native).
_NATIVE_AT = (720, 48, 208)
_PTHREAD_SIZE = 1024


@dataclass(frozen=True)
class ThreadState:
    """One thread as the interpreter lists it. ``native`` is the kernel's id inside the thread's pid namespace, or 0."""

    address: int
    ident: int
    native: int
    frame: int
    interpreter: int


@dataclass(frozen=True)
class Lock:
    """The interpreter lock: where it lies, and the thread state that holds it (0 for nobody)."""

    address: int
    size: int
    holder: int


def living(pages: Pages, layout: Layout, runtime: int, looked: Mapping[int, Task]) -> dict[int, ThreadState]:
    """The interpreter's threads by the kernel's id of them, oldest first; those not alive are left out.

    There is at least one, or the interpreter was not read as it should be.
    """
    outer = {task.inner: task.tid for task in looked.values()}
    alive = frozenset(outer)
    states: dict[int, ThreadState] = {}
    for state in reversed(_listed(pages, layout, runtime)):
        native = find_native(pages, state, alive)
        # A thread that works in a subinterpreter has a second state; the first holds the frames it came from. One
        # without frames may be what is left of an ended thread whose handle a new thread was given.
        if native and not (outer[native] in states and states[outer[native]].frame):
            states[outer[native]] = state
    return states


def _listed(pages: Pages, layout: Layout, runtime: int) -> tuple[ThreadState, ...]:
    """The list of threads; empty when it leads nowhere, each time it is tried.

    A job that starts and ends threads all the time may relink the list under our eyes, seldom several times in a row.
    """
    for _ in range(ATTEMPTS):
        try:
            return threads(pages, layout, runtime)
        except (Unreadable, struct.error):
            pages.forget()
    return ()


def threads(memory: Memory, layout: Layout, runtime: int) -> tuple[ThreadState, ...]:
    """List the threads of all interpreters; raise Unreadable when the list leads nowhere."""
    found: dict[int, ThreadState] = {}
    interpreter = int(U64(memory.read(runtime + layout.runtime_head, 8))[0])
    for _ in range(INTERPRETERS_LIMIT):
        if not interpreter:
            break
        address = int(U64(memory.read(interpreter + layout.interp_threads, 8))[0])
        while address and len(found) < THREADS_LIMIT:
            if address in found:
                raise Unreadable("the list of threads was relinked while it was read: it leads back into itself")
            state, following = thread(memory, layout, address)
            if state.interpreter != interpreter:
                raise Unreadable(f"the thread at {address:#x} belongs to no interpreter")
            found[address] = state
            address = following
        interpreter = int(U64(memory.read(interpreter + layout.interp_next, 8))[0])
    return tuple(found.values())


def thread(memory: Memory, layout: Layout, address: int) -> tuple[ThreadState, int]:
    """Read one thread state and the address of the next."""
    raw = memory.read(address, layout.thread_size)
    native = U64(raw, layout.thread_native)[0] if layout.thread_native >= 0 else 0
    state = ThreadState(
        address,
        U64(raw, layout.thread_ident)[0],
        int(native) if native < 1 << 31 else 0,
        U64(raw, layout.thread_frame)[0],
        U64(raw, layout.thread_interp)[0],
    )
    return state, U64(raw, layout.thread_next)[0]


def find_native(memory: Memory, state: ThreadState, alive: frozenset[int]) -> int:
    """The kernel's id of a thread that is alive, from what Python or else the C library says; 0 when neither does."""
    if state.native in alive:
        return state.native
    try:
        raw = memory.read_some(state.ident, _PTHREAD_SIZE)
    except Unreadable:
        return 0
    for at in _NATIVE_AT:
        if at + 4 <= len(raw) and I32(raw, at)[0] in alive:
            return int(I32(raw, at)[0])
    return 0


def lock(memory: Memory, layout: Layout, runtime: int, interpreter: int) -> Lock | None:
    """The lock of an interpreter; None when it cannot be read."""
    try:
        if layout.runtime_gil >= 0:
            address = runtime + layout.runtime_gil
        else:
            address = int(U64(memory.read(interpreter + layout.interp_gil, 8))[0])
        raw = memory.read(address, layout.gil_size)
    except Unreadable:
        return None
    locked = I32(raw, layout.gil_locked)[0] == 1
    return Lock(address, layout.gil_size, U64(raw, layout.gil_holder)[0] if locked else 0)


def finalizing(memory: Memory, layout: Layout, runtime: int) -> bool:
    """Whether the interpreter is shutting down."""
    try:
        return bool(U64(memory.read(runtime + layout.runtime_finalizing, 8))[0])
    except Unreadable:
        return False


def ended(memory: Memory, layout: Layout, runtime: int) -> bool:
    """Whether the interpreter has been taken down: no list of threads is left, and it says that it has been finalizing.

    The process lives on while its libraries' handlers and destructors run (exit(3), Py_FinalizeEx). Before it begins there
    is no list either, and nobody finalizes.
    """
    try:
        return not U64(memory.read(runtime + layout.runtime_head, 8))[0] and finalizing(memory, layout, runtime)
    except Unreadable:
        return False
