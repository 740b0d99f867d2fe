"""A program that is over, by its last words: of one line, below a destructor, at the end of a library, before a thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.formats.gdb_text import read
from rankscope.formats.records import Dump
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

JOINS = """\
#0  0x00007f10f57e598d in pthread_join () from /lib/x86_64-linux-gnu/libpthread.so.0
#1  ... in std::thread::join() () from /usr/lib/libstdc++.so.6
#2  … in pool::Workers::~Workers() () from libpool.so
"""


def ends_never(folder: Path, **texts: str) -> bool:
    """Whether it is the cause that a program is over and does not end."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    found = judge(gather([folder])).findings
    return "ends-never" in {one.rule for one in found if one.kind is Kind.CAUSE and one.cls == "exit-hang"}


@pytest.mark.parametrize(
    "line",
    [
        "$ python -c 'import native; print \"ready\"'",
        "$ python3 -c \"from native import f; print('ready')\"",
        "$ python3.12 -X dev -c 'import native, os; print(\"ready\");'",
    ],
)
def test_a_program_of_one_line(line: str, tmp_path: Path) -> None:
    assert ends_never(tmp_path, console=f"{line}\nready\n^C^C^\\Quit (core dumped)\n")


@pytest.mark.parametrize(
    "console",
    [
        "$ python -c 'import native; print(\"ready\"); native.run()'\nready\n^C\n",
        "$ python -c 'import native; print(\"ready\")'\n^C\n",
        "$ python -c 'import native; print(\"ready\")'\nready\n$\n",
    ],
)
def test_a_program_of_one_line_that_is_not_at_its_end(console: str, tmp_path: Path) -> None:
    assert not ends_never(tmp_path, console=console)


def test_a_destructor_below_the_last_line(tmp_path: Path) -> None:
    assert ends_never(tmp_path, console="loading\nfinished.\n", gdb_main_thread=JOINS)


def test_a_destructor_in_its_midst(tmp_path: Path) -> None:
    assert not ends_never(tmp_path, console="loading\nstep 3\n", gdb_main_thread=JOINS)


@pytest.mark.parametrize("left_out", ["...", "…", "0x00007f10f57e598d"])
def test_an_address_that_is_left_out(left_out: str) -> None:
    text = f"#0  0x01 in pthread_join () from /lib/libpthread.so.0\n#1  {left_out} in std::thread::join() () from libstdc++.so\n"
    names = [frame.function for one in read(text) if isinstance(one, Dump) for frame in one.thread.stack]
    assert names == ["std::thread::join()", "pthread_join"]


@pytest.mark.parametrize(
    "said",
    [
        "the script stands still in ctx.term()",
        "context.destroy() never returns",
        "it hangs at zmq_ctx_term",
    ],
)
def test_a_context_that_does_not_end(said: str, tmp_path: Path) -> None:
    assert ends_never(tmp_path, program="import zmq\nctx = zmq.Context()\n", observed=said + "\n")


def test_a_context_that_receives(tmp_path: Path) -> None:
    assert not ends_never(tmp_path, program="import zmq\nctx = zmq.Context()\n", observed="it hangs in socket.recv()\n")


@pytest.mark.parametrize(
    "last",
    [
        "bus: Waiting for thread Thread-4 (poll).",
        "Waiting for background threads to finish...",
        "[main] joining worker threads",
        "Waiting for 2 child processes",
    ],
)
def test_the_last_words_tell_whom_it_waits_for(last: str, tmp_path: Path) -> None:
    assert ends_never(tmp_path, console=f"serving on port 80\n^C\nShutting down\n{last}\n")


@pytest.mark.parametrize(
    "console",
    [
        "serving on port 80\nWaiting for worker threads\n",
        "serving on port 80\n^C\nShutting down\nWaiting for worker threads\nall threads are gone, bye\n",
        "^C\nShutting down the old workers\nWaiting for workers to connect\n",
    ],
)
def test_who_waits_at_its_start_or_came_further(console: str, tmp_path: Path) -> None:
    assert not ends_never(tmp_path, console=console)
