"""Somebody waits at a terminal: what is shown meanwhile, and what Ctrl-C leaves in hand."""

from __future__ import annotations

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys

from harness.waiting import wait_until

from .conftest import STUBS, Site

ENTRY = "import sys; from rankscope.cli.main import main; sys.exit(main())"


def start(site: Site, *words: str, errors: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PATH": f"{STUBS}:/usr/bin:/bin", "STUB_DIR": str(site.folder), "HOME": str(site.folder)}
    command = [sys.executable, "-c", ENTRY, "diagnose", "ssh:node[1-2]", "--json", *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors)


def ended(path: pathlib.Path) -> bool:
    return path.exists() and b" end " in path.read_bytes()


def half(site: Site) -> None:
    site.host("node1", (0, 1), world=4)
    site.host("node2", (2, 3), "hang", world=4)


def test_ctrl_c_while_one_host_is_waited_for_reports_what_came(site: Site) -> None:
    half(site)
    raw = site.folder / "raw"
    process = start(site, "--deadline", "60", "--raw-dir", str(raw))
    wait_until(lambda: ended(raw / "node1.txt"), within=30)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    said = json.loads(out)
    assert process.returncode == 130
    assert said["job"]["ranks"] == [0, 1]
    assert [gap["host"] for gap in said["gaps"] if gap["what"] == "host"] == ["node2"]
    assert b"interrupted" in errors
    assert (raw / "node1.txt").stat().st_mode & 0o777 == 0o600


def test_ctrl_c_before_anybody_has_answered_says_nothing_of_a_missing_job(site: Site) -> None:
    site.host("node1", (0, 1), "hang", world=4)
    site.host("node2", (2, 3), "hang", world=4)
    raw = site.folder / "raw"
    process = start(site, "--deadline", "60", "--raw-dir", str(raw))
    wait_until(lambda: (raw / "node2.txt").exists(), within=30)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert b"interrupted" in errors
    assert b"no distributed Python job" not in errors


def test_who_is_waited_for_is_shown_on_a_terminal_and_nowhere_else(site: Site) -> None:
    half(site)
    piped = start(site, "--deadline", "3")
    _, errors = piped.communicate(timeout=30)
    assert errors == b""
    ours, theirs = pty.openpty()
    shown = b""
    process = start(site, "--deadline", "3", errors=theirs)
    os.close(theirs)
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # how a terminal tells that its other end is closed
        pass
    process.communicate(timeout=30)
    os.close(ours)
    assert b"node2: waiting" in shown
    assert b"s left" in shown
