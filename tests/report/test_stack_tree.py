"""The merged tree on the screen: short, folded, and safe for a terminal."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.analysis.build import build
from rankscope.analysis.merged import alike, sections
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.report.folding import fold, short_names
from rankscope.report.people import phrase
from rankscope.report.tree import Style, places, render

TORCH = "/env/lib/python3.11/site-packages/torch/"
MAIN = (Frame("<module>", "/job/train.py", 52), Frame("main", "/job/train.py", 47))
STEP = Frame("train", "/job/train.py", 31)
INSIDE = (Frame("Tensor.backward", TORCH + "_tensor.py", 5), Frame("backward", TORCH + "autograd/__init__.py", 6),
          Frame("_engine_run_backward", TORCH + "autograd/graph.py", 7))  # fmt: skip
SAVE = Frame("save", "/job/io/checkpoint.py", 17)


def process(rank: int | None, pid: int, role: Role = Role.RANK, **more: object) -> Process:
    return Process(ProcessRef("node1", pid, 1), role, rank=rank, **more)  # type: ignore[arg-type]


def snapshot(*seen: tuple[Process, tuple[PythonThread, ...]], state: str = "S", still_s: float = 312.0) -> Snapshot:
    items = []
    for one, threads in seen:
        tasks = tuple(KernelThread(t.tid or 0, "python", state, "futex_wait", still_s=still_s) for t in threads)
        items += [Item(one.ref, Threads(tasks)), Item(one.ref, PythonStacks(threads, "memory"))]
    refs = tuple(one.ref for one, _ in seen)
    return Snapshot(
        Job("torchrun"), (Host("node1"),), tuple(one for one, _ in seen), (Sweep(0, 0.0, refs, tuple(items)),)
    )


def main_thread(pid: int, *frames: Frame, values: tuple[Local, ...] = ()) -> tuple[PythonThread, ...]:
    return (PythonThread(pid, Stack(frames), "MainThread", locals=values),)


def shown(made: Snapshot, options: Style | None = None) -> str:
    found = sections(build(made), lambda _: True)
    return "\n".join(render(section, options or Style()) for section in found)


def three_ranks() -> Snapshot:
    return snapshot(
        (process(0, 10), main_thread(10, *MAIN, STEP, *INSIDE, values=(Local(2, "step", "12"), Local(2, "rank", "0")))),
        (process(1, 11), main_thread(11, *MAIN, SAVE)),
        (process(2, 12), main_thread(12, *MAIN, STEP, *INSIDE, values=(Local(2, "step", "12"), Local(2, "rank", "2")))),
    )


def test_a_fork_carries_the_ranks_that_went_each_way() -> None:
    """The whole screen of a small case."""
    assert shown(three_ranks()) == (
        "main thread of ranks 0-2\n"
        "│ <module> (train.py:52) → main (train.py:47)\n"
        "├─ ranks 0,2: train (train.py:31) →\n"
        "│    torch: Tensor.backward … _engine_run_backward (autograd/graph.py:7, 3 frames)\n"
        "│    · asleep in futex_wait for 312 s\n"
        "└─ rank 1: save (checkpoint.py:17)\n"
        "     · asleep in futex_wait for 312 s\n"
    ).replace("312 s", "5 min 12 s")


def test_locals_say_who_holds_which_value() -> None:
    """Equal values once."""
    out = shown(three_ranks(), Style(locals=True))
    assert "step = 12\n" in out
    assert "rank = 0 (rank 0), 2 (rank 2)\n" in out


def test_a_source_line_stands_below_the_deepest_own_frame() -> None:
    """Once per branch, where the job's own code ends."""
    (section,) = sections(build(three_ranks()), lambda _: True)
    found = set(places(section))
    assert {(place.file, place.line) for place in found} == {("/job/train.py", 31), ("/job/io/checkpoint.py", 17)}
    out = render(section, Style(source={place: (f"> {place.line}  the line",) for place in found}))
    assert out.index("train (train.py:31)") < out.index("> 31  the line") < out.index("torch: Tensor.backward")


def test_a_function_that_calls_itself_is_one_line() -> None:
    """A runaway recursion does not fill the screen."""
    again = Frame("visit", "/job/tree.py", 9)
    out = shown(snapshot((process(0, 10), main_thread(10, *MAIN, *[again] * 900))))
    assert "visit (tree.py:9) ×900" in out
    assert len(out.splitlines()) < 6


def test_without_ranks_processes_are_named_by_pid() -> None:
    """A job of plain processes has no numbers to fold but its pids."""
    jobs = [(process(None, pid, Role.OTHER), main_thread(pid, *MAIN)) for pid in (31, 32, 33)]
    assert "main thread of process" not in shown(snapshot(*jobs))
    assert "main thread of pids 31-33" in shown(snapshot(*jobs))


def test_thread_numbers_do_not_keep_equal_threads_apart() -> None:
    """Thread-3 of one rank and Thread-5 of another play the same part."""
    jobs = [
        (process(rank, 10 + rank), (PythonThread(90 + rank, Stack(MAIN), f"Thread-{rank} (watch)"),))
        for rank in range(3)
    ]
    assert "thread Thread-* (watch) of ranks 0-2" in shown(snapshot(*jobs))


def test_equal_stacks_are_one_group() -> None:
    """One process of each group is enough for a costly look."""
    groups = alike(build(three_ranks()), lambda _: True)
    assert [[member.rank for member in group] for group in groups] == [[0, 2], [1]]


def test_workers_are_named_with_whom_they_serve() -> None:
    workers = [
        process(rank, 100 + rank * 2 + n, Role.DATALOADER_WORKER, worker=n) for rank in range(3) for n in range(2)
    ]
    assert phrase(workers) == "loader workers 0-1 of ranks 0-2"
    assert phrase(workers[:1]) == "loader worker 0 of rank 0 (pid 100)"
    assert phrase(workers[:3]) == "3 loader workers of ranks 0-1"


def test_files_of_one_name_are_told_apart() -> None:
    names = short_names(["/a/x/train.py", "/a/y/train.py", "/a/y/model.py"])
    assert names == {"/a/x/train.py": "x/train.py", "/a/y/train.py": "y/train.py", "/a/y/model.py": "model.py"}


FRAMES = st.builds(
    Frame, st.text(max_size=8), st.sampled_from(["/job/a.py", TORCH + "x.py", "<string>", "", "weird\x1b[2J.py"]),
    st.integers(0, 99), st.none() | st.sampled_from(["libc.so.6", "libtorch_cpu.so"]),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(FRAMES, max_size=6), min_size=1, max_size=4), st.booleans())
def test_any_stacks_can_be_shown(stacks: list[list[Frame]], show_locals: bool) -> None:
    """Names come from strangers: nothing a terminal would act on gets through, and no frame of the job is lost."""
    made = snapshot(
        *[(process(rank, 10 + rank), main_thread(10 + rank, *frames)) for rank, frames in enumerate(stacks)]
    )
    out = shown(made, Style(locals=show_locals))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out)
    assert out.count("main thread of") == 1


@given(st.lists(FRAMES, max_size=12))
def test_folding_covers_every_frame_once(frames: list[Frame]) -> None:
    runs = list(fold(frames, {}))
    assert [at for run in runs for at in range(run.first, run.last + 1)] == list(range(len(frames)))
