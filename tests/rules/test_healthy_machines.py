"""What is saved of a machine that is well accuses nobody of anything."""

from __future__ import annotations

import pathlib
import re

import pytest

from rankscope.analysis.endings import wrong
from rankscope.analysis.listings import heads_of_inventory
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.model.patterns import regex
from rankscope.pipeline import judge
from rankscope.rules.told._wordings import HALTS

IP = "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n"
IRQ = "           CPU0       CPU1\nTRM:          0          0   Thermal event interrupts\n"
SOCKET = "#7  0x00007fb2a7713133 in acquire_timed (lock=0x7fb278000ba0, timeout=-1000000000) at ./Modules/_threadmodule.c:98\n"


def causes(folder: pathlib.Path, **files: str) -> set[str]:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return {one.rule for one in judge(gather([folder])).findings if one.kind is Kind.CAUSE}


def test_an_interface_that_is_up_drops_nothing(tmp_path: pathlib.Path) -> None:
    assert "packets-vanish" not in causes(tmp_path, ip=IP, note="the job timed out\n")


def test_a_counter_of_interrupts_is_no_heat(tmp_path: pathlib.Path) -> None:
    assert not causes(tmp_path, interrupts=IRQ)


@pytest.mark.parametrize(
    ("line", "halts"),
    [
        (SOCKET, False), ("        signaled = self._cond.wait(timeout)", False), ("gotit = waiter.acquire(True, timeout)", False),
        ("run --startup-timeout 60", False), ("timeout: 30", False), ("            timeout: None", False),
        ("            timeout=timeout", False), ("    return self.read(path, timeout=timeout)", False),
        ("    self.timeout = timeout", False), ("    conn.settimeout(self.timeout)", False),
        ("  timeout: Optional[float] = None", False),
        ("status=timeout", True), ("socket.timeout: timed out", True), ("store.wait(keys, timeout) failed", True),
        ("cgroup type cgroup (rw,freezer)", False), ("Watchdog: collective operation timeout: WorkNCCL", True),
        ("it ends with a timeout", True), ("request failed (timeout)", True), ("it freezes at step 3", True),
    ],
)  # fmt: skip
def test_an_argument_is_no_wait_that_ran_out(line: str, halts: bool) -> None:
    assert bool(regex(HALTS, re.I).search(line)) is halts


@pytest.mark.parametrize(
    ("line", "trouble"), [("        fetch(path, timeout=timeout)", False), ("the fetch had a timeout", True)]
)
def test_a_line_of_code_that_hands_a_limit_on_is_no_trouble(line: str, trouble: bool) -> None:
    assert wrong(line) is trouble


NAMES = (
    "memory",
    "thread",
    "error",
    "lock",
    "deadlock-detector",
    "pytest-timeout",
    "version",
    "compiler",
    "nccl",
    "kernel",
    "driver",
)
LS = "total 272\n" + "".join(
    f"drwxr-xr-x  5 root root  4096 May 20  2025 {name}\n"
    for name in (
        "apt",
        "dpkg",
        "gcc",
        "git-core",
        "llvm-14",
        "python3",
        "python3.11",
        "ssl",
        "systemd",
        "x86_64-linux-gnu",
    )
)
DPKG = "||/ Name    Version    Architecture Description\n" + "".join(
    f"ii  lib{name}{at}:amd64   1.{at}-2   amd64   {name} error detector, waits for locks of a driver\n"
    for at, name in enumerate(NAMES)
)
MOUNTS = "".join(
    f"{kind} on /{where} type {kind} (rw,nosuid,nodev,relatime,size=65536k,inode64)\n"
    for kind, where in (
        ("proc", "proc"),
        ("sysfs", "sys"),
        ("tmpfs", "dev/shm"),
        ("devpts", "dev/pts"),
        ("cgroup2", "sys/fs/cgroup"),
    )
)
SS = (
    "State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n"
    "LISTEN 0      128          0.0.0.0:29500      0.0.0.0:*\nESTAB  0      0          10.0.0.1:29500    10.0.0.2:41234\n"
)


@pytest.mark.parametrize("text", [LS, DPKG, MOUNTS, SS], ids=["ls", "dpkg", "mount", "ss"])
def test_a_list_of_what_is_there_is_no_trouble(text: str, tmp_path: pathlib.Path) -> None:
    """Names of files and packages are no words of a program that hangs."""
    assert not causes(tmp_path, listing=text)


def test_beside_a_word_about_trouble_a_list_may_be_guessed_at() -> None:
    assert heads_of_inventory(DPKG.splitlines()) == DPKG.splitlines()[:1]
    assert heads_of_inventory([*SS.splitlines(), *["it hangs after the first step"] * 4]) is None
