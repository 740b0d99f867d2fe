"""torchrun, ``python -m torch.distributed.run`` and everything built on torch's elastic agent (accelerate launch).

The agent has no RANK; torch 2.13 names it ``pt_elastic``. Its ranks carry RANK, WORLD_SIZE and TORCHELASTIC_RUN_ID from
exec on, and so do their loader workers, spawned or forked. Ranks outlive an agent that was killed: then the job has no root,
and what tells them from those of other runs is where they meet, which attempt they are, and the folder that their agent made.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...model.ranks import number_of
from ..launcher import Claim, Launcher, Place, number, ranks_by_environ, run_folder, runs, with_descendants
from ..table import Seen, Table

_COMMON = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")


def _place(environ: Mapping[str, str]) -> Place | None:
    rank = number(environ, "RANK")
    if rank is None or "TORCHELASTIC_RUN_ID" not in environ:
        return None
    return Place(
        rank, number(environ, "LOCAL_RANK"), number(environ, "WORLD_SIZE"), number(environ, "LOCAL_WORLD_SIZE")
    )


def _is_agent(seen: Seen) -> bool:
    if seen.comm == "pt_elastic":
        return True
    names = [os.path.basename(part) for part in seen.command[:3]]
    module = seen.command[seen.command.index("-m") + 1 :][:1] if "-m" in seen.command else ()
    return seen.python and (
        "torchrun" in names
        or tuple(module) in {("torch.distributed.run",), ("torch.distributed.launch",), ("accelerate.commands.launch",)}
        or ("accelerate" in names and "launch" in seen.command)
    )


def _called(table: Table, agent: int | None) -> str:
    """What the user typed: accelerate runs torch's agent inside its own process."""
    command = table.seen[agent].command if agent is not None else ()
    words = {os.path.basename(part) for part in command[:3]}
    return "accelerate" if words & {"accelerate", "accelerate.commands.launch"} else "torchrun"


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    ranks = ranks_by_environ(table, free, _place)
    jobs: dict[tuple[int | None, tuple[str, ...]], dict[int, Place]] = defaultdict(dict)
    for pid, place in ranks.items():
        agent = next((seen.pid for seen in table.above(pid) if _is_agent(seen)), None)
        jobs[agent, _run(table.seen[pid].environ or {}) if agent is None else ()][pid] = place
    for pid in free:
        living = table.seen[pid].state not in "ZX"  # one that nobody reaped is no job any more
        if living and _is_agent(table.seen[pid]) and not any(_is_agent(seen) for seen in table.above(pid)):
            jobs.setdefault((pid, ()), {})  # an agent without ranks: waiting at the rendezvous, or its ranks are gone
    for agent, places in _starts(table, jobs):
        roots = (*places, agent) if agent is not None else tuple(places)
        yield Claim(
            _called(table, agent), agent, places, with_descendants(table, roots),
            world_size=max((place.world_size or 0 for place in places.values()), default=0) or None,
            local_world_size=max((place.local_world_size or 0 for place in places.values()), default=0)
            or (_asked_for(table.seen[agent].command) if agent is not None else None),
        )  # fmt: skip


def _starts(
    table: Table, jobs: Mapping[tuple[int | None, tuple[str, ...]], dict[int, Place]]
) -> Iterator[tuple[int | None, dict[int, Place]]]:
    """The ranks of each agent, and those without one by the run that they are left of."""
    for (agent, _), places in jobs.items():
        yield from ((agent, part) for part in (runs(table, places) if agent is None else [places]))


def _run(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What the ranks of one attempt of one run have in common."""
    return (*(environ.get(name, "") for name in _COMMON), run_folder(environ))


def _asked_for(command: tuple[str, ...]) -> int | None:
    """``--nproc-per-node N`` on the agent's own command line."""
    for i, part in enumerate(command):
        name, _, value = part.partition("=")
        if name.replace("_", "-") in {"--nproc-per-node", "--num-processes"}:
            value = value or "".join(command[i + 1 : i + 2])
            return number_of(value)
    return None


LAUNCHER = Launcher("torchrun", 10, find)
