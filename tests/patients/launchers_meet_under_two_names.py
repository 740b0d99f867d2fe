"""The launchers of two nodes, both on this host, are each given a run id of their own, and wait for each other for ever."""

import os
import pathlib
import socket
import subprocess
import sys

from _common import start, wait_until

TRUTH = {"class": "rank-never-joined", "ranks": [], "state": "stuck", "accept": ["rendezvous-port"]}
LAUNCHERS = ("alone",)
NEEDS = ("torch",)


def launch(node, port):
    options = ("--nnodes=2", "--nproc-per-node=1", f"--rdzv-id=run{node}", "--rdzv-backend=c10d")
    meeting = (f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-conf=join_timeout=900,is_host={int(node == 0)}")
    return subprocess.Popen([sys.executable, "-m", "torch.distributed.run", *options, *meeting, "-m", "this"])


def connected(pid, port):
    """Whether it has a connection to this port (proc_net_tcp(5))."""
    tables = (pathlib.Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6"))
    lines = (line.split() for table in tables for line in table.splitlines()[1:])
    wanted = {f"socket:[{line[9]}]" for line in lines if line[2].endswith(f":{port:04X}")}
    held = pathlib.Path(f"/proc/{pid}/fd").iterdir()
    return any(os.readlink(one) in wanted for one in held if one.is_symlink())


def train(rank, world, crew):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nodes = [launch(node, port) for node in range(2)]
    wait_until(lambda: all(connected(node.pid, port) for node in nodes))
    crew.ready(pids=[node.pid for node in nodes])
    for node in nodes:
        node.wait()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
