"""A connection that was idle for long was forgotten on its way, and nobody was told.

## What it means
Firewalls, NAT gateways and load balancers drop connections that carried nothing for some minutes. No FIN and no RST arrives: a process waits in `recv` for an answer
that cannot come, until the kernel's first keep-alive probe (7,200 s by default) or its resends (about 15 minutes) tell it.

## How it is recognised
Run times or gaps just above the time of a setting (`tcp_keepalive_time`, an idle limit of a gateway), many processes that fail in the same second with `server closed the
connection`, `Connection timed out` or `SSL SYSCALL error`, a peer that knows nothing of the connection.

## What to do
    ss -tnoi state established | grep -A1 PEER:PORT        # a timer, unacknowledged data, the age of the last answer
    sysctl net.ipv4.tcp_keepalive_time=60 net.ipv4.tcp_keepalive_intvl=15 net.ipv4.tcp_keepalive_probes=4

Set keep-alive on the client itself (`keepalives_idle=60` of libpq, `socket_keepalive=True` of Redis, `broker_heartbeat` of Celery), and a time-out for every answer.

## How to prevent it
Keep-alive shorter than the shortest idle limit between the hosts (often 240–350 s); `pool_pre_ping` or a health check before a connection is used again.
Case: https://github.com/RolnickLab/antenna/issues/1382
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._signs import Sign

_LOST = (
    r"server closed the connection unexpectedly|consuming input failed|SSL SYSCALL error|"
    r"could not receive data from server|Lost connection to (?:MySQL )?server|server has gone away|"
    r"Connection timed out|ETIMEDOUT|ReadTimeout|recv\w*\(|in recv\b|hang|hung|stuck|freez|blocked|never returns?|"
    r"no answer|stop(?:s|ped)? (?:consuming|responding)"
)
_SIGNS = (
    Sign(r"tcp_keepalive_time\W{1,4}\d+|keep-?alive[^\n]{0,40}\b(?:7,?200|2 ?h(?:ours?)?|two hours)\b|\b(?:7,?200|two hours|2 ?hours)\b[^\n]{0,40}keep-?alive", "it took as long as the keep-alive of TCP waits", anywhere=(_LOST,)),
    Sign(r"(?:silently|quietly) (?:drop|clos|forg|lost|discard|cut)\w*[^\n]{0,60}connection|connections? (?:\w+ ){0,4}(?:silently|quietly) (?:drop|clos|forg|lost|discard|cut)\w*|half[- ]open connection|dead (?:socket|connection)|stale connection", "a connection was dropped and nobody was told", anywhere=(_LOST,), prose=True),
    Sign(r"\b(?:idle|inactiv\w+)\b[^\n]{0,40}\b(?:time-?out|limit|for (?:more than )?\d+ ?(?:s|sec\w*|min\w*))[^\n]{0,80}(?:load ?balancer|gateway|NAT\b|firewall|proxy|NLB|ALB|ELB|cloud)|(?:load ?balancer|gateway|NAT\b|firewall|proxy|NLB|ALB|ELB|cloud)[^\n]{0,80}\b(?:idle|inactiv\w+)\b", "something between the hosts closes idle connections", anywhere=(_LOST,), prose=True),
    Sign(r"\b(?:server|peer|database|broker|other (?:side|end))\b[^\n]{0,40}\b(?:has|shows|knows|sees|lists)\b[^\n]{0,20}\bno (?:such |matching |corresponding )?(?:connection|session|socket|backend|client)", "the other end knows nothing of this connection", prose=True),
    Sign(r"keepalives?(?:_idle)?[^\n]{0,60}(?:fix|solv|help|cure|resolv|work|no (?:more )?hang)", "keep-alive cures it", prose=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "network-blackhole", 56, "an idle connection was dropped on its way, and nobody was told", _SIGNS,
    ("ss -tnoi state established   # on both ends: is the connection there?", "sysctl net.ipv4.tcp_keepalive_time"),
)  # fmt: skip
