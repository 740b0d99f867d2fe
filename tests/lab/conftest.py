"""A small cluster on one machine: hosts made of namespaces, each with its own network, processes, name and sshd."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from harness.waiting import NeverHappened, wait_until

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLS = ("ip", "unshare", "nsenter", "sshd", "ssh", "ssh-keygen", "nft")
ENTRY = "import sys; from rankscope.cli.main import main; sys.exit(main())"


def missing_for_namespaces() -> str:
    """Why no hosts can be made here, empty when they can."""
    if os.geteuid() != 0:
        return "hosts made of namespaces need root"
    lacking = [tool for tool in TOOLS if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    if lacking:
        return f"not installed: {', '.join(lacking)}"
    tried = subprocess.run(["unshare", "--net", "--pid", "--fork", "true"], capture_output=True)
    return "" if tried.returncode == 0 else "this machine does not let us make namespaces"


class Lab:
    """Hosts ``node1`` … and ``login``; every tool of a user runs on ``login``."""

    def __init__(self, nodes: int, folder: pathlib.Path) -> None:
        self.nodes, self.folder = nodes, folder
        # Each host has a /tmp of its own; what the tests stand on must stay visible in it.
        keep = {
            str(path)
            for path in (ROOT, pathlib.Path(sys.prefix), pathlib.Path(sys.base_prefix))
            if str(path).startswith("/tmp")
        }
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TB_DIR": str(folder),
                    "TB_KEEP": ":".join(sorted(keep))}  # fmt: skip
        self.jobs: list[subprocess.Popen[bytes]] = []

    def bed(self, *words: str, script: str = "testbed.sh", check: bool = True) -> str:
        done = subprocess.run([str(HERE / script), *words], env=self.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 or not check, f"{script} {' '.join(words)}: {done.stderr or done.stdout}"
        return done.stdout

    def on(self, host: str, *command: str, check: bool = False) -> str:
        return self.bed("exec", host, *command, check=check)

    def log(self, host: str) -> pathlib.Path:
        return self.folder / f"{host}.log"

    def start(self, host: str, *command: str, **environ: str) -> None:
        """Start a program on a host; its output goes to the host's log."""
        about = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0", "PYTHONUNBUFFERED": "1", **environ}
        env = {**self.env, "TB_AS": about.pop("TB_AS", "root")}
        words = [str(HERE / "testbed.sh"), "exec", host, "env", *(f"{k}={v}" for k, v in about.items()), *command]
        with self.log(host).open("ab") as out:
            self.jobs.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env))

    def stand(self, user: str = "root") -> None:
        """One process on each node that looks like a rank and stands still."""
        python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
        for number in range(1, self.nodes + 1):
            self.log(f"node{number}").unlink(missing_ok=True)
            about = {"RANK": str(number - 1), "WORLD_SIZE": str(self.nodes), "LOCAL_RANK": "0", "MASTER_ADDR": "node1",
                     "MASTER_PORT": "29501", "TB_AS": user}  # fmt: skip
            self.start(f"node{number}", python, str(HERE / "stand.py"), **about)
        wait_until(
            lambda: all("standing" in self.log(f"node{n}").read_text() for n in range(1, self.nodes + 1)), within=30
        )

    def torchrun(self, odd: int = -1, port: int = 29500, **environ: str) -> None:
        """One rank on each node, and wait until they train (and one of them is sick)."""
        for number in range(1, self.nodes + 1):
            self.log(f"node{number}").unlink(missing_ok=True)
            self.start(f"node{number}", sys.executable, "-m", "torch.distributed.run", "--nnodes", str(self.nodes),
                       "--nproc-per-node", "1", "--node-rank", str(number - 1), "--master-addr", "node1",
                       "--master-port", str(port), str(HERE / "train.py"), ODD=str(odd), **environ)  # fmt: skip
        word = "sick" if odd >= 0 else "together"
        wait_until(lambda: self.said(word), within=90, what=f"a rank that says {word!r}")

    def said(self, word: str) -> bool:
        return any(word in path.read_text(errors="replace") for path in self.folder.glob("*.log"))

    def stop(self) -> None:
        for number in range(1, self.nodes + 1):
            if self.log(f"node{number}").exists():
                self.on(f"node{number}", "pkill", "-KILL", "-f", "torch.distributed.run|lab/train.py|lab/stand.py")
        for job in self.jobs:
            job.kill()
            job.wait()
        self.jobs.clear()

    def rankscope(
        self, *words: str, host: str = "login", within: float = 60, user: str = "root"
    ) -> subprocess.CompletedProcess[str]:
        command = [str(HERE / "testbed.sh"), "exec", host, sys.executable, "-c", ENTRY, *words]
        env = {**self.env, "TB_AS": user}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=within)

    def diagnose(
        self, target: str, *more: str, stuck_after: float = 2.0, user: str = "root", host: str = "login"
    ) -> dict[str, Any]:
        """The diagnosis of the one job of a target."""
        done = self.rankscope("diagnose", *([target] if target else []), "--json", "--stuck-after", str(stuck_after),
                              "--interval", "0.7", *more, user=user, host=host)  # fmt: skip
        assert done.stdout, done.stderr
        said = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(said) == 1, [one["job"] for one in said]
        return {**said[0], "code": done.returncode}


def age(seconds: float) -> None:
    """Let a wait grow old: its age is what the test is about."""
    time.sleep(seconds)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three hosts and a login node, taken down again whatever happens."""
    reason = missing_for_namespaces()
    if reason:
        pytest.skip(reason)
    made = Lab(3, pathlib.Path("/run/rankscope-lab"))
    with pathlib.Path("/run/rankscope-lab.lock").open("w") as lock:
        _hold(lock)
        made.bed("down", check=False)
        made.bed("up", "3")
        yield made
        made.stop()
        made.bed("heal", script="net.sh", check=False)
        made.bed("down")


def _hold(lock: TextIO) -> None:
    """One test bed on one machine: names of namespaces are the machine's."""

    def taken() -> bool:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        wait_until(taken, within=120)
    except NeverHappened:
        pytest.skip("another run holds the test bed")
