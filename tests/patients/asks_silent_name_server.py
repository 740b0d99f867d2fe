"""Rank 1 looks up a host name; the name server in its own /etc/resolv.conf takes the question and never answers."""

import ctypes
import os
import socket
import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["network-blackhole"]}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root",)
NEW_MOUNTS = 0x20000  # CLONE_NEWNS


def resolver(crew):
    """A view of the mounts of its own, in which the resolver asks a socket of this process that nobody reads."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "unshare")
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.153", 53))
    written = crew.place / "resolv.conf"
    written.write_text("nameserver 127.0.0.153\noptions timeout:29 attempts:5\n")
    hosts = crew.place / "nsswitch.conf"
    hosts.write_text("hosts: dns\n")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for mine, theirs in ((written, "/etc/resolv.conf"), (hosts, "/etc/nsswitch.conf")):
        subprocess.run(["mount", "--bind", str(mine), os.path.realpath(theirs)], check=True)
    return server


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def fetch(crew):
    server = resolver(crew)
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    return server, socket.getaddrinfo("data.example.org", 443)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        fetch(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
