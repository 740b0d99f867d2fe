"""Dumps of real shape, damaged at any place: nothing raises, whatever they say is compared, and an answer can be shown."""

from __future__ import annotations

import pickle
import random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope import pipeline
from rankscope.analysis.collectives import Facts, find
from rankscope.formats import flight_recorder
from rankscope.formats.gather import gather
from rankscope.model.evidence.recorder import Recorder
from rankscope.model.gap import Gap

from .faults import FAULTS, scenarios
from .judging import style_for
from .writing import dump, encoded

_JUNK: list[Any] = [None, -1, 0, 1, 1 << 70, 2.5, "", "x", "0", "7", [], {}, [[]], [[1 << 62] * 9], True, "nccl:send 0->9",
                    "nccl:recv 1<-?", "gloo:", ":", "[0, 1]", ("0", "a"), "coalesced"]  # fmt: skip
_COPIES = [b for name in FAULTS for _, made in scenarios(name, range(1)) for b in [made]]


def damaged(seed: int, much: int) -> dict[int, dict[str, Any]]:
    """The dumps of a job, with ``much`` random changes."""
    rnd = random.Random(seed)
    made, style = rnd.choice(_COPIES), style_for(seed)
    ranks = range(min(8, len(made.job.programs)))
    dumps = {rank: pickle.loads(pickle.dumps(dump(made.job, rank, style, seed))) for rank in ranks}
    for _ in range(much):
        _change(rnd, rnd.choice(list(dumps.values())))
    return dumps


def _change(rnd: random.Random, one: dict[str, Any]) -> None:
    entries = one["entries"]
    places = [one, one["pg_config"], one.get("pg_status", {}), *one["pg_config"].values(), *entries[-8:]]
    where = rnd.choice([place for place in places if isinstance(place, dict)])
    what = rnd.random()
    if what < 0.2 and isinstance(entries, list) and entries:
        one["entries"] = rnd.choice([entries[rnd.randrange(len(entries)) :], entries * 2, entries[::-1],
                                     rnd.sample(entries, len(entries))])  # fmt: skip
    elif where and what < 0.4:
        key = rnd.choice(list(where))
        if key != "entries" and key != "pg_config":
            del where[key]
    elif where:
        key = rnd.choice(list(where))
        if key not in ("entries", "pg_config"):
            where[key] = rnd.choice(_JUNK)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000_000), st.integers(1, 40))
@example(297, 40)  # finished calls that differ, and nothing unfinished, of a job that moves
def test_whatever_is_read_can_be_compared(seed, much):
    pool, found = flight_recorder.Pool(), {}
    for rank, one in damaged(seed, much).items():
        read = flight_recorder.read(pickle.dumps(one, protocol=2), f"rank_{rank}", pool)
        assert isinstance(read, (Recorder, Gap))
        if isinstance(read, Recorder):
            found[rank] = read
    answer = find(found, None)
    assert all(rank < 1 << 24 for rank in answer.culprits)
    find(found, len(found) + 3, Facts(earlier=found))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000_000), st.integers(0, 400), st.booleans())
def test_a_directory_with_a_broken_file_is_judged_by_the_others(tmp_path_factory, seed, cut, empty):
    folder = tmp_path_factory.mktemp("dumps")
    for rank, one in damaged(seed, 3).items():
        data = encoded(one, style_for(seed)) if not style_for(seed).json else pickle.dumps(one, protocol=2)
        if rank == 1:
            data = b"" if empty else data[:cut]
        (folder / f"rank_{rank}").write_bytes(data)
    diagnosis = pipeline.judge(gather([folder]))
    assert diagnosis.job.launcher == "files"
