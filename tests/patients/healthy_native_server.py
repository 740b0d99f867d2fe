"""Healthy: a server that is a C library: Python waits in its call until the thread of the library that listens has ended."""

import ctypes
import pathlib
import subprocess
import threading

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)
NEEDS = ("gcc",)

SOURCE = """
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended;
static void *listens(void *unused) {
    struct sockaddr_in any = {.sin_family = AF_INET};
    int door = socket(AF_INET, SOCK_STREAM, 0), caller;
    bind(door, (struct sockaddr *)&any, sizeof any);
    listen(door, 8);
    while ((caller = accept(door, 0, 0)) >= 0) close(caller);
    pthread_mutex_lock(&guard);
    ended = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&guard);
    return 0;
}
void serve(void) {
    pthread_t door;
    pthread_create(&door, 0, listens, 0);
    pthread_mutex_lock(&guard);
    while (!ended) pthread_cond_wait(&changed, &guard);
    pthread_mutex_unlock(&guard);
}
"""


def build(folder):
    code, library = folder / "doors.c", folder / "doors.so"
    code.write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-pthread", str(code), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def train(rank, world, crew):
    native = build(pathlib.Path(crew.place))
    threading.Timer(1, crew.ready).start()
    native.serve()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
