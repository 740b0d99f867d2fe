"""Loops that spin over a descriptor at its end, as strace shows them; and loops that get rid of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import case_of
from rankscope.rules.told import descriptor_never_taken_out

HUP = "epoll_wait(7, [{events=EPOLLIN|EPOLLHUP, data={u32=31, u64=31}}], 64, 2000) = 1\n"
OLD = "epoll_wait(7, {{EPOLLHUP, {u32=31, u64=93}}}, 1023, 900) = 1\n"
POLL = "poll([{fd=31, events=POLLIN}], 1, -1)   = 1 ([{fd=31, revents=POLLNVAL}])\n"
ELSE = "recvfrom(12, 0x55d0, 65536, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable)\n"
VAIN = "epoll_ctl(7, EPOLL_CTL_DEL, 44, 0x7ffd) = -1 ENOENT (No such file or directory)\n"
TOP = " 4711 app       20   0  612m  90m  30m R  100  0.4  91:12.40 worker\n"


def found(folder: Path, strace: str, top: str = "") -> Certainty | None:
    """How sure the rule is of what was saved."""
    (folder / "strace.txt").write_text(strace)
    (folder / "top.txt").write_text(top or "nothing else was looked at\n")
    said = list(descriptor_never_taken_out.check(case_of(gather([folder]))))
    return said[0].certainty if said else None


@pytest.mark.parametrize("line", [HUP, OLD, POLL])
def test_a_descriptor_that_is_reported_and_never_taken_out(line: str, tmp_path: Path) -> None:
    assert found(tmp_path, (line + ELSE) * 3) is Certainty.POSSIBLE
    assert found(tmp_path, line + ELSE, TOP) is Certainty.LIKELY
    assert found(tmp_path, line + ELSE) is None


@pytest.mark.parametrize(
    "end",
    ['read(31, "", 4096)                        = 0\n', "close(31)                               = 0\n",
     "epoll_ctl(7, EPOLL_CTL_DEL, 31, 0x7ffd) = 0\n"],
)  # fmt: skip
def test_a_descriptor_whose_end_is_read_is_well(end: str, tmp_path: Path) -> None:
    assert found(tmp_path, (HUP + end) * 3, TOP) is None


@pytest.mark.parametrize(
    ("said", "sure"),
    [
        ("the worker takes 99.8 % CPU", Certainty.LIKELY),
        ("CPU usage of the worker: 100%", Certainty.LIKELY),
        ("Downloading: 95%|#########5| 950/1000", None),
        ("/dev/sda1  98% /var", None),
    ],
)
def test_only_a_cpu_that_is_used_up_makes_one_line_enough(said: str, sure: Certainty | None, tmp_path: Path) -> None:
    assert found(tmp_path, HUP + ELSE, said + "\n") is sure


def test_descriptors_that_are_not_in_the_set(tmp_path: Path) -> None:
    assert found(tmp_path, VAIN * 3, TOP) is Certainty.LIKELY
    assert found(tmp_path, VAIN * 2, TOP) is None
