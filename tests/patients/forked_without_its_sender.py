"""A server starts the thread that sends its figures, then forks its workers; a worker that flushes waits for that thread."""

import os
import queue
import socket
import threading

from _common import await_still, start

TRUTH = {"class": "fork-with-threads", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


class Figures:
    def __init__(self):
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
    callers = [socket.create_connection(server.getsockname()) for _ in workers]
    for caller in callers:
        caller.sendall(b"hello")
    await_still(workers)
    crew.ready(pids=workers)
    for caller in callers:
        caller.recv(7)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
