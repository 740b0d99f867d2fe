"""Which versions the evidence names, and how they compare: shared by the rules about releases."""

# ruff: noqa: E501  (a table is as wide as it is)
from __future__ import annotations

import re
from collections.abc import Mapping

# The NCCL that a PyTorch for CUDA brings, by PyTorch's minor version (what torch.cuda.nccl.version() answers in its wheels).
_BROUGHT = {
    "1.7": "2.7.8", "1.8": "2.7.8", "1.9": "2.7.8", "1.10": "2.10.3", "1.11": "2.10.3", "1.12": "2.10.3", "1.13": "2.14.3", "2.0": "2.14.3", "2.1": "2.18.1",
    "2.2": "2.19.3", "2.3": "2.20.5", "2.4": "2.20.5", "2.5": "2.21.5", "2.6": "2.21.5", "2.7": "2.26.2", "2.8": "2.27.3", "2.9": "2.27.5",
}  # fmt: skip


def brought(versions: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What libraries that are named bring with them, where nobody names it."""
    if versions.get("nccl") or versions.get("rocm"):
        return {}
    carried = (_BROUGHT.get(".".join(version.split(".")[:2])) for version in versions.get("torch", ()))
    return {"nccl": list(dict.fromkeys(filter(None, carried)))}


def in_range(version: str, first: str, fixed: str) -> bool:
    """Whether a version is at or after the first and before the fixed one."""
    return _key(first) <= _key(version) and not has_mend(version, fixed)


def has_mend(version: str, fixed: str) -> bool:
    """Whether a version is the one that was mended, or a later one."""
    return _key(version) >= _key(fixed)


def _key(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("+")[0].split("-")[0].split("."):
        # A candidate has what its release has: 1.52.0rc1 is read as 1.52.0.
        digits = "".join(char for char in re.sub(r"(?<=\d)(?:a|b|rc)\d+$", "", part) if char.isdigit())
        numbers.append(int(digits) if digits else 0)
    return tuple(numbers)
