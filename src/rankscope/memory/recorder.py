"""Torch's flight recorder, read out of a process from outside: no pause, no GIL, nothing prepared.

It is a function-local static of libtorch whose symbol the official wheels keep; ``recorder_ring`` reads what lies there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

from ..model.evidence.recorder import Recorder
from ..model.gap import Gap, Why
from . import elf, maps
from .buildid import SymbolCache
from .recorder_entry import Torn
from .recorder_ring import Reading, UnknownRing
from .runtime import Families
from .source import ProcessMemory, Unreadable
from .tracebacks import Tracebacks

TAIL = 128  # finished entries that are read besides the unfinished ones

_SYMBOL = "_ZZN4c10d14FlightRecorder{}3getEvE8instance"
_LIBRARIES = {
    "libtorch_cpu.so": (_SYMBOL.format("IN3c105EventEE"),),
    "libtorch_cuda.so": (
        _SYMBOL.format("IN3c104cuda9CUDAEventEE"),
        _SYMBOL.format("IN2at4cuda9CUDAEventEE"),
        _SYMBOL.format(""),
        "_ZZN4c10d15NCCLTraceBuffer3getEvE8instance",
    ),
    "libtorch_hip.so": (_SYMBOL.format("IN2at4cuda9CUDAEventEE"), _SYMBOL.format("IN3c104cuda9CUDAEventEE")),
}


def read_recorder(
    pid: int,
    proc: str = "/proc",
    cache: SymbolCache | None = None,
    tail: int = TAIL,
    families: Families | None = None,
) -> Recorder | Gap:
    """The recorder of one process: all unfinished operations and the last ``tail`` finished ones.

    With ``families`` (interpreters met so far) the newest entries come with their call sites.
    """
    try:
        with ProcessMemory(proc, pid) as memory:
            sites = Tracebacks.of(proc, pid, memory, families) if families is not None else None
            return _read(memory, proc, pid, cache or SymbolCache(), tail, sites)
    except (Unreadable, UnknownRing, struct.error) as error:
        return Gap("recorder", Why.UNKNOWN_LAYOUT, f"the flight recorder does not look as expected: {error}")
    except elf.BadElf as error:
        return Gap("recorder", Why.DAMAGED, f"libtorch cannot be read: {error}")
    except Torn:
        return Gap("recorder", Why.FAILED, "the flight recorder changed faster than it could be read")
    except OSError as error:
        return _refused(error)


def _refused(error: OSError) -> Gap:
    if isinstance(error, PermissionError):
        return Gap(
            "recorder", Why.DENIED, f"memory: {error.strerror}", hint="run as the job's user with ptrace allowed"
        )
    if isinstance(error, (ProcessLookupError, FileNotFoundError)):
        return Gap("recorder", Why.GONE, str(error))
    return Gap("recorder", Why.FAILED, str(error))


def _read(
    memory: ProcessMemory, proc: str, pid: int, cache: SymbolCache, tail: int, sites: Tracebacks | None
) -> Recorder | Gap:
    found, loaded = [], False
    for image in _images(proc, pid):
        loaded = True
        symbols = cache.find(memory, image, proc, pid, _LIBRARIES[image.name])
        for offset in symbols.values():
            (instance,) = struct.unpack("<Q", memory.read(image.start + offset, 8))
            if instance:
                found.append(Reading(memory, instance, tail, sites).recorder())
    if not loaded:
        return Gap("recorder", Why.MISSING, "no torch is loaded")
    if not found:
        return Gap("recorder", Why.MISSING, "this torch has no flight recorder, or no process group was made yet")
    used = [recorder for recorder in found if recorder.entries] or found[:1]
    return used[0] if len(used) == 1 else joined(used)


def _images(proc: str, pid: int) -> Iterator[maps.Mapping]:
    for first, _ in maps.images(maps.parse(maps.read(proc, pid))):
        if first.name in _LIBRARIES:
            yield first


def joined(recorders: list[Recorder]) -> Recorder:
    """One recorder of two that a process keeps (gloo's and NCCL's), in order of time.

    Both number the operations of a group of one name by themselves: the smaller ring's groups get another name.
    """
    main, *others = sorted(recorders, key=lambda recorder: -len(recorder.entries))
    entries = list(main.entries)
    for other in others:
        entries.extend(replace(entry, group=f"{entry.group}/{entry.backend}", pg_id=-1) for entry in other.entries)
    entries.sort(key=lambda entry: entry.created_ns)
    first = 0 if all(recorder.entries[0].id == 0 for recorder in recorders) else 1
    numbered = tuple(replace(entry, id=first + number) for number, entry in enumerate(entries))
    return replace(main, entries=numbered)
