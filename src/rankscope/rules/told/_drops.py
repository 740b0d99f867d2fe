"""Lines of the kernel by which a host does not send what it is given."""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._signs import Sign

# Ports without a cable are down from the start, and the others until their driver has brought them up.
AFTER_BOOT = r"^(?!\[ {0,5}\d{1,2}\.\d+\])[^\n]*?"
HOST_DROPS = (
    Sign(r"nf_conntrack[^\n]*table full, dropping packet|table full, dropping packet", "the table of connections of a host is full: it drops packets"),
    Sign(r"NETDEV WATCHDOG|transmit queue \d+ timed out|link status definitely down|" + AFTER_BOOT + r"\b(?:eth\d+|en[ops]\w+|bond\d+|ens\w+)\b[^\n]{0,24}(?:NIC )?Link is Down|Detected (?:Tx|Hardware) Unit Hang|\bTx that wasn't completed on time|TX hasn't completed", "the network card of a host does not send"),
)  # fmt: skip
