"""Shared fixtures: patients that are always ended, and our own merged stacks when a test of one fails."""

from __future__ import annotations

import pathlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import able, judging
from harness import patient as patients
from harness.patient import Patient

LAB = "tests/lab/"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is for a worker of pytest-xdist and a shell's background job; what they start would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)
ADMITTED = pytest.StashKey[list[Patient]]()


@pytest.fixture
def admit(request: pytest.FixtureRequest) -> Iterator[Callable[..., Patient]]:
    """Start a patient by name; it and everything it started is ended with the test."""
    admitted = request.node.stash.setdefault(ADMITTED, [])

    def start(name: str, **options: Any) -> Patient:
        card = patients.card(name)
        launcher = options.get("launcher") or card.launchers[0]
        lacking = able.missing(card, launcher, options.get("python", sys.executable))
        if lacking:
            pytest.skip(f"{name} under {launcher} needs {', '.join(lacking)}, which this machine has not")
        admitted.append(patients.start(card.path, **options))
        return admitted[-1]

    yield start
    left = set().union(*(patient.end() for patient in admitted))
    assert not left, f"processes {sorted(left)} could not be ended"


class OneLab(LoadScopeScheduling):
    """Tests go to whichever worker is free; those of the lab all to one, since a machine has room for one lab."""

    def _split_scope(self, nodeid: str) -> str:
        return LAB if nodeid.startswith(LAB) else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneLab:
    """Who gives tests to workers where they run beside each other (``-n``)."""
    return OneLab(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Attach what our own tool sees of the patients to a test that failed or ran out of time."""
    report = yield
    if report.when == "call" and report.failed:
        for patient in item.stash.get(ADMITTED, []):
            report.sections.append(("merged stacks", merged_stacks(patient)))
    return report


def merged_stacks(patient: Patient) -> str:
    """What ``rankscope stacks`` says of the patient now: we are our own first user."""
    return judging.text("stacks", f"pid:{patient.target}", "--children", "--color", "never")
