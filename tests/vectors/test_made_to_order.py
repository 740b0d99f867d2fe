"""Jobs of eight kinds, fourteen faults, dumps as they come: kind, ranks and call are exact, and nobody healthy is named."""

from __future__ import annotations

import random

import pytest

from .faults import FAULTS, Scenario, message_lost, scenarios
from .judging import answer, faults, style_for
from .writing import Style

FEW, DAMAGED = range(6), range(9)


def wrong(scenario: Scenario, style: Style, seed: int) -> str:
    return "; ".join(faults(scenario, answer(scenario, style, seed), style))


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_in_whole_dumps(name):
    found = {seed: wrong(scenario, Style(), seed) for seed, scenario in scenarios(name, FEW)}
    assert found == dict.fromkeys(FEW, "")


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_found_in_what_releases_and_backends_write(name):
    """Short rings, unfinished operations only, without counters, members, descriptions or call sites, as pickle or JSON."""
    found = {seed: wrong(scenario, style_for(seed), seed) for seed, scenario in scenarios(name, DAMAGED)}
    assert found == dict.fromkeys(DAMAGED, "")


def test_a_device_that_never_begins_is_named_where_recorders_time_it():
    """All members issued the call; the device of one is still at something else."""
    found = {}
    for seed, scenario in scenarios("device_held", range(24)):
        if scenario.expect.hang:
            scenario.expect.culprits = scenario.expect.culprits[:1]
            found[seed] = wrong(scenario, Style(timing=True), seed)
    assert len(found) > 12
    assert found == dict.fromkeys(found, "")


def test_who_lost_a_message_is_told_by_what_it_did_in_every_step_before():
    """Whoever waits for it keeps the habit; where the job is too young to have one, it is a circle without a name."""
    named = 0
    for seed in range(24):
        scenario = message_lost(random.Random(f"lost-{seed}"), random.Random(seed).choice([1, 2, 4, 8]), steps=8)
        got = answer(scenario, Style(), seed)
        assert tuple(got.culprits) in (scenario.expect.culprits[0], ()), seed
        named += bool(got.culprits)
    assert named >= 20


@pytest.mark.parametrize("name", ["stop", "changed", "skipped", "broken", "finished"])
def test_numbers_and_types_written_as_text_are_read(name):
    style = Style(version="2.8", text_numbers=True, status=False)
    found = {seed: wrong(scenario, style, seed) for seed, scenario in scenarios(name, FEW)}
    assert found == dict.fromkeys(FEW, "")
