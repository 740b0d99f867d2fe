"""An option is there where it does something, and nowhere else; what a message tells to type can be typed."""

from __future__ import annotations

import json
import pathlib
import shlex
import time

import click
import pytest
from click.testing import CliRunner, Result

from rankscope.cli._group import cli
from rankscope.errors import RankscopeError
from rankscope.probe.sweep import Plan
from rankscope.reach.gather import Remote, gather
from rankscope.reach.transport import Options

from .conftest import Site


def ask(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize("words", [("stacks",), ("doctor",), ("diagnose",), ("snapshot", "-o", "job.snap")])
def test_whoever_asks_hosts_can_say_for_how_long(
    site: Site, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent host is told with ``--deadline`` as what would help."""
    monkeypatch.chdir(site.folder)
    site.host("node1", (0, 1), "hang")
    site.host("node2", (2, 3))
    began = time.monotonic()
    ask(words[0], "ssh:node[1-2]", *words[1:], "--deadline", "2")
    assert time.monotonic() - began < 6
    assert "node1.asked" in {one.name for one in site.folder.iterdir()}


@pytest.mark.parametrize(
    "words",
    [
        ("doctor", "ssh:node1", "--raw-dir", "raw"), ("doctor", "ssh:node1", "--follow-hosts"),
        ("hosts", "ssh:node1", "--sudo"), ("hosts", "ssh:node1", "--fanout", "3"), ("hosts", "ssh:node1", "--raw-dir", "raw"),
    ],
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(words: tuple[str, ...]) -> None:
    said = ask(*words)
    assert said.exit_code == 2
    assert "No such option" in said.output


def test_the_way_to_hosts_can_be_walked_as_it_is_told(site: Site) -> None:
    """The hint of a look that found nobody names the same hosts, with the options that the other command has."""
    site.host("node1", (0, 1), "refuse")
    options = Options(sudo=True, ssh_options="-l bob", follow=True)
    with pytest.raises(RankscopeError) as told:
        list(gather(Remote("ssh", "node1", options), Plan(deadline_s=10.0)))
    words = shlex.split(told.value.hint, comments=True)
    assert words[:3] == ["rankscope", "doctor", "ssh:node1"]
    command = cli.get_command(click.Context(cli), "doctor")
    assert command is not None
    assert command.make_context("doctor", words[2:]).params["ssh_options"] == "-l bob"


def test_the_doctors_answer_is_one_object(site: Site) -> None:
    site.host("node1", (0, 1))
    site.host("node2", (2, 3))
    (line,) = ask("doctor", "ssh:node[1-2]", "--json").output.splitlines()
    assert len(json.loads(line)["ways"]) == 2


def test_ranks_that_are_none_are_refused_before_files_are_read(tmp_path: pathlib.Path) -> None:
    """A thousand dumps take a while."""
    (tmp_path / "damaged").write_bytes(b"\0")
    with pytest.raises(click.BadParameter, match="0-2x"):
        cli.main(["analyze", "--entries", "0-2x", str(tmp_path / "damaged")], standalone_mode=False)
