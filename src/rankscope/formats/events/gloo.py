"""gloo's exceptions, from their format strings (gloo/transport/tcp, gloo/rendezvous)."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re

from ._table import Fields, TableReader, pattern

NAME = "gloo"
NEEDLES = (
    "gloo",
    "Gloo",
    "closed by peer",
    "Read error",
    "Timed out waiting",
    "enforce fail",
    "connectFullMesh",
    "Unable to find address",
    "no error",
    "SO_ERROR",
    "remote=[",
)

_ADDRESS = r"\[(?P<peer>[^\]]+)\]:(?P<port>\d+)"


def _mesh(found: re.Match[str], fields: Fields) -> Fields:
    if told := re.search(r"remote=\[([^\]]+)\]", found.string):
        fields["peer"] = told.group(1)
    if told := re.search(r"local=\[([^\]]+)\]", found.string):
        fields["local"] = told.group(1)
    return fields


_TABLE = (
    pattern("gloo.op_timeout", r"Timed out waiting (?P<timeout_ms>\d+)ms for (?P<direction>send|recv) operation to complete"),
    pattern("gloo.closed_by_peer", r"Connection closed by peer " + _ADDRESS),
    pattern("gloo.read_error", r"(?:Read|Write) error " + _ADDRESS + r": (?P<errno_text>[\w ]+)"),
    pattern("gloo.size_enforce", r"op\.preamble\.length <= op\.nbytes\. (?P<received>\d+) vs (?P<expected>\d+)"),
    pattern("gloo.full_mesh_failed", r"[Gg]loo connectFullMesh failed", _mesh),
    pattern("gloo.connect_failed", r"pair\.cc:\d+\]:? (?:connect|timed out connecting).*?" + _ADDRESS + r"(?:: (?P<errno_text>[\w ]+))?"),
    pattern("gloo.connect_failed", r"timed out connecting: SO_ERROR: (?P<errno_text>[\w ]+), remote=\[(?P<peer>[^\]]+)\]"),
    pattern("gloo.local", r"rank=(?P<rank>\d+), size=(?P<size>\d+), local=\[(?P<local>[^\]]+)\]"),
    pattern("gloo.no_interface", r"Unable to find (?:address|interface) for: ?(?P<ifname>\S+)"),
    pattern("gloo.hostname", r"Unable to resolve hostname|hostname .* resolves to a loopback"),
)  # fmt: skip


class Reader(TableReader):
    """The table."""

    def __init__(self) -> None:
        super().__init__(_TABLE)
