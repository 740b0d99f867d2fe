"""A module starts a thread while it is imported and waits for it; the thread imports the same module."""

import sys

from _common import start
from _ring import Ring

TRUTH = {"class": "import-lock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

PLUGINS = """
import threading

from _common import await_still

def scan():
    import plugins
    return plugins.names

def report(thread):
    crew.await_others()
    await_still([thread.native_id])
    crew.ready()

names = []
thread = threading.Thread(target=scan)
thread.start()
threading.Thread(target=report, args=(thread,), daemon=True).start()
thread.join()
"""


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        (crew.place / "plugins.py").write_text("from __main__ import crew\n" + PLUGINS)
        sys.modules["__main__"].crew = crew
        import plugins  # noqa: F401
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
