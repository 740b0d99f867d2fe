"""A sum over all ranks without torch: rank 0 gathers a number from everybody over TCP and hands the sum back."""

from __future__ import annotations

import os
import socket
import struct
import time


class Ring:
    """Connections between rank 0 and all others."""

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world
        self.peers: list[socket.socket] = []
        if world == 1:
            return
        address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        self.peers = _accept(address, world - 1) if rank == 0 else [_connect(address)]

    def add(self, value: int) -> int:
        """Sum one number over the ranks; everybody waits for everybody."""
        if self.rank:
            self.peers[0].sendall(struct.pack("<q", value))
            return _number(self.peers[0])
        total = value + sum(_number(peer) for peer in self.peers)
        for peer in self.peers:
            peer.sendall(struct.pack("<q", total))
        return total


def _number(peer: socket.socket) -> int:
    data = b""
    while len(data) < 8:
        piece = peer.recv(8 - len(data))
        if not piece:
            raise ConnectionError("a rank has left")
        data += piece
    return int(struct.unpack("<q", data)[0])


def _accept(address: tuple[str, int], count: int) -> list[socket.socket]:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        server.listen(count)
        return [server.accept()[0] for _ in range(count)]


def _connect(address: tuple[str, int]) -> socket.socket:
    for _ in range(500):
        try:
            return socket.create_connection(address)
        except ConnectionError:
            time.sleep(0.02)
    raise SystemExit("patient: rank 0 does not listen")
