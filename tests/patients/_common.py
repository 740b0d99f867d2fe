"""What every patient shares: it moves to a neutral place, starts its ranks, waits for the others, and says that it is sick.

A patient runs as ``train.py`` in a directory of its own, so that nothing a tool reads from it (command line, frames,
working directory) tells what is wrong with it. Standard library only, Python 3.9+; torch is imported where it is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

Main = Callable[[int, int, "Crew"], None]
Launch = Callable[[Main, "dict[str, Any]", int], None]


class Crew:
    """One rank's view of the whole: where the ranks leave word for each other, and the way to say "ready"."""

    def __init__(self, rank: int, world: int, truth: dict[str, Any]) -> None:
        self.rank, self.world, self.truth = rank, world, truth
        self.place = pathlib.Path(os.environ["PATIENT_PLACE"])

    @property
    def sick(self) -> bool:
        """Whether this rank is the one that falls sick; alone, it always is."""
        return self.world == 1 or self.rank in self.truth["ranks"]

    def arrive(self, word: str = "there") -> None:
        """Leave word that this rank is about to take its last step."""
        draft = self.place / f".{word}.{self.rank}.{os.getpid()}"
        draft.write_text(str(os.getpid()))
        draft.rename(self.place / f"{word}.{self.rank}")

    def pid_of(self, rank: int, word: str = "there") -> int | None:
        """The pid a rank left with its word, None before it did."""
        try:
            return int((self.place / f"{word}.{rank}").read_text())
        except (OSError, ValueError):
            return None

    def await_word(self, word: str, ranks: Iterable[int]) -> list[int]:
        """Wait until these ranks left word, and give their pids."""
        ranks = tuple(ranks)
        wait_until(lambda: all(self.pid_of(rank, word) for rank in ranks))
        return [pid for pid in (self.pid_of(rank, word) for rank in ranks) if pid]

    def await_others(self, word: str = "there") -> None:
        """Wait until all other ranks left word and their main threads stand still."""
        await_still(self.await_word(word, (rank for rank in range(self.world) if rank != self.rank)))

    def ready(self, pids: Iterable[int] = (), **more: Any) -> None:
        """Say, as one JSON line, that the patient is sick now and what is true; ``pids`` are to blame as well."""
        truth = {**self.truth, "pids": list(pids)} if pids else self.truth
        target = int(os.environ["PATIENT_TARGET"])
        message = {"ready": True, "truth": truth, "target_pid": target, "place": str(self.place), **more}
        with open(os.environ["PATIENT_READY"], "a") as out:
            out.write(json.dumps(message) + "\n")


NEWNS = 0x20000  # CLONE_NEWNS of unshare(2): mounts of our own, which end with us


def with_small_shared_memory() -> None:
    """Give this process, and those that it starts, a /dev/shm of one MiB, as in a small container. Root only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEWNS):
        sys.exit("patient: no mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "shm", "/dev/shm"], check=True)


def outside(code: str, *args: object) -> None:
    """Start a Python program that is nobody's child and no member of the job; its directory is the patient's."""
    env = {name: value for name, value in os.environ.items() if not name.endswith(("RANK", "WORLD_SIZE"))}
    command = ["setsid", "--fork", sys.executable, "-c", code, *map(str, args)]
    subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL)


def wait_until(condition: Callable[[], Any], within: float = 100.0) -> None:
    """Ask again and again until the condition holds; end the program when it never does."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            sys.exit("patient: gave up waiting for its own ranks")
        time.sleep(0.02)


def await_still(pids: Iterable[int], states: str = "S") -> None:
    """Wait until these threads (a pid is its main thread) sleep and have not run for a third of a second."""
    tasks = [f"/proc/{pid}/task/{pid}" for pid in pids]
    last: list[Any] = [None, time.monotonic()]

    def still() -> bool:
        now = [_runs(task) for task in tasks]
        if now != last[0] or any(state not in states for state, _ in now):
            last[:] = [now, time.monotonic()]
        return time.monotonic() - last[1] > 0.33

    wait_until(still)


def _runs(task: str) -> tuple[str, str]:
    """A thread's state letter and its context switch counts (proc(5))."""
    with open(f"{task}/status") as file:
        lines = file.read().splitlines()
    state = next(line.split()[1] for line in lines if line.startswith("State:"))
    return state, " ".join(line for line in lines if "ctxt_switches" in line)


def join_group(rank: int, world: int) -> Any:
    """Import torch, join the default gloo group, and give ``torch.distributed``."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    return dist


def start(main: Main, truth: dict[str, Any], world: int = 1, launchers: tuple[str, ...] = ("alone",),
          by: Launch | None = None) -> None:  # fmt: skip
    """Move to a neutral place, then start ``main(rank, world, crew)`` under a launcher (PATIENT_LAUNCHER, or the first);
    ``by`` is the patient's own way to start its ranks."""
    if "PATIENT_PLACE" not in os.environ:
        _move()
    elif _numbered():
        rank, world = _numbered()
        main(rank, world, Crew(rank, world, truth))
    else:
        (by or _LAUNCHERS[os.environ.get("PATIENT_LAUNCHER") or launchers[0]])(main, truth, world)


def _numbered() -> tuple[int, ...]:
    """Rank and world size as the launcher gave them, nothing where it gave none."""
    for names in (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
        if names[0] in os.environ:
            return tuple(int(os.environ[name]) for name in names)
    return ()


def _move() -> None:
    """Copy the program to a directory of its own under a neutral name and go on there as the same process."""
    place = pathlib.Path(os.environ.pop("PATIENT_HOME", "") or tempfile.mkdtemp(prefix="job-"))
    home = pathlib.Path(__file__).parent
    shutil.copy(os.path.abspath(sys.argv[0]), place / "train.py")
    for shared in home.glob("_*.py"):
        shutil.copy(shared, place / shared.name)
    fd = int(os.environ.get("RANKSCOPE_READY_FD", "1"))
    os.set_inheritable(fd, True)
    pid = os.getpid()
    os.environ.update(PATIENT_PLACE=str(place), PATIENT_READY=f"/proc/{pid}/fd/{fd}", PATIENT_TARGET=str(pid))
    (place / "tmp").mkdir()
    os.environ["TMPDIR"] = str(place / "tmp")
    sys.stdout.flush()
    os.chdir(place)
    os.execv(sys.executable, [sys.executable, str(place / "train.py")])


def _alone(main: Main, truth: dict[str, Any], world: int) -> None:
    """One process without a rank: the process is named instead."""
    main(0, 1, Crew(0, 1, {"pids": [os.getpid()], **truth, "ranks": []} if truth["class"] else truth))


def _torchrun(main: Main, truth: dict[str, Any], world: int) -> None:
    args = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world)]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.execv(sys.executable, [sys.executable, *args, os.path.abspath(sys.argv[0])])


def _accelerate(main: Main, truth: dict[str, Any], world: int) -> None:
    """``accelerate launch``; its agent binds the port itself."""
    _meeting_point()
    args = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1", "--mixed_precision", "no",
            "--dynamo_backend", "no", "--num_processes", str(world), "--main_process_port",
            os.environ["MASTER_PORT"]]  # fmt: skip
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.execv(sys.executable, [sys.executable, *args, os.path.abspath(sys.argv[0])])


def _deepspeed(main: Main, truth: dict[str, Any], world: int) -> None:
    _meeting_point()
    args = ["-m", "deepspeed.launcher.runner", "--num_gpus", str(world), "--master_port", os.environ["MASTER_PORT"]]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.execv(sys.executable, [sys.executable, *args, os.path.abspath(sys.argv[0])])


def _mpirun(main: Main, truth: dict[str, Any], world: int) -> None:
    """Open MPI; its ranks know their number from its own variables only."""
    _meeting_point()
    program = shutil.which("mpirun") or "mpirun"
    args = ["--allow-run-as-root", "--oversubscribe", "-np", str(world), sys.executable, os.path.abspath(sys.argv[0])]
    os.execv(program, [program, *args])


def _spawn(main: Main, truth: dict[str, Any], world: int) -> None:
    import torch.multiprocessing as mp

    _meeting_point()
    mp.spawn(_spawned, args=(main, truth, world), nprocs=world)


def _spawned(rank: int, main: Main, truth: dict[str, Any], world: int) -> None:
    main(rank, world, Crew(rank, world, truth))


def _forked(main: Main, truth: dict[str, Any], world: int) -> None:
    _children("fork", main, truth, world)


def _spawned_plainly(main: Main, truth: dict[str, Any], world: int) -> None:
    _children("spawn", main, truth, world)


def _served(main: Main, truth: dict[str, Any], world: int) -> None:
    _children("forkserver", main, truth, world)


def _children(method: str, main: Main, truth: dict[str, Any], world: int) -> None:
    """A plain parent whose children carry no rank in their environment."""
    _meeting_point()
    context = multiprocessing.get_context(method)
    ranks = [context.Process(target=_spawned, args=(rank, main, truth, world)) for rank in range(world)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()


def _shell(main: Main, truth: dict[str, Any], world: int, missing: int = 0) -> None:
    """A plain parent that gives each child RANK and WORLD_SIZE, as a start script does."""
    _meeting_point()
    command = [sys.executable, os.path.abspath(sys.argv[0])]
    ranks = []
    for rank in range(world - missing):
        about = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
        ranks.append(subprocess.Popen(command, env={**os.environ, **about}))
    for process in ranks:
        process.wait()


def _short(main: Main, truth: dict[str, Any], world: int) -> None:
    """A start script that leaves out the last rank."""
    _shell(main, truth, world, missing=1)


_LAUNCHERS = {
    "alone": _alone, "torchrun": _torchrun, "spawn": _spawn, "forked": _forked, "spawned": _spawned_plainly,
    "served": _served, "shell": _shell, "short": _short, "accelerate": _accelerate, "deepspeed": _deepspeed, "mpirun": _mpirun,
}  # fmt: skip


def _meeting_point() -> None:
    """A free port below those that the kernel gives to whoever connects (32768 and above, ip(7)): none is lost meanwhile."""
    for port in random.sample(range(10_000, 32_000), 100):
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            return
    raise RuntimeError("of a hundred ports none is free")
