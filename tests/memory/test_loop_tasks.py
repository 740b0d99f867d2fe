"""The tasks of an event loop that waits are read on every Python: where they are suspended, and who waits for whom."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standing import label, pythons
from test_hostile_memory import BASE, LAYOUTS, PIECES

from harness.pieces import BytesMemory
from rankscope.analysis.frames import at_rest
from rankscope.memory import coroutines, loops
from rankscope.memory.code import CodeReader
from rankscope.memory.frames import RawFrame
from rankscope.memory.layouts import py310, py311
from rankscope.memory.objects import Objects
from rankscope.memory.runtime import Family
from rankscope.memory.source import Unreadable
from rankscope.model.evidence.stacks import UVLOOP, Frame, LoopTask, PythonStacks, Stack
from rankscope.model.process import ProcessRef
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

TABLE = py311.LAYOUT

PROGRAM = """
import asyncio, contextlib, sys

def called(name, made):
    task = asyncio.ensure_future(made)
    task.set_name(name)
    return task

async def cross(first, second):
    async with first:
        await asyncio.sleep(0.05)
        async with second:
            pass

@contextlib.asynccontextmanager
async def using(lock):
    async with lock:
        yield lock

async def through(first, second):
    async with using(first):
        await asyncio.sleep(0.05)
        async with second:
            pass

async def twice(lock):
    async with lock:
        async with lock:
            pass

class Account:
    def __init__(self):
        self.lock = asyncio.Lock()

async def outright(source, target):
    await source.lock.acquire()
    await asyncio.sleep(0.05)
    await target.lock.acquire()

async def forgotten(lock):
    await lock.acquire()

async def keeps(lock, other):
    while not other.locked():
        await asyncio.sleep(0.02)
    await asyncio.sleep(1000)
    await lock.acquire()

async def get(items):
    return await items.get()

async def both(pool):
    one = await pool.get()
    await asyncio.sleep(0.05)
    other = await pool.get()
    pool.put_nowait(other)
    pool.put_nowait(one)

async def lost():
    return await asyncio.get_running_loop().create_future()

async def follow(task):
    return await task

async def nap():
    await asyncio.sleep(1000)

async def group(items):
    async with asyncio.TaskGroup() as made:
        made.create_task(get(items)).set_name("member")

async def limited(lock):
    async with asyncio.timeout(1000):
        async with lock:
            pass

async def watched(made):
    await asyncio.wait_for(made, 1000)

async def main():
    a, b, c, d, e, f = (asyncio.Lock() for _ in range(6))
    items, pool = asyncio.Queue(), asyncio.LifoQueue()
    for number in range(2):
        pool.put_nowait(number)
    named = [
        called("cross a", cross(a, b)), called("cross b", cross(b, a)),
        called("through c", through(c, d)), called("cross d", cross(d, c)),
        called("twice", twice(e)), called("lost", lost()), called("nap", nap()),
    ]
    left, right, old = Account(), Account(), asyncio.Lock()
    named += [called("outright left", outright(left, right)), called("outright right", outright(right, left))]
    await forgotten(old)
    named += [called("old", twice(old)), called("keeps one", keeps(old, a)), called("keeps two", keeps(old, a))]
    named.append(called("follow", follow(named[5])))
    named.append(called("watch one", watched(called("watched", lost()))))
    pair = asyncio.gather(called("first of two", lost()), called("second of two", nap()))
    named.append(called("watch two", watched(pair)))
    named.append(called("await", asyncio.wait(named[5:7])))
    named += [called("both a", both(pool)), called("both b", both(pool))]
    if sys.version_info >= (3, 11):
        named += [called("group", group(items)), called("limited", limited(a))]
    called("done", asyncio.sleep(0))
    asyncio.current_task().set_name("main")
    asyncio.get_running_loop().call_later(0.3, lambda: print("ready", flush=True))
    await asyncio.gather(*named, get(items))

asyncio.run(main())
"""


@pytest.fixture(scope="module", params=pythons(), ids=label)
def stacks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PythonStacks]:
    """What is read of the program on each Python."""
    path = tmp_path_factory.mktemp("job") / "train.py"
    path.write_text(PROGRAM)
    with subprocess.Popen([request.param, str(path)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield settled(child.pid)
        finally:
            child.kill()


def settled(pid: int) -> PythonStacks:
    """The first exact reading: right after its message the loop may still run."""
    engine, options = memory.make(), StackOptions()
    for _ in range(200):
        answer = engine.stacks(ProcessRef("here", pid), None, None, options)
        assert isinstance(answer, PythonStacks), answer
        if answer.loop_tasks:
            again = engine.stacks(ProcessRef("here", pid), None, answer, options)
            assert again == answer
            return answer
    raise AssertionError("the loop never stood still")


def named(stacks: PythonStacks) -> dict[str, LoopTask]:
    return {task.name: task for task in stacks.loop_tasks}


def on(stacks: PythonStacks, name: str) -> set[str]:
    """The names of those that a task waits for."""
    return {stacks.loop_tasks[place].name for place in named(stacks)[name].on}


def test_tasks_are_shown_where_they_are_suspended(stacks: PythonStacks) -> None:
    """Outermost coroutine first, each with the line of its await; those that have ended are not among them."""
    task = named(stacks)["cross a"]
    assert [(frame.function.rpartition(".")[2], frame.line) for frame in task.stack[:1]] == [("cross", 12)]
    assert [frame.function.rpartition(".")[2] for frame in task.stack[1:]] == ["__aenter__", "acquire"]
    assert task.tid == stacks.threads[0].tid
    assert "done" not in named(stacks)


def test_who_holds_a_lock_is_told_by_what_it_is_inside_of(stacks: PythonStacks) -> None:
    """Also through a context manager made of a generator, and where it is the waiter itself."""
    assert (named(stacks)["cross a"].awaits, on(stacks, "cross a"), on(stacks, "cross b")) == (
        "Lock",
        {"cross b"},
        {"cross a"},
    )
    assert (on(stacks, "through c"), on(stacks, "cross d")) == ({"cross d"}, {"through c"})
    assert on(stacks, "twice") == {"twice"}


def test_who_acquired_a_lock_outright_is_the_only_one_who_can_have_done_so(stacks: PythonStacks) -> None:
    """One of two that reach it waits for it; where two could hold it, and the one that did has ended, nobody is named."""
    assert (on(stacks, "outright left"), on(stacks, "outright right")) == ({"outright right"}, {"outright left"})
    assert on(stacks, "old") == set()


def test_tasks_that_are_awaited_are_told(stacks: PythonStacks) -> None:
    """One by one, gathered, or in a set."""
    assert (named(stacks)["follow"].awaits, on(stacks, "follow")) == ("Task", {"lost"})
    assert {"cross a", "cross b", "lost", "follow", "await"} < on(stacks, "main")
    assert on(stacks, "await") == {"lost", "nap"}
    assert (named(stacks)["lost"].awaits, on(stacks, "lost"), on(stacks, "nap")) == ("Future", set(), set())


def test_groups_and_time_limits_are_told(stacks: PythonStacks) -> None:
    """A group waits for its members; who set itself a limit says so, and so does who is watched over by ``wait_for``."""
    timed = {task.name for task in stacks.loop_tasks if task.timed}
    if "group" in named(stacks):
        assert on(stacks, "group") == {"member"}
        assert "limited" in timed
    # From 3.12 on the limit is in the task that watches, which awaits the others itself.
    watched = {"watched", "first of two", "second of two"}
    told = timed | {name for one in timed - {"limited"} for name in on(stacks, one)}
    assert watched <= told <= watched | {"limited", "watch one", "watch two"}


def test_who_may_fill_a_queue_is_told_where_its_takers_put_something_back(stacks: PythonStacks) -> None:
    """The other one that does so, and whoever else is in the job's code; of who only takes nobody knows."""
    assert {"both b", "nap", "cross a", "lost"} <= on(stacks, "both a")
    assert "both a" not in on(stacks, "both a")
    (takes,) = (task for task in stacks.loop_tasks if task.name.startswith("Task-") and task.stack[0].function == "get")
    assert takes.on == ()


def test_an_unnamed_task_has_its_number(stacks: PythonStacks) -> None:
    """As asyncio itself would call it."""
    assert any(task.name.startswith("Task-") and task.stack[0].function == "get" for task in stacks.loop_tasks)


COMPILED = """
import asyncio, uvloop

async def follow(task):
    return await task

async def main():
    lost = asyncio.get_running_loop().create_future()
    asyncio.current_task().set_name("main")
    asyncio.get_running_loop().call_later(0.05, lambda: print("ready", flush=True))
    await asyncio.gather(follow(asyncio.ensure_future(lost)))

def again():
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    main_task = loop.create_task(main())
    loop.run_forever()

{line}
"""


@pytest.mark.skipif(importlib.util.find_spec("uvloop") is None, reason="uvloop is not installed")
@pytest.mark.parametrize(
    "line",
    [
        "uvloop.run(main())",
        "asyncio.set_event_loop_policy(uvloop.EventLoopPolicy()); asyncio.run(main())",
        "uvloop.new_event_loop().run_until_complete(main())",
        "again()",
    ],
)
def test_the_tasks_of_a_compiled_loop_are_read_as_well(tmp_path: Path, line: str) -> None:
    """However it is run; the loop itself is a frame, since a thread that waits in it stands in no code of Python."""
    path = tmp_path / "serve.py"
    path.write_text(COMPILED.format(line=line))
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            stacks = settled(child.pid)
        finally:
            child.kill()
    main = named(stacks)["main"]
    assert main.stack[-1].function == "main"
    assert [stacks.loop_tasks[place].stack[-1].function for place in main.on] == ["follow"]
    assert stacks.threads[0].stack[-1].file == UVLOOP
    assert at_rest(stacks.threads[0].stack)


def test_only_the_wait_of_a_loop_counts() -> None:
    """While a task runs, or where there is no loop, nothing is looked for."""
    once = Frame("BaseEventLoop._run_once", "/usr/lib/python3.12/asyncio/base_events.py", 1900)
    select = Frame("EpollSelector.select", "/usr/lib/python3.12/selectors.py", 468)
    run, task = Frame("main", "/job/train.py", 3), Frame("work", "/job/train.py", 9)
    assert loops.waits_in(Stack([run, once, select])) == 1
    assert loops.waits_in(Stack([run, select])) is None
    assert loops.waits_in(Stack([run, once, run, task, task, task])) is None
    assert loops.waits_in(Stack([])) is None


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(PIECES, LAYOUTS, st.integers(0, 400))
def test_arbitrary_memory_gives_tasks_or_nothing(piece: bytes, layout: object, at: int) -> None:
    """Whatever lies there, reading it ends within bounds and without an error of another kind."""
    held = BytesMemory({BASE: piece})
    family = Family()
    objects = Objects(held, layout, family.static_types, family.words)  # type: ignore[arg-type]
    suspended = coroutines.Coroutines(objects, CodeReader(objects, family.codes))
    for kind in ("coroutine", "method", "set", "function"):
        family.static_types[struct.unpack_from("<Q", piece.ljust(512, b"\0"), at % 500)[0]] = kind
        suspended.chain(BASE + at)
        reader = loops.Loops(objects, suspended)
        reader.read(1, reader.loop_of(RawFrame(BASE + at, BASE, BASE)), BASE + at // 2)
        try:
            coroutines.members(objects, BASE + at, 16)
        except (Unreadable, struct.error):
            continue
    assert held.reads < 100_000


def test_what_leads_back_to_itself_is_left_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring of awaits, or of things entered, costs no more than its share."""
    monkeypatch.setattr(coroutines, "ALL_FRAMES_LIMIT", 5)
    objects = Objects(BytesMemory({BASE: b"\xff" * 4096}), py310.LAYOUT, {}, {})
    suspended = coroutines.Coroutines(objects, CodeReader(objects, Family().codes))
    for _ in range(5):
        assert suspended._frame(BASE) is None
    with pytest.raises(Unreadable, match="more suspended frames"):
        suspended._frame(BASE)


def test_a_set_is_read_in_part_when_it_is_large() -> None:
    """What was left out is counted; emptied slots are no members."""
    slots = b"".join(
        struct.pack("<Qq", key, mark) for key, mark in ((11, 5), (0, 0), (12, -1), (13, 6), (14, 7), *[(0, 0)] * 3)
    )
    head = struct.pack("<QQQQQQ", 1, 2, 4, 4, 7, BASE + 64).ljust(64, b"\0")
    objects = Objects(BytesMemory({BASE: head + slots}), TABLE, {}, {})
    assert coroutines.members(objects, BASE, 2) == ((11, 13), 1)
