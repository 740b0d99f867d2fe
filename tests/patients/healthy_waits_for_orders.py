"""Healthy: the main thread takes orders from a queue that is empty most of the time; another thread brings them."""

import queue
import threading
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def listen(orders, crew):
    time.sleep(1.5)
    crew.ready(stuck_after=1)
    while True:
        time.sleep(7)
        orders.put("next")


def train(rank, world, crew):
    orders = queue.Queue()
    threading.Thread(target=listen, args=(orders, crew), daemon=True).start()
    while orders.get():
        pass


if __name__ == "__main__":
    start(train, TRUTH, world=1, launchers=LAUNCHERS)
