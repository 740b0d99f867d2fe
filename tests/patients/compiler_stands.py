"""Rank 1 builds an extension with torch; the compiler waits for ever for an answer that nobody sends."""

import os
import threading

from _common import await_still, join_group, start, wait_until

TRUTH = {"class": "compile-worker", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch", "ninja", "g++")

COMPILER = """#!/bin/sh
case "$*" in *-c*) touch {place}/asked; read answer < {place}/answers;; esac
exec g++ "$@"
"""


def report(crew):
    wait_until((crew.place / "asked").exists)
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def build(crew):
    os.mkfifo(crew.place / "answers")
    compiler = crew.place / "compiler"
    compiler.write_text(COMPILER.format(place=crew.place))
    compiler.chmod(0o755)
    os.environ.update(CXX=str(compiler), TORCH_EXTENSIONS_DIR=str(crew.place / "built"))
    (crew.place / "part.cpp").write_text("int seven() { return 7; }\n")
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    from torch.utils.cpp_extension import load

    load("part", [str(crew.place / "part.cpp")], is_python_module=False)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    dist.all_reduce(torch.ones(7))
    if crew.sick:
        build(crew)
    crew.arrive()
    dist.all_reduce(torch.ones(11))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
