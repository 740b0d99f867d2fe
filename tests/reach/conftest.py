"""Fake nodes: answers made by the agent's own writer, played back by stand-ins for ssh and srun."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from rankscope.model import wire
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Effort, Host, Job
from rankscope.probe.post import Post

STUBS = pathlib.Path(__file__).resolve().parents[1] / "stubs"
FRAMES = (Frame("<module>", "/home/u/train.py", 30), Frame("train", "/home/u/train.py", 12))
ALL_REDUCE = Frame("all_reduce", "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 2500)
WAIT_FOR_FLAG = Frame("wait_for_flag", "/home/u/train.py", 7)


def answer(
    host: str, ranks: tuple[int, ...], world: int = 6, meeting: tuple[str, ...] = ("master:node1:29500",),
    sweeps: int = 2, missing: tuple[int, ...] = (), still_s: float = 90.0, asleep: tuple[int, ...] = (),
    boot: str = "", unread: bool = False, engine: str = "memory",
) -> bytes:  # fmt: skip
    """What an agent on a host with these ranks sends; ``missing`` disappear between the sweeps, nobody's stacks
    can be read when ``unread``."""
    out: list[bytes] = []
    post = Post(out.append)
    post.begin(host)
    writer = wire.Writer(post.text)
    job = Job("torchrun", None, world, "train.py", ",".join(map(str, ranks)), meeting)
    writer.header("test", job, (Host(host, "6.1", boot or f"boot-of-{host}"),))
    # Pids are equal on all hosts on purpose: only host and pid together name a process.
    refs = {rank: ProcessRef(host, 100 + i, 5) for i, rank in enumerate(ranks)}
    for rank, ref in refs.items():
        writer.process(Process(ref, Role.RANK, rank=rank, local_rank=0, world_size=world, comm="python"))
    post.flush()
    for number in range(sweeps):
        alive = {rank: ref for rank, ref in refs.items() if not (number and rank in missing)}
        writer.sweep(number, 1000.0 + number)
        writer.present(tuple(alive.values()))
        for rank, ref in alive.items():
            last = WAIT_FOR_FLAG if rank in asleep else ALL_REDUCE
            thread = PythonThread(ref.pid, Stack((*FRAMES, last)), "MainThread", Trust.EXACT)
            if unread:
                writer.gap(Gap("python-stacks", Why.UNSUPPORTED, "Python 3.7 is not known", process=ref))
            else:
                writer.evidence(ref, PythonStacks((thread,), engine))
            task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=9, involuntary=1, still_s=still_s)
            writer.evidence(ref, Threads((task,), uptime_s=500.0))
        post.flush()
    writer.end(Effort(1.2, 1.0))
    post.end()
    return b"".join(out)


class Site:
    """A folder of answers and modes that the stand-ins play back."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def host(self, name: str, ranks: tuple[int, ...] = (), mode: str = "", **about: object) -> None:
        (self.folder / f"{name}.answer").write_bytes(answer(name, ranks, **about))  # type: ignore[arg-type]
        if mode:
            (self.folder / f"{name}.mode").write_text(mode)

    def second(self, name: str, ranks: tuple[int, ...] = (), **about: object) -> None:
        """What a host answers when it is asked once more."""
        (self.folder / f"{name}.again").write_bytes(answer(name, ranks, **about))  # type: ignore[arg-type]

    def say(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def asked(self, name: str) -> str:
        path = self.folder / f"{name}.asked"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def site(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("PATH", f"{STUBS}:/usr/bin:/bin")
    monkeypatch.setenv("STUB_DIR", str(tmp_path))
    for name in ("WCOLL", "FANOUT", "PDSH_SSH_ARGS_APPEND"):
        monkeypatch.delenv(name, raising=False)
    return Site(tmp_path)


@pytest.fixture
def make_answer() -> Callable[..., bytes]:
    return answer
