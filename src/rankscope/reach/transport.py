"""What every way of reaching the nodes offers: one file per transport in this folder, with ``TRANSPORT``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..model.gap import Gap
from .answers import Answers
from .ship import Parcel

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How the user wants the nodes to be reached; texts are the user's own words and go in as they are."""

    ssh_options: str = ""
    sudo: bool = False
    remote_python: str = ""
    env_setup: str = ""
    fanout: int = 64
    raw_dir: Path | None = None
    send_py_spy: bool = True
    follow: bool = False
    tree: bool = False

    def words(self) -> str:
        """The same options as a shell reads them, to repeat them in a command that is shown."""
        given = (
            ("--ssh-options", self.ssh_options),
            ("--remote-python", self.remote_python),
            ("--env-setup", self.env_setup),
        )
        said = [f"{name}={value}" for name, value in given if value]
        said += ["--sudo"] if self.sudo else []
        said += ["--follow-hosts"] if self.follow else []
        said += ["--tree"] if self.tree else []
        return shlex.join([*said, *([] if self.send_py_spy else ["--no-send-py-spy"])])


@dataclass(frozen=True)
class Hosts:
    """Who is to be asked. ``gaps`` are hosts of the job that it is no use to ask; ``whole`` says these are all of them.

    ``slurm_job`` are the numbers of a Slurm job, the one to start a step in first; ``slurm_parts`` are the parts of a
    heterogeneous job, each with its hosts; ``slurm_owner`` is the user whose job it is; ``slurm_ending`` says that Slurm
    ends it. ``mpi_job`` is the name by which the nodes know what one mpirun has started there; ``more`` says who knows the
    hosts that are not known here.
    """

    names: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    slurm_job: tuple[str, ...] = ()
    slurm_parts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    slurm_owner: str = ""
    slurm_ending: bool = False
    mpi_job: str = ""
    more: str = ""
    whole: bool = False

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.names, *(gap.host for gap in self.gaps if gap.host is not None))


@dataclass(frozen=True)
class Call:
    """One parcel on its way to many nodes; ``idle`` is called now and then while everybody is waited for."""

    parcel: Parcel
    hosts: Hosts
    deadline_s: float
    options: Options
    progress: Progress = lambda _: None
    idle: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Transport:
    """``find(spec, options)`` says which hosts a target stands for; ``ask(call, answers)`` fills the answers and returns by
    the deadline, whatever the nodes do."""

    name: str
    example: str
    find: Callable[[str, Options], Hosts]
    ask: Callable[[Call, Answers], None]


@functools.cache
def transports() -> dict[str, Transport]:
    """All transports by the word that stands before the colon of a target."""
    from .. import reach

    found = {}
    for info in pkgutil.iter_modules(reach.__path__):
        transport = getattr(importlib.import_module(f"{reach.__name__}.{info.name}"), "TRANSPORT", None)
        if transport is not None:
            found[transport.name] = transport
    return found
