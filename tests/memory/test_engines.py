"""The engines made of other tools: their answers become our records, and their hangs and failures gaps."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from standing import standing

from harness.waiting import wait_until
from rankscope.memory import runtime, tasks
from rankscope.memory.tasks import Task
from rankscope.model.evidence.stacks import Frame, NativeStacks, PythonStacks, Trust
from rankscope.model.evidence.threads import Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe import abandon, child, engines
from rankscope.probe.collector import Target
from rankscope.probe.collectors import python_stacks
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import pyspy, pystack

EVAL, OTHER, IGNORED = 1, 3, 0


def test_a_tool_is_heard_to_its_end() -> None:
    """Output, errors and status come back whole."""
    told = child.run([sys.executable, "-c", "import sys; print('a' * 200_000); sys.exit('bad')"], 30)
    assert (told.status, len(told.output), told.errors) == (1, 200_001, "bad\n")


def test_a_tool_that_hangs_is_left_at_its_deadline() -> None:
    """Neither a tool that never ends, nor one whose children keep its pipes, nor one deaf to SIGTERM holds us up."""
    for program in (
        "import time; time.sleep(1000)",
        "import subprocess; subprocess.Popen(['sleep', '1000'])",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(1000)",
    ):
        began = time.monotonic()
        told = child.run([sys.executable, "-c", program], 0.3)
        assert told.status is None
        assert time.monotonic() - began < 10


def test_a_tool_ends_with_the_child_that_runs_it(tmp_path: Path) -> None:
    """Who would have minded its deadline was left behind: it must not go on, perhaps holding a process of the job."""
    note = tmp_path / "pid"
    program = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"

    def work(_: str, send: abandon.Send) -> None:
        child.run([sys.executable, "-S", "-c", program], 1000)

    answers = abandon.guarded(("tool",), work, lambda _: 0.2 if note.exists() and note.read_text() else 30.0)
    (answer,) = answers
    assert isinstance(answer.said, abandon.Blocked)
    wait_until(lambda: _ended(note.read_text()), what="the end of the tool")


def _ended(pid: str) -> bool:
    """Whether a process is gone, or waits to be reaped by the harness, which adopts orphans."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


def test_a_tool_that_is_missing_is_an_error_of_the_kernel() -> None:
    """The engine turns it into a gap."""
    with pytest.raises(FileNotFoundError):
        child.run(["/no/such/tool"], 1)
    engine = pyspy.PySpyEngine("/proc", "/no/such/tool")
    gap = engine.stacks(ProcessRef("here", os.getpid()), None, None, StackOptions())
    assert isinstance(gap, Gap)
    assert gap.why is Why.MISSING


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'Error: Permission Denied: try sudo' >&2; exit 1", Why.DENIED),
        ("echo 'Error: Failed to find python version from target process' >&2; exit 1", Why.UNSUPPORTED),
        ("echo 'Error: something new' >&2; exit 1", Why.FAILED),
        ("echo 'not json'", Why.DAMAGED),
        ("echo '[{\"frames\": 1}]'", Why.DAMAGED),
        ("echo '{}'", Why.DAMAGED),
        ("sleep 1000", Why.TIMEOUT),
    ],
)
def test_what_py_spy_could_not_do_is_a_gap(script: str, why: Why, tmp_path: Path) -> None:
    """Each failure has its reason."""
    stub = tmp_path / "py-spy"
    stub.write_text(f"#!/bin/sh\n{script}\n")
    stub.chmod(0o755)
    engine = pyspy.PySpyEngine("/proc", str(stub))
    gap = engine.stacks(ProcessRef("here", os.getpid()), None, None, StackOptions(deadline_s=0.5))
    assert isinstance(gap, Gap), gap
    assert gap.why is why


def test_py_spy_answers_become_threads_with_our_ids() -> None:
    """Root first, ids of our namespace, scalars only, exact when the thread slept all the while."""
    frames = [
        {"name": "inner", "filename": "a.py", "module": None, "line": 3, "locals": [
            {"name": "n", "repr": "-7"}, {"name": "s", "repr": '"secret"'}, {"name": "o", "repr": "<A at 0x1>"}]},
        {"name": "outer", "filename": "a.py", "module": None, "line": 9, "locals": None},
    ]  # fmt: skip
    said = [
        {"thread_id": 77, "os_thread_id": 5, "thread_name": "T", "owns_gil": True, "active": False, "frames": frames}
    ]
    looked = {4005: Task(4005, 5, "S", 1, 1)}
    [thread] = pyspy.parse(said, {77: 4005}, looked, looked, StackOptions(), paused=False)
    assert thread.tid == 4005
    assert thread.stack == (Frame("outer", "a.py", 9), Frame("inner", "a.py", 3))
    assert [(each.depth, each.name, each.value) for each in thread.locals] == [(1, "n", "-7")]
    assert (thread.trust, thread.holds_gil) == (Trust.EXACT, True)
    ran = {4005: Task(4005, 5, "S", 2, 1)}
    [thread] = pyspy.parse(said, {77: 4005}, looked, ran, StackOptions(strings=True), paused=False)
    assert thread.trust is Trust.LIKELY
    assert [each.name for each in thread.locals] == ["n", "s"]


@pytest.mark.parametrize("name", ["memory", "py-spy", "pystack"])
def test_every_engine_tells_which_rank_a_process_is(name: str, tmp_path: Path) -> None:
    """Without locals only those are told that name a rank, whoever reads them; strings stay where they are."""
    program = tmp_path / "train.py"
    program.write_text("import time\ndef work(rank, step, word):\n    print('ready', flush=True)\n    time.sleep(1000)\n"
                       "work(3, 41, 'secret')\n")  # fmt: skip
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        engine = engines.make(name)
        for options, expected in (
            (StackOptions(locals=False, deadline_s=60), {"rank": "3"}),
            (StackOptions(deadline_s=60), {"rank": "3", "step": "41"}),
            (StackOptions(strings=True, deadline_s=60), {"rank": "3", "step": "41", "word": "secret"}),
        ):
            answer = engine.stacks(ProcessRef("here", child.pid), None, None, options)
            if isinstance(answer, Gap) and answer.why is Why.MISSING:
                pytest.skip(answer.detail)
            assert isinstance(answer, PythonStacks), answer
            told = {each.name: each.value.strip("'\"") for each in answer.threads[0].locals if each.depth == 1}
            assert told == expected
        child.kill()


def test_native_frames_give_way_to_the_python_frames_they_evaluate() -> None:
    """Each call of the evaluator runs the Python frames up to the next entry."""
    python = [["main", "a.py", 9, True, False], ["step", "a.py", 5, False, False], ["key", "a.py", 2, True, False]]
    native = [
        ["_start", "", 0, "python", OTHER], ["_PyEval_EvalFrameDefault", "", 0, "python", EVAL],
        ["_PyFunction_Vectorcall", "", 0, "python", IGNORED], ["list_sort", "l.c", 7, "python", OTHER],
        ["_PyEval_EvalFrameDefault", "", 0, "python", EVAL], ["futex", "", 0, "libc", OTHER],
    ]  # fmt: skip
    names = [frame.function for frame in pystack.join(python, native)]
    assert names == ["_start", "main", "step", "list_sort", "key", "futex"]


def test_frames_that_do_not_pair_are_all_kept() -> None:
    """Better all Python frames in one place than some in the wrong one."""
    python = [["main", "a.py", 9, True, False], ["key", "a.py", 2, True, False]]
    native = [
        ["_start", "", 0, "p", OTHER],
        ["_PyEval_EvalFrameDefault", "", 0, "p", EVAL],
        ["futex", "", 0, "c", OTHER],
    ]
    assert [frame.function for frame in pystack.join(python, native)] == ["_start", "main", "key", "futex"]
    assert [frame.function for frame in pystack.join(python, [])] == ["main", "key"]
    assert [frame.function for frame in pystack.join([], native)] == ["_start", "futex"]


@pytest.mark.skipif(not pystack.installed(), reason="pystack is not installed")
def test_native_stacks_show_the_call_below_python_and_what_it_cost() -> None:
    """The pause is measured, and the process goes on as before."""
    with standing("plain") as target:
        answer = pystack.make().stacks(
            ProcessRef("here", target.pid), None, None, StackOptions(native=True, deadline_s=60)
        )
        assert isinstance(answer, NativeStacks), answer
        [main] = [thread for thread in answer.threads if thread.tid == target.pid]
        names = [frame.function for frame in main.stack]
        assert names.index("plain") + 1 == names.index("block")
        assert main.stack[-1].library is not None
        assert answer.paused_ms > 0
        assert Path(f"/proc/{target.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def test_nobody_is_paused_who_could_not_be_let_go() -> None:
    """A stopped, traced or frozen process is left alone by engines that attach."""
    with standing("plain") as target:
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: tasks.read("/proc", target.pid)[target.pid].state == "T")
        for engine in (pyspy.make(), pystack.make()):
            for kernel in (None, Threads((), tracer=1), Threads((), frozen=True)):
                gap = engine.stacks(ProcessRef("here", target.pid), kernel, None, StackOptions(native=True))
                assert isinstance(gap, Gap)
                assert gap.why in (Why.SKIPPED, Why.MISSING)


def test_who_is_traced_is_known_where_nothing_was_seen_of_it(tmp_path: Path) -> None:
    """What the kernel said of it is missing when that step stood still: it is asked again before anybody attaches."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("Name:\tpython\nTracerPid:\t99\n")
    assert pyspy.refusal(str(tmp_path), 7, {}, None) == "process 99 traces it"
    assert pyspy.refusal(str(tmp_path), 7, {}, Threads(())) == ""
    assert pyspy.refusal(str(tmp_path), 8, {}, None) == ""


@pytest.mark.skipif(pyspy.executable() is None, reason="py-spy is not installed")
def test_a_pause_is_reported() -> None:
    """A consistent read of a running thread is had by stopping it, and the record says so."""
    with standing("busy") as target:
        answer = pyspy.make().stacks(
            ProcessRef("here", target.pid), None, None, StackOptions(pause=True, deadline_s=30)
        )
        assert isinstance(answer, PythonStacks), answer
        assert answer.paused_ms > 0
        assert {thread.trust for thread in answer.threads} == {Trust.EXACT}


@pytest.mark.skipif(pyspy.executable() is None, reason="py-spy is not installed")
@pytest.mark.parametrize(
    ("shape", "allowed", "engine"), [("plain", True, "memory"), ("busy", False, "memory"), ("busy", True, "py-spy")]
)
def test_only_who_may_be_paused_and_ran_meanwhile_is_paused(shape: str, allowed: bool, engine: str) -> None:
    """A thread that stands still is read exactly without; one that runs is paused when the user allows it."""
    with standing(shape) as target:
        process = Process(ProcessRef("here", target.pid), Role.RANK, comm="python", executable=sys.executable)
        options = StackOptions(pause=allowed, deadline_s=30)

        def by_engine() -> PythonStacks | None:
            answer = python_stacks.collect(Target(process, options=options))
            assert isinstance(answer, PythonStacks), answer
            return answer if answer.engine == engine else None

        # On a busy machine a thread may still be on its way to where it stands.
        answer = wait_until(by_engine, what=f"an answer by {engine}")
        assert (answer.paused_ms > 0) == (engine == "py-spy")


@pytest.mark.skipif(pyspy.executable() is None, reason="py-spy is not installed")
def test_who_has_an_unknown_layout_is_read_by_the_next_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our reader refuses to guess; py-spy is asked without pausing; where it is missing, the first reason stays."""

    def nothing_fits(*_: object) -> object:
        raise runtime.UnknownLayout("the memory of this process does not look like a Python as we know it")

    monkeypatch.setattr(runtime, "locate", nothing_fits)
    with standing("plain") as target:
        process = Process(ProcessRef("here", target.pid), Role.RANK, comm="python", executable=sys.executable)
        answer = python_stacks.collect(Target(process))
        assert isinstance(answer, PythonStacks), answer
        assert (answer.engine, answer.paused_ms) == ("py-spy", 0.0)
        alone = python_stacks.collect(Target(process, engine="memory"))
        monkeypatch.setattr(pyspy, "executable", lambda: None)
        for gap in (alone, python_stacks.collect(Target(process))):
            assert isinstance(gap, Gap)
            assert gap.why is Why.UNKNOWN_LAYOUT


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_offset_tables_are_as_measured() -> None:
    """The tables in the tree are what the headers of the interpreters here say."""
    from standing import pythons

    code = "import sys; print(sys.base_prefix)"
    found = {subprocess.run([each, "-c", code], capture_output=True, text=True).stdout.strip() for each in pythons()}
    prefixes = [each for each in found if any(Path(each).glob("include/python3.*/internal/pycore_runtime.h"))]
    if not prefixes:
        pytest.skip("no interpreter here has its internal headers")
    script = Path(__file__).parents[2] / "tools" / "offsets.py"
    done = subprocess.run([sys.executable, script, "--check", *prefixes], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
