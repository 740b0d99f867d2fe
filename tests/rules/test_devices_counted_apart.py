"""Services of a node and its driver count devices."""

from __future__ import annotations

import pathlib

import pytest

from harness.texts import causes


@pytest.mark.parametrize(
    ("line", "sick"),
    [
        ("Number of GPUs detected on the bus 7 is not equal to the number of GPUs of the driver 8", True),
        ("agent: number of devices in sysfs: 15 does not match the count of the runtime, 16", True),
        ("Number of GPUs per node 8 is not set by the user, default 8", False),
    ],
)  # fmt: skip
def test_a_service_that_counts_other_devices_than_the_driver(tmp_path: pathlib.Path, line: str, sick: bool) -> None:
    """Two counts of one thing differ."""
    assert ("driver-not-ready" in causes(tmp_path, agent=f"{line}\nexit code 1\n")) is sick
