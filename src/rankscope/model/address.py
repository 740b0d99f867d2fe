"""Where the reader of a diagnosis is, and how the job is reached from there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Address:
    """``target`` is the target as a shell reads it, empty for a job beside the reader; ``options`` come behind it.

    ``here`` is the reader's own host. ``host`` says how one host alone is looked at ({host} stands for it; empty: only the
    whole target), ``shell`` how a command is run there ({host}, {command}). ``live`` is False for a file.
    """

    target: str = ""
    options: str = ""
    here: str = ""
    host: str = ""
    shell: str = "ssh {host} {command}"
    live: bool = True
