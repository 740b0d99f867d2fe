"""Jobs of eight kinds, fourteen faults, dumps as they come: kind, ranks and call are exact, and nobody healthy is named."""

from __future__ import annotations

import pytest

from .faults import FAULTS, Scenario, scenarios
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


@pytest.mark.parametrize("name", ["stop", "changed", "skipped", "broken", "finished"])
def test_numbers_and_types_written_as_text_are_read(name):
    style = Style(version="2.8", text_numbers=True, status=False)
    found = {seed: wrong(scenario, style, seed) for seed, scenario in scenarios(name, FEW)}
    assert found == dict.fromkeys(FEW, "")
