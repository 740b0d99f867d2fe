"""What a screen has no room for is counted on it, and so is what JSON leaves out."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.model.classes import CLASSES
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind, State, Wait
from rankscope.model.process import ProcessRef
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Job
from rankscope.report import hosts, json_lines, screen

REFS = tuple(ProcessRef(f"node{number}", 7, 1) for number in range(64))
CLASS = next(iter(CLASSES))


def finding(kind: Kind, number: int) -> Finding:
    return Finding("r", CLASS, kind, Certainty.LIKELY, f"{kind.value} {number}", RankSet([number]), ())


def diagnosis(many: int) -> Diagnosis:
    """Of everything there is this much."""
    found = tuple(finding(kind, number) for kind in (Kind.CAUSE, Kind.NOTE) for number in range(many))
    waits = tuple(Wait(REFS[number], REFS[0], f"reason {number}", 3.0) for number in range(many))
    steps = tuple(f"rankscope stacks pid:{number}" for number in range(many))
    return Diagnosis(
        Job("torchrun", name="train.py"), State.STUCK, 64, RankSet(range(64)), tuple(ref.host for ref in REFS), found[0],
        found, waits=waits, cycles=(REFS[: many + 2],) * many, next=steps,
    )  # fmt: skip


def test_all_hosts_of_a_job_are_on_its_line() -> None:
    """Four of 64 would read as if there were no others."""
    assert "64 ranks on node[0-63]: stuck" in screen.render(diagnosis(1))


def test_what_there_is_no_room_for_is_counted() -> None:
    shown = screen.render(diagnosis(9), width=100)
    for left in ("5 more causes", "5 more notes", "5 more steps", "4 more waits", "7 more circles"):
        assert f"… and {left}: --json shows all" in shown
    assert "… 5 more → node0:7" in shown


def test_waits_for_many_that_no_edge_tells_are_counted() -> None:
    found = dataclasses.replace(diagnosis(9), waits_unwritten=4800)
    assert "4800 more waits for members of large groups are not listed" in screen.render(found, width=100)
    assert json_lines.to_dict(found)["waits_left_out"] == 4800


def test_nothing_is_said_where_all_is_shown() -> None:
    assert "more" not in screen.render(diagnosis(2))


def test_json_counts_the_waits_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that counts them has to know."""
    assert json_lines.to_dict(diagnosis(9))["waits_left_out"] == 0
    monkeypatch.setattr(json_lines, "MAX_WAITS", 4)
    said = json_lines.to_dict(diagnosis(9))
    assert (len(said["waits"]), said["waits_left_out"]) == (4, 5)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["b", "a"], "b, a"),
        ([f"node{n}" for n in (8, 9, 10, 12, 7)], "node[7-10,12]"),
        ([f"gpu{n:03}.site" for n in (7, 8, 9, 10, 12)], "gpu[007-010,012].site"),
        (["login", "node1", "node2", "node3", "node5"], "login, node[1-3,5]"),
        (["n01", "n02", "n1", "n2", "n3"], "n[1-3], n[01-02]"),
        ([f"{letter}1" for letter in "abcdefghijk"], "a1, b1, c1, d1, e1, f1, g1, h1 and 3 more"),
    ],
)
def test_hosts_are_folded_as_clusters_write_them(names: list[str], told: str) -> None:
    assert hosts.phrase(names) == told


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab01 .-"), min_size=1, max_size=6), unique=True, max_size=20))
def test_folding_loses_no_host(names: list[str]) -> None:
    """Each name is told by exactly one piece."""
    unfolded = []
    for piece in hosts.folded(names):
        before, bracket, rest = piece.partition("[")
        ranges, _, behind = rest.partition("]")
        for part in ranges.split(",") if bracket else ():
            first, _, last = part.partition("-")
            unfolded += [f"{before}{n:0{len(first)}}{behind}" for n in range(int(first), int(last or first) + 1)]
        unfolded += [] if bracket else [piece]
    assert sorted(unfolded) == sorted(names)
