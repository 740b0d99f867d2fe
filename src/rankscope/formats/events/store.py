"""The key-value store and the rendezvous: TCPStore, FileStore, elastic."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re

from ._table import Fields, TableReader, pattern

NAME = "store"
NEEDLES = (
    "clients joined", "client socket", "wait timeout after", "Socket Timeout", "server socket", "EADDRINUSE", "ddress already in use",
    "store based barrier", "store-based barrier", "store_based_barrier", "endezvous", "failed to connect to", "Broken pipe", "TCPStore", "key", "File already exists",
)  # fmt: skip


def _missing(found: re.Match[str], fields: Fields) -> Fields:
    if rank := re.search(r"//cpu//\d+/(\d+)$", str(fields.get("key", ""))):
        fields["missing_rank"] = int(rank.group(1))
    return fields


_TABLE = (
    pattern("store.clients_missing", r"Timed out after (?P<seconds>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<expected>\d+) clients joined"),
    pattern("store.connect_timeout", r"client socket has timed out after (?P<timeout_ms>\d+)ms while trying to connect to \(?(?P<host>[\w.:-]+?), (?P<port>\d+)\)?"),
    pattern("store.connect_failed", r"(?:client socket has failed to connect to|failed to connect to) \[?(?P<host>[\w.:-]+?)\]?:(?P<port>\d+) \(errno: (?P<errno>\d+)"),
    pattern("store.bind_failed", r"server socket (?:has failed to (?:bind|listen)|cannot be).*?(?:port: |:)(?P<port>\d+).*?(?:errno: (?P<errno>\d+))?"),
    pattern("store.bind_failed", r"EADDRINUSE|errno: 98\b|\[Errno 98\] Address already in use|[Aa]ddress already in use"),
    pattern("store.barrier_timeout", r"Timed out initializing process group in store based barrier on rank:? (?P<rank>\d+), for key: (?P<key>\S+) \(world_size=(?P<world_size>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+)"),
    pattern("store.barrier_waiting", r"Waiting in store based barrier to initialize process group for (?:[\d.]+ seconds ?)?rank:? (?P<rank>\d+), key: (?P<key>\S+) \(world_size=(?P<world_size>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+)"),
    pattern("store.barrier_met", r"Rank (?P<rank>\d+): Completed store-based barrier for key: ?(?P<key>\S+) with (?P<world_size>\d+) nodes"),
    pattern("store.key_wait_timeout", r"wait timeout after (?P<timeout_ms>\d+)ms, keys: (?P<key>\S+?)[,.]?(?:\s|$)", _missing),
    pattern("store.file_exists", r"File already exists: (?P<path>\S+)"),
    pattern("store.key_wait_timeout", r"(?:get|wait)\b.{0,400}Socket Timeout"),
    pattern("store.lost", r"(?:\[c10d\]|TCPStore|store).{0,400}(?:Broken pipe|Connection reset by peer|recvValue failed|sendBytes failed|Failed to recv)"),
    pattern("elastic.rendezvous_timeout", r"RendezvousTimeoutError|[Rr]endezvous.{0,40}timed out"),
    pattern("elastic.rendezvous_closed", r"RendezvousClosedError|RendezvousGracefulExitError"),
    pattern("elastic.rendezvous_lost", r"RendezvousConnectionError"),
)  # fmt: skip


class Reader(TableReader):
    """The table."""

    def __init__(self) -> None:
        super().__init__(_TABLE)
