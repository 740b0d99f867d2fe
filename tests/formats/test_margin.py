"""What stands before every line of a text is taken off where all of it has it, and is left where a program said it."""

# ruff: noqa: E501  (a text is one line)
from __future__ import annotations

import pytest

from rankscope.formats import text
from rankscope.formats.margin import NONE, margin_of
from rankscope.formats.records import Dump

DUMP = """Process 7515: python job.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 7515 (idle): "MainThread"
    barrier (torch/distributed/distributed_c10d.py:5356)
    <module> (job.py:67)
"""

NUMBERED = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(DUMP.splitlines(), 1))
IN_LESS = "\n".join(f"{number:7d} {line}" for number, line in enumerate(DUMP.splitlines(), 1))
BY_PDSH = "\n".join(f"node{node}: {line}" for line in DUMP.splitlines() for node in (4, 7))
GREPPED = "\n".join(
    f"{number + 40}{'-' if number == 3 else ':'}{line}" for number, line in enumerate(DUMP.splitlines(), 1)
)
GREPPED_IN = "\n".join(f"logs/rank_4.log{line[2]}{line}" for line in GREPPED.splitlines())
QUOTED = "\n".join(f"    {line}" for line in DUMP.splitlines())


@pytest.mark.parametrize(
    "margined",
    [NUMBERED, IN_LESS, BY_PDSH, GREPPED, GREPPED_IN, QUOTED],
    ids=["cat", "less", "pdsh", "grep", "grep of files", "markdown"],
)
def test_a_dump_is_read_behind_its_margin(margined: str) -> None:
    """The same stack as without it."""
    (bare,) = (one for one in text.read(DUMP) if isinstance(one, Dump))
    dumps = [one for one in text.read(margined) if isinstance(one, Dump)]
    assert dumps
    assert {one.thread.stack for one in dumps} == {bare.thread.stack}
    assert {one.pid for one in dumps} == {7515}


def test_hosts_and_ranks_are_told_apart() -> None:
    """A name before each line is its host, or its rank."""
    assert {one.host for one in text.read(BY_PDSH) if isinstance(one, Dump)} == {"node4", "node7"}
    ranks = [one for one in text.read(BY_PDSH.replace("node", "rank")) if isinstance(one, Dump)]
    assert {(one.rank, one.host) for one in ranks} == {(4, None), (7, None)}


def test_files_that_were_searched_are_told_apart() -> None:
    """The number is one of a line, not of a rank; a file's name may tell the rank."""
    one, two = (GREPPED_IN.replace("rank_4", f"rank_{rank}").splitlines() for rank in (0, 1))
    both = "\n".join([*one, "--", *two])
    assert {each.rank for each in text.read(both) if isinstance(each, Dump)} == {0, 1}
    assert {each.rank for each in text.read(GREPPED) if isinstance(each, Dump)} == {None}


def test_only_the_head_decides() -> None:
    """A line that lacks the margin stays as it is, and one that comes later with it loses it too."""
    lines = [f"{number:6d}\tstep {number}" for number in range(1, 5000)]
    margin = margin_of("\n".join(lines))
    assert [margin.off("the end"), margin.off("  5001\tstep 5001")] == ["the end", "step 5001"]


@pytest.mark.parametrize(
    "said",
    [
        "0: a\n1: a\n2: a\n3: a\n",  # ranks, as srun -l numbers them
        "1: a\n2: b\n7: c\n9: d\n",
        "1:a\n3:b\n2:c\n4:d\n",
        "src/a.py:1: x\nsrc/a.py:3: y\nsrc/a.py:5: z\nsrc/b.py:1: x\n",
        "n1.lan:1:9 [0] NCCL INFO a\nn1.lan:2:8 [1] NCCL INFO b\nn1.lan:3:7 [2] NCCL INFO c\nn1.lan:4:6 [3] NCCL INFO d\n",
        "mount.nfs: timeout set for Mon\nmount.nfs: trying vers=4.2\nmount.nfs: mount(2): Connection refused\nmount.nfs: failed\n",
        "gpu0: 40C\ngpu0: 41C\ngpu1: 39C\ngpu1: 42C\n",
        "n1:100:120 [0] NCCL INFO a\nn1:100:120 [0] NCCL INFO b\nn2:7:8 [0] NCCL INFO a\nn2:7:8 [0] NCCL INFO b\n",
        '  File "a.py", line 1, in f\n  File "b.py", line 2, in g\n  File "c.py", line 3, in h\n  File "d.py", line 4, in i\n',
        "    get (queue.py:171)\n    run (threading.py:982)\n    _bootstrap_inner (threading.py:1045)\n    _bootstrap (threading.py:1002)\n",
        "PID CMD\n  101 a\n  102 b\n  103 c\n  104 d\n",
        "1\ta\n7\tb\n900\tc\n12\td\n",
        "a: 1\nb: 2\n",
    ],
)
def test_what_a_program_said_is_no_margin(said: str) -> None:
    """Ranks, names of programs and of devices, frames and tables stay."""
    assert margin_of(said) is NONE


@pytest.mark.parametrize("shift", range(12))
def test_a_line_that_is_cut_does_not_count(shift: int) -> None:
    """The last line of a head that was cut, wherever that is, may lack a part of its margin."""
    first = f"node0: {'x' * shift}\n"
    assert margin_of(first + "node1: step\n" * 6000) is not NONE


def test_a_rank_in_brackets_is_a_heading_where_it_stands_alone() -> None:
    """What follows is that rank's, although it has no prefix."""
    body = "".join(f"[rank{rank}]\n{DUMP.replace('7515', str(7515 + rank))}\n" for rank in (0, 1))
    assert {(one.rank, one.pid) for one in text.read(body) if isinstance(one, Dump)} == {(0, 7515), (1, 7516)}


SOURCE = (
    "def put(self, item):\n    with self.data_lock:\n        self.items.append(item)\n        return len(self.items)\n"
)


@pytest.mark.parametrize("by", ["{:6d}\t{}", "{}:{}"], ids=["cat", "grep"])
def test_numbers_of_a_source_that_takes_locks_stay(by: str) -> None:
    """Stacks name its lines by them; those of a log fall away."""
    listed = "\n".join(by.format(number, line) for number, line in enumerate(SOURCE.splitlines(), 31))
    assert margin_of(listed).off(listed.splitlines()[0]).lstrip().startswith("31")
    log = listed.replace("with self.data_lock:", "self.data = self.lock_free")
    assert margin_of(log).off(log.splitlines()[0]) == "def put(self, item):"


FRAMES = "    synchronize (torch/cuda/streams.py:224)\n    wait (a.py:1)\n    step (a.py:2)\n    main (a.py:3)"


def test_a_count_that_all_frames_have_is_of_stacks_that_are_alike() -> None:
    counted = "\n".join(f"{16:7d} {line}" for line in FRAMES.splitlines())
    assert [margin_of(counted).off(line).strip() for line in counted.splitlines()] == FRAMES.replace(
        "    ", ""
    ).splitlines()
    mixed = counted.replace("16     main", "15     main")
    assert margin_of(mixed).off(mixed.splitlines()[-1]).strip().startswith("15")
