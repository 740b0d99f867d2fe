"""The launcher was SIGKILLed and its ranks live on; rank 1 stands in its own code, and the others wait for it."""

import os
import signal
import threading

from _common import start, wait_until
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)


def train(rank, world, crew):
    parent = os.getppid()
    if crew.sick:  # the launcher's end closes what "ready" is told through
        os.environ["PATIENT_READY"] = f"/proc/self/fd/{os.open(os.environ['PATIENT_READY'], os.O_WRONLY)}"
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        crew.await_others()
        os.kill(parent, signal.SIGKILL)
        wait_until(lambda: os.getppid() != parent)
        crew.ready(target_pid=crew.pid_of(0))
        threading.Event().wait()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
