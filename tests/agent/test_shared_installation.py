"""An installation that the node has as well is used when it is the same and nobody else could have written it."""

from __future__ import annotations

import json
import os
import pathlib
import py_compile
import shutil
import subprocess
import sys
import zlib

import pytest

from rankscope.reach import ship
from rankscope.reach.answers import Inbox

HOME = pathlib.Path(ship.__file__).resolve().parents[2]


class Node:
    """A node that is spoken with, as a connection does it."""

    def __init__(self, parcel: ship.Parcel, home: pathlib.Path) -> None:
        head = {**json.loads(parcel.opening()), "home": str(home)}
        self.asked: list[str] = []
        self.inbox = Inbox("node1")
        self.process = subprocess.Popen(["/bin/sh", "-c", ship.shell_line(sys.executable)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.say(json.dumps(head).encode() + b"\n")
        for line in self.process.stdout:
            if line.startswith(b"rankscope-agent 1 want "):
                self.asked = line.split()[-1].decode().split(",")
                self.say(b"".join(map(parcel.piece, self.asked)))
            else:
                self.inbox.feed(line.rstrip(b"\n"))

    def say(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


def ask(home: pathlib.Path, tool: bytes = b"", tool_path: str = "") -> tuple[list[str], str]:
    """What a node asks for that has this installation, and what it says of it."""
    node = Node(ship.Parcel({"sweeps": 1, "pid": os.getpid()}, 30, tool, tool_path), home)
    node.close()
    assert node.inbox.ended
    return node.asked, str((node.inbox.about or {})["installation"])


@pytest.fixture(params=["code", "source"])
def copy(tmp_path: pathlib.Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An installation of the same version, in folders that only we may write; with what Python keeps of it, or without."""
    ship._codes()  # writes what is not there yet
    py_compile.compile(str(HOME / "rankscope" / "__init__.py"))
    ship._kept.cache_clear()
    digests = ship._digests.__wrapped__()
    monkeypatch.setattr(ship, "_digests", lambda: digests if request.param == "code" else {**digests, "code": ""})
    if any(folder.stat().st_mode & 0o022 and not folder.stat().st_mode & 0o1000 for folder in tmp_path.parents):
        pytest.skip("others may write where tests are kept")
    target = tmp_path / "lib" / "rankscope"
    target.mkdir(parents=True)
    shutil.copy2(HOME / "rankscope" / "__init__.py", target)
    for room in (*ship.ROOMS, "__pycache__"):
        shutil.copytree(HOME / "rankscope" / room, target / room)
    for path in (tmp_path / "lib").rglob("*"):
        path.chmod(path.stat().st_mode & ~0o022)
    return tmp_path / "lib"


def along(home: pathlib.Path, data: bytes) -> tuple[str, Inbox]:
    """What a node says that is brought this among the arguments, and cannot ask back."""
    head, _, pieces = data.partition(b"\n")
    words = ship.as_arguments(json.dumps({**json.loads(head), "home": str(home)}).encode() + b"\n" + pieces)
    done = subprocess.run(["/bin/sh", "-c", ship.script(sys.executable), "sh", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=True)  # fmt: skip
    inbox = Inbox("node1")
    for line in done.stdout.split(b"\n"):
        inbox.feed(line)
    return done.stdout.decode(), inbox


def test_what_came_along_is_used_only_where_the_same_is_not_installed(
    copy: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    parcel = ship.Parcel({"sweeps": 1, "pid": os.getpid()}, 30, bytecode=False)
    told = {}
    for home in (copy, tmp_path / "nowhere"):
        _, inbox = along(home, parcel.whole())
        assert inbox.ended
        told[home] = (inbox.about or {})["installation"]
    assert told == {copy: "used", tmp_path / "nowhere": "No such file or directory"}


def test_an_errand_alone_is_enough_where_the_same_is_installed_and_elsewhere_it_ends_with_what_it_lacks(
    copy: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    parcel = ship.Parcel({"sweeps": 1, "pid": os.getpid()}, 30, bytecode=False)
    assert len(parcel.bare()) < len(parcel.whole()) / 10
    _, here = along(copy, parcel.bare())
    said, nowhere = along(tmp_path / "nowhere", parcel.bare())
    assert here.ended
    assert not nowhere.answered
    assert said.strip() == "rankscope-agent 1 want source"


def test_the_same_version_is_used_and_nothing_is_asked_for(copy: pathlib.Path) -> None:
    assert ask(copy) == ([], "used")


def test_one_byte_more_in_one_file_and_all_of_it_is_sent(copy: pathlib.Path) -> None:
    for path in (copy / "rankscope" / "probe").rglob("sweep*.py*"):
        path.write_bytes(path.read_bytes() + b"\n")
    for path in (copy / "rankscope" / "probe" / "__pycache__").glob("sweep*"):
        path.write_bytes(path.read_bytes() + b"\n")
    asked, why = ask(copy)
    assert asked in (["code"], ["source"])
    assert why == "it is another version"


def test_a_file_that_others_may_write_is_not_used(copy: pathlib.Path) -> None:
    for path in (copy / "rankscope" / "probe").rglob("sweep*.py*"):
        path.chmod(0o666)
    asked, why = ask(copy)
    assert asked
    assert "others" in why


def test_a_folder_that_others_may_write_is_not_used(copy: pathlib.Path) -> None:
    (copy / "rankscope").chmod(0o777)
    asked, why = ask(copy)
    assert asked
    assert "others" in why


def test_an_installation_of_another_user_is_not_used(copy: pathlib.Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give files away")
    for path in (copy / "rankscope" / "model").rglob("*"):
        os.chown(path, 4711, 4711)
    asked, why = ask(copy)
    assert asked
    assert "others" in why


def test_where_nothing_is_installed_the_agent_brings_itself(tmp_path: pathlib.Path) -> None:
    asked, why = ask(tmp_path / "nowhere")
    assert asked in (["code"], ["source"])
    assert why == "No such file or directory"


def test_what_is_no_file_is_not_read(copy: pathlib.Path) -> None:
    for path in list((copy / "rankscope" / "model").rglob("ranks*.py*")):
        path.unlink()
        os.mkfifo(path)
    asked, why = ask(copy)
    assert asked
    assert "others" in why


def test_a_py_spy_that_is_there_already_is_not_sent(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "py-spy"
    program.write_bytes(b"\x7fELF py-spy")
    program.chmod(0o755)
    packed = zlib.compress(b"\x7fELF py-spy")
    assert "tool" not in ask(tmp_path / "nowhere", packed, str(program))[0]
    program.write_bytes(b"\x7fELF another")
    assert "tool" in ask(tmp_path / "nowhere", packed, str(program))[0]


def test_an_agent_whose_sender_is_gone_ends_at_once(tmp_path: pathlib.Path) -> None:
    """Its standard input closes when the connection does; without that it would look on for ten minutes."""
    parcel = ship.Parcel({"sweeps": 20, "interval_s": 30.0, "pid": os.getpid(), "deadline_s": 600.0}, 600)
    line = ["/bin/sh", "-c", ship.shell_line(sys.executable)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write(parcel.opening())
        node.stdin.flush()
        for said in node.stdout:
            if said.startswith(b"rankscope-agent 1 want "):
                node.stdin.write(b"".join(map(parcel.piece, said.split()[-1].decode().split(","))))
                node.stdin.flush()
            if said.startswith(b"rankscope-agent 1 begin "):
                break
        node.stdin.close()
        assert node.wait(20) != 0
