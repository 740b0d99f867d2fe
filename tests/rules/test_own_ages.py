"""Whoever is accused is judged by its own age, not by that of those who wait for it."""

from __future__ import annotations

import dataclasses

import pytest
import test_live_rules as live
from test_one_machine import DIST, LIB, LOCK, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, Stack
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role
from rankscope.pipeline import judge

REDUCES = One((MAIN, STEP, dataclasses.replace(STEP, function="all_reduce", file=DIST, line=2000)), LOCK)


def rank(number: int, *threads: One, more: tuple[object, ...] = ()) -> Body:
    """One rank of a job."""
    return body(70 + number, *threads, role=Role.RANK, rank=number, more=more)


def moving_bytes(one: Body, count: int) -> Body:
    """The same process, which writes so many bytes between the looks."""
    process, looks = one
    return process, tuple(
        tuple(dataclasses.replace(record, read_bytes=0, written_bytes=at * count) if isinstance(record, Threads) else record
              for record in look)
        for at, look in enumerate(looks)
    )  # fmt: skip


def getting_on(one: Body) -> Body:
    """The same process, whose second thread was in another function at the first look."""
    process, (first, last) = one
    before = Frame("open", "/job/save.py", 5)

    def earlier(record: object) -> object:
        if not isinstance(record, PythonStacks):
            return record
        main, other = record.threads
        return dataclasses.replace(
            record, threads=(main, dataclasses.replace(other, stack=Stack([*other.stack[:-1], before])))
        )

    return process, (tuple(map(earlier, first)), last)


def of_rule(found: Diagnosis, rule: str) -> Finding | None:
    return next((one for one in found.findings if one.rule == rule), None)


@pytest.mark.parametrize(
    ("still_s", "turns", "written", "certainty", "state"),
    [
        (99.0, 0, 0, Certainty.CERTAIN, "stuck"),
        (2.0, 0, 0, Certainty.POSSIBLE, "stuck"),
        (0.01, 40, 0, Certainty.POSSIBLE, "stuck"),
        (0.01, 40, 200 << 20, None, "slow"),
    ],
)
def test_a_checkpoint_that_gets_on_is_no_stalled_file_system(
    still_s: float, turns: int, written: int, certainty: Certainty | None, state: str
) -> None:
    """Its writer is often found in state D; only one that has stood there itself for long is stalled for certain."""
    writes = One((MAIN, STEP), state="D", wchan="folio_wait_bit_common", still_s=still_s, turns=turns)
    found = told(moving_bytes(rank(0, writes), written), rank(1, REDUCES), rank(2, REDUCES), launcher="torchrun")
    stalled = of_rule(found, "filesystem-stall")
    assert (stalled.certainty if stalled else None, found.state.value) == (certainty, state)
    assert stalled is None or bool(stalled.against) is (certainty is Certainty.POSSIBLE)


def messages(*calls: tuple[str, dict[str, int | None], float]) -> Diagnosis:
    """Ranks in calls that pass messages, each with its arguments and its age."""
    bodies = []
    for number, (op, known, still_s) in enumerate(calls):
        stack = Stack([live.MAIN, live.STEP, Frame(op, DIST, 2100)])
        arguments = tuple(Local(2, name, str(value)) for name, value in known.items())
        bodies.append(live.Body(70 + number, stack, rank=number, still_s=still_s, locals=(arguments, arguments)))
    return judge(live.job(*bodies, world=len(calls)))


@pytest.mark.parametrize(
    ("sender_s", "receiver_s", "tag", "circles", "state"),
    [
        (2.0, 40.0, 0, 0, "unknown"),  # a slow stage has begun to send a large message
        (40.0, 2.0, 0, 0, "unknown"),  # and here it has waited for the receiver
        (40.0, 40.0, 0, 0, "stuck"),  # what is wrong lies below the program
        (40.0, 40.0, 7, 1, "stuck"),  # messages of two tags never meet
        (2.0, 40.0, 7, 0, "unknown"),
    ],
)
def test_a_message_under_way_closes_no_circle(
    sender_s: float, receiver_s: float, tag: int, circles: int, state: str
) -> None:
    """The receiver has waited for long for a sender who has just come, and not the other way round."""
    found = messages(("send", {"dst": 1, "tag": 0}, sender_s), ("recv", {"src": 0, "tag": tag}, receiver_s))
    assert (sum(one.rule == "wait-cycle" for one in found.findings), found.state.value) == (circles, state)


def test_those_behind_a_message_under_way_wait_for_its_sender() -> None:
    """A pipeline of three, of which the first has begun to send: its age counts for all who wait behind it."""
    behind = ("recv", {"src": 1, "tag": 0}, 40.0)
    found = messages(("send", {"dst": 1, "tag": 0}, 2.0), ("recv", {"src": 0, "tag": 0}, 40.0), behind)
    assert (found.verdict, found.state.value) == (None, "unknown")


@pytest.mark.parametrize(("still_s", "told"), [(40.0, True), (2.0, False)])
def test_a_circle_is_as_old_as_its_youngest_member(still_s: float, told: bool) -> None:
    found = messages(("send", {"dst": 1}, 40.0), ("send", {"dst": 0}, still_s))
    circle = of_rule(found, "wait-cycle")
    assert (circle is not None, found.state.value == "stuck") == (told, told)


def test_a_message_from_anybody_may_be_under_way() -> None:
    found = messages(("send", {"dst": 1}, 2.0), ("recv", {"src": None}, 40.0))
    assert [(wait.waiter.pid, wait.target and wait.target.pid) for wait in found.waits] == [(71, 70)]


def test_what_goes_through_a_pipe_closes_no_circle() -> None:
    """A parent has read for long from the pipe into which its child has begun to write."""
    ends = [OpenFiles((OpenFile(3, "pipe:[5]", mode),)) for mode in "rw"]
    reads = One((MAIN, STEP), BlockedCall(0, "read", (3,)), wchan="pipe_read", still_s=40.0)
    writes = One((MAIN, STEP), BlockedCall(0, "write", (3,)), wchan="pipe_write", still_s=0.1, turns=4)
    found = told(rank(0, reads, more=(ends[0],)), body(90, writes, parent=70, more=(ends[1],)), launcher="torchrun")
    assert (found.findings, found.state.value) == ((), "moving")


SLEEPS = (MAIN, Frame("upload", "/job/train.py", 30))
FORKS = Frame("_worker", f"{LIB}/concurrent/futures/thread.py", 83)


@pytest.mark.parametrize(
    ("still_s", "turns", "certainty"),
    [(99.0, 0, Certainty.CERTAIN), (3.0, 0, Certainty.LIKELY), (0.2, 2, Certainty.LIKELY)],
)
def test_who_sleeps_a_little_again_and_again_is_not_stuck_for_certain(
    still_s: float, turns: int, certainty: Certainty
) -> None:
    """It may poll for an upload that gets on: what is certain is only a long sleep of its own."""
    sleeps = One(
        SLEEPS, BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=still_s, turns=turns
    )
    found = told(rank(0, sleeps), rank(1, REDUCES), rank(2, REDUCES), launcher="torchrun")
    own = of_rule(found, "rank-in-user-code")
    assert own is not None
    assert (own.certainty, bool(own.against), found.state.value) == (certainty, certainty is Certainty.LIKELY, "stuck")


@pytest.mark.parametrize(
    ("pool", "turns", "said"),
    [
        (True, 3, ("slow", None)),  # it asks how far the task of a pool is
        (False, 3, ("stuck", Certainty.POSSIBLE)),
        (False, 0, ("stuck", Certainty.LIKELY)),
    ],
)
def test_who_sleeps_may_wait_for_a_thread_that_works(
    pool: bool, turns: int, said: tuple[str, Certainty | None]
) -> None:
    """A checkpoint is written by another thread, while the main one asks now and then whether it is done."""
    writes = One((*([FORKS] * pool), Frame("write", "/job/save.py", 9)), state="R", wchan="", still_s=0.0, turns=9)
    sleeps = One(SLEEPS, wchan="hrtimer_nanosleep", still_s=0.2 if turns else 99.0, turns=turns)
    found = told(getting_on(rank(0, sleeps, writes)), rank(1, REDUCES), rank(2, REDUCES), launcher="torchrun")
    own = of_rule(found, "rank-in-user-code")
    assert (found.state.value, own and own.certainty) == said


def meet(ages: dict[int, float], groups: dict[int, str], odd: set[int]) -> Diagnosis:
    """Ranks in collectives, the odd ones in another place of the program; each of its age, in a call of its group."""
    bodies = []
    for number, still_s in ages.items():
        op, place = ("all_gather", "shard") if number in odd else ("all_reduce", "step")
        stack = Stack([live.MAIN, Frame(place, "/job/train.py", 60), Frame(op, DIST, 2000)])
        known = (Local(2, "group ranks", groups[number], "ranks"),) if number in groups else ()
        bodies.append(live.Body(70 + number, stack, rank=number, still_s=still_s, locals=(known, known)))
    return judge(live.job(*bodies, world=len(ages)))


@pytest.mark.parametrize(
    ("young", "told"),
    [
        pytest.param((), True, id="all stand"),
        pytest.param((0, 1), False, id="the odd ones have just come"),
        pytest.param((1,), False, id="one of the odd ones has"),
        pytest.param((4,), False, id="one of the others has"),
        pytest.param((2, 3, 4, 5), False, id="all the others have"),
    ],
)
def test_ranks_are_apart_once_all_of_them_stand(young: tuple[int, ...], told: bool) -> None:
    """Some that do short calls of their own on the way are not lost."""
    found = meet({n: 0.1 if n in young else 40.0 for n in range(6)}, {}, {0, 1})
    apart = of_rule(found, "rank-elsewhere-in-loop")
    assert (apart is not None and list(apart.ranks) == [0, 1]) is told


@pytest.mark.parametrize(
    ("timed", "others_s", "told"),
    [
        pytest.param(True, 600.0, True, id="it looks ten seconds at a time"),
        pytest.param(False, 600.0, False, id="it has just come"),
        pytest.param(True, 8.0, False, id="all have just come"),
    ],
)
def test_who_asks_the_store_again_and_again_may_have_done_so_for_long(timed: bool, others_s: float, told: bool) -> None:
    """The barrier of a new group waits for the store ten seconds at a time: that it woke tells nothing of its age."""
    meets = Stack([live.MAIN, Frame("new_group", DIST, 5200), Frame("_store_based_barrier", DIST, 1000)])
    asks = Blocked((BlockedCall(70, "poll", (5,), timed=timed),))
    late = live.Body(70, meets, rank=0, still_s=8.0, wchan="poll_schedule_timeout", more=(asks,))
    found = judge(live.job(*live.ranks(late, world=8, still_s=others_s), world=8))
    apart = of_rule(found, "rank-elsewhere-in-loop")
    assert (apart is not None and list(apart.ranks) == [0]) is told


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (dict.fromkeys(range(6), "0: 0-5"), True),
        ({n: "1: 0,1" if n < 2 else "2: 2-5" for n in range(6)}, False),  # two groups, rightly apart
        (dict.fromkeys(range(2, 6), "0: 0-5"), True),  # of the odd ones nothing tells the group
        (dict.fromkeys(range(2, 6), "2: 2-5"), False),
    ],
)
def test_ranks_are_compared_within_their_group(groups: dict[int, str], told: bool) -> None:
    found = meet(dict.fromkeys(range(6), 40.0), groups, {0, 1})
    apart = of_rule(found, "rank-elsewhere-in-loop")
    assert (apart is not None and list(apart.ranks) == [0, 1]) is told


def test_a_rank_whose_group_is_unknown_is_named_once() -> None:
    """Rank 0 tells no group and belongs to both: to that of ranks 0-2, and to that of ranks 0 and 3-5, in which more lack it."""
    groups = {1: "1: 0-2", 2: "1: 0-2", 3: "2: 0,3-5", 4: "2: 0,3-5", 5: "2: 0,3-5"}
    found = meet(dict.fromkeys(range(6), 40.0), groups, {0})
    (apart,) = [one for one in found.findings if one.rule == "rank-elsewhere-in-loop"]
    assert list(apart.ranks) == [0]
    assert "while ranks 3-5 wait" in apart.title


RUNS = One((MAIN, Frame("Popen.wait", f"{LIB}/subprocess.py", 1264)), BlockedCall(0, "wait4"), wchan="do_wait")
ABROAD = Sockets((Socket(7, "tcp", "10.0.0.1:40", "10.0.0.2:22", "established"),))


def a_command(*more: object, uptime_s: float = 120.0, below_s: float = 0.0, host: str = "n1") -> Body:
    """A program, of which no stack is read, that stands in a poll; the CPU that its descendants use between the looks."""
    process, looks = body(90, One((), wchan="poll_schedule_timeout"), parent=70, more=more)
    process = dataclasses.replace(
        process, ref=dataclasses.replace(process.ref, host=host), comm="ssh", command=("ssh",)
    )
    return process, tuple(
        tuple(dataclasses.replace(one, uptime_s=uptime_s + at, below_cpu_s=at * below_s) if isinstance(one, Threads) else one
              for one in look if not isinstance(one, PythonStacks))
        for at, look in enumerate(looks)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "certainty"),
    [
        pytest.param(a_command(Sockets(())), Certainty.LIKELY, id="stands"),
        pytest.param(a_command(), Certainty.POSSIBLE, id="waits on something unseen"),
        pytest.param(a_command(ABROAD), Certainty.POSSIBLE, id="asks another host"),
        pytest.param(a_command(Sockets(()), uptime_s=3.0), Certainty.POSSIBLE, id="has just begun"),
        pytest.param(a_command(Sockets(()), below_s=0.7), None, id="has others work"),
        pytest.param(a_command(Sockets(()), host="n2"), None, id="is nobody's here"),
    ],
)
def test_a_command_that_stands(command: Body, certainty: Certainty | None) -> None:
    found = told(rank(0, RUNS), rank(1, REDUCES), command, launcher="torchrun")
    stands = of_rule(found, "command-runs-on")
    assert (stands and stands.certainty) == certainty
    assert stands is None or bool(stands.against) is (certainty is Certainty.POSSIBLE)


def test_a_connection_that_a_command_inherited_says_nothing() -> None:
    found = told(rank(0, RUNS, more=(ABROAD,)), rank(1, REDUCES), a_command(ABROAD), launcher="torchrun")
    stands = of_rule(found, "command-runs-on")
    assert stands is not None
    assert stands.certainty is Certainty.LIKELY


READS = BlockedCall(0, "recvfrom", (3,))
POLLS = BlockedCall(0, "poll", (3,), timed=True)


@pytest.mark.parametrize(
    ("call", "still_s", "turns", "certainty"),
    [
        pytest.param(READS, 99.0, 0, Certainty.LIKELY, id="has read for long"),
        pytest.param(None, 2.0, 0, Certainty.POSSIBLE, id="one request of sixty"),
        pytest.param(READS, 0.2, 3, Certainty.POSSIBLE, id="something came meanwhile"),
        pytest.param(POLLS, 2.0, 0, Certainty.POSSIBLE, id="one request with a time limit"),
        pytest.param(POLLS, 0.2, 3, Certainty.LIKELY, id="asks again and again"),
    ],
)
def test_who_has_just_asked_is_at_most_possibly_stuck(
    call: BlockedCall | None, still_s: float, turns: int, certainty: Certainty
) -> None:
    """A rank may make many short requests, and each look meets one of them, while its peers have waited for all of them."""
    fetches = Frame("fetch", "/job/data.py", 8), Frame("recv_into", f"{LIB}/socket.py", 717)
    asks = rank(0, One((MAIN, *fetches), call, wchan="sk_wait_data", still_s=still_s, turns=turns))
    own = of_rule(told(asks, rank(1, REDUCES), rank(2, REDUCES), launcher="torchrun"), "rank-in-user-code")
    assert own is not None
    assert (own.certainty, bool(own.against)) == (certainty, certainty is Certainty.POSSIBLE)


@pytest.mark.parametrize(("still_s", "certainty"), [(99.0, Certainty.LIKELY), (0.6, Certainty.POSSIBLE)])
def test_a_loader_worker_that_has_just_begun_to_read(still_s: float, certainty: Certainty) -> None:
    loads = (MAIN, Frame("_try_get_data", f"{LIB}/site-packages/torch/utils/data/dataloader.py", 1100))
    fetch = Frame("fetch", f"{LIB}/site-packages/torch/utils/data/_utils/fetch.py", 52)
    reads = One((fetch, Frame("decode", "/job/data.py", 9)), wchan="sk_wait_data", still_s=still_s)
    worker = body(90, reads, role=Role.DATALOADER_WORKER, parent=70, rank=0)
    found = told(rank(0, One(loads)), rank(1, REDUCES), worker, launcher="torchrun")
    stands = of_rule(found, "loader-worker-stuck")
    assert stands is not None
    assert (stands.certainty, bool(stands.against)) == (certainty, certainty is Certainty.POSSIBLE)
