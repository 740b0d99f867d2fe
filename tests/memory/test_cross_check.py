"""What we read of a process is what the process itself says, and what py-spy says, on every Python of this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from standing import Target, label, pythons, standing

from rankscope.memory.scope import installed
from rankscope.model.evidence.stacks import PythonStacks, PythonThread, Trust
from rankscope.model.process import ProcessRef
from rankscope.probe import engines
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import pyspy, pystack

SHAPES = (
    "plain", "deep", "generators", "coroutines", "async_generators", "through_c", "called_back", "lambdas", "executed",
    "far_down", "jumping_lines", "multi_line", "decorated", "größe_日本", "wide_frame", "handlers", "class_body", "finalizer",
    "comprehension", "properties",
)  # fmt: skip
# py-spy 0.4 gives line 0 in a function whose line table is longer than 64 KiB; the program itself says 20002, as we do.
PY_SPY_ERRS = ("far_down",)
PYTHONS = pytest.mark.parametrize("python", pythons(), ids=label)


def read(pid: int, engine: str = "memory", deadline_s: float = 5.0) -> PythonStacks:
    """Read a process with one engine."""
    stacks = engines.make(engine).stacks(ProcessRef("here", pid), None, None, StackOptions(deadline_s=deadline_s))
    assert isinstance(stacks, PythonStacks), stacks
    return stacks


def by_name(stacks: PythonStacks, but: tuple[str, ...] = ("reporter",)) -> dict[str | None, list[list[object]]]:
    """The frames of each thread by its name."""
    return {
        thread.name: [[frame.function, frame.file, frame.line] for frame in thread.stack]
        for thread in stacks.threads
        if thread.name not in but
    }


@pytest.fixture(scope="module", params=pythons(), ids=label)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """One program in all shapes at once, on each Python."""
    with standing(*SHAPES, python=request.param) as started:
        yield started


def test_frames_and_names_are_those_the_program_sees(target: Target) -> None:
    """Every frame, file, line and thread name equals what sys._current_frames() and threading say."""
    stacks = read(target.pid)
    assert by_name(stacks) == {each["name"]: each["frames"] for each in target.threads.values()}
    assert {thread.tid for thread in stacks.threads} == {*target.threads, target.reporter}
    assert {thread.trust for thread in stacks.threads if thread.name != "reporter"} == {Trust.EXACT}


@pytest.mark.skipif(pyspy.executable() is None, reason="py-spy is not installed")
def test_frames_are_those_py_spy_sees(target: Target) -> None:
    """Two readers that share no code agree, but for what docs/how/memory-reader.md lists."""
    ours, theirs = (by_name(read(target.pid, engine), ("reporter", *PY_SPY_ERRS)) for engine in ("memory", "py-spy"))
    assert ours == theirs


@pytest.mark.skipif(not pystack.installed(), reason="pystack is not installed")
def test_frames_are_those_pystack_sees(target: Target) -> None:
    """It gives functions their short names, and leaves out those whose names need more than a byte a character."""
    ours, theirs = (
        {
            each.tid: short(each)
            for each in read(target.pid, engine, deadline_s=60).threads
            if each.tid != target.reporter
        }
        for engine in ("memory", "pystack")
    )
    assert ours == theirs


def short(thread: PythonThread) -> list[tuple[str, str, int]]:
    """The frames of a thread as pystack tells them."""
    return [
        (frame.function.rsplit(".", 1)[-1], frame.file, frame.line)
        for frame in thread.stack
        if max(frame.function) < "\u0100"
    ]


@PYTHONS
def test_a_traced_program_is_read_like_any_other(python: str) -> None:
    """Under sys.settrace, as in a debugger, instructions are instrumented; the lines stay right."""
    with standing("tracing", python=python) as target:
        assert by_name(read(target.pid)) == {each["name"]: each["frames"] for each in target.threads.values()}


@PYTHONS
def test_two_hundred_threads_are_told_apart(python: str) -> None:
    """Each of many threads has its own frames and its own id."""
    with standing("many_threads", python=python) as target:
        expected = {tid: each["frames"] for tid, each in target.threads.items()}
        found = {each.tid: [[f.function, f.file, f.line] for f in each.stack] for each in read(target.pid).threads}
        del found[target.reporter]
        assert found == expected
        if pyspy.executable() is not None:
            assert by_name(read(target.pid)) == by_name(read(target.pid, "py-spy"))


def test_installed_code_is_told_by_its_path() -> None:
    """Code that may be kept between reads lies where packages are installed."""
    assert installed("/opt/env/lib/python3.11/site-packages/torch/nn/modules/module.py")
    assert installed("<frozen importlib._bootstrap>")
    assert not installed("/home/me/train.py")
    assert not installed("<string>")
