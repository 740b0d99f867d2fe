"""Healthy: rank 2 waits in a C library for a native thread that works through many pieces; Python sees one call."""

import ctypes
import pathlib
import subprocess

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "slow", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)
NEEDS = ("gcc",)

SOURCE = """
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long left;
static double sum;
static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&guard);
        long piece = left--;
        if (piece <= 1) pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&guard);
        if (piece < 1) return 0;
        for (long i = 1; i < 3000017; i++) sum += 1.0 / (piece + i);
        usleep(40000);
    }
}
double convert(long pieces) {
    pthread_t worker;
    left = pieces;
    pthread_create(&worker, 0, work, 0);
    pthread_mutex_lock(&guard);
    while (left > 0) pthread_cond_wait(&changed, &guard);
    pthread_mutex_unlock(&guard);
    return sum;
}
"""


def build(folder):
    code, library = folder / "kernels.c", folder / "kernels.so"
    code.write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-pthread", str(code), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 2:
        native = build(pathlib.Path(crew.place))
        native.convert.restype = ctypes.c_double
        crew.await_others()
        crew.ready()
        native.convert(1_000_003)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
