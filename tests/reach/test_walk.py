"""At which step the way to a host ends."""

from __future__ import annotations

import json

from click.testing import CliRunner

from rankscope.cli.doctor import command
from rankscope.reach.gather import Remote
from rankscope.reach.walk import Step, walk

from .conftest import Site


def test_each_host_is_told_with_the_step_at_which_it_stops(site: Site) -> None:
    site.host("node1", (0, 1))
    site.host("node2", (2, 3), "refuse")
    site.host("node3", (4, 5), "old")
    site.host("node4", ())
    site.host("node5", mode="bare")
    steps = {way.host: way.step for way in walk(Remote("ssh", "node[1-5]"))}
    assert steps == {
        "node1": Step.DONE,
        "node2": Step.REACH,
        "node3": Step.PYTHON,
        "node4": Step.SEE,
        "node5": Step.PYTHON,
    }


def test_doctor_folds_hosts_of_which_the_same_is_true(site: Site) -> None:
    for number in (1, 2, 3):
        site.host(f"node{number}", (number,), "refuse" if number < 3 else "")
    said = CliRunner().invoke(command, ["ssh:node[1-3]"])
    assert "node[1-2]: stops at: reach the host: it refuses ssh" in " ".join(said.output.split())
    assert said.exit_code == 1
    body = json.loads(CliRunner().invoke(command, ["ssh:node3", "--json"]).output)
    assert [way["step"] for way in body["ways"]] == ["all of it"]
