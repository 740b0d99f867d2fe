"""Ranks guard an index by a lock file and sometimes forget it; who finds one of a certain age breaks it and goes on."""

import contextlib
import os
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow"]}
LAUNCHERS = ("shell", "forked")
NEEDS = ()
EXPIRES_S = 2.5


@contextlib.contextmanager
def leased(path, seconds):
    """A lock for a while: an older file belongs to nobody."""
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - os.stat(path).st_mtime > seconds:
                    os.unlink(path)
            time.sleep(0.1)
    yield
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def train(rank, world, crew):
    path = crew.place / "index.lock"
    ring = Ring(rank, world)
    for step in range(100_003):
        if rank == step % world:
            with leased(path, EXPIRES_S):
                (crew.place / "index").write_text(f"{step}")
            if step % 2:
                path.touch()
        ring.add(step)
        if step == 5 and rank == world - 1:
            # Who waits for what expires counts as stuck later than that.
            threading.Thread(target=crew.ready, kwargs={"stuck_after": 2 * EXPIRES_S}, daemon=True).start()
        time.sleep(0.05)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
