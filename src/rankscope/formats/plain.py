"""Pickles and JSON from strangers, read as plain containers and nothing else, within bounded memory.

A pickle can run code only through what ``find_class`` and ``persistent_load`` return; both refuse here, so that numbers,
text and containers are all that ever reaches the stack of the decoder (pickletools, CPython's documentation).
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import pickle
import resource
import threading
from collections.abc import Iterator
from typing import Any

MOST_BYTES = 128 << 20  # a dump of 2,000 entries with C++ stacks has 10 MB
_SLACK_BYTES = 256 << 20
_BYTES_PER_BYTE = 64  # a dictionary takes 64 bytes in memory and one in a pickle; real dumps stay below 20
_limit_lock = threading.Lock()


class Refused(Exception):
    """The bytes are not plain data, or more of it than is sane."""


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise Refused(f"it asks for the class {module}.{name}"[:200])

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("it refers to objects outside the file")


def unpickle(data: bytes) -> Any:
    """The plain object of a pickle; raise Refused otherwise."""
    with _bounded(len(data)):
        # Without a buffer to peek into, the decoder asks the file for every few bytes: four times slower.
        stream = io.BufferedReader(io.BytesIO(data), min(max(len(data), 4096), 1 << 20))
        return _guarded(lambda: _Plain(stream).load())


def parse_json(data: bytes) -> Any:
    """The object of a JSON text; raise Refused otherwise."""
    with _bounded(len(data)):
        return _guarded(lambda: json.loads(data))


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector still while millions of small objects are made that have no cycles."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _guarded(decode: Any) -> Any:
    try:
        return decode()
    except Refused:
        raise
    except MemoryError:
        raise Refused("it unfolds to more memory than such a file needs") from None
    except Exception as error:  # the decoder meets arbitrary bytes: any of its errors means the same
        raise Refused(f"it is damaged: {error}"[:200]) from None


@contextlib.contextmanager
def _bounded(size: int) -> Iterator[None]:
    """Lower the soft limit of our address space while a file is decoded.

    The only bound that holds against every trick (memo indices of two thousand million, a million empty
    dictionaries): the decoder's next allocation fails, and it says so.
    """
    if size > MOST_BYTES:
        raise Refused(f"it has {size} bytes; the most that is read is {MOST_BYTES}")
    with _limit_lock:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        used = _address_space()
        if not used:  # not Linux: no way to bound it, and nothing to put back
            yield
            return
        most = used + _SLACK_BYTES + size * _BYTES_PER_BYTE
        if soft != resource.RLIM_INFINITY:
            most = min(most, soft)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """What this process has mapped (proc(5), statm); 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
