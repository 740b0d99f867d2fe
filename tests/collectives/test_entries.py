"""The raw timeline says what was recorded, rank by rank."""

from __future__ import annotations

from rankscope.formats.gather import gather
from rankscope.model.ranks import RankSet
from rankscope.report import entries

from .sim import Do, Job, pickled


def test_one_line_an_operation_of_the_ranks_asked_for(tmp_path):
    groups = {"0": ("default_pg", (0, 1)), "1": ("pp", (0, 1))}
    programs = [[Do("0"), Do("1", "send", (4, 2), peer=1)], [Do("0"), Do("1", "recv", (4, 2), peer=0), Do("0")]]
    for rank, dump in Job(groups, programs).run().dumps().items():
        (tmp_path / f"rank_{rank}").write_bytes(pickled(dump))
    said = list(entries.lines(gather([tmp_path]), RankSet([1])))
    assert said[0] == "rank 1: 3 entries from dump"
    assert [line.split("  ", 2)[-1] for line in said[1:]] == [
        "default_pg #1  all_reduce  [64]  Float  done  step (train.py:10)",
        "pp p2p 1  recv 0->1  [4, 2]  Float  done  step (train.py:10)",
        "default_pg #2  all_reduce  [64]  Float  scheduled  step (train.py:10)",
    ]
