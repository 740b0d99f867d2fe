"""The key-value store does not answer, or its process has gone.

## What it means
Rank 0 (or the launcher) holds the store. When it ends or is overloaded, every other rank fails at its next look into the store. Mostly this is the consequence of something
else: of a rank 0 that was slow, or that failed first.

## How it is recognised
`Socket Timeout`, `Broken pipe`, `Connection reset by peer`, `recvValue failed` or `failed to recv, got 0 bytes` from TCPStore, and no other error before.
`The client socket has timed out … while trying to connect to` is *possible*: nobody refused, so that the store is not up yet (rank 0 prepares data), or packets are lost.
A port at which others are refused, and at which the store listened by the log of a process that has come to its end since.

## What to do
    pgrep -af torchrun; ss -ltnp | grep :29500          # on the store's host: is it there?
    sysctl net.core.somaxconn; nstat -az | grep -i listen  # connections refused because the queue was full

Read rank 0's log first: is its process there, did it end early? Keep rank 0 alive until the last rank has left (`dist.barrier()` before exit). Thousands of ranks: the
libuv store (`USE_LIBUV=1`), more file descriptors for rank 0.

## How to prevent it
A store outside the ranks (`torchrun` holds it; with elastic jobs on a host that stays), tear-down in order, `net.core.somaxconn` above the number of ranks.
Cases: https://github.com/pytorch/pytorch/issues/76913 (more ranks than the queue takes) and https://github.com/pytorch/pytorch/issues/107177
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts, line_at
from ...analysis.case import Case
from ...analysis.endings import ends_well
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits

_SIGNS = (
    # A server may be called store, too.
    Sign(r"\b(?:TCPStore|TCPClient|(?<!host=['\"])(?<!://)store|\[c10d\])[^\n]{0,160}(?:Broken pipe|Connection reset|recvValue(?:WithTimeout)? failed|sendBytes failed|[Ff]ailed to recv|got 0 bytes|Connection was likely closed|Socket Timeout|socket is not connected)", "the store does not answer any more"),
    Sign(r"TCPStore\([^\n]*\n(?:[^\n]*\n){0,3}?[^\n]*(?:Connection reset by peer|Broken pipe|Connection closed)", "the store refused a new connection: more ranks came at once than it takes"),
    Sign(r"failed to (?:send a keep-alive heartbeat to|shut ?down) the rendezvous[^\n]*RendezvousConnectionError|(?:num_nodes_waiting|_keep_alive|should_keep_alive|set_closed)[^\n]*\n(?:[^\n]*\n){0,20}?[^\n]*RendezvousConnectionError", "the store was there and went away: it ends with the agent that holds it"),
    Sign(r"etcdserver:[^\n]*(?:timed out|no leader|too many requests)|Etcd(?:Connection|Watch|Lock)\w*(?:Failed|Error|Expired|TimedOut)|etcd[^\n]{0,60}(?:unhealthy|lost leader|unavailable)|\bGCS\b[^\n]{0,60}(?:is dead|not respond\w*|failed to reconnect|has failed|unavailable)|gcs_(?:rpc_)?client[^\n]*(?:timed out|Failed to connect|disconnected)", "the store outside does not answer"),
    Sign(r"TcpExtListen(?:Overflows|Drops)\s+[1-9]\d\d+|possible SYN flooding on (?:port|request_sock)|listen queue of a socket overflowed|SYNs to LISTEN sockets (?:dropped|ignored)", "more ranks came at once than the store's queue takes", anywhere=(r"port 29\d{3}|:29\d{3}\b|TCPStore|_store_based_barrier|rendezvous|init_process_group|\bc10d\b|master_?port|\b(?:the|its|file) ?store\b",)),
    Sign(r"(?:Broken pipe|Connection reset|Connection closed)[^\n]*(?:\n[^\n]*){0,6}?(?:c10d_rendezvous_backend|_call_store|num_nodes_waiting)|(?:c10d_rendezvous_backend|_call_store)[^\n]*(?:\n[^\n]*){0,8}?(?:Broken pipe|Connection reset|Connection closed)", "the store was there and went away"),
    Sign(r"redis\.exceptions\.(?:Timeout|Connection)Error|pymemcache[^\n]*[Tt]imeout|kazoo\.exceptions\.\w*(?:Loss|Timeout|Expired)\w*|consul[^\n]{0,40}(?:timed out|no leader|No cluster leader)", "the store outside does not answer", also=(r"\branks?\b|barrier|rendezvous|store|meeting",)),
    Sign(r"\bconnecting to (?:redis|etcd|memcached|consul|zookeeper)\b|\b(?:redis|memcached|zookeeper|consul|etcd)\b[^\n]{0,40}\b(?:restart\w*|fail-?over|unavailable|misconfigured|lost|down)\b", "the store outside does not answer", also=(r"\branks?\b|barrier|rendezvous|store|meeting|agents?\b|key",)),
    Sign(r"TCPStore::(?:check|get|wait|doGet|doWait|add|set|compareSet|multiGet)\b(?:[^\n]*\n){0,4}?[^\n]*(?:heartbeatMonitor|[wW]atchdog\w*|dumpDebuggingInfo|broadcastDumpSignal|HeartbeatMonitor|runLoop)", "a thread that watches the rank asks the store, and the store has left with its owner"),
    Sign(r"\betcd3?\.\w*[Ee]xceptions?\.\w+|\bEtcdException\b|Failed to send RPC to coordination service|leader task was preempted|coordination service (?:is )?(?:unavailable|shut ?down|not responding)|(?:PollForError|WatchTasks|WatchJobState)[^\n]*(?:UNAVAILABLE|fail)", "the store outside or at the leader does not answer any more"),
    Sign(r"UNAVAILABLE[^\n]*(?:PollForError|/Heartbeat)\b|[Ff]ailed to send heartbeat|UNAVAILABLE[^\n]*\n(?:[^\n]*\n){0,2}?[^\n]*(?:PollForError|/Heartbeat|WaitForAllTasks|GetKeyValue|InsertKeyValue)\b|(?:PollForError|/Heartbeat)[^\n]*\n(?:[^\n]*\n){0,2}?[^\n]*UNAVAILABLE|coordination_service_agent\.cc:\d+\] *UNAVAILABLE: (?:Connection reset|Socket closed|Broken pipe|recvmsg)|JAX distributed service detected fatal errors", "the coordinator was there and answers no more", unless=(r"stopped sending heartbeats|heartbeat timeout",)),
    Sign(r"TCPStore::(?:doWait|doGet|wait|get|check|add)\b", "a rank waits for the store, whose host is gone", anywhere=(r"\b100% packet loss|Destination Host Unreachable|\b(?:powered|switched|turned) (?:off|down)\b|kernel panic|\bhost (?:is )?(?:down|gone|unreachable)\b|\bre-?booted\b",)),
    Sign(r"Unable to (?:get the \w*NCCLUniqueID from|meet other processes at) the (?:rendezvous )?store|http_store[^\n]*Wait timeout for key|Wait timeout for (?:key|name)\(s\)|Timeout waiting for key: \S+ after \d+ ms", "a rank waited in vain for a key"),
    Sign(r"recvValue failed on SocketImpl|Connection was likely closed\. Did the remote server shutdown", "the store does not answer any more"),
    Sign(r"\b(?:rank ?0|master|leader|host|coordinator)\b[^\n]{0,30}\b(?:exits?|leaves?|ends?|finish\w*|quits?)\b[^\n]{0,20}\b(?:first|before|early|earlier|already)\b[^\n]{0,60}\bstore\b|\btakes the store with it\b", "the store's owner is gone", prose=True),
    Sign(r"\b(?:agent|launcher|node|host|machine|process|pod|worker|rank(?: ?\d+)?)\b[^\n]{0,16}\b(?:that |which )?(?:hosts?|holds?|owns?|keeps?|serves|carries|hosting|holding|owning|serving)\b[^\n]{0,24}\bstore\b[^\n]{0,80}\b(?:exits?|leaves?|ends?|finish\w*|quits?|stops?|shuts? down|goes? away|goes down|dies|terminates?|left|exited|ended)\b(?! by| with| until| last| after (?:all|every|the (?:last|others?)))", "who holds the store leaves before the others are done", prose=True),
    Sign(r"\b(?:TCP|key-value |file |hash )?store\b[^\n]{0,30}\b(?:cannot|can't|does not|do not|could not|not) (?:answer|keep up|respond|serve)|\bstore\b[^\n]{0,20}\b(?:overload\w*|too slow|swamped)", "the store does not answer in time", prose=True),
    Sign(r"\b(?:cannot|can't|could not|no longer) (?:reach|connect to|contact)\b[^\n]{0,12}\bstore\b|\bstore\b[^\n]{0,20}\b(?:unreachable|is gone|has gone|was gone)\b", "the store's owner is gone", prose=True),
    Sign(r"Error waiting on exit barrier|\b_exit_barrier\b[^\n]*(?:\n[^\n]*){0,8}?(?:store_util|elastic/utils/store|get_all)", "the launchers' last barrier runs over the store of one of them, which has left with it"),
    # Nobody refused: what holds the store is not up yet, or packets get lost on the way.
    Sign(r"client socket has timed out after \d+ ?m?s? while trying to connect|TCPStore\([^\n]*\n(?:[^\n]*\n){0,3}?[^\n]*(?:connect\(\) )?timed out", "a rank tried in vain for all its time to reach the store", POSSIBLE,
         unless=(r"RendezvousConnectionError|Address already in use|EADDRINUSE|\d+/\d+ clients joined|Listen(?:Overflows|Drops)\s+[1-9]\d\d|SYN flooding",)),
    Sign(r"store->get\(|Socket Timeout|wait timeout after \d+ms, keys|recvValue", "a rank waited in vain for a key", POSSIBLE),
    Sign(r"\b(?:store|master|rank ?0|coordinator|etcd|redis|MASTER_ADDR)\b[^\n]{0,60}\b(?:exited|gone|died|down|closed|killed|lost|unreachable|not reachable|overload\w*|terminated)\b", "the store's owner is gone", LIKELY, anywhere=(r"store|rendezvous|etcd|MASTER_ADDR|TCPStore|coordinator",), prose=True),
    Sign(r"DistStoreError(?!: Timed out after \d+ seconds waiting for clients\. \d+/\d+)|DistNetworkError(?![^\n]*EADDRINUSE)", "the store failed", POSSIBLE),
)  # fmt: skip

_TITLE = "the key-value store does not answer"
_STEPS = ("read rank 0's log first", "dist.barrier() before rank 0 exits")


def check(case: Case) -> Iterator[Finding]:
    found = [*hits(case, _SIGNS), *_left_with_its_owner(case)]
    if found:
        yield finding(RULE, case, found, _TITLE, _STEPS)


# Who holds a store and says at which port; who was refused there.
_LISTENS = regex(
    r"\b(?:TCP|key-value |rendezvous )?(?:store|rendezvous|coordinator)\b[^\n]{0,40}\b(?:listens?|listening|serves|serving|bound)\b"
    r"[^\n]{0,60}?(?:\bport |:)(?P<port>\d{4,5})\b",
    re.IGNORECASE,
)
_REFUSED = regex(
    r"\bclient socket has failed to connect to \S{1,200}?\]?:(?P<port>\d{4,5})\b[^\n]{0,40}(?:111\b|refused)", re.I
)


def _left_with_its_owner(case: Case) -> Iterator[Hit]:
    """A store that listened at a port at which others are refused, and the log of who held it ends as of one that is done."""
    if case.snapshot.live:
        return
    refused = {found["port"]: one for one in accounts(case) for found in _REFUSED.finditer(one.said)}
    for one in accounts(case) if refused else ():
        for found in _LISTENS.finditer(one.said):
            other = refused.get(found["port"])
            if other is not None and other is not one and ends_well(one.events):
                line = line_at(one.said, found.start())
                yield Hit(Sign("", "the store was there, and its owner has ended before the others came"), one, line)
                return


RULE = make_rule(__name__, __doc__, "store-timeout", 70, check)
