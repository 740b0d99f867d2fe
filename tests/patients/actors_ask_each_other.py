"""Two actors of Ray wait for a method of each other in the middle of their own: each runs one at a time."""

import os
import time

from _common import Crew, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("ray",)
NEEDS = ("ray",)


def launch(main, truth, world):
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # else Ray ends its workers when others fill the memory
    import ray

    @ray.remote(num_cpus=0)
    class Part:
        def __init__(self, number):
            self.crew = Crew(number, 2, truth)

        def pid(self):
            return os.getpid()

        def count(self):
            return self.crew.rank + 7

        def update(self, other):
            self.crew.arrive("busy")
            self.crew.await_word("busy", range(2))
            self.crew.arrive()
            return ray.get(other.count.remote())

    ray.init(num_cpus=3, include_dashboard=False, object_store_memory=80_000_000)
    one, two = (Part.remote(number) for number in range(2))
    pids = ray.get([one.pid.remote(), two.pid.remote()])
    work = [one.update.remote(two), two.update.remote(one)]
    crew = Crew(0, 2, truth)
    crew.await_word("there", range(2))
    time.sleep(2)  # such waits never stand still
    crew.ready(pids)
    ray.get(work)


if __name__ == "__main__":
    start(lambda *_: None, TRUTH, launchers=LAUNCHERS, by=launch)
