# ruff: noqa: E501  (a line of a log is one line)
"""Addresses and interfaces as messages name them, beside those that there are."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes

BRIDGE = "(Worker pid=4711, ip={ip}) [E socket.cpp:957] [c10d] The client socket has timed out after 600s while trying to connect to ({to}, 41237).\n"


def test_who_seeks_a_bridge_from_another_host_was_told_the_wrong_address(tmp_path: pathlib.Path) -> None:
    """Ray tells the address of each process; a bridge of Docker's is in reach of its own machine only."""
    found = causes(tmp_path, console=BRIDGE.format(ip="10.4.0.12", to="172.17.0.3"))
    assert found["wrong-interface"].compared


@pytest.mark.parametrize(("ip", "to"), [("10.4.0.12", "10.4.0.13"), ("172.17.0.4", "172.17.0.3")])
def test_one_network_is_no_wrong_address(tmp_path: pathlib.Path, ip: str, to: str) -> None:
    """Both are in one network."""
    found = causes(tmp_path, console=BRIDGE.format(ip=ip, to=to))
    assert "wrong-interface" not in found or not found["wrong-interface"].compared


@pytest.mark.parametrize(
    "line",
    [
        "WARN: NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=ens7 does not exist, trying another",
        "ERROR setting UCX_NET_DEVICES: 'mlx5_9:1' is not available",
        "fatal: MY_COMM_IFNAME=bond0 not found on this machine",
    ],
)
def test_a_setting_that_names_no_card_of_the_host_is_told(tmp_path: pathlib.Path, line: str) -> None:
    """Programs say so in few words."""
    assert "wrong-interface" in causes(tmp_path, console=f"$ torchrun train.py\n{line}\n")


@pytest.mark.parametrize(("address", "sick"), [("localhost", True), ("127.0.0.1", True), ("10.4.0.1", False)])
def test_a_tracker_on_loopback_is_sought_in_vain(tmp_path: pathlib.Path, address: str, sick: bool) -> None:
    """Rabit's workers say each time at which address they try."""
    tries = "".join(f"retry connect to ip(retry time {number}): [{address}]\n" for number in range(1, 5))
    found = causes(
        tmp_path, worker=f"{tries}connect to (failed): [{address}]\nSocket Connect Error:Connection timed out\n"
    )
    assert ("wrong-interface" in found) is sick
