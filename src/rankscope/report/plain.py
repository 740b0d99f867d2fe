"""Text from strangers, made safe to print: no control characters, no terminal escapes, no endless lines."""

from __future__ import annotations

import re

# Escape sequences (ECMA-48), then single control characters, then characters that reorder text.
_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r"|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# Bytes of a file's name that are no UTF-8, as Python keeps them (PEP 383); no output can take them.
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_UNSEEN = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escaped(line: str) -> str:
    """A line of JSON that says the same and has nothing that a terminal would act on, or that readers of JSON refuse."""
    if line.isprintable():
        return line
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", line).encode("utf-8", "replace").decode()


def clean(text: str, limit: int = 2000) -> str:
    """One line of text without anything a terminal would act on."""
    if len(text) <= limit and text.isprintable():
        return text  # nearly all of it, and a dump of a host has ten thousand lines
    safe = _SURROGATE.sub("\ufffd", _CONTROL.sub("", text.replace("\t", " ").replace("\n", " ")))
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
