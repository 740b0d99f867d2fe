"""Stacks whose frames have more than a line: variables, words of the debugger, wrapped lines."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.frame_tables import WaitKind
from rankscope.analysis.frames import wait_of
from rankscope.formats import process_facts, strace, text
from rankscope.formats.files import Source
from rankscope.formats.joining import Joiner
from rankscope.formats.reading import FileEvidence, Wish, read
from rankscope.formats.records import Dump
from rankscope.model.evidence.events import Event
from rankscope.model.labels import who


def dumps(body: str) -> list[Dump]:
    return [one for one in text.read(body) if isinstance(one, Dump)]


def functions(one: Dump) -> list[str]:
    return [frame.function for frame in one.thread.stack]


HEAD = 'Thread 2 (Thread 0x7fe0cb73a6c0 (LWP 17665) "python"):\n'
GDB = {
    "bt full": """\
#0  futex_wait (private=0) at ./nptl/futex-internal.c:57
        sc_ret = <optimized out>
        buffer = {__routine = 0x7f <f>, __arg = 0x7f}
#1  0x000056188d3148e3 in pop (this=0x7f, why="why ( here") at queue.cc:16
No locals.
#2  0x000056188d3150eb in ?? ()
No symbol table info available.
#3  main () at main.c:4
        text = "a (b) #1 0x1234 in foo () at a.c:1"
""",
    "a wrapped paste": """\
#0  futex_wait (private=0,
expected=3) at ./nptl/futex-internal.c:57
#1  pop (this=0x7f)
at queue.cc:16
#2  0x000056188d3150eb in ?? ()
from /lib/libx.so
#3  main () at
main.c:4
""",
    "words between": """\
#0  futex_wait (private=0) at ./nptl/futex-internal.c:57
warning: Unable to read memory
#1  pop (x=Python Exception <class 'gdb.MemoryError'> Cannot access memory at address 0x8:
...) at queue.cc:16

#2  0x000056188d3150eb in ?? ()
#3  main () at main.c:4
""",
    "cut by people": """\
#0  futex_wait (private=0) at ./nptl/futex-internal.c:57
#1  pop queue.cc:16
#2  ?? from libx
#3  main at main.c:4
""",
    "cut by a terminal": """\
#0  futex_wait (private=0, expected=3, futex_wo
#1  pop (this=0x7f) at queue.cc:16
#2  0x000056188d3150eb in ?? ()
#3  main (argc=3, argv=argv@en
""",
}


@pytest.mark.parametrize("kind", GDB)
def test_a_stack_of_gdb_stays_whole(kind: str) -> None:
    """Whatever stands between its frames, it is one stack of one thread, with the names of the functions alone."""
    (one,) = dumps(HEAD + GDB[kind] + "\nThread 1 (LWP 1):\n")
    assert one.thread.tid == 17665
    assert functions(one) == ["main", "??", "pop", "futex_wait"]


def test_a_frame_asked_for_later_is_no_part_of_the_stack() -> None:
    body = HEAD + GDB["bt full"] + "(gdb) frame 1\n#1  0x000056188d3148e3 in pop (this=0x7f) at queue.cc:16\n"
    assert [len(one.thread.stack) for one in dumps(body)] == [4, 1]


def test_threads_of_other_kinds_have_their_numbers() -> None:
    """Of several inferiors, of gdbserver, of a process without threads, of an old gdb that tells no names."""
    body = """\
* 1.1  Thread 0x7ffff7d8 (LWP 100) "python" 0x00007fff in poll () from /lib/libc.so.6
  2.1  LWP 200 "child" 0x0001 in futex_wait (private=0) at futex.c:3
  2 Thread 0x7ffff5 (LWP 300)  0x00007ffff7bcd in poll () from /lib/libc.so.6
  3    AMDGPU Wave 1:2:1:1 (0,0,0)/0 "kernel" 0x00007ffff in kernel (x=1) at k.hip:3

Thread 1.2 (Thread 17650.400 "srv"):
#0  poll () from /lib/libc.so.6

Thread 1 (process 500):
#0  poll () from /lib/libc.so.6
"""
    found = dumps(body)
    assert [one.thread.tid for one in found] == [100, 200, 300, 400, 500]
    assert [functions(one) for one in found] == [["poll"], ["futex_wait"], ["poll"], ["poll"], ["poll"]]


def test_lldb_frames_without_names_keep_their_place() -> None:
    body = """\
* thread #1, name = 'a'
  * frame #0: 0x00007fd76c6a3f16 libc.so.6`poll + 3
    frame #1: 0x00007fd76c6a3f17
    frame #2: 0x00007fd76c6a3f17 libx.so
    frame #3: 0x00007fd76c6a3f17 libc.so.6`start(main=(a`main at a.cpp:23:5), argc=1) at start.h:58:16
    frame #4: 0x00007fd76c6a3f17 a`handler((null)=10) at a.c:3:4 [opt]
"""
    (one,) = dumps(body)
    assert functions(one) == ["handler", "start", "0x00007fd76c6a3f17", "0x00007fd76c6a3f17", "poll"]
    assert [(frame.file, frame.line) for frame in one.thread.stack[:2]] == [("a.c", 3), ("start.h", 58)]


def test_processes_that_gdb_was_put_to_one_after_the_other_are_two() -> None:
    bodies = [
        f'[New LWP {pid + 1}]\nThread 2 (Thread 0x7f (LWP {pid + 1}) "w"):\n#0  poll () at p.c:1\n\n'
        f'Thread 1 (Thread 0x7e (LWP {pid}) "m"):\n#0  main () at m.c:1\n[Inferior 1 (process {pid}) detached]\n'
        for pid in (100, 200)
    ]
    evidence = FileEvidence(Source("all.txt", "all.txt"), who("all"), dumps=dumps("".join(bodies)))
    assert {one.ref.pid for one in Joiner().join([evidence], []).processes} == {100, 200}


PYTHON = """\
Traceback (most recent call first):
  <built-in method acquire of _thread.lock object at remote 0x7f>
  File "/usr/lib/python3.8/threading.py", line 302, in wait
    waiter.acquire()
  File "/home/u/train.py", line 9, in main
    ready.wait()
"""
FULL = """\
#3 <built-in method __enter__ of _thread.lock object at remote 0x7f>
#7 Frame 0x7f, for file /home/u/train.py, line 16, in main (text='a (b.py:3)')
    with lock: pass
#7 Frame 0x7e, for file /home/u/train.py, line 17, in <module> ()
    main()
"""


def test_python_frames_of_gdb_belong_to_the_thread_that_is_shown() -> None:
    found = dumps(f"{HEAD}{PYTHON}\n[Switching to thread 1 (Thread 0x7f (LWP 7))]\n#0  poll () at p.c:1\n{PYTHON}")
    assert [one.thread.tid for one in found if one.engine == "gdb py-bt"] == [17665, 7]


def test_a_lock_below_a_wait_is_the_wait_and_one_of_the_program_is_a_lock() -> None:
    (waits,), (locks,) = dumps(PYTHON), dumps(HEAD + FULL)
    assert wait_of(waits.thread.stack).kind is WaitKind.CONDITION
    assert functions(locks) == ["<module>", "main", "__enter__"]
    assert wait_of(locks.thread.stack).kind is WaitKind.LOCK


def test_variables_that_look_like_frames_are_none() -> None:
    """Tuples, texts, and the unnamed argument of a comprehension, as py-spy prints them."""
    body = """\
Thread 19351 (idle): "pt data (1)"
    <listcomp> (m.py:14)
        Arguments:
            .0: <map at 0x7ff729e7a8f0>
    run_forever (asyncio/base_events.py:603)
        Arguments:
            args: (1)
        Locals:
            old_agen_hooks: (None, None)
    <module> (m.py:36)
"""
    (one,) = dumps(body)
    assert functions(one) == ["<module>", "run_forever", "<listcomp>"]
    assert not one.native
    assert [(local.depth, local.name) for local in one.thread.locals] == [(2, ".0"), (1, "args"), (1, "old_agen_hooks")]


def test_a_text_of_several_lines_among_the_variables_of_pystack_ends_no_stack() -> None:
    body = """\
Traceback for thread 19343 (python3) [] (most recent call last):
    (Python) File "/m.py", line 36, in <module>
        main()
      Locals:
        doc: "hello

of two lines"
    (Python) File "/m.py", line 10, in wait
        ev.wait()
"""
    (one,) = (one for one in dumps(body) if one.engine == "pystack")
    assert functions(one) == ["<module>", "wait"]


def test_strace_with_relative_times_and_its_end() -> None:
    body = (
        "[pid 30745]      0.000009 futex(0x7f1a, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>\n"
        "[pid 30746]      0.000009 epoll_wait(4, strace: Process 30742 detached\n <detached ...>\n"
    )
    found = [one for one in strace.read(body) if isinstance(one, Event)]
    assert [(one.pid, one.fields["call"], one.fields["args"]) for one in found] == [
        (30745, "futex", "0x7f1a, FUTEX_WAIT_PRIVATE, 0, NULL"),
        (30746, "epoll_wait", "4"),
    ]


def test_notes_of_a_process_can_be_read() -> None:
    notes = b"pid 1\nState:\tS (sleeping)\nutime 100 stime 100\n"
    assert [one.threads[0].cpu_s for one in process_facts.read(notes)] == [2.0]


def test_a_stack_of_a_long_text_stays_whole_though_its_variables_are_left_out(tmp_path: pathlib.Path) -> None:
    """Of a text beyond the buffer only frames and what is right below them are read."""
    frame = "        name = 1\n" * 40
    body = "".join(f"#{at}  0x00007f in f{at} (x=1) at a.c:{at}\n{frame}" for at in range(10))
    file = tmp_path / "all.txt"
    file.write_text("\n".join(f'Thread {9999 - at} (Thread 0x7f (LWP {at + 1}) "w"):\n{body}' for at in range(400)))
    evidence = read(Source("all.txt", str(file)), Wish())
    assert isinstance(evidence, FileEvidence)
    assert [(one.thread.tid, len(one.thread.stack)) for one in evidence.dumps] == [(at + 1, 10) for at in range(400)]
