"""Each rule about running jobs on a job made by hand: it names the sick one, and is silent about the one that looks alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rankscope.model.diagnosis import Finding, Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.calls import Calls, NotedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.lock_files import LockFile, LockFiles
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.store import StoreKeys
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

LIB = "/usr/lib/python3.11"
MAIN = Frame("main", "/job/train.py", 40)
STEP = Frame("step", "/job/train.py", 12)
REDUCE = Frame("all_reduce", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 2000)
MEETING = Frame("init_process_group", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 90)
FORKED = Frame("_launch", f"{LIB}/multiprocessing/popen_fork.py", 66)
BORN = Frame("_bootstrap", f"{LIB}/multiprocessing/process.py", 314)
REDUCES, WORKS = Stack([MAIN, STEP, REDUCE]), Stack([MAIN, Frame("prepare", "/job/train.py", 77)])


@dataclass(frozen=True)
class Body:
    """One process of a job that is made by hand; it stands as it stands at both looks, unless ``cpu_s`` grows."""

    pid: int
    stack: Stack | None = REDUCES
    role: Role = Role.RANK
    rank: int | None = None
    parent: int = 1
    state: str = "S"
    wchan: str = "futex_wait_queue"
    still_s: float = 99.0
    cpu_s: float = 0.0  # that it uses between the looks
    locals: tuple[tuple[Local, ...], ...] = ((), ())
    holds_gil: bool = False
    threads: tuple[PythonThread, ...] = ()
    more: tuple[object, ...] = ()
    comm: str = "python"

    @property
    def ref(self) -> ProcessRef:
        return ProcessRef("n1", self.pid, 1)

    @property
    def process(self) -> Process:
        return Process(self.ref, self.role, parent=self.parent, comm=self.comm, command=(self.comm,), rank=self.rank)

    def look(self, at: int) -> tuple[Item, ...]:
        ran = 3 + (at if self.cpu_s else 0)
        tasks = tuple(
            KernelThread(tid, self.comm, self.state, self.wchan, cpu_s=at * self.cpu_s, voluntary=ran, involuntary=0,
                         still_s=0.0 if self.cpu_s else self.still_s)
            for tid in (self.pid, *(thread.tid for thread in self.threads if thread.tid))
        )  # fmt: skip
        records: list[object] = [Threads(tasks, uptime_s=120.0 + at), *self.more]
        if self.stack is not None:
            main = PythonThread(self.pid, self.stack, "MainThread", Trust.EXACT, self.holds_gil, locals=self.locals[at])
            records.append(PythonStacks((main, *self.threads), engine="test"))
        return tuple(Item(self.ref, record) for record in records)


def job(*bodies: Body, world: int | None = None, more: tuple[object, ...] = ()) -> Snapshot:
    """A live job of one host, looked at twice."""
    refs = tuple(body.ref for body in bodies)
    sweeps = tuple(
        Sweep(at, float(at), refs, (*(item for body in bodies for item in body.look(at)), *(Item(None, one) for one in more)))
        for at in (0, 1)
    )  # fmt: skip
    return Snapshot(Job("torchrun", world_size=world), (Host("n1"),), tuple(body.process for body in bodies), sweeps)


def ranks(*odd: Body, world: int = 3, **usual: object) -> tuple[Body, ...]:
    """All ranks in the same collective, but those that are given."""
    given = {body.rank for body in odd}
    others = (Body(70 + rank, rank=rank, **usual) for rank in range(world) if rank not in given)  # type: ignore[arg-type]
    return (*others, *odd)


def stopped(sick: bool) -> Snapshot:
    return job(*ranks(Body(72, WORKS, rank=2, state="T" if sick else "R", cpu_s=0.0 if sick else 0.9)))


def holds_the_gil(sick: bool) -> Snapshot:
    other = PythonThread(99, Stack([Frame("run", "/job/train.py", 5)]), "Thread-1")
    return job(*ranks(Body(72, WORKS, rank=2, holds_gil=sick, threads=(other,))))


def imports(sick: bool) -> Snapshot:
    loads = Frame("_load_unlocked", "<frozen importlib._bootstrap>", 680)
    joins = Frame("join", f"{LIB}/threading.py", 1100)
    asks = Frame("acquire" if sick else "_find_spec", "<frozen importlib._bootstrap>", 120)
    thread = PythonThread(99, Stack([Frame("run", "/job/train.py", 5), asks]), "Thread-1")
    return job(
        *ranks(Body(72, Stack([MAIN, loads, Frame("<module>", "/job/tables.py", 3), joins]), rank=2, threads=(thread,)))
    )


def copies_a_lock(sick: bool) -> Snapshot:
    enters = Frame("__enter__", f"{LIB}/threading.py", 168)
    before = (FORKED,) if sick else ()
    child = Body(90, Stack([MAIN, *before, BORN, Frame("convert", "/job/train.py", 30), enters]), Role.OTHER, parent=72,
                 more=(Blocked((BlockedCall(90, "futex", address=64),)),))  # fmt: skip
    thread = PythonThread(99, Stack([Frame("log", "/job/train.py", 5)]), "Thread-1")
    waits = Stack([MAIN, Frame("join", f"{LIB}/multiprocessing/process.py", 149)])
    return job(*ranks(Body(72, waits, rank=2, threads=(thread,))), child)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (BlockedCall(90, "futex", address=64), True),
        (BlockedCall(90, "futex", address=64, timed=True), False),
        (BlockedCall(90, "poll", (5,), timed=True), False),
    ],
)
def test_a_forked_loader_worker_that_has_not_begun(call: BlockedCall, told: bool) -> None:
    """It seeds generators first, whose locks a thread of its parent may have had; one that asks for work does so in a poll."""
    loop = Frame("_worker_loop", f"{LIB}/site-packages/torch/utils/data/_utils/worker.py", 281)
    next_data = Frame("_try_get_data", f"{LIB}/site-packages/torch/utils/data/dataloader.py", 1100)
    draws = PythonThread(99, Stack([Frame("refill", "/job/train.py", 5)]), "Thread-1")
    worker = Body(
        90, Stack([MAIN, FORKED, BORN, loop]), Role.DATALOADER_WORKER, rank=2, parent=72, more=(Blocked((call,)),)
    )
    found = said(
        job(*ranks(Body(72, Stack([MAIN, next_data]), rank=2, threads=(draws,))), worker), "lock-copied-by-fork"
    )
    assert (found is not None and set(found.ranks) == {2}) is told


def left_a_thread(sick: bool) -> Snapshot:
    """A worker of a server flushes a queue; the healthy one has started the thread that empties it after its fork."""
    stack = Stack([MAIN, Frame("flush", "/job/train.py", 30), Frame("Queue.join", f"{LIB}/queue.py", 90)])
    sends = PythonThread(
        91, Stack([Frame("send", "/job/train.py", 24), Frame("Queue.get", f"{LIB}/queue.py", 171)]), "metrics"
    )
    asleep = Blocked((BlockedCall(90, "futex", address=64), BlockedCall(91, "futex", address=128)))
    tasks = tuple(KernelThread(tid, "python", "S", voluntary=3, involuntary=0, still_s=99.0) for tid in (90, 91))
    forked = Threads(tasks[:1] if sick else tasks, forked=True)
    child = Body(90, stack, Role.OTHER, parent=72, threads=() if sick else (sends,), more=(asleep, forked))
    return job(*ranks(Body(72, WORKS, rank=2, threads=(dataclasses.replace(sends, tid=99),))), child)


def feeds(sick: bool) -> Snapshot:
    pipe = OpenFiles((OpenFile(5, "pipe:[11]", "rw"),))
    feed = PythonThread(91, Stack([Frame("_feed", f"{LIB}/multiprocessing/queues.py", 260)]), "QueueFeederThread")
    call = BlockedCall(91, "write" if sick else "futex", (5,) if sick else ())
    child = Body(90, Stack([BORN, Frame("_finalize_join", f"{LIB}/multiprocessing/queues.py", 200)]), Role.OTHER, parent=72,
                 threads=(feed,), more=(Blocked((call,)), pipe))  # fmt: skip
    waits = Stack([MAIN, Frame("join", f"{LIB}/multiprocessing/process.py", 149)])
    return job(*ranks(Body(72, waits, rank=2, more=(pipe,))), child)


@pytest.mark.parametrize("reader", [False, True])
def test_a_queue_that_was_not_emptied_keeps_its_writer(reader: bool) -> None:
    """As long as anybody has the pipe open it may be read."""
    ends = Stack([Frame("_exit_function", f"{LIB}/multiprocessing/util.py", 360),
                  Frame("_finalize_join", f"{LIB}/multiprocessing/queues.py", 200)])  # fmt: skip
    feed = PythonThread(91, Stack([Frame("_feed", f"{LIB}/multiprocessing/queues.py", 260)]), "QueueFeederThread")
    pipe = OpenFiles((OpenFile(5, "pipe:[11]", "r"), OpenFile(6, "pipe:[11]", "w")))
    writer = Body(72, ends, rank=2, threads=(feed,), more=(Blocked((BlockedCall(91, "write", (6,)),)), pipe))
    other = Body(73, WORKS, Role.OTHER, more=(OpenFiles((OpenFile(5, "pipe:[11]", "r"),)),))
    found = said(job(*ranks(writer), *[other] * reader), "feeder-blocked")
    assert (found is not None and set(found.ranks) == {2}) is not reader


@pytest.mark.parametrize(("awaited_s", "told"), [(99.0, True), (3.0, False)])
def test_a_circle_of_those_who_poll_is_as_old_as_the_wait_of_others_for_them(awaited_s: float, told: bool) -> None:
    """Who polls wakes all the time, so that the kernel knows no age of it."""
    asks = Stack([MAIN, Frame("BaseFileLock.acquire", f"{LIB}/site-packages/filelock/_api.py", 1037)])
    pollers = [
        Body(70 + at, asks, rank=at, still_s=0.01, wchan="hrtimer_nanosleep", cpu_s=0.01,
             more=(LockFiles((LockFile(f"/data/{at}.lock", 9.0, (71 - at,)),)),))
        for at in (0, 1)
    ]  # fmt: skip
    found = said(job(*pollers, Body(72, REDUCES, rank=2, still_s=awaited_s)), "wait-cycle")
    assert (found is not None) is told
    assert found is None or (found.cls, list(found.ranks)) == ("lock-order-deadlock", [])


def test_a_circle_of_many_tells_of_each_once_and_where_it_stands() -> None:
    """Not of each pair."""
    waits = Stack([MAIN, Frame("exchange", "/job/halo.py", 27), Frame("c10d::ProcessGroupGloo::SendWork::wait", "", 0)])
    found = said(job(*(Body(70 + at, waits, rank=at) for at in range(4))), "wait-cycle")
    assert found is not None
    steps = [why.text for why in found.because if " waits for " in why.text]
    assert len(steps) == 4
    assert all("waits for ranks " in text and text.endswith(", in exchange (halo.py:27)") for text in steps)


def test_what_to_change_is_told_where_the_kind_of_a_circle_tells_it() -> None:
    """Of messages that were posted before, one is sent to nobody or by nobody: no order is to blame."""
    posted = Stack(
        [MAIN, Frame("exchange", "/job/halo.py", 27), Frame("c10d::ProcessGroupGloo::SendWork::wait", "", 0)]
    )
    many = job(*(Body(70 + at, posted, rank=at) for at in range(4)))
    sends, waits = said(talks(True), "wait-cycle"), said(many, "wait-cycle")
    assert sends is not None
    assert waits is not None
    assert (len(sends.next), len(waits.next)) == (2, 1)


def polls_a_baton(sick: bool) -> Snapshot:
    waits = Stack([MAIN, Frame("wait", f"{LIB}/site-packages/torch/utils/file_baton.py", 50)])
    lock = LockFiles((LockFile("/cache/lock", 900.0, () if sick else (7,)),))
    return job(*ranks(Body(72, waits, rank=2, more=(lock,), wchan="hrtimer_nanosleep")))


def loads(sick: bool) -> Snapshot:
    next_data = Frame("_try_get_data", f"{LIB}/site-packages/torch/utils/data/dataloader.py", 1100)
    reads = Frame("fetch", f"{LIB}/site-packages/torch/utils/data/_utils/fetch.py", 52)
    gets = Frame("get", f"{LIB}/multiprocessing/queues.py", 113)
    stack = Stack([BORN, reads, Frame("decode", "/job/data.py", 9)]) if sick else Stack([BORN, gets])
    worker = Body(90, stack, Role.DATALOADER_WORKER, rank=2, parent=72)
    return job(*ranks(Body(72, Stack([MAIN, next_data]), rank=2)), worker)


def runs_a_command(sick: bool) -> Snapshot:
    waits = Stack([MAIN, Frame("wait", f"{LIB}/subprocess.py", 1260)])
    tool = Body(90, None, Role.OTHER, parent=72, comm="rsync", cpu_s=0.0 if sick else 0.7, state="S" if sick else "R")
    return job(*ranks(Body(72, waits, rank=2)), tool)


def awaits_a_pool(sick: bool) -> Snapshot:
    waits = Stack([MAIN, Frame("get", f"{LIB}/multiprocessing/pool.py", 770)])
    worker = Body(90, None, Role.OTHER, parent=72, state="Z")
    dead = Threads((KernelThread(90, "python", "Z"),), exit_status=9 if sick else 0)
    return job(*ranks(Body(72, waits, rank=2)), dataclasses.replace(worker, more=(dead,)))


def elsewhere(sick: bool) -> Snapshot:
    other = Stack([MAIN, Frame("evaluate", "/job/train.py", 60), dataclasses.replace(REDUCE, function="all_gather")])
    return job(*ranks(Body(72, other if sick else REDUCES, rank=2)))


def behind(sick: bool) -> Snapshot:
    def counts(step: int) -> tuple[tuple[Local, ...], ...]:
        return ((Local(0, "step", str(step)),),) * 2

    odd = Body(72, rank=2, locals=counts(6 if sick else 7))
    return job(*ranks(odd, locals=counts(7)))


def works_long(sick: bool) -> Snapshot:
    return job(*ranks(Body(72, WORKS, rank=2, cpu_s=0.9 if sick else 0.0, state="R" if sick else "S",
                           locals=((Local(1, "row", "4"),), (Local(1, "row", "9" if sick else "4"),)))))  # fmt: skip


def is_late(sick: bool) -> Snapshot:
    def ring(rank: int) -> Recorder:
        late_s = 0.4 if sick and rank == 2 else 0.001 * (rank + 1)
        entries = (RecorderEntry(n, "0", "default_pg", n, "all_reduce", done=True, created_ns=int((1000 + n + late_s) * 1e9))
                   for n in range(10))  # fmt: skip
        return Recorder(tuple(entries), source="memory", read_at_ns=int(1010.2e9))

    return job(*(Body(70 + rank, rank=rank, still_s=0.1, more=(ring(rank),)) for rank in range(3)), world=3)


@pytest.mark.parametrize(("often", "told"), [(True, True), (False, False)])
def test_calls_made_once_are_those_of_a_start(often: bool, told: bool) -> None:
    """In them another rank is last as often as not."""

    def ring(rank: int) -> Recorder:
        start = [RecorderEntry(n, "0", "default_pg", n, "broadcast", output_sizes=((n,),), done=True,
                               created_ns=int((900 + n - 0.1 * rank) * 1e9)) for n in range(5)]  # fmt: skip
        late_s = 0.4 if rank == 1 else 0.0
        steps = [RecorderEntry(n, "0", "default_pg", n, "all_reduce", output_sizes=((7 if often else n,),), done=True,
                               created_ns=int((1000 + n + late_s) * 1e9)) for n in range(5, 11)]  # fmt: skip
        return Recorder((*start, *steps), source="memory", read_at_ns=int(1011.2e9))

    found = said(
        job(*(Body(70 + at, rank=at, still_s=0.1, more=(ring(at),)) for at in (0, 1)), world=2), "arrives-last"
    )
    assert (found is not None and list(found.ranks) == [1]) is told


def reduces(sick: bool) -> Snapshot:
    def noted(rank: int) -> Calls:
        how = "MAX" if sick and rank == 2 else "SUM"
        return Calls((NotedCall(1, "all_reduce", "0", reduction=how, n=1, frames=(STEP,)),), begun=1)

    return job(*(Body(70 + rank, rank=rank, still_s=0.1, more=(noted(rank),)) for rank in range(3)), world=3)


def meets(sick: bool) -> Snapshot:
    keys = tuple(f"default_pg/0//cpu//0/{rank}" for rank in ((0, 1) if sick else (0, 1, 2)))
    store = StoreKeys("n1:29500", (*keys, "init/"), len(keys))
    inside = Stack([MAIN, MEETING])
    return job(
        *(Body(70 + rank, inside, rank=rank) for rank in range(2)), Body(72, WORKS, rank=2), world=3, more=(store,)
    )


def talks(sick: bool) -> Snapshot:
    send = Frame("send", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 2100)
    local = {rank: ((Local(2, "dst", str(1 - rank if sick else 2)),),) * 2 for rank in (0, 1)}
    pair = (Body(70 + rank, Stack([MAIN, STEP, send]), rank=rank, locals=local[rank]) for rank in (0, 1))
    return job(*pair, world=2)


CASES: dict[str, tuple[Callable[[bool], Snapshot], set[int]]] = {
    "process-stopped": (stopped, {2}),
    "gil-held-asleep": (holds_the_gil, {2}),
    "thread-waits-for-import": (imports, {2}),
    "lock-copied-by-fork": (copies_a_lock, {2}),
    "thread-left-behind": (left_a_thread, {2}),
    "feeder-blocked": (feeds, {2}),
    "stale-file-baton": (polls_a_baton, {2}),
    "loader-worker-stuck": (loads, {2}),
    "command-runs-on": (runs_a_command, {2}),
    "pool-lost-a-worker": (awaits_a_pool, {2}),
    "rank-elsewhere-in-loop": (elsewhere, {2}),
    "rank-iteration-behind": (behind, {2}),
    "straggler": (works_long, {2}),
    "arrives-last": (is_late, {2}),
    "reductions-differ": (reduces, {2}),
    "store-lacks-rank": (meets, {2}),
    "wait-cycle": (talks, set()),
}


def said(snapshot: Snapshot, rule: str) -> Finding | None:
    return next((finding for finding in judge(snapshot).findings if finding.rule == rule), None)


def test_a_module_that_two_threads_wait_for_is_one_cause() -> None:
    found = judge(imports(True)).findings
    assert [one.rule for one in found if one.cls == "import-lock" and one.kind is Kind.CAUSE] == [
        "thread-waits-for-import"
    ]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_names_the_sick_one(rule: str) -> None:
    make, blamed = CASES[rule]
    found = said(make(True), rule)
    assert found is not None
    assert set(found.ranks) == blamed


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_silent_about_one_that_looks_alike(rule: str) -> None:
    assert said(CASES[rule][0](False), rule) is None
