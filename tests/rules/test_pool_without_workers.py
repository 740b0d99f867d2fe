"""A pool that keeps no worker alive, a manager's lock that a dead process holds; and the healthy ones that look alike."""

from __future__ import annotations

from dataclasses import replace

from rankscope.analysis.progress import works
from rankscope.model.diagnosis import Kind, State
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

STD = "/usr/lib/python3.11/"
POOL, MANAGERS = STD + "multiprocessing/pool.py", STD + "multiprocessing/managers.py"
FORK = STD + "multiprocessing/popen_fork.py"
MAIN, CHILD, OTHER = (ProcessRef("n1", pid, 1) for pid in (70, 71, 72))
WAITS = Stack([Frame("main", "/job/run.py", 9), Frame("ApplyResult.get", POOL, 768),
               Frame("Event.wait", STD + "threading.py", 629)])  # fmt: skip
MINDS = Stack([Frame("Pool._handle_workers", POOL, 522)])
TASK = Stack([Frame("worker", POOL, 125), Frame("convert", "/job/run.py", 20)])
ASKS = Stack([Frame("main", "/job/run.py", 9), Frame("AcquirerProxy.acquire", MANAGERS, 1052),
              Frame("Connection._recv", STD + "multiprocessing/connection.py", 395)])  # fmt: skip
SERVES = Stack([Frame("Server.serve_client", MANAGERS, 273)])


def lock(stack: Stack) -> Stack:
    """A thread that ends in a lock, as the interpreter shows one taken by ``with``."""
    return Stack([*stack, Frame("Condition.__enter__", STD + "threading.py", 271)])


def process(ref: ProcessRef, role: Role = Role.OTHER, parent: int = 70) -> Process:
    return Process(ref, role, parent=parent, comm="python", command=("python", "run.py"), rank=1)


def look(ref: ProcessRef, *stacks: Stack, state: str = "S", exit_status: int | None = None,
         tasks: str = "None", limit_in: int = 0) -> tuple[Item, ...]:  # fmt: skip
    """What one look says of a process whose threads stand in these stacks."""
    tids = [ref.pid, *(ref.pid * 10 + n for n in range(1, len(stacks)))]
    kernel = Threads(tuple(KernelThread(tid, "python", state, voluntary=3, involuntary=0, still_s=99.0) for tid in tids),
                     exit_status=exit_status)  # fmt: skip
    named = (Local(limit_in, "maxtasksperchild", tasks, "int"),)
    pythons = tuple(PythonThread(tid, stack, locals=named) for tid, stack in zip(tids, stacks, strict=False))
    calls = Blocked(tuple(BlockedCall(tid, "futex", address=0x100 + tid) for tid in tids))
    return tuple(Item(ref, record) for record in (kernel, PythonStacks(pythons, engine="test"), calls))


def causes(
    processes: tuple[Process, ...], items: tuple[Item, ...], gone: frozenset[ProcessRef] = frozenset()
) -> set[str]:
    """The rules that name a cause in two equal looks; those ``gone`` are there in the first one only."""
    refs = tuple(one.ref for one in processes)
    later = tuple(ref for ref in refs if ref not in gone)
    sweeps = (Sweep(0, 0.0, refs, items), Sweep(1, 1.0, later, tuple(one for one in items if one.process in later)))
    snapshot = Snapshot(Job("none", root=MAIN), processes=processes, sweeps=sweeps)
    return {one.rule for one in judge(snapshot).findings if one.kind is Kind.CAUSE}


def test_a_pool_of_which_no_worker_lives() -> None:
    assert "pool-lost-a-worker" in causes((process(MAIN, parent=1),), look(MAIN, WAITS, MINDS))


TAKES = Stack(
    [Frame("Pool._handle_results", POOL, 579), Frame("Connection._recv", STD + "multiprocessing/connection.py", 395)]
)


def woken(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The same look, with a main thread that the kernel woke just now."""
    out = []
    for one in items:
        if isinstance(one.record, Threads):
            first, *others = one.record.threads
            one = replace(one, record=replace(one.record, threads=(replace(first, still_s=0.6), *others)))
        out.append(one)
    return tuple(out)


def test_a_pool_that_is_just_without_workers_and_whose_results_never_came() -> None:
    """What the main thread has slept does not count: now and then the kernel wakes it, and it goes on to wait."""
    assert causes((process(MAIN, parent=1),), woken(look(MAIN, WAITS, MINDS, TAKES))) == {"workers-renewed-in-vain"}
    assert causes((process(MAIN, parent=1),), woken(look(MAIN, WAITS, MINDS, TAKES, TASK))) == set()
    assert causes((process(MAIN, parent=1),), woken(look(MAIN, WAITS, MINDS, TAKES, tasks="2"))) == set()


def test_a_limit_of_tasks_that_a_frame_in_passing_shows_is_none() -> None:
    """A frame that began while it was read shows what another one had left in its place."""
    starts = Stack([*MINDS, Frame("Pool._repopulate_pool_static", POOL, 325)])
    seen = woken(look(MAIN, WAITS, starts, TAKES, tasks="2", limit_in=1))
    assert causes((process(MAIN, parent=1),), seen) == {"workers-renewed-in-vain"}


def test_a_pool_of_threads_has_its_workers_inside() -> None:
    assert "pool-lost-a-worker" not in causes((process(MAIN, parent=1),), look(MAIN, WAITS, MINDS, TASK))


def test_a_pool_with_a_worker_that_lives_or_with_a_limit_of_tasks_is_well() -> None:
    both = (process(MAIN, parent=1), process(CHILD))
    assert "pool-lost-a-worker" not in causes(both, (*look(MAIN, WAITS, MINDS), *look(CHILD, TASK)))
    items = (*look(MAIN, WAITS, MINDS, tasks="2"), *look(CHILD, TASK))
    assert causes(both, items, frozenset({CHILD})) == set()


def test_a_worker_forked_by_a_thread_that_has_no_task_is_not_at_its_end() -> None:
    """The pool's maintenance thread forked it in place of another one: below its own frames lies the beginning of a thread."""
    forked = [Frame("Thread._bootstrap", STD + "threading.py", 1002), *MINDS, Frame("Popen._launch", FORK, 71)]
    own = [Frame("BaseProcess._bootstrap", STD + "multiprocessing/process.py", 314), Frame("worker", POOL, 114),
           Frame("Connection._recv", STD + "multiprocessing/connection.py", 395)]  # fmt: skip
    exact = PythonStacks((PythonThread(CHILD.pid, Stack([*forked, *own]), trust=Trust.EXACT),), engine="test")
    items = tuple(
        replace(one, record=exact) if isinstance(one.record, PythonStacks) else one for one in look(CHILD, TASK)
    )
    assert "does-not-end" not in causes((process(CHILD),), items)


def test_a_pool_with_a_limit_of_tasks_whose_workers_are_too_brief_to_be_met_is_at_work() -> None:
    items = look(MAIN, WAITS, MINDS, tasks="2")
    sweeps = (Sweep(0, 0.0, (MAIN,), items), Sweep(1, 1.0, (MAIN,), items))
    snapshot = Snapshot(Job("none", root=MAIN), processes=(process(MAIN, parent=1),), sweeps=sweeps)
    assert judge(snapshot).state is State.MOVING


def test_a_parent_that_waits_for_results_has_not_ended_though_all_its_workers_are_dead() -> None:
    """Who waits for their end alone is over with them; who wants a result of theirs waits for ever."""
    dead = look(CHILD, state="Z", exit_status=256)
    items = (*look(MAIN, WAITS, MINDS), *dead)
    both = (process(MAIN, Role.LAUNCHER, parent=1), process(CHILD))
    sweeps = tuple(Sweep(at, float(at), (MAIN, CHILD), items) for at in (0, 1))
    assert judge(Snapshot(Job("none", root=MAIN), processes=both, sweeps=sweeps)).state is State.STUCK


def test_a_worker_that_went_between_the_looks_was_lost_where_the_pool_has_no_limit() -> None:
    both = (process(MAIN, parent=1), process(CHILD))
    assert "pool-lost-a-worker" in causes(both, (*look(MAIN, WAITS, MINDS), *look(CHILD, TASK)), frozenset({CHILD}))


def test_without_stacks_a_worker_that_went_accuses_nobody() -> None:
    both = (process(MAIN, parent=1), process(CHILD))
    seen = (*look(MAIN, WAITS, MINDS), *look(CHILD, TASK))
    items = tuple(one for one in seen if not isinstance(one.record, PythonStacks))
    assert "pool-lost-a-worker" not in causes(both, items, frozenset({CHILD}))


def test_the_lock_of_a_manager_whose_other_client_died() -> None:
    """While that one lives it may give the lock back, and nobody is accused."""
    three = (process(MAIN, parent=1), process(CHILD), process(OTHER))
    asks = (*look(MAIN, ASKS), *look(CHILD, Stack([Frame("Server.serve_forever", MANAGERS, 176)]), lock(SERVES)))
    killed = (*asks, *look(OTHER, state="Z", exit_status=9))
    assert "pool-lost-a-worker" in causes(three, killed)
    assert "pool-lost-a-worker" not in causes(three, (*asks, *look(OTHER, TASK)))


def test_the_lock_of_a_manager_for_which_everybody_waits() -> None:
    """Who held it is one of them, or was collected; a sibling that does something else may give it back."""
    asks = (*look(MAIN, ASKS), *look(CHILD, Stack([Frame("Server.serve_forever", MANAGERS, 176)]), lock(SERVES)))
    ends = (
        Blocked((BlockedCall(MAIN.pid, "read", (3,)),)),
        OpenFiles((OpenFile(3, "socket:[5]", "rw"),)),
        Sockets((Socket(5, "unix", peer_inode=6),)),
    )
    talk = (*(Item(MAIN, one) for one in ends), Item(CHILD, OpenFiles((OpenFile(4, "socket:[6]", "rw"),))))
    both = (process(MAIN, parent=1), process(CHILD))
    assert "pool-lost-a-worker" in causes(both, (*asks, *talk))
    assert "pool-lost-a-worker" not in causes((*both, process(OTHER)), (*asks, *talk, *look(OTHER, TASK)))


def test_a_manager_that_answers_is_at_work() -> None:
    """Its main thread only waits; one of its threads has run between the looks."""
    main, server = process(MAIN, parent=1), process(CHILD)
    items = []
    for place in (0, 1):
        serve = KernelThread(711, "python", "S", voluntary=3 + place, involuntary=0, still_s=0.1)
        idle = KernelThread(71, "python", "S", voluntary=3, involuntary=0, still_s=99.0)
        stacks = (
            Stack([Frame("Server.serve_forever", MANAGERS, 176), Frame("Event.wait", STD + "threading.py", 629)]),
            SERVES,
        )
        pythons = tuple(PythonThread(tid, stack) for tid, stack in zip((71, 711), stacks, strict=True))
        records = Threads((idle, serve)), PythonStacks(pythons, engine="test")
        items.append((*look(MAIN, ASKS), *(Item(CHILD, record) for record in records)))
    sweeps = tuple(Sweep(place, float(place), (MAIN, CHILD), items[place]) for place in (0, 1))
    case = case_of(Snapshot(Job("none", root=MAIN), processes=(main, server), sweeps=sweeps))
    assert works(case.standings[CHILD])
    once = case_of(Snapshot(Job("none", root=MAIN), processes=(main, server), sweeps=sweeps[:1]))
    assert not works(once.standings[CHILD])
