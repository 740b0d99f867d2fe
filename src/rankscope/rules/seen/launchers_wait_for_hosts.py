"""The launchers of some hosts run, and wait for those of others; no rank has been started yet.

## What it means
torchrun starts ranks only when as many hosts have come to its meeting point as `--nnodes` says. Until then, or until its limit
expires, every host that came stands there without a word in its log.

## How it is recognised
Launchers stand in the rendezvous in every look, none of them has a rank, and they have run for longer than `--stuck-after`. The
number of hosts comes from their own command line; hosts that were asked and have no launcher are named. A meeting point at
`localhost` is one that no other host can reach. Launchers that were given different names of a run (`--rdzv-id`) or different
ports never find each other, though all of them run.

## What to do
Start the launcher on the hosts that are missing, or find out why it ended there. Where all of them run, compare the meeting point
(`--rdzv-endpoint`, `--master-addr`) on every host, and try it: `nc -vz HOST PORT` from each.

## How to prevent it
One command that starts all hosts (`srun torchrun …`); a limit for the meeting (`--rdzv-conf join_timeout=…`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.evidence.stacks import PythonStacks
from ...model.evidence.threads import Threads
from ...model.process import Role
from ...model.ranks import number_of
from ...model.words import counted, span
from .. import make_rule


def check(case: Case) -> Iterator[Finding]:
    waiting = [member for member in case if member.role in (Role.LAUNCHER, Role.OTHER) and _meets(member)]
    wanted = max((_hosts_wanted(member.process.command) for member in waiting), default=0)
    if not case.snapshot.live or case.by_rank or wanted < 2:
        return
    ages = [known.uptime_s for member in waiting if (known := member.latest(Threads)) and known.uptime_s is not None]
    if len(ages) < len(waiting) or not case.stuck(min(ages)):
        return  # hosts that start take their time
    yield _finding(case, waiting, wanted, min(ages))


def _finding(case: Case, waiting: list[Member], wanted: int, age_s: float) -> Finding:
    came = sorted({member.ref.host for member in waiting})
    absent = [gap for gap in case.snapshot.gaps if gap.what == "host" and gap.host and gap.host not in came]
    short = len(waiting) < wanted
    title = (
        f"{len(waiting)} of {wanted} hosts wait at the meeting point of torchrun; "
        + (f"{', '.join(gap.host or '' for gap in absent[:8])} did not come" if absent else "the others did not come")
        if short
        else f"the launchers of all {wanted} hosts run, and do not meet"
    )
    apart = tuple(_apart(waiting))
    reasons = [
        Reason(
            f"{', '.join(came[:8])}: in next_rendezvous, without ranks, for {span(age_s)}",
            "python-stack",
            waiting[0].ref,
        )
    ]
    reasons += [Reason(f"{gap.host}: {gap.detail}", "host") for gap in absent[:8]]
    here = _own_address(waiting[0].process.command) if short else ""
    if here:
        reasons.append(Reason(f"they should meet at {here}: no other host can come there", "command", waiting[0].ref))
    reasons += [Reason(text, "command", waiting[0].ref) for text in apart]
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
        certainty=Certainty.LIKELY if (short and (absent or here)) or apart else Certainty.POSSIBLE, title=title,
        processes=tuple(member.process for member in waiting), because=tuple(reasons),
        against=() if absent or here or not short else (f"the look reached {counted(len(came), 'host')} only",),
        next=tuple(f"ssh {gap.host} \"pgrep -af 'torchrun|torch.distributed.run'\"" for gap in absent[:2])
        or (_ONE_MEETING if apart else "nc -vz MASTER_ADDR MASTER_PORT   # on every host",),
    )  # fmt: skip


_ONE_MEETING = (
    "give every launcher the same --rdzv-id and --rdzv-endpoint: make them once, before the hosts are started"
)


def _apart(waiting: list[Member]) -> Iterator[str]:
    """What the command lines say of the meeting that is not the same for all; one host may be called by many names."""
    names = dict.fromkeys(_option(member.process.command, "--rdzv-id") for member in waiting)
    ports = dict.fromkeys(_option(member.process.command, "--rdzv-endpoint").partition(":")[2] for member in waiting)
    if len(names) > 1 and all(names):
        yield f"each is given a name of its own for the run: --rdzv-id is {', '.join(list(names)[:4])}"
    if len(ports) > 1 and all(ports):
        yield f"they are given different ports to meet at: --rdzv-endpoint has {', '.join(list(ports)[:4])}"


def _meets(member: Member) -> bool:
    """Whether a launcher stands in the rendezvous of torch's elastic agent in every look."""
    looks = member.over_time(PythonStacks)
    return bool(looks) and all(
        any(
            frame.function.rsplit(".", 1)[-1] == "next_rendezvous" and "torch/distributed/elastic/" in frame.file
            for thread in look.threads
            for frame in thread.stack
        )
        for look in looks
    )


def _hosts_wanted(command: tuple[str, ...]) -> int:
    """The least number of hosts that ``--nnodes N`` or ``--nnodes MIN:MAX`` asks for; 1 where it is not given."""
    least = _option(command, "--nnodes").partition(":")[0]
    return number_of(least) or 1


def _own_address(command: tuple[str, ...]) -> str:
    """The meeting point, where it is one that means another place on each host."""
    place = _option(command, "--rdzv-endpoint") or _option(command, "--master-addr")
    return place if place.startswith(("localhost", "127.", "[::1]")) else ""


def _option(command: tuple[str, ...], wanted: str) -> str:
    """The value of an option, in either of its spellings; empty where it is not given."""
    for i, part in enumerate(command):
        name, equals, value = part.partition("=")
        if name.replace("_", "-") == wanted:
            return value if equals else "".join(command[i + 1 : i + 2])
    return ""


RULE = make_rule(__name__, __doc__, "rank-never-joined", 40, check)
