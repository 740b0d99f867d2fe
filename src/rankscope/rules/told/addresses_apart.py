"""Hosts of one job announce addresses that do not belong to one network, or all the same one.

## What it means
Each rank tells its peers the address at which they can reach it. Where one host takes its storage network, a bridge of its container runtime or the address that
every container has inside, the others connect to nowhere or to themselves.

## How it is recognised
NCCL's `Bootstrap : Using IFNAME:ADDRESS` (also `NET/Socket : Using`, `OOB`) of two hosts: the same address on both, or networks without a common beginning where the
interfaces have different names; and a connection that is refused or times out, or a job that does not go on. Or ranks wait for a message queue of a server
(`wait_until_ready`) that is announced in another network than NCCL's.

## What to do
    ip -br addr; ip route get PEER                      # on every host: which interface leads to the peers
    export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0   # the same network on all hosts

In containers: `--network=host`, or an overlay network that spans the hosts.

## How to prevent it
Name the interface in the job's environment. A case: https://github.com/NVIDIA/nccl/issues/207
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import simple
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS, halted

_SAYS = regex(
    r"(?:^|\s)(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[-?\d+\] NCCL INFO (?:Bootstrap ?: Using|NET/Socket ?: Using|NET/IB ?: Using[^\n;]*; ?OOB) (?:\[0\])?(?P<ifname>[\w.@-]+):(?P<addr>\d+\.\d+\.\d+\.\d+)(?P<more>[^\n]*)",
    re.M,
)
# Where a server announces its message queue between hosts, and who waits for it.
_QUEUE = regex(r"\b(?:remote_)?subscribe_addr\W{1,4}tcp://(?P<addr>\d+\.\d+\.\d+\.\d+)")
_WAITS = r"\bwait_until_ready\b"
_FAILS = (
    r"(?:[Cc]onnection|[Cc]onnect\w*|socket)[^\n]{0,80}(?:refused|timed out|No route|unreachable|failed|closed|reset)|"
    + HALTS
)
_STEPS = ("ip -br addr; ip route get PEER   # on every host", "export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0")


@dataclass(frozen=True)
class _Announced:
    host: str
    ifname: str
    addr: str
    line: str
    others: frozenset[str] = frozenset()  # the networks of its other interfaces


def check(case: Case) -> Iterator[Finding]:
    told = accounts(case)
    said = {
        found["host"]: _Announced(
            found["host"], found["ifname"], found["addr"], found.group().strip(), _others(found["more"])
        )
        for one in told
        for found in _SAYS.finditer(one.text)
    }
    if said and any(one.find(_WAITS) for one in told):
        yield from _queue_elsewhere(case, next(iter(said.values())))
    if len(said) < 2 or not (halted(case) or any(one.find(_FAILS) for one in told)):
        return
    for here, there in itertools.combinations(said.values(), 2):
        if here.addr == there.addr:
            title = f"{here.host} and {there.host} announce one and the same address, {here.addr}"
            yield simple(RULE, title, LIKELY, [here.line, there.line], _STEPS)
            return
    for here, there in itertools.combinations(said.values(), 2):
        # The same name says nothing where what the one calls first is the network that the other calls second.
        crossed = here.addr.rsplit(".", 1)[0] in there.others or there.addr.rsplit(".", 1)[0] in here.others
        if (here.ifname != there.ifname or crossed) and _network(here.addr) != _network(there.addr):
            title = f"{here.host} announces {here.ifname} ({here.addr}) and {there.host} {there.ifname} ({there.addr})"
            sure = (
                LIKELY
                if any(
                    one.find(
                        rf"(?:{re.escape(here.addr)}|{re.escape(there.addr)})[^\n]*(?:refused|timed out|No route|unreachable|fail)"
                    )
                    for one in told
                )
                else POSSIBLE
            )
            yield simple(RULE, title, sure, [here.line, there.line], _STEPS)
            return


def _others(said: str) -> frozenset[str]:
    """The networks of the interfaces that a line names after the first."""
    return frozenset(addr.rsplit(".", 1)[0] for addr in re.findall(r"\[[1-9]\][\w.@-]+:(\d+\.\d+\.\d+\.\d+)", said))


def _queue_elsewhere(case: Case, here: _Announced) -> Iterator[Finding]:
    """A message queue between hosts whose address is of another network than NCCL's."""
    for one in accounts(case):
        found = _QUEUE.search(one.text)
        if found and _network(found["addr"]) != _network(here.addr):
            title = f"the message queue is announced at {found['addr']}, NCCL uses {here.ifname} ({here.addr})"
            yield simple(RULE, title, POSSIBLE, [found.group(), here.line], _STEPS)
            return


def _network(addr: str) -> str:
    """What addresses of one site have in common, whatever its mask is."""
    return addr.split(".")[0]


RULE = make_rule(__name__, __doc__, "wrong-interface", 25, check)
