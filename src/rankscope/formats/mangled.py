"""Names of C++ and Rust as the linker knows them: eu-stack, perf and many crash handlers print these."""

from __future__ import annotations

import functools
from dataclasses import replace

from ..model.evidence.stacks import Frame
from ..model.patterns import regex

_NESTED = regex(r"_?_ZN?[rVK]{0,3}[RO]?(?=L?\d|St)")
_PART = regex(r"L?(?P<length>[1-9]\d{0,2})(?=[A-Za-z_])")
_UNNAMED = "_GLOBAL__N_"
_HASH = regex(r"h[0-9a-f]{16}")  # Rust's last part


def plain(frame: Frame) -> Frame:
    """A frame whose function bears its plain name."""
    return replace(frame, function=plain_name(frame.function)) if frame.function.startswith(_BEGINS) else frame


_BEGINS = ("_Z", "__Z")


@functools.lru_cache(maxsize=65536)
def plain_name(name: str) -> str:
    """A mangled function by its name alone, without arguments; any other name as it is.

    Of a template what stands behind its first arguments is left out (``_ZN3fooI3barE3runEv`` is ``foo``): the library and the
    class are told by what comes before.
    """
    begin = _NESTED.match(name)
    if begin is None:
        return name
    at, parts = begin.end(), list[str]()
    if name.startswith("St", at):
        at, parts = at + 2, ["std"]
    while found := _PART.match(name, at):
        at = found.end() + int(found["length"])
        part = name[found.end() : at]
        if len(part) < int(found["length"]):
            break  # cut off
        parts.append("(anonymous namespace)" if part.startswith(_UNNAMED) else part)
        if not begin.group().rstrip("rVKRO").endswith("N"):
            break  # a function that is in no namespace: its arguments follow
    if len(parts) > 1 and _HASH.fullmatch(parts[-1]):
        parts.pop()
    return "::".join(parts) or name
