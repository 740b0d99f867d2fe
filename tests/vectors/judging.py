"""The answer to a scenario's dumps beside the right one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from rankscope.analysis.collectives import CollectiveAnalysis, find
from rankscope.formats import flight_recorder
from rankscope.model.evidence.recorder import Recorder

from .faults import Scenario
from .writing import Style, dump, encoded, group_name


def answer(scenario: Scenario, style: Style, seed: int = 0) -> CollectiveAnalysis:
    """Write the dumps, read them, compare them."""
    style = replace(style, capacity=max(style.capacity, 2 * scenario.job.window + 40))
    if style.backend == "gloo" and (scenario.job.window > 1 or scenario.job.messages):
        style = replace(style, backend="nccl", config="own")
    pool, found = flight_recorder.Pool(), {}
    for rank in range(len(scenario.job.programs)):
        if rank not in scenario.no_dump:
            data = encoded(dump(scenario.job, rank, style, seed), style)
            recorder = flight_recorder.read(data, f"{style.prefix}{rank}", pool)
            assert isinstance(recorder, Recorder), recorder
            found[rank] = recorder
    return find(found, len(scenario.job.programs))


_NAMES = {"own": ["number", "number", "hash", "desc"], "all": ["number", "hash"], "none": ["number", "hash"],
          "nameless": ["number"]}  # fmt: skip


def style_for(seed: int, rnd: random.Random | None = None) -> Style:
    """A style drawn by a seed; no ring is so short that it forgets what is not over yet."""
    rnd = rnd or random.Random(f"style-{seed}")
    backend = rnd.choice(["nccl", "nccl", "nccl", "gloo", "nccl2", "xccl", "hccl", "mpi", "custom"])
    if backend == "gloo":
        return Style(backend, "2.10", 2000, config="nameless", frames=rnd.random() < 0.7, json=rnd.random() < 0.3)
    only_active = rnd.random() < 0.2
    config = rnd.choice(["own", "own", "all"] if only_active else ["own", "own", "own", "all", "none", "nameless"])
    return Style(
        backend=backend, version="2." + rnd.choice(["4", "9", "10"] if only_active else ["1", "3", "4", "5", "8", "9", "10"]),
        capacity=rnd.choice([2000, 2000, 60, 40]), skew=rnd.choice([0, 8]), only_active=only_active,
        status=only_active or rnd.random() < 0.7, config=config,
        names=rnd.choice(_NAMES[config] if not only_active else ["number"]),
        described=rnd.random() < 0.8,
        frames=rnd.random() < 0.7, timing=rnd.random() < 0.3, json=rnd.random() < 0.3,
    )  # fmt: skip


def faults(scenario: Scenario, got: CollectiveAnalysis, style: Style) -> Iterator[str]:
    """What is wrong with an answer."""
    expect = scenario.expect
    if got.hang != expect.hang:
        yield f"hang {got.hang}, not {expect.hang}"
        return
    if expect.kinds and got.kind not in expect.kinds:
        yield f"kind {got.kind}, not {'/'.join(expect.kinds)}"
    if tuple(got.culprits) not in expect.culprits:
        yield f"culprits {got.culprits}, not {expect.culprits}"
    if expect.cycle and not got.cycles:
        yield "no circle"
    if expect.call and got.states and got.kind in expect.kinds:
        state = got.states[0]
        have = (scenario_group(scenario, state.group, state.ranks, style), state.seq, state.op)
        if have != expect.call:
            yield f"call {have}, not {expect.call}"


def scenario_group(scenario: Scenario, name: str, ranks: tuple[int, ...], style: Style) -> str:
    """The name that the scenario has for a group of the dumps."""
    called = [one for one in scenario.job.groups if group_name(scenario.job, one, style) == name]
    same = [one for one in called if scenario.job.groups[one][1] == ranks]
    return (same or [*called[:1], name])[0]
