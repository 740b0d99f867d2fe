"""Which call into compiled code the innermost Python frame of a thread stands in; such code leaves no frame of its own.

The instruction at which the frame stands is a call, and what it calls lies on the frame's value stack, above the iterators of its
loops and below its arguments. While the call lasts nothing writes there. Above it may lie what earlier calls left; so the lowest
is taken, and only compiled functions of libraries in which ranks meet are named, for which a frame says what they wait for, and
event loops that are compiled as a whole (uvloop), which show no frame of their own while they wait.

The handle that torch gives for a call under way (``Work``) has one ``wait`` for all that it may wait for. Which it is, the C++
object behind it tells: pybind11 keeps a pointer to it behind the head of its own (``pybind11::detail::instance``), the object
begins with that to its virtual table, and before that table lies its type with its name (Itanium C++ ABI, 2.9.4).
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ..model.evidence.stacks import MPI, UVLOOP, Frame
from . import scope
from .code import Code, offset_of
from .frames import RawFrame
from .objects import I32, U64, Objects
from .source import Unreadable

STACK_LIMIT = 64
# The modules whose functions are named, and the file that readers of native frames show them in.
_KNOWN = {"mpi4py.MPI.": MPI, "uvloop.loop.": UVLOOP}
# Installed code from which a compiled loop is run.
_RUNNERS = ("/asyncio/runners.py", "/uvloop/__init__.py")
_WAIT = "torch._C._distributed_c10d.wait"
_TORCH = "libtorch_cpu.so"
# Handles that readers of native frames know by these names; of gloo's collectives each has a type of its own.
_MESSAGES = {
    f"N4c10d16ProcessGroupGloo8{kind}WorkE": f"c10d::ProcessGroupGloo::{kind}Work::wait" for kind in ("Send", "Recv")
}
# GCC begins the name of a type that only one file knows with a star.
_COLLECTIVE = re.compile(r"\*?N4c10d\w*\dAsync[A-Z]\w*WorkE$")
# What a ``with`` keeps on the stack until it is left.
_LEAVE = ("__exit__", "__aexit__")


class Called(NamedTuple):
    """A compiled function, as a frame, and the address of the event loop that it runs, 0 where it is none."""

    frame: Frame
    loop: int = 0


@functools.lru_cache(maxsize=16)
def _calls(numbers: str) -> frozenset[int]:
    return frozenset(map(int, numbers.split()))


def of(objects: Objects, raw: RawFrame, code: Code) -> Called | None:
    """The compiled function that a frame of the job has called and that has not returned, if it is one of those named."""
    layout = objects.layout
    try:
        if scope.installed(code.file) and not code.file.endswith(_RUNNERS):
            return None
        if layout.version > (3, 13) or not _stands_in_call(objects, raw, code):
            return None
        held = _stack(objects, raw, code)
        for address in held:
            name = _called(objects, address)
            # Up to Python 3.10 a bound method leaves its object in its own place while it is called.
            if name == _WAIT or _kind(objects, address).rpartition(".")[2] == "Work":
                return _wait_of(objects, next(held, 0) if name else address)
            for start, file in _KNOWN.items():
                if name.startswith(start):
                    return Called(Frame(name[len(start) :], file), next(held, 0) if file == UVLOOP else 0)
            if name:
                return None
    except (Unreadable, struct.error):
        pass
    return None


def _stands_in_call(objects: Objects, raw: RawFrame, code: Code) -> bool:
    layout = objects.layout
    at = offset_of(layout, code.address, raw.instruction)
    if layout.code_bytes >= 0:
        start = objects.pointer(raw.code + layout.code_bytes) + layout.bytes_data
    else:
        start = raw.code + layout.code_instructions
    return 0 <= at < 1 << 24 and objects.memory.read(start + at, 1)[0] in _calls(layout.call_instructions)


def _stack(objects: Objects, raw: RawFrame, code: Code) -> Iterator[int]:
    """What lies on the value stack of a frame that runs, lowest first; how high it reaches, such a frame does not tell."""
    layout = objects.layout
    room = min(max(I32(code.header, layout.code_stack_size)[0], 0), STACK_LIMIT)
    if layout.frame_stack >= 0:
        start = objects.pointer(raw.address + layout.frame_stack)
    else:
        names = objects.pointer(raw.code + layout.code_local_names)
        start = raw.address + layout.frame_values + 8 * objects.pointer(names + layout.sized_size)
    held = objects.memory.read_some(start, 8 * room) if room else b""
    for place in range(len(held) // 8):
        (address,) = U64(held, 8 * place)
        if address:
            yield address


def _called(objects: Objects, address: int) -> str:
    """The full name of a compiled function, ``?`` for anything else that can be called; empty for what cannot."""
    layout = objects.layout
    type_at = objects.pointer(address + layout.object_type)
    kind = objects.type_name(type_at).rpartition(".")[2]
    first = address + layout.object_type + 8
    if kind == "method_descriptor":
        name = objects.text(objects.pointer(first + 8))
        owner = objects.type_name(objects.pointer(first))
    elif kind in ("builtin_function_or_method", "cython_function_or_method"):
        name, owner = objects.c_string(objects.pointer(objects.pointer(first))), _owner(objects, first)
    elif kind == "method":
        return "" if _method(objects, address).rpartition(".")[2] in _LEAVE else "?"
    else:
        return "?" if objects.pointer(type_at + layout.type_call) else ""
    return "" if name in _LEAVE else f"{owner}.{name}"


def _wait_of(objects: Objects, handle: int) -> Called | None:
    """The ``wait`` of torch for the kind of handle it was called on; None for kinds that nobody needs to tell apart."""
    work = objects.pointer(handle + objects.layout.object_type + 8)
    kind = objects.c_string(objects.pointer(objects.pointer(objects.pointer(work) - 8) + 8))
    name = _MESSAGES.get(kind) or ("c10d::Work::wait" if _COLLECTIVE.match(kind) else "")
    return Called(Frame(name, "", library=_TORCH)) if name else None


def _owner(objects: Objects, first: int) -> str:
    """The module of a compiled function, or the type of what it is bound to (PyCFunctionObject: definition, self, module)."""
    bound, module = objects.pointer(first + 8), objects.pointer(first + 16)
    if module and _kind(objects, module) == "str":
        return objects.text(module)
    return _kind(objects, bound) if bound else ""


def _kind(objects: Objects, address: int) -> str:
    return objects.type_name(objects.pointer(address + objects.layout.object_type))


def _method(objects: Objects, address: int) -> str:
    """The name of a function of Python that is bound to an object; empty for one of another kind."""
    layout = objects.layout
    function = objects.pointer(address + layout.method_self - 8)
    if _kind(objects, function) != "function":
        return ""
    code = objects.pointer(function + layout.function_code)
    return objects.text(objects.pointer(code + layout.code_name))
