"""Healthy: a server with a thread that sends its figures; each worker that it forks starts one of its own, and flushes."""

import os
import queue
import socket
import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone",)


class Figures:
    def __init__(self):
        self.begin()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self):
        self.waiting = queue.Queue()
        threading.Thread(target=self.send, name="figures", daemon=True).start()

    def send(self):
        with open("figures.txt", "a") as sink:
            while True:
                sink.write(f"{self.waiting.get()}\n")
                self.waiting.task_done()

    def add(self, figure):
        self.waiting.put(figure)
        self.waiting.join()


def answer(server, figures):
    while True:
        caller, _ = server.accept()
        with caller:
            figures.add(len(caller.recv(1009)))
            caller.sendall(b"done")


def train(rank, world, crew):
    server = socket.create_server(("127.0.0.1", 0))
    figures = Figures()
    figures.add(0)
    workers = []
    for _ in range(3):
        workers.append(os.fork())
        if workers[-1] == 0:
            answer(server, figures)
    await_still(workers)
    crew.ready()
    for _ in range(100_003):
        with socket.create_connection(server.getsockname()) as caller:
            caller.sendall(b"hello")
            caller.recv(7)
        time.sleep(0.01)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
