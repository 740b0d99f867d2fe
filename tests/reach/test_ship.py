"""The agent as one file, and the command that receives it."""

from __future__ import annotations

import io
import subprocess
import zipfile

import pytest

from rankscope.reach import ship


def test_equal_sources_give_equal_bytes() -> None:
    first = ship.archive()
    ship.archive.cache_clear()
    assert ship.archive() == first


def test_the_archive_holds_the_rooms_that_run_beside_a_sick_process_and_no_others() -> None:
    names = zipfile.ZipFile(io.BytesIO(ship.archive())).namelist()
    assert {name.split("/")[1] for name in names if name.count("/") > 1} == set(ship.ROOMS)
    assert "rankscope/probe/agent.py" in names


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "csh", "fish"])
def test_the_command_survives_every_login_shell(shell: str) -> None:
    """A parcel that is not ours makes the loader stop with its own message: so it was reached, whatever the shell."""
    try:
        done = subprocess.run(
            [shell, "-c", ship.shell_line()], input=b'{"size": 5, "alarm_s": 5}\nabc', capture_output=True, timeout=30
        )
    except FileNotFoundError:
        pytest.skip(f"{shell} is not installed")
    assert b"the program arrived in part" in done.stderr


def test_a_node_without_python_says_so_in_words() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", ship.script()], input=b"", capture_output=True, timeout=30, env={"PATH": "/nonexistent"}
    )
    assert done.stdout.startswith(b"rankscope-agent 1 refuse no Python")
