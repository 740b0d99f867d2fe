"""Which versions the evidence names, and how they compare: shared by the rules about releases."""

from __future__ import annotations

from ..analysis.case import Case


def named_versions(case: Case) -> dict[str, list[str]]:
    """Versions by library, in the order in which the evidence names them."""
    found: dict[str, list[str]] = {}
    for event in case.events:
        name, version = None, None
        if event.event == "text.version":
            name, version = event.fields.get("name"), event.fields.get("version")
        elif event.event == "nccl.version":
            name, version = "nccl", event.fields.get("version")
        elif event.event == "torch.dist_backend_error":
            name, version = "nccl", event.fields.get("nccl_version")
        if isinstance(name, str) and isinstance(version, str) and version not in found.setdefault(name, []):
            found[name].append(version)
    return found


def in_range(version: str, first: str, fixed: str) -> bool:
    """Whether a version is at or after the first and before the fixed one."""
    return _key(first) <= _key(version) < _key(fixed)


def _key(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("+")[0].split("-")[0].split("."):
        digits = "".join(char for char in part if char.isdigit())
        numbers.append(int(digits) if digits else 0)
    return tuple(numbers)
