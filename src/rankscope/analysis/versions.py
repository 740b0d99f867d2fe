"""case → which versions of which libraries the evidence names."""

from __future__ import annotations

from .case import Case
from .remembered import remembered

# What people ask for first.
_FIRST = ("torch", "nccl", "rccl", "cuda", "rocm", "driver", "kernel", "python")


@remembered
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


def listed(case: Case) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The same for a report: those first that people ask for first, of one release the longest form once."""
    found = named_versions(case)
    names = sorted(found, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return tuple((name, tuple(one for one in found[name] if not _longer(one, found[name]))) for name in names)


def _longer(version: str, others: list[str]) -> bool:
    """Whether another one says the same release with more words: 2.21.5 beside 2.21.5+cuda12.4."""
    return any(other != version and other.startswith((f"{version}+", f"{version}.")) for other in others)
