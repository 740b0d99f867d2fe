"""A store that listened, whose owner is done, and at whose port the others are refused."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import judge

LISTENS = "11:59:40 checks ok\n11:59:41 store listening on 0.0.0.0:{port}, rank 0\n11:59:55 checks finished\n11:59:55 {last}\n"
REFUSED = (
    "[W214 12:00:09.771 socket.cpp:755] [c10d] The client socket has failed to connect to [n0.cluster]:29500 "
    "(errno: 111 - Connection refused).\n"
)
GAVE_UP = (
    "[E214 12:10:09.810 socket.cpp:1019] [c10d] The client socket has timed out after 600000ms while trying to connect "
    "to (n0.cluster, 29500).\n"
)


@pytest.mark.parametrize(
    ("port", "last", "left"),
    [
        (29500, "bye", True),
        (29500, "done", True),
        (29500, "waiting for 12 ranks", False),  # it is there still: another address, a firewall
        (29501, "bye", False),
    ],
)
def test_the_end_of_who_held_it_tells_why_others_are_refused(
    port: int, last: str, left: bool, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "n0 stdout.txt").write_text(LISTENS.format(port=port, last=last))
    (tmp_path / "n3 stderr.txt").write_text(REFUSED * 3 + GAVE_UP)
    likely = {one.cls for one in judge(gather([tmp_path])).findings if one.certainty is Certainty.LIKELY}
    assert ("store-timeout" in likely) is left
