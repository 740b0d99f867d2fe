"""The store is only read: a fixed exchange, whatever answers."""

from __future__ import annotations

import socket
import struct
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.analysis.collectives.meeting import arrivals
from rankscope.formats import store_keys
from rankscope.model.evidence.store import StoreKeys
from rankscope.model.gap import Gap, Why
from rankscope.model.ranks import RankSet
from rankscope.probe import store

KEYS = ["/default_pg/0//cpu//0/0", "/default_pg/0//cpu//0/2", "/default_pg/0//1//cpu//0/0", "/a"]


class Server:
    """Answers as a store does, from a script; keeps what it was asked."""

    def __init__(self, answer) -> None:
        self.asked = b""
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(2)
                try:
                    while data := connection.recv(4096):
                        self.asked += data
                        reply = self._answer(data)
                        if reply is None:
                            break
                        connection.sendall(reply)
                except OSError:
                    continue

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(5)


@pytest.fixture
def serve():
    servers = []

    def start(answer) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def listed(data: bytes) -> bytes | None:
    texts = b"".join(struct.pack("<Q", len(key)) + key.encode() for key in KEYS)
    return struct.pack("<Q", len(KEYS)) + texts if data.endswith(b"\x11") else b""


def older(data: bytes) -> bytes | None:
    """A store that cannot list: it drops who asks, counts, and knows one key."""
    if data.endswith(b"\x11"):
        return None
    out = b"\x04" + b"\0" * 7 if b"\x07" in data[-1:] else b""
    return out + b"".join(b"\0" if b"//cpu//0/1" in part else b"\1" for part in data.split(b"\x05\x01" + b"\0" * 7)[1:])


def test_the_keys_of_a_store_are_listed_and_nothing_else_is_asked(serve):
    server = serve(listed)
    found = store.ask("127.0.0.1", server.port)
    assert found == StoreKeys(f"127.0.0.1:{server.port}", tuple(key.lstrip("/") for key in KEYS), 4)
    assert server.asked == struct.pack("<BI", 0, 0x3C85F7CE) + b"\x11"


def test_a_store_that_cannot_list_is_asked_for_known_keys(serve):
    found = store.ask("127.0.0.1", serve(older).port, world_size=2)
    assert isinstance(found, StoreKeys)
    assert (found.listed, found.count) == (False, 4)
    assert "default_pg/0//cpu//0/1" in found.keys


class Older:
    """A store that cannot list, takes its time, and holds the keys of all ranks but one; after some questions it is silent."""

    def __init__(self, patience: int = 1 << 20) -> None:
        self._rest, self._patience = b"", patience

    def __call__(self, data: bytes) -> bytes | None:
        time.sleep(0.002)
        self._rest += data
        out = b""
        while self._rest:
            kind, size = self._rest[:1], 1
            if kind == b"\x11":
                self._rest = b""
                return None
            if kind == b"\x07":
                out += struct.pack("<q", 900)
            elif kind == b"\0":
                size = 5
            else:
                size = 17 + (struct.unpack("<Q", self._rest[9:17])[0] if len(self._rest) >= 17 else 1 << 20)
                if len(self._rest) < size:
                    break
                self._patience -= 1
                out += (b"\1" if self._rest[:size].endswith(b"/77") else b"\0") if self._patience >= 0 else b""
            self._rest = self._rest[size:]
        return out


def test_all_ranks_of_a_large_job_are_asked_for_in_time(serve):
    """Question by question, four thousand ranks took longer than there was time for."""
    found = store.ask("127.0.0.1", serve(Older()).port, world_size=4096, deadline_s=10.0)
    assert isinstance(found, StoreKeys)
    assert (found.count, found.ranks_asked) == (900, None)
    assert arrivals([found]).missing(4096) == RankSet([77])


def test_what_came_until_time_ended_is_kept_and_tells_nothing_of_the_rest(serve):
    """A rank that was not asked for is not missing."""
    found = store.ask("127.0.0.1", serve(Older(patience=450)).port, world_size=1000, deadline_s=1.0)
    assert isinstance(found, StoreKeys)
    assert (found.count, found.ranks_asked, len(found.keys)) == (900, 128, 381)
    assert arrivals([found]).missing(1000) == RankSet([77])
    assert arrivals([found]).sizes == {}


@pytest.mark.parametrize("answer", [lambda data: b"", lambda data: None, lambda data: b"\xff" * 64])
def test_a_store_that_says_nothing_or_nonsense_is_a_gap(serve, answer):
    found = store.ask("127.0.0.1", serve(answer).port, deadline_s=0.4)
    assert isinstance(found, (Gap, StoreKeys))
    if isinstance(found, StoreKeys):
        assert not found.listed


def test_a_store_that_is_not_there_is_a_gap():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = store.ask("127.0.0.1", port)
    assert isinstance(found, Gap)
    assert found.why is Why.UNREACHABLE


def test_arrivals_are_read_from_names():
    found = arrivals([StoreKeys("x", tuple(key.lstrip("/") for key in KEYS))])
    assert found.missing(4) == RankSet.parse("1,3")
    assert found.sizes == {"1": 1}
    assert arrivals([StoreKeys("x", ("a", "b"))]).missing(4) == RankSet()


def test_a_printed_list_of_keys_is_known_and_values_are_dropped():
    raw = b"'default_pg/0//cpu//0/0' b\"secret\"\n'default_pg/0//cpu//0/1' b'x'\n'none/torchelastic/assigned_ranks/0' b'[0]'\n"
    assert store_keys.recognises(raw)
    found = store_keys.read(raw, "tcpstore.txt")
    assert isinstance(found, StoreKeys)
    assert found.keys == ("default_pg/0//cpu//0/0", "default_pg/0//cpu//0/1", "none/torchelastic/assigned_ranks/0")
    assert not store_keys.recognises(b"Traceback (most recent call last):\n  File x\n")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_survived(raw):
    store_keys.recognises(raw)
    assert isinstance(store_keys.read(raw), (StoreKeys, Gap))


@pytest.mark.torch
def test_a_real_store_is_read():
    dist = pytest.importorskip("torch.distributed")
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    server.set("default_pg/0//cpu//0/3", "x")
    found = store.ask("127.0.0.1", server.port, world_size=4)
    assert isinstance(found, StoreKeys)
    assert "default_pg/0//cpu//0/3" in found.keys
