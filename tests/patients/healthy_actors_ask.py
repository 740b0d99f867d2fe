"""Healthy: an actor of Ray waits for the methods of another one, which take their time; the program waits for both."""

import os
import time

from _common import Crew, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("ray",)
NEEDS = ("ray",)


def launch(main, truth, world):
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # else Ray ends its workers when others fill the memory
    import ray

    @ray.remote(num_cpus=0)
    class Source:
        def count(self, step):
            for _ in range(7):
                time.sleep(0.1)
            return step % 7

    @ray.remote(num_cpus=0)
    class Learner:
        def update(self, source):
            return sum(ray.get(source.count.remote(step)) for step in range(10_007))

    ray.init(num_cpus=3, include_dashboard=False, object_store_memory=80_000_000)
    source = Source.remote()
    ray.get(source.count.remote(0))
    work = Learner.remote().update.remote(source)
    time.sleep(2)
    Crew(0, 1, truth).ready()
    ray.get(work)


if __name__ == "__main__":
    start(lambda *_: None, TRUTH, launchers=LAUNCHERS, by=launch)
