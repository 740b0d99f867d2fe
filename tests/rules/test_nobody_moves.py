"""Jobs in which nothing moves: who stands in one call together, who stands for a reason of its own, and who cannot be seen."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import CASES, LIB, MAIN, MEETING, REDUCE, STEP, Body, job, said
from test_live_rules import ranks as others_of

from rankscope.cli._exit import FOUND, NOT_ENOUGH, NOTHING_FOUND, code_of
from rankscope.model.diagnosis import Certainty, Diagnosis, Kind, State
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge
from rankscope.report.screen import render

HOUR = 3600.0
BEGINS = Frame("<module>", "/job/train.py", 99)


def stands(*frames: Frame) -> Stack:
    return Stack([BEGINS, MAIN, *frames])


REDUCES = stands(STEP, REDUCE)
READS = stands(Frame("fetch", "/job/train.py", 77), Frame("readinto", f"{LIB}/socket.py", 700))
SYNCS = stands(STEP, Frame("synchronize", f"{LIB}/site-packages/torch/cuda/__init__.py", 900))
LOADS = stands(STEP, Frame("_try_get_data", f"{LIB}/site-packages/torch/utils/data/dataloader.py", 1100))
NUMBER = stands(Frame("step", "/job/train.py", 33))
IDLES = stands(Frame("run_forever", f"{LIB}/asyncio/base_events.py", 600), Frame("select", f"{LIB}/selectors.py", 468))
TAKES = stands(Frame("serve", "/job/engine.py", 50), Frame("get", f"{LIB}/queue.py", 171))
RECEIVES = stands(Frame("serve", "/job/engine.py", 50), Frame("recv", f"{LIB}/site-packages/zmq/sugar/socket.py", 7))
FOLLOWS = stands(Frame("follow", "/job/engine.py", 80),
                 Frame("broadcast_object_list", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 2000))  # fmt: skip


def ranks(*odd: Body, stack: Stack = REDUCES, **usual: object) -> tuple[Body, ...]:
    return others_of(*odd, stack=stack, **usual)


def word(said: Diagnosis) -> str:
    """The first word under the job, as people read it."""
    return render(said).splitlines()[1].split()[0]


def with_threads_at_work(snapshot: Snapshot, share: float = 0.4) -> Snapshot:
    """The job, with a thread of native code in each process that uses so much of a CPU."""

    def more(item: Item, at: int) -> Item:
        if not isinstance(item.record, Threads):
            return item
        loop = KernelThread(item.process.pid + 500, "pt_gloo_runloop", "S", "ep_poll", cpu_s=9 + share * at, voluntary=900 * at,
                            involuntary=0, still_s=0.0)  # fmt: skip
        return Item(item.process, dataclasses.replace(item.record, threads=(*item.record.threads, loop)))

    sweeps = (dataclasses.replace(sweep, items=tuple(more(item, at) for item in sweep.items))
              for at, sweep in enumerate(snapshot.sweeps))  # fmt: skip
    return dataclasses.replace(snapshot, sweeps=tuple(sweeps))


def test_everybody_in_one_call_and_no_recorder_is_stuck_below_the_program() -> None:
    found = judge(job(*ranks(still_s=HOUR), world=3))
    assert (found.state, code_of([found]), word(found)) == (State.STUCK, FOUND, "cause")
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("stuck-below-program", [])
    assert found.verdict.certainty is Certainty.POSSIBLE
    assert found.next


@pytest.mark.parametrize(("file", "asks"), [("/dev/nvidia0", "ncclras"), ("pipe:[7]", "ss -tnpi"), ("", "ncclras")])
def test_below_the_program_is_asked_with_the_tools_of_what_lies_there(file: str, asks: str) -> None:
    """Where no device is open there is no NCCL; of descriptors that could not be read nobody knows."""
    more = (OpenFiles((OpenFile(5, file, "rw"),)),) if file else ()
    found = said(job(*ranks(still_s=HOUR, more=more), world=3), "below-the-program")
    assert found is not None
    assert [name for name in ("ncclras", "ss -tnpi") if any(str(step).startswith(name) for step in found.next)] == [
        asks
    ]


@pytest.mark.parametrize(
    "snapshot",
    [
        job(*ranks(still_s=20.0), world=3),  # they have just come
        job(*ranks(still_s=HOUR), world=5),  # the others, of whom nothing is known, may not have come
        with_threads_at_work(job(*ranks(still_s=HOUR), world=3)),  # a transfer that lasts
        job(*ranks(Body(72, LOADS, rank=2, cpu_s=0.9, state="R"), still_s=HOUR), world=3),
        job(*ranks(stack=stands(MEETING), still_s=HOUR), world=3),
    ],
)
def test_what_looks_alike_is_not(snapshot: Snapshot) -> None:
    assert said(snapshot, "below-the-program") is None


def with_bytes_on_their_way(snapshot: Snapshot, many: int) -> Snapshot:
    """The job, each process of which writes so much between the looks."""
    sweeps = (
        dataclasses.replace(sweep, items=tuple(
            Item(item.process, dataclasses.replace(item.record, read_bytes=0, written_bytes=many * at))
            if isinstance(item.record, Threads) else item for item in sweep.items))
        for at, sweep in enumerate(snapshot.sweeps)
    )  # fmt: skip
    return dataclasses.replace(snapshot, sweeps=tuple(sweeps))


def test_a_transfer_on_a_slow_line_moves_and_nobody_is_behind() -> None:
    found = judge(with_bytes_on_their_way(job(*ranks(still_s=40.0), world=3), 1 << 20))
    assert (found.state, found.findings) == (State.MOVING, ())


def test_on_a_very_slow_one_nobody_is_accused() -> None:
    found = judge(with_bytes_on_their_way(job(*ranks(still_s=40.0), world=3), 30_000))
    assert (found.state, found.verdict) == (State.UNKNOWN, None)


def test_threads_that_serve_a_device_tell_nothing() -> None:
    card = OpenFiles((OpenFile(9, "/dev/nvidia0"),))
    found = judge(with_threads_at_work(job(*ranks(still_s=HOUR, more=(card,)), world=3), share=1.0))
    assert found.state is State.STUCK


def test_somebody_who_came_late_makes_the_call_young() -> None:
    found = judge(job(*ranks(Body(72, REDUCES, rank=2, still_s=3.0), still_s=HOUR), world=3))
    assert (found.state, found.verdict, code_of([found])) == (State.UNKNOWN, None, NOTHING_FOUND)


@pytest.mark.parametrize("stack", [READS, SYNCS, LOADS, NUMBER, stands(MEETING)])
@pytest.mark.parametrize("world", [1, 3])
def test_everybody_for_long_in_places_that_tell_nothing_is_no_clean_bill(stack: Stack, world: int) -> None:
    found = judge(job(*ranks(world=world, stack=stack, still_s=HOUR, wchan="wait_woken"), world=world))
    assert (found.verdict, found.state, code_of([found]), word(found)) == (None, State.UNKNOWN, NOT_ENOUGH, "unknown")
    assert "for 60 min 0 s" in " ".join(render(found).split())
    assert found.next[0] == "rankscope stacks --source"


def test_ranks_of_which_only_some_were_looked_at_lead_to_the_others() -> None:
    found = judge(job(*ranks(still_s=HOUR), world=5))
    assert code_of([found]) == NOT_ENOUGH
    assert "ranks 3-4 were not looked at" in " ".join(render(found).split())
    assert str(found.next[0]).startswith("rankscope diagnose ssh:HOSTS")


@pytest.mark.parametrize("still_s", [20.0, HOUR])
def test_servers_without_work_are_not_accused(still_s: float) -> None:
    found = judge(job(*ranks(stack=IDLES, still_s=still_s, wchan="ep_poll"), world=3))
    assert (found.verdict, code_of([found]), word(found)) == (None, NOTHING_FOUND, "unknown")


@pytest.mark.parametrize("stack", [REDUCES, SYNCS])
def test_ranks_that_only_ask_at_full_speed_are_not_said_to_move(stack: Stack) -> None:
    found = judge(job(*(Body(70 + rank, stack, rank=rank, state="R", cpu_s=0.99) for rank in range(3)), world=3))
    assert (found.state, word(found)) == (State.UNKNOWN, "unknown")
    assert any("--sweeps 4" in str(step) for step in found.next)


def test_a_line_that_reads_from_a_device_may_only_ask_it() -> None:
    card = OpenFiles((OpenFile(9, "/dev/nvidia0"),))
    states = [
        judge(
            job(*(Body(70 + rank, NUMBER, rank=rank, state="R", cpu_s=0.99, more=more) for rank in range(3)), world=3)
        ).state
        for more in ((card,), (OpenFiles(()),))
    ]
    assert states == [State.UNKNOWN, State.MOVING]


def unread(*gaps: Gap) -> Snapshot:
    """Rank 2, of which nothing was read at all, keeps the others waiting."""
    whole = job(*ranks(Body(72, None, rank=2)), world=3)
    sweeps = (dataclasses.replace(sweep, items=tuple(one for one in sweep.items if one.process.pid != 72))
              for sweep in whole.sweeps)  # fmt: skip
    return dataclasses.replace(whole, sweeps=tuple(sweeps), gaps=gaps)


RANK_2 = ProcessRef("n1", 72, 1)


def test_the_one_that_gave_no_answer_is_named_where_all_wait_for_it() -> None:
    found = judge(unread(Gap("threads", Why.BLOCKED, "no answer before the deadline", process=RANK_2)))
    assert (found.state, code_of([found])) == (State.STUCK, FOUND)
    assert found.verdict is not None
    assert (list(found.verdict.ranks), found.verdict.certainty) == ([2], Certainty.POSSIBLE)


@pytest.mark.parametrize(
    "gap",
    [
        Gap("sockets", Why.BLOCKED, process=RANK_2),  # another record than that of where it stands
        Gap("python-stacks", Why.UNSUPPORTED, process=RANK_2),
        Gap("threads", Why.BLOCKED, process=ProcessRef("n1", 71, 1)),
    ],
)
def test_a_gap_that_says_nothing_of_where_it_stands_accuses_nobody(gap: Gap) -> None:
    assert said(unread(gap), "gives-no-answer") is None


def test_a_rank_that_was_read_is_not_said_to_give_no_answer() -> None:
    gap = Gap("threads", Why.BLOCKED, process=RANK_2)  # at one look of two
    assert (
        said(dataclasses.replace(job(*ranks(Body(72, READS, rank=2)), world=3), gaps=(gap,)), "gives-no-answer") is None
    )


def test_stuck_is_never_clean() -> None:
    """Whatever the rules find: who waits for somebody for long has no clean bill."""
    found = judge(unread())
    assert (found.state, found.verdict, code_of([found]), word(found)) == (State.STUCK, None, NOT_ENOUGH, "unknown")


@pytest.mark.parametrize("sick", [True, False])
@pytest.mark.parametrize("rule", CASES)
def test_nor_is_it_in_any_job_made_by_hand(rule: str, sick: bool) -> None:
    found = judge(CASES[rule][0](sick))
    assert word(found) != "clean" or found.state in (State.MOVING, State.SLOW, State.EXITED)
    assert found.state is not State.STUCK or code_of([found]) != NOTHING_FOUND


@pytest.mark.parametrize("takes", [TAKES, READS, IDLES, RECEIVES])
def test_a_server_of_several_ranks_without_a_request_is_at_most_possibly_stuck(takes: Stack) -> None:
    idle = job(*ranks(Body(70, takes, rank=0, still_s=HOUR, wchan="do_poll"), stack=FOLLOWS, still_s=HOUR), world=3)
    causes = [one for one in judge(idle).findings if one.kind is Kind.CAUSE]
    assert judge(idle).state is State.UNKNOWN
    assert all(one.certainty is Certainty.POSSIBLE and one.against for one in causes)


@pytest.mark.parametrize(("takes", "others"), [(TAKES, REDUCES), (LOADS, FOLLOWS)])
def test_but_not_who_is_missing_from_a_sum_or_lacks_a_batch(takes: Stack, others: Stack) -> None:
    assert judge(job(*ranks(Body(70, takes, rank=0), stack=others), world=3)).state is State.STUCK


def test_a_lone_program_that_waits_for_work_is_told_so() -> None:
    body = Body(70, TAKES, role=Role.OTHER, still_s=HOUR)
    found = judge(dataclasses.replace(job(body), job=Job("none", root=body.ref)))
    assert (found.verdict, code_of([found]), word(found)) == (None, NOTHING_FOUND, "unknown")


@pytest.mark.parametrize(
    ("bodies", "code"),
    [
        pytest.param(ranks(still_s=12.0), NOT_ENOUGH, id="all in one call"),
        pytest.param(ranks(Body(72, READS, rank=2, still_s=12.0), still_s=12.0), NOT_ENOUGH, id="for one that reads"),
        pytest.param(ranks(stack=READS, still_s=12.0), NOTHING_FOUND, id="each for itself"),
    ],
)
def test_a_wait_of_ranks_that_is_young_is_no_clean_bill(bodies: tuple[Body, ...], code: int) -> None:
    """Nobody is accused of it, and it is said when another look would tell."""
    found = judge(job(*bodies, world=3))
    assert (found.verdict, found.state, code_of([found])) == (None, State.UNKNOWN, code)
    assert ("look again in 18 s" in " ".join(render(found).split())) == (code == NOT_ENOUGH)


@pytest.mark.parametrize(("ago_s", "state"), [(3.0, State.MOVING), (25.0, State.UNKNOWN)])
def test_a_job_moves_by_its_recorders_as_long_as_its_rhythm_allows(ago_s: float, state: State) -> None:
    """Not as long as nobody may be accused yet: calls came every second, and the last one long before the looks."""
    ring = tuple(
        RecorderEntry(n, "0", "default_pg", n, "all_reduce", done=True, created_ns=n * 10**9) for n in range(1, 9)
    )
    recorder = Recorder(ring, source="memory", read_at_ns=int((8 + ago_s) * 1e9))
    found = judge(job(*ranks(stack=REDUCES, still_s=min(ago_s, 12.0), more=(recorder,)), world=3))
    assert found.state is state
    assert code_of([found]) == (NOTHING_FOUND if state is State.MOVING else NOT_ENOUGH)


@pytest.mark.parametrize(("parent", "child"), [(9, False), (71, True)])
def test_a_child_that_began_after_the_job_was_listed_is_no_stranger(parent: int, child: bool) -> None:
    """A loader's workers may come between the listing of processes and the look at them."""
    beside = Outsiders((Outsider(40, "pt_data_worker", "S", 3, 88, parent),))
    more = (beside, OpenFiles((OpenFile(3, "socket:[7]"),)), Blocked((BlockedCall(71, "recvfrom", (3,)),)))
    first, second, third = ranks(stack=READS, still_s=HOUR, wchan="wait_woken")
    found = judge(job(first, dataclasses.replace(second, more=more), third, world=3))
    (said,) = [one.title for one in found.findings if "pid 40 (pt_data_worker)" in one.title]
    assert ("a child that began after the job was listed" in said) is child
    assert ("no part of this job" in said) is not child


@pytest.mark.parametrize("known", [True, False])
def test_a_server_beside_the_job_is_the_next_place_to_look(known: bool) -> None:
    """Ranks that wait for its answer wait for nobody of the job; it is named, and not accused."""
    beside = Outsiders((Outsider(40, "python", "S", 3, 88),) if known else ())
    asks = (beside, OpenFiles((OpenFile(3, "socket:[7]"),)))
    bodies = tuple(
        dataclasses.replace(one, more=(*asks, Blocked((BlockedCall(70 + rank, "recvfrom", (3,)),))))
        for rank, one in enumerate(ranks(stack=READS, still_s=HOUR, wchan="wait_woken"))
    )
    found = judge(job(*bodies, world=3))
    notes = [one.title for one in found.findings if "which is no part of this job" in one.title]
    assert (found.verdict, len(notes)) == (None, int(known))
    assert ("rankscope diagnose pid:40" in map(str, found.next)) is known


def naps(*others: int, role: Role = Role.OTHER, place: int = 0) -> Snapshot:
    """A program whose main thread was met twice in one sleep, from which it woke meanwhile; ``others`` are how often its other
    threads woke, ``place`` how far it is in a loop."""
    ref = ProcessRef("n1", 70, 1)
    sweeps = []
    for at in (0, 1):
        waits = Stack([*stands(Frame("wait", "/job/train.py", 20)), Frame("Event.wait", f"{LIB}/threading.py", 629)])
        told = PythonThread(70, waits, locals=(Local(2, "seen", str(place * at), "int"),), trust=Trust.EXACT)
        woken = (
            KernelThread(70, "python", "S", voluntary=4 + 2 * at, involuntary=0, still_s=0.2),
            *(
                KernelThread(71 + n, "python", "S", voluntary=9 + many * at, involuntary=0, still_s=0.1)
                for n, many in enumerate(others)
            ),
        )
        records = (Threads(woken, uptime_s=50.0 + at), PythonStacks((told,), engine="test"))
        sweeps.append(Sweep(at, float(at), (ref,), tuple(Item(ref, one) for one in records)))
    member = Process(ref, role, comm="python", command=("python", "train.py"), rank=0 if role is Role.RANK else None)
    return Snapshot(Job("none", root=ref), processes=(member,), sweeps=tuple(sweeps))


@pytest.mark.parametrize(
    ("snapshot", "state"),
    [
        (naps(), State.UNKNOWN),
        (naps(0, 0), State.UNKNOWN),
        (naps(3), State.MOVING),
        (naps(place=5), State.MOVING),
        (naps(role=Role.RANK), State.MOVING),
    ],
    ids=["alone", "beside threads that sleep", "beside one that works", "in a loop that counts", "a rank"],
)
def test_a_program_that_only_wakes_by_the_clock_was_not_seen_to_move(snapshot: Snapshot, state: State) -> None:
    """What it waits for may never come; that it woke is no news of a job."""
    found = judge(snapshot)
    assert (found.state, code_of([found]), found.verdict) == (state, NOTHING_FOUND, None)
