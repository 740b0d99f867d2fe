"""Ranks use different networks or plug-ins of the collective library, so that their two ends do not meet.

## What it means
Each rank chooses its network when it starts: a plug-in that it finds on its host, InfiniBand, or sockets. Where one host lacks the plug-in, a driver or an adapter, its ranks choose
another one than their peers, and both ends of a connection wait for each other without an error.

## How it is recognised
`NCCL INFO` lines of some hosts load a plug-in (`Plugin Path`, `Loaded net plugin`) and those of others do not find it (`Could not find: libnccl-net.so`, `No plugin found`); or some
ranks say `Using network IB` and others `Using network Socket`.

## What to do
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV torchrun … 2>&1 | grep -e NET/ -e 'Using network' -e Plugin
    srun --ntasks-per-node=1 bash -c 'echo $(hostname) $LD_LIBRARY_PATH; ldconfig -p | grep nccl-net; ibv_devices'

The plug-in everywhere or nowhere (`NCCL_NET_PLUGIN=none`), equal `LD_LIBRARY_PATH`, the same adapters in every container; `NCCL_NET=IB` or `NCCL_NET=Socket` makes it explicit.

## How to prevent it
One image for all hosts; no `NCCL_IGNORE_NET_MISMATCH`. Case: https://github.com/NVIDIA/nccl/issues/1634
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet
from .. import make_rule
from ._findings import simple

_HOST = regex(r"(?:^|\s)(?P<host>[\w.-]+):\d+:\d+ \[-?\d+\]")
# What a rank chose: (of what, which), by what NCCL says of it.
_CHOICES = (
    ("plug-in", "none", regex(r"NET/Plugin ?:? ?(?:Could not find:?|No plugin found|Failed to load)|Using internal (?:network|net) plugin|using internal implementation")),
    ("plug-in", "loaded", regex(r"Plugin Path ?:|NET/Plugin ?:? ?(?:Loaded|Plugin name|Using) |Loaded (?:net|coll) ?[Pp]lugin|Using (?:external )?network (?:AWS Libfabric|Libfabric|OFI|IBext\w*|UCX|SHARP)")),
    ("network", "sockets", regex(r"Using network Socket")),
    ("network", "InfiniBand", regex(r"Using network IB\b")),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    chosen: dict[str, dict[str, list[Event]]] = {}
    for event in case.events:
        for what, which, look in _CHOICES:
            if look.search(event.text):
                chosen.setdefault(what, {}).setdefault(which, []).append(event)
    for what, sides in chosen.items():
        if len(sides) == 2 and _apart(*sides.values()):
            odd = min(sides.values(), key=lambda said: len({_who(event) for event in said}))
            names = " and ".join(sides)
            title = f"ranks use different {what}s of NCCL: {names}"
            because = [said[0].text for said in sides.values()]
            steps = (
                "NCCL_NET_PLUGIN=none torchrun …   # or the plug-in on every host",
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET torchrun …",
            )
            ranks = RankSet(event.rank for event in odd if event.rank is not None)
            yield simple(RULE, title, Certainty.LIKELY, because, steps, ranks)
            return


def _apart(some: list[Event], others: list[Event]) -> bool:
    """Whether no subject says both: a rank that tries one network after the other is no two ranks."""
    here, there = {_who(event) for event in some}, {_who(event) for event in others}
    return not here & there and None not in here | there


def _who(event: Event) -> object:
    """Who speaks: the host in the line, else the rank, else nobody known."""
    found = _HOST.search(event.text)
    return found["host"] if found else event.rank


RULE = make_rule(__name__, __doc__, "version-mismatch", 18, check)
