"""Entries of recorders as people print them: who has begun what, and who waits for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.model.ranks import RankSet
from rankscope.pipeline import case_of
from rankscope.rules.told import below_the_program, groups_in_cycle, sends_do_not_meet

STACK = """\
Process 71: python pipe.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 71 (active): "MainThread"
    synchronize (torch/cuda/streams.py:105)
    exchange (pipe.py:40)
    <module> (pipe.py:90)
"""
LINE = "[rank {rank}] seq_id={seq} op=nccl:{op} sizes=[[{size}]] Half state={state} pg=('0', 'default_pg')\n"


def case(folder: Path, told: str, rank: int = 1) -> Path:
    (folder / f"rank_{rank}.txt").write_text(STACK)
    (folder / "recorders.txt").write_text(told)
    return folder


def lines(*states: str, **changed: object) -> str:
    usual: dict[str, object] = {"seq": 9, "op": "all_reduce", "size": 4096, **changed}
    return "".join(LINE.format(rank=rank, state=state, **usual) for rank, state in enumerate(states))


def below(folder: Path, told: str, rank: int = 1) -> list[Finding]:
    found = below_the_program.check(case_of(gather([case(folder, told, rank)])))
    return [one for one in found if "have started" in one.title]


def test_a_call_that_all_have_started_and_none_has_done_is_stuck_below(tmp_path: Path) -> None:
    (one,) = below(tmp_path, lines("started", "started", "started", "started"))
    assert (one.cls, one.certainty.value, one.ranks) == ("stuck-below-program", "likely", RankSet())


@pytest.mark.parametrize(
    ("told", "rank"),
    [
        (lines("started", "started", "scheduled"), 1),
        (lines("started", "started", "completed"), 1),
        (lines("completed", "completed", "completed"), 1),
        (lines("started", "started", "started"), 3),
        (lines("started", "started") + LINE.format(rank=2, seq=8, op="all_reduce", size=4096, state="started"), 1),
        (lines("started", "started") + LINE.format(rank=2, seq=9, op="all_reduce", size=64, state="started"), 1),
        (lines("started", "started", "started") + lines("started", seq=40, op="broadcast"), 1),
    ],
    ids=[
        "one has something before it",
        "one has done it",
        "all have",
        "one is not told",
        "another number",
        "another size",
        "two calls",
    ],
)
def test_where_not_all_are_in_one_call_it_is_not(told: str, rank: int, tmp_path: Path) -> None:
    assert not below(tmp_path, told, rank)


# As torchfrtrace -j prints them; a row is of several ranks.
RECV, SEND = "recv(s={} d={}, sz=[[8, 64]], state={})", "send(s={} d={}, sz=[[8, 64]], state={})"


def table(*entries: str) -> str:
    return "| rank 0 | rank 1 | rank 2 |\n" + "".join(f"| {entry} |\n" for entry in entries)


def queued(folder: Path, told: str) -> list[Finding]:
    found = sends_do_not_meet.check(case_of(gather([case(folder, told)])))
    return [one for one in found if "wait for each other" in one.title]


def test_receives_before_the_sends_that_both_need_are_a_circle(tmp_path: Path) -> None:
    begun = [RECV.format(1, 0, "started"), RECV.format(0, 1, "started"), RECV.format(1, 2, "started")]
    later = [SEND.format(0, 1, "scheduled"), SEND.format(1, 0, "scheduled"), SEND.format(1, 2, "scheduled")]
    (one,) = queued(tmp_path, table(*begun, *later))
    assert (one.cls, one.certainty.value, one.ranks) == ("p2p-order-deadlock", "likely", RankSet([0, 1]))
    (less,) = queued(tmp_path, table(*begun))  # that the others are to come, nothing tells
    assert less.certainty.value == "possible"


def test_names_of_the_recorder_tell_the_same(tmp_path: Path) -> None:
    told = "".join(
        f"rank {one}: nccl:send {one}->{other} state started\nrank {one}: nccl:recv {one}<-{other} state scheduled\n"
        for one, other in ((0, 1), (1, 0))
    )
    (one,) = queued(tmp_path, told)
    assert (one.certainty.value, one.ranks) == ("likely", RankSet([0, 1]))


@pytest.mark.parametrize(
    "told",
    [
        table(RECV.format(1, 0, "started"), SEND.format(1, 0, "started"), RECV.format(0, 1, "scheduled")),
        table(RECV.format(1, 0, "started"), RECV.format(2, 1, "started"), SEND.format(1, 0, "scheduled")),
        table(RECV.format(1, 0, "scheduled"), RECV.format(0, 1, "scheduled"), SEND.format(0, 1, "scheduled")),
        table(RECV.format(1, 0, "completed"), RECV.format(0, 1, "completed")),
        table(RECV.format(1, 0, "started"), RECV.format(0, 1, "started"), "coalesced(sz=[[8]], state=started)"),
    ],
    ids=["they meet", "a chain to somebody who is late", "none is begun", "it is over", "a group call has no order"],
)
def test_messages_that_are_in_no_circle_tell_nothing(told: str, tmp_path: Path) -> None:
    assert not queued(tmp_path, told)


# What each process did last in each of its groups.
ACROSS = """\
actor   sync(actor,gen0,gen1) seq=31 BROADCAST 4096 B launched
gen0    sync(actor,gen0,gen1) seq=31 BROADCAST 4096 B launched   tp(gen0,gen1) seq=700 ALLREDUCE done
gen1    sync(actor,gen0,gen1) seq=30 BROADCAST done   tp(gen0,gen1) seq=701 ALLREDUCE launched
"""
QUEUED = """\
rank0 pg=dp seq=88 all_reduce started | pg=ep seq=410 all_to_all scheduled
rank1 pg=dp seq=88 all_reduce not enqueued | pg=ep seq=410 all_to_all started
"""


def cycles(folder: Path, told: str) -> list[Finding]:
    return list(groups_in_cycle.check(case_of(gather([case(folder, told)]))))


# The last entry of each group, as a script prints dictionaries.
SQUARE = "".join(
    f"r{rank} {{'pg': ('{pg}', '{name}'), 'seq': {seq}, 'profiling_name': 'nccl:all_reduce', 'state': '{state}'}}\n"
    for rank, pg, name, seq, state in (
        (0, 3, "TP [0,1]", 41, "started"), (0, 5, "DP [0,2]", 12, "completed"),
        (1, 3, "TP [0,1]", 40, "completed"), (1, 6, "DP [1,3]", 13, "started"),
        (2, 4, "TP [2,3]", 40, "completed"), (2, 5, "DP [0,2]", 13, "started"),
        (3, 4, "TP [2,3]", 41, "started"), (3, 6, "DP [1,3]", 12, "completed"),
    )
)  # fmt: skip


@pytest.mark.parametrize("told", [ACROSS, QUEUED, SQUARE])
def test_calls_begun_crosswise_in_two_groups_are_a_cycle(told: str, tmp_path: Path) -> None:
    (one,) = cycles(tmp_path, told)
    assert (one.cls, one.certainty.value) == ("collective-cycle", "likely")


@pytest.mark.parametrize(
    "told",
    [
        ACROSS.replace("701 ALLREDUCE launched", "701 ALLREDUCE done"),
        ACROSS.replace("seq=700 ALLREDUCE done", "seq=701 ALLREDUCE launched"),
        ACROSS.replace("tp(gen0,gen1) seq=701", "tp(gen1,gen2) seq=701"),
        QUEUED.replace("seq=88 all_reduce not enqueued", "seq=61 all_reduce done"),
        QUEUED + "rank 1: cudaFree (libcudart.so.12)\n",
        SQUARE.replace(
            "13, 'profiling_name': 'nccl:all_reduce', 'state': 'started'",
            "12, 'profiling_name': 'nccl:all_reduce', 'state': 'completed'",
        ),
    ],
    ids=[
        "one is behind",
        "both are in the second group",
        "a group without the first",
        "perhaps another group",
        "held by a call",
        "one side alone has begun",
    ],
)
def test_calls_that_are_no_circle_are_no_cycle(told: str, tmp_path: Path) -> None:
    assert not cycles(tmp_path, told)


# Entries printed as dictionaries, and the configuration of the groups.
ENTRY = (
    "[rank{rank}] {{'record_id': 90, 'process_group': ('{pg}', '{name}'), 'collective_seq_id': {seq}, "
    "'profiling_name': 'nccl:all_reduce', 'input_sizes': [[{size}]], 'input_dtypes': ['Float'], 'state': '{state}'}}\n"
)
CONFIG = (
    "{{'3': {{'name': '3', 'desc': 'actor_pg', 'ranks': '{actor}'}}, "
    "'4': {{'name': '4', 'desc': 'critic_pg', 'ranks': '[0, 1]'}}}}\n"
)


def printed(seq: int = 70, state: str = "started", actor: str = "[0, 1]") -> str:
    first = ENTRY.format(rank=0, pg=3, name="actor_pg", seq=70, size=512, state="started")
    second = ENTRY.format(rank=1, pg=4, name="critic_pg", seq=70, size=64, state=state)
    return first + second + CONFIG.format(actor=actor)


def test_of_entries_that_are_not_done_each_group_may_have_one_side(tmp_path: Path) -> None:
    """The list of members tells who has not begun a call."""
    (one,) = cycles(tmp_path, printed())
    assert (one.cls, one.certainty.value, one.compared) == ("collective-cycle", "likely", True)
    as_json = printed().replace("'", '"').replace("(", "[").replace(")", "]")
    (same,) = cycles(tmp_path, as_json)
    assert same.cls == one.cls


@pytest.mark.parametrize(
    "told",
    [
        printed(state="completed"),
        printed(actor="[0, 2]"),
        printed() + ENTRY.format(rank=1, pg=3, name="actor_pg", seq=70, size=512, state="started"),
        printed() + "rank 1: cudaFree (libcudart.so.12)\n",
        printed().split("{'3'")[0],
    ],
    ids=[
        "one has done its call",
        "the other is no member",
        "both have the first",
        "held by a call",
        "no members are told",
    ],
)
def test_entries_that_are_not_done_of_another_kind_are_no_cycle(told: str, tmp_path: Path) -> None:
    assert not cycles(tmp_path, told)


STATUS = (
    "[rank{rank}]:[E130 16:44:02.118411201 ProcessGroupNCCL.cpp:2268] [PG ID 1 PG GUID 1({group}) Rank 0]  failure detected by "
    "watchdog at work sequence id: 60 PG status: last enqueued work: 60, last completed work: 59\n"
)


def gave_up(*groups: str) -> str:
    return "".join(STATUS.format(rank=rank, group=group) for rank, group in enumerate(groups))


@pytest.mark.parametrize(
    ("told", "cycle"),
    [
        (gave_up("tp_0_1", "dp_1_3", "dp_0_2", "tp_2_3"), True),
        (
            gave_up("rows", "right", "left", "under") + "rows: [0, 1], under: [2, 3], left: [0, 2], right: [1, 3]\n",
            True,
        ),
        (gave_up("tp_0_1", "dp_1_5", "dp_0_2", "dp_3_7"), False),
        (gave_up("tp_0_1", "tp_0_1", "dp_0_2", "tp_2_3"), False),
        (gave_up("tp_0_1", "dp_1_3", "dp_0_2", "tp_2_3") + gave_up("dp_0_2"), False),
        (gave_up("tp_0_1", "pp_3_1", "dp_0_1", "tp_2_2"), False),
    ],
    ids=["by their names", "by a list", "one waits for somebody else", "one group is full", "one in two", "no members"],
)
def test_groups_in_which_watchdogs_gave_up_close_a_circle(told: str, cycle: bool, tmp_path: Path) -> None:
    assert bool(cycles(tmp_path, told)) is cycle


CAUGHT = (
    "[E130 16:44:02.118411201 ProcessGroupNCCL.cpp:632] [Rank {at}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=60, OpType=ALLREDUCE, NumelIn=8388608, NumelOut=8388608, Timeout(ms)=600000) ran for 600033 milliseconds "
    "before timing out.\n"
)


@pytest.mark.parametrize(
    ("groups", "cls"),
    [
        (("tp_0_1", "dp_1_3", "dp_0_2", "tp_2_3"), "collective-cycle"),
        (("tp_0_1", "tp_0_1", "tp_2_3", "tp_2_3"), None),
    ],
    ids=["a circle", "full groups"],
)
def test_in_files_of_one_rank_the_number_within_its_group_is_not_its_rank(
    groups: tuple[str, ...], cls: str | None, tmp_path: Path
) -> None:
    """Without a prefix watchdogs name ranks as their groups do; calls of different groups are not one call."""
    for rank, group in enumerate(groups):
        at = [one for one in range(4) if groups[one].startswith(group[:2])].index(rank) % 2
        state = STATUS.format(rank=rank, group=group).partition(":")[2].replace("Rank 0", f"Rank {at}")
        state = state.replace("PG GUID 1", f"PG GUID {groups.index(group)}")
        (tmp_path / f"rank_{rank}.log").write_text(CAUGHT.format(at=at) + state)
    found = list(groups_in_cycle.check(case_of(gather([tmp_path]))))
    assert [one.cls for one in found] == ([cls] if cls else [])
    assert not any("timed out in the same" in one.title for one in below_the_program.check(case_of(gather([tmp_path]))))


# As scripts print the last entry of each rank, without the recorder's names.
COLUMNS = """\
0: default_pg 20177 nccl:all_reduce started    2: default_pg 20177 nccl:all_reduce started
1: default_pg 20177 nccl:all_reduce started    3: default_pg 20177 nccl:all_reduce {last}
"""
PER_RANK = """\
pg    seq   rank 0                    rank 1                    rank 2
dp    80    all_reduce [8] completed  all_reduce [8] completed  all_reduce [8] completed
dp    81    all_reduce [8] started    all_reduce [8] started    all_reduce [8] {last}
"""
RANGE = "ranks 0-3: last enqueued 812 all_reduce [64] torch.float32, state=started\nranks 0-3: last completed 811\n"
BY_ROW = "rank | group | op | seq | state\n" + "".join(f"{rank} | dp | ALLREDUCE | 71 | started\n" for rank in range(4))


@pytest.mark.parametrize(
    ("told", "stuck"),
    [
        (COLUMNS.format(last="started"), True),
        (BY_ROW, True),
        (PER_RANK.format(last="started"), True),
        (PER_RANK.format(last="scheduled"), False),
        (RANGE, True),
        (RANGE.replace("ranks 0-3: last enqueued", "ranks 1-3: last enqueued", 1), False),
        (COLUMNS.format(last="completed"), False),
        (
            COLUMNS.format(last="started").replace(
                "20177 nccl:all_reduce started\n", "20176 nccl:all_reduce completed\n"
            ),
            False,
        ),
        (COLUMNS.format(last="not started"), False),
        (COLUMNS.format(last="started").replace("20177", "20176", 1), False),
        ("0: step 400 broadcast done\n1: step 400 broadcast done\n", False),
    ],
    ids=[
        "columns",
        "rows",
        "a column for each rank",
        "a column whose device has not begun",
        "a line for all",
        "a line for some",
        "one has done it",
        "some have not come",
        "one has not begun",
        "one is behind",
        "steps of a log",
    ],
)
def test_a_table_of_last_calls_needs_no_names(told: str, stuck: bool, tmp_path: Path) -> None:
    assert bool(below(tmp_path, told)) is stuck


RAS = """\
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        {size}        {size}   RUNNING  {errors}
    1         8         4         1         4        32   RUNNING      OK
"""
DEVICE = """\
Thread 71 (active): "MainThread"
    cudaEventSynchronize (libcudart.so.12)
    synchronize (torch/cuda/streams.py:224)
    finish (loop.py:40)
"""


@pytest.mark.parametrize(
    ("size", "errors", "below"), [(32, "OK", True), (32, "MISMATCH", False), (8, "OK", False)], ids=str
)
def test_what_ras_tells_of_the_ranks_that_nobody_saw(size: int, errors: str, below: bool, tmp_path: Path) -> None:
    """All have begun as many calls: then no kernel of one rank holds the others up."""
    (tmp_path / "ras.txt").write_text(RAS.format(size=size, errors=errors))
    for rank in (0, 17):
        (tmp_path / f"rank_{rank}.txt").write_text(DEVICE)
    (tmp_path / "notes.txt").write_text("the job hangs since 10:00\n")
    (one,) = below_the_program.check(case_of(gather([tmp_path])))
    assert ("all ranks have begun as many calls" in one.title) is below
    assert (one.certainty.value == "likely") is below
