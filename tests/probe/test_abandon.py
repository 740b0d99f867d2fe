"""Work that may stand still is done in a child that can be left behind."""

from __future__ import annotations

import os
import pathlib
import signal

import pytest

from harness.waiting import wait_until
from rankscope.probe.abandon import Answer, Blocked, Send, abreast, guarded


def patiently(_: str) -> float:
    return 30.0


def test_answers_come_in_the_order_of_the_steps() -> None:
    """A step may say several things; their order is kept."""

    def work(step: str, send: Send) -> None:
        for number in range(3):
            send(f"{step}{number}".encode())

    said = [answer.said for answer in guarded(("a", "b"), work, patiently)]
    assert said == [b"a0", b"a1", b"a2", b"b0", b"b1", b"b2"]


def test_a_step_that_blocks_for_ever_costs_only_itself() -> None:
    """It is reported after its deadline, and the next steps are done by a new child."""

    def work(step: str, send: Send) -> None:
        if step == "stuck":
            signal.pause()
        send(step.encode())

    answers = list(guarded(("first", "stuck", "last"), work, lambda step: 0.3 if step == "stuck" else 30.0))
    assert [answer.step for answer in answers] == ["first", "stuck", "last"]
    assert answers[0].said == b"first"
    assert isinstance(answers[1].said, Blocked)
    assert "deadline" in answers[1].said.reason
    assert answers[2].said == b"last"


def test_what_a_step_said_before_it_blocked_is_kept() -> None:
    """Half an answer is worth having."""

    def work(step: str, send: Send) -> None:
        send(b"half")
        signal.pause()

    first, second = guarded(("only",), work, lambda _: 0.3)
    assert first == Answer("only", b"half")
    assert isinstance(second.said, Blocked)


def test_a_child_that_dies_costs_only_its_step() -> None:
    """A crash while reading one process is a gap of that process."""

    def work(step: str, send: Send) -> None:
        if step == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        send(step.encode())

    answers = list(guarded(("deadly", "last"), work, patiently))
    assert isinstance(answers[0].said, Blocked)
    assert "died" in answers[0].said.reason
    assert answers[1].said == b"last"


def test_a_step_that_raises_is_told_and_the_next_ones_are_done() -> None:
    """Even a defect of ours is only one answer less."""

    def work(step: str, send: Send) -> None:
        if step == "broken":
            os.close(2)  # what the interpreter prints of it is of no interest
            raise RuntimeError
        send(step.encode())

    answers = list(guarded(("broken", "last"), work, patiently))
    assert isinstance(answers[0].said, Blocked)
    assert answers[1].said == b"last"


def test_a_large_answer_comes_whole() -> None:
    """Answers may be larger than a pipe."""
    said = b"".join(
        answer.said
        for answer in guarded((1,), lambda step, send: send(b"x" * 3_000_000), lambda _: 30.0)
        if isinstance(answer.said, bytes)
    )
    assert said == b"x" * 3_000_000


def test_nothing_is_left_running_when_the_reader_stops_early() -> None:
    """Whoever leaves the loop ends the child too; on a busy machine the kernel may list it as dead for a while."""

    def work(step: int, send: Send) -> None:
        send(str(os.getpid()).encode())
        signal.pause()

    answers = guarded((1,), work, lambda _: 30.0)
    said = next(answers).said
    assert isinstance(said, bytes)
    answers.close()
    wait_until(lambda: _ended(int(said)), what="the end of the child")


def _ended(pid: int) -> bool:
    """Whether a process is gone, or only its exit status is left."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_child_keeps_what_it_learned_between_steps() -> None:
    """Symbols found for one process serve the next one."""
    memory: list[int] = []

    def work(step: int, send: Send) -> None:
        memory.append(step)
        send(str(memory).encode())

    assert [answer.said for answer in guarded((1, 2), work, lambda _: 30.0)] == [b"[1]", b"[1, 2]"]
    assert memory == []


def test_what_a_child_said_before_an_interruption_is_kept() -> None:
    """Ctrl-C while its parent does something else: what it has said by then is still told."""
    told = []
    heard, say = os.pipe()

    def work(step: int, send: Send) -> None:
        send(b"%d" % step)
        if step == 2:
            os.write(say, b".")

    def interrupted() -> None:
        os.read(heard, 1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        told.extend(guarded([0, 1, 2], work, lambda _: 30.0, meanwhile=interrupted))
    assert [answer.said for answer in told] == [b"0", b"1", b"2"]
    for end in (heard, say):
        os.close(end)


def test_rows_of_steps_are_done_at_the_same_time() -> None:
    """The first row ends only when the second one has done something, and the other way round."""
    heard, say = os.pipe()
    heard_back, say_back = os.pipe()

    def work(step: str, send: Send) -> None:
        if step == "asks":
            os.write(say, b"?")
            send(os.read(heard_back, 1))
        else:
            send(os.read(heard, 1))
            os.write(say_back, b"!")

    said = {answer.step: answer.said for answer in abreast((("asks",), ("answers",)), work, patiently)}
    assert said == {"asks": b"!", "answers": b"?"}
    for end in (heard, say, heard_back, say_back):
        os.close(end)


def test_a_step_that_blocks_holds_up_no_other_row() -> None:
    """Each row has its own child; a blocked one is replaced, the others are not disturbed."""

    def work(step: str, send: Send) -> None:
        if step == "stuck":
            signal.pause()
        send(str(os.getpid()).encode())

    rows = (("a", "stuck", "b"), ("c", "d"))
    told = {answer.step: answer.said for answer in abreast(rows, work, lambda step: 0.3 if step == "stuck" else 30.0)}
    assert isinstance(told.pop("stuck"), Blocked)
    assert told["c"] == told["d"]
    assert len(set(told.values())) == 3


def test_an_interruption_keeps_what_every_row_has_said() -> None:
    """Nothing that a child has said is lost, whichever it is."""
    told = []
    heard, say = os.pipe()

    def work(step: int, send: Send) -> None:
        send(b"%d" % step)
        os.write(say, b".")
        signal.pause()

    def interrupted() -> None:
        for _ in range(2):
            os.read(heard, 1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        told.extend(abreast([[0], [1]], work, lambda _: 30.0, meanwhile=interrupted))
    assert sorted(answer.step for answer in told) == [0, 1]
    for end in (heard, say):
        os.close(end)
