"""Where the ranks of a run meet: what is equal on all of its hosts and differs between two runs.

Read from the environment of its ranks and from its launcher's command line. Two hosts that share one of these words hold
parts of one job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from . import mpi_family

_HERE = {"", "localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104 - addresses that mean another place on each host
_NO_ID = {"", "none"}  # torchrun's run id where nobody gave one
DEFAULT_PORT = "29500"  # torchrun's, for its own rendezvous and for the static one


def meeting(environs: Iterable[Mapping[str, str]], command: tuple[str, ...]) -> tuple[str, ...]:
    """Sorted words such as ``master:node1:29500``, ``run:4711``, ``slurm:12.0``; empty where nothing leaves the host."""
    family = mpi_family.of_command(command)
    found = {*_of_command(command), *([f"mpi:{family}"] if family else [])}
    for environ in environs:
        found.update(_of_environ(environ))
    return tuple(sorted(found))


def _of_environ(environ: Mapping[str, str]) -> Iterator[str]:
    address, port = environ.get("MASTER_ADDR", ""), environ.get("MASTER_PORT", "")
    if address not in _HERE and port:
        yield f"master:{address}:{port}"
    if environ.get("TORCHELASTIC_RUN_ID", "") not in _NO_ID:
        yield f"run:{environ['TORCHELASTIC_RUN_ID']}"
    if "PMIX_NAMESPACE" in environ:
        yield f"pmix:{environ['PMIX_NAMESPACE']}"
    if "SLURM_JOB_ID" in environ and "SLURM_STEP_ID" in environ:
        yield f"slurm:{environ['SLURM_JOB_ID']}.{environ['SLURM_STEP_ID']}"


def _of_command(command: tuple[str, ...]) -> Iterator[str]:
    given = options(command)
    endpoint = given.get("rdzv-endpoint", "")
    host, _, port = endpoint.rpartition(":") if ":" in endpoint else (endpoint, "", DEFAULT_PORT)
    if host not in _HERE:
        yield f"endpoint:{host}:{port}"
    address = given.get("master-addr", given.get("main-process-ip", ""))
    if address not in _HERE:
        yield f"master:{address}:{given.get('master-port', given.get('main-process-port', DEFAULT_PORT))}"
    if given.get("rdzv-id", "") not in _NO_ID:
        yield f"run:{given['rdzv-id']}"


def options(command: tuple[str, ...]) -> dict[str, str]:
    """Long options of a command line up to its script: ``--name value`` and ``--name=value``, underscores as dashes."""
    found: dict[str, str] = {}
    for i, part in enumerate(command):
        if part.endswith(".py") and i and not command[i - 1].startswith("--") and "/torch/" not in part:
            break
        name, equals, value = part.partition("=")
        if name.startswith("--"):
            following = command[i + 1] if i + 1 < len(command) else ""
            found.setdefault(name[2:].replace("_", "-"), value if equals else following)
    return found
