"""Lists of a TCPStore's keys as people print them: one key a line, quoted or not, with or without its value."""

from __future__ import annotations

from ..model.evidence.store import StoreKeys
from ..model.gap import Gap, Why
from ..model.patterns import regex

_KEY = regex(
    rb"^\s*b?['\"]?/?(?P<key>(?:worker/|none/|default_pg/|torchelastic/|debug_server/|init/)[^\s'\",:\\]{0,512})"
)
_LEAST = 2


def recognises(head: bytes) -> bool:
    """Are the first lines keys of a store?"""
    lines = [line for line in head[:8192].splitlines()[:12] if line.strip()]
    keys = sum(_KEY.match(line) is not None for line in lines)
    return keys >= _LEAST and 2 * keys >= len(lines)


def read(data: bytes, name: str = "") -> StoreKeys | Gap:
    """The keys; what they hold is dropped."""
    keys = [
        match["key"].decode("utf-8", "replace") for line in data[: 64 << 20].splitlines() if (match := _KEY.match(line))
    ]
    if not keys:
        return Gap("store", Why.DAMAGED, f"{name or 'store'}: no keys in it")
    return StoreKeys(name, tuple(keys[:200_000]), len(keys))
