"""A program that stands alone, by what somebody tried or typed: a thread that ended, an input nobody gives, a listener."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis, Kind
from rankscope.pipeline import judge


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files, whose names are as people head what they paste."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


def rules(found: Diagnosis) -> set[str]:
    """The rules that name a cause."""
    return {one.rule for one in found.findings if one.kind is Kind.CAUSE}


@pytest.mark.parametrize(
    "tried",
    [
        "once the poller thread was stopped by hand the process exited",
        "the service ended as well: after the reconnect timer was cancelled, it went away",
        "as soon as the keep-alive thread (tid 88) is killed, the worker ends and is restarted",
    ],
)
def test_a_program_that_ends_with_one_thread(tried: str, tmp_path: Path) -> None:
    said = "the server gets SIGTERM for a restart and does not end\nits threads: poller (tid 87), timer (tid 88)\n"
    found = judged(tmp_path, service=said + tried + "\n")
    assert rules(found) == {"ends-never"}


def test_a_worker_that_was_restarted_as_asked(tmp_path: Path) -> None:
    found = judged(
        tmp_path, service="the worker was asked to stop, it ended and the worker was restarted; no progress bar\n"
    )
    assert "helper-gone" not in rules(found)


@pytest.mark.parametrize(
    "said",
    [
        "no output, does not end\nstarted without a file; the tool reads its rows from stdin\n",
        "it prints no output and hangs; nothing is piped into it, and it waits for standard input\n",
        "the formatter stands still; it reads from stdin, Ctrl-D ends it\n",
    ],
)
def test_a_filter_into_which_nothing_is_piped(said: str, tmp_path: Path) -> None:
    found = judged(tmp_path, command="$ fmtlog\n", observed=said)
    assert found.verdict is not None
    assert found.verdict.cls == "rank-stuck-in-user-code"
    assert rules(found) == {"person-asked"}


def test_a_child_that_is_given_its_input(tmp_path: Path) -> None:
    said = "the child reads from stdin; run with stdin=PIPE and no input it hangs in pipe_write\n"
    assert "person-asked" not in rules(judged(tmp_path, observed=said))


@pytest.mark.parametrize(
    "said", ["no output, does not end", "prints no output and never returns", "without output, it cannot finish"]
)
def test_no_output_is_not_less_output(said: str, tmp_path: Path) -> None:
    assert "pipe-full" not in rules(
        judged(tmp_path, command="$ tool | tee log\n", observed=said + "; started by a pipe\n")
    )


def test_less_output_that_works(tmp_path: Path) -> None:
    found = judged(
        tmp_path, observed="Popen with a PIPE hangs in wait(); without the output of the child it works fine\n"
    )
    assert "pipe-full" in rules(found)


GREEN = """\
from {library} import monkey
monkey.patch_all()
def keys():
    while True:
        line = {read}
        handle(line)
def serve():
    while True:
        tick()
spawn(keys)
serve()
"""
ASYNC = """\
import asyncio
async def keys(queue):
    while True:
        line = {read}
        await queue.put(line)
asyncio.run(main())
"""


@pytest.mark.parametrize("read", ["sys.stdin.readline()", "open('/dev/tty').readline()", "input('> ')"])
@pytest.mark.parametrize("program", [GREEN, ASYNC])
def test_a_task_that_reads_what_is_typed(program: str, read: str, tmp_path: Path) -> None:
    code = program.format(library="gevent", read=read)
    found = judged(tmp_path, program=code, console="(the other task prints nothing until a line is typed)\n")
    assert "loop-held-by-a-step" in rules(found)


@pytest.mark.parametrize(
    "code",
    [
        ASYNC.format(read="await asyncio.to_thread(sys.stdin.readline)"),
        ASYNC.replace("async def keys", "def keys").format(read="sys.stdin.readline()"),
        GREEN.format(library="gevent", read="FileObjectThread(sys.stdin).readline()"),
    ],
)
def test_a_task_that_leaves_the_loop_to_others(code: str, tmp_path: Path) -> None:
    found = judged(tmp_path, program=code, console="(the other task prints nothing until a line is typed)\n")
    assert "loop-held-by-a-step" not in rules(found)


@pytest.mark.parametrize(
    "said",
    [
        "session listener: entered CLOSED\nsession listener: entered SUSPENDED state\n",
        "KazooState SUSPENDED\n",
        "connection state changed to SUSPENDED, requests are held back\n",
    ],
)
def test_a_connection_that_is_suspended_is_no_process(said: str, tmp_path: Path) -> None:
    assert "stopped-from-outside" not in rules(judged(tmp_path, log=said + "(nothing more)\n"))


def test_a_job_that_is_suspended(tmp_path: Path) -> None:
    assert "stopped-from-outside" in rules(judged(tmp_path, accounts="8812  train  gpu  SUSPENDED  01:12:10\n"))


@pytest.mark.parametrize(
    "said",
    ["self.lease.release() does not return", "client.get('/leader') never returns", "-> bus.request(msg): blocks"],
)
def test_a_listener_that_asks_its_own_client(said: str, tmp_path: Path) -> None:
    found = judged(tmp_path, program="client.add_listener(on_state)\n", observed=said + "\n")
    assert "lock-taken-twice" in rules(found)


def test_a_call_that_does_not_return_elsewhere(tmp_path: Path) -> None:
    found = judged(tmp_path, program="client.start()\n", observed="client.get('/leader') never returns\n")
    assert "lock-taken-twice" not in rules(found)


@pytest.mark.parametrize(
    "cure",
    ["with stdin=subprocess.DEVNULL it works", "stdin given as DEVNULL: 0.8 s", "tool run < /dev/null ends at once"],
)
def test_a_child_that_ends_when_its_input_is_empty(cure: str, tmp_path: Path) -> None:
    found = judged(tmp_path, server_over_stdio=f"a child of sys.executable: no output, does not end\n{cure}\n")
    assert "person-asked" in rules(found)


@pytest.mark.parametrize("cure", ["with stdin=subprocess.DEVNULL it hangs too", "stdin=DEVNULL was set from the start"])
def test_a_child_that_stands_with_an_empty_input(cure: str, tmp_path: Path) -> None:
    found = judged(tmp_path, server_over_stdio=f"a child of sys.executable: no output, does not end\n{cure}\n")
    assert "person-asked" not in rules(found)
