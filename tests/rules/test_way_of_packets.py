"""What stands on the way between hosts, and what is too long for it."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes


def test_a_sidecar_that_is_no_proxy_stands_between_nobody(tmp_path: pathlib.Path) -> None:
    """A container beside another one may do anything."""
    text = "connect() error 111 Connection refused, rank 3 of the pod's container\n"
    assert "network-blackhole" not in causes(
        tmp_path, metrics_sidecar="pod train-0: metrics sidecar ended\n", rank=text
    )


LINK = """1967: eth0: <BROADCAST,UP,LOWER_UP> mtu {} qdisc pfifo_fast state UP qlen 1000
    inet 10.3.0.15/16 scope global eth0
"""


@pytest.mark.parametrize(("size", "sick"), [(9001, True), (8900, True), (1500, False), (1450, False)])
def test_frames_that_are_longer_than_the_way_are_told(tmp_path: pathlib.Path, size: int, sick: bool) -> None:
    """What an interface sends is set beside what the other end takes."""
    texts = {"ip": LINK.format(size), "notes": "large answers never return\nthe tunnel between them: MTU 1500\n"}
    found = causes(tmp_path, **texts).get("network-blackhole")
    assert (found is not None and found.compared) is sick
