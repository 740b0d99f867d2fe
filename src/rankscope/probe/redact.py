"""Arguments that look like credentials never leave the process table."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?i)(pass(word|wd)?|secret|token|api[-_]?key|credential|auth|private[-_]?key|access[-_]?key)")
_URL = re.compile(r"(\w+://[^/\s:@]*:)[^@/\s]+@")
_LIMIT = 4096


def redact(command: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments with the values of suspicious options replaced; long ones are cut."""
    out: list[str] = []
    hide = False
    for argument in command:
        name, equals, _ = argument.partition("=")
        if hide and not argument.startswith("-"):
            argument, hide = "***", False
        elif _NAME.search(name) and (argument.startswith("-") or equals):
            hide = not equals
            argument = f"{name}=***" if equals else argument
        else:
            hide = False
        out.append(_URL.sub(r"\1***@", argument)[:_LIMIT])
    return tuple(out)
