"""The meeting point (store, coordinator, rendezvous) is never reached, or a stranger answers there.

## What it means
Ranks or launchers knock at an address of the form `host:port` and get no answer until their limit is over: the name of the host is not known here, the port is closed by
a firewall, another release uses another default port, or the process that should hold the store was never started. Or something answers that is no store: then
a rank reads garbage as a length and waits for bytes that never come.

## How it is recognised
`RendezvousConnectionError`, `Connection refused` below `TCPStore(`, `Name or service not known` (or `gai error`) of the master (a connection that is neither taken nor
refused in all its time is `store-timeout`), `DEADLINE_EXCEEDED … RegisterTask`, a `recv` of an absurd length below `TCPStore`; a try by hand that is refused
(`nc: connect to head port 29500 (tcp) failed: Connection refused`) while ranks want to join. An endpoint that is the name of its host and a domain, where the host calls itself by the name alone.

## What to do
From every host, with the job's own environment:

    getent hosts $MASTER_ADDR; nc -zv $MASTER_ADDR ${MASTER_PORT:-29500}
    ss -ltnp | grep :${MASTER_PORT:-29500}          # on the master: who listens, and at which address

Put the names of all hosts into DNS or `/etc/hosts`, or give an address (`--rdzv-endpoint=10.0.0.1:29500`); open the port between the hosts; start the
master's launcher first. With `--rdzv-backend=c10d` name the first host as `hostname` does there, or add `--rdzv-conf=is_host=1` on it and `is_host=0` elsewhere.

## How to prevent it
A check of the port from all hosts at the beginning of the batch script; endpoints with addresses from the scheduler's list.
Case: https://github.com/pytorch/pytorch/issues/67547
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding, simple
from ._ports import asking
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._wordings import HALTS

_FAILED_FIRST = (
    r"Collective ops is aborted by|"
    r"\b(?:ModuleNotFound|Import|Syntax|Name|Attribute|Key|Type|FileNotFound|Assertion|OutOfMemory)Error\b|"
    r"out of memory|Traceback[^\n]*\n(?:[^\n]*\n){1,40}?(?:ValueError|IndexError)|Killed process|killed by signal|"
    r"Address already in use|EADDRINUSE"
)
_JOINED = r"\d+/\d+ clients joined|waiting for clients"
# The same log tells later that the meeting point was found after all: names come up late where pods are new.
_REACHED = r"(?<!not )(?<!be )(?<!yet )\b(?:connected to|reached|joined) (?:the )?(?:\w+ )?(?:store|TCPStore|master|rendezvous|coordinator|process group)\b"
# Whose collective timed out had met the others before.
_MET = r"Watchdog caught collective|Timed out waiting \d+ms for (?:recv|send) operation"
_MEETING = r"rendezvous|rdzv|MASTER_ADDR|master_addr|TCPStore|init_process_group|torchrun|c10d|coordinator|gloo"
# What nc, telnet, curl and the shell say before the reason.
_PROBE = (
    r"(?:\bnc: connect to \S+ port \d+ \(tcp\) |\bNcat: |"
    r"telnet: (?:Unable to connect to remote host|connect to address [^\n:]*(?::[\da-f]*)*)|"
    r"curl: \(7\) Failed to connect to \S+ port \d[^\n:]*|bash: connect|/dev/tcp/\S+|^\d{4,5}/tcp +)"
)
# Somebody stands in the meeting already: then it is known where it is, and who could not be started is missing there.
_STARTED = (
    r"\b(?:_store_based_barrier|init_process_group|_create_c10d_store|_rendezvous|init_distributed|PMIx?_Fence|"
    r"MPI_Init\w*|ompi_mpi_init) \("
)
_SIGNS = (
    Sign(r"RendezvousConnectionError|connection to the C10d store has failed", "the rendezvous was not reached", unless=(_FAILED_FIRST, _JOINED, _MET, r"\betcd", r"keep-alive heartbeat|failed to shut ?down the rendezvous|num_nodes_waiting")),
    Sign(r"TCPStore\([^\n]*\n(?:[^\n]*\n){0,3}?(?![^\n]*timed out)[^\n]*(?:Connection refused|failed to connect)|(?:DistNetworkError|DistStoreError|TimeoutError|RuntimeError)(?![^\n]*timed out)[^\n]*failed to connect to(?! the MPS)",
         "the store was not reached", POSSIBLE, unless=(_FAILED_FIRST, _JOINED, r"Listen(?:Overflows|Drops)\s+[1-9]\d\d|SYN flooding")),
    Sign(r"\bgai error\b|getaddrinfo(?:\(\))?(?: failed|:)|Name or service not known|Temporary failure in name resolution|No address associated with hostname|nodename nor servname|[Cc]ould not resolve host|UnknownHost",
         "the name of a host is not known here", anywhere=(_MEETING,), unless=(_JOINED,), passing=True, until=_REACHED),
    Sign(r"client socket (?:on )?\[?([\w-]+)[\w.-]*\]?:\d+ has failed to connect to \[?\1[\w.-]*\]?:\d+[^\n]*(?:111|refused)", "the host that all others look for does not know that it is the one: nothing listens at its own name", unless=(_FAILED_FIRST, _JOINED)),
    Sign(r"network addresses of \([^)]*\) cannot be retrieved", "the name of a host is not known here", POSSIBLE, unless=(_JOINED,), until=_REACHED),
    Sign(r"(?:DEADLINE_EXCEEDED|UNAVAILABLE|Deadline Exceeded)[^\n]*(?:\n[^\n]*){0,4}?(?:RegisterTask|CoordinationService|coordination service|failed to connect to all addresses)|(?:RegisterTask|CoordinationService)[^\n]*(?:DEADLINE|timed out|UNAVAILABLE)", "the coordinator was not reached", unless=(_FAILED_FIRST, r"GetKeyValue\(\) timed out", r"heartbeat", r"BarrierTimeout|barrier", r"PollForError|distributed service detected fatal errors", r"has failed or been preempted", r"coordination_service_agent\.cc:\d+\] *UNAVAILABLE: (?:Connection reset|Socket closed|Broken pipe|recvmsg)")),
    Sign(r"\bTCPStore::\w+|tcputil::recv\w+|recvVector|recvBytes", "a rank waits for an absurd number of bytes: no store answers there", also=(r"\b(?:len|length|n|size|count)=\d{9,}\b|bad_alloc|length_error|larger than max_size|_M_default_append",)),
    Sign(r"unexpected magic|[Mm]agic number (?:mismatch|does not match)|[Vv]alidation magic|received an? (?:invalid|unexpected) (?:query|message|handshake)[^\n]*(?:store|TCPStore)|unknown (?:query|command)[^\n]*TCPStore", "no store of this job answers there"),
    Sign(r"ORTE does not know how to route|unable to contact (?:the )?(?:HNP|head node)|PMIX[^\n]*(?:UNREACH|unreachable)|PRTE[^\n]*unable to (?:reach|start)", "the launcher did not reach its daemons", POSSIBLE, unless=(_STARTED,)),
    Sign(r"Failed to add any wildcard listeners|No address added out of total \d+ resolved|(?:Failed to|Could not) (?:start|create) (?:the )?(?:gRPC|RPC) server", "a server could not listen at its port"),
    Sign(r"[Ff]ailed to connect to GCS|Unable to connect to GCS|Timed out trying to connect to '?tcp://|could not connect to GCS at|Could not find any running Ray instance|Failed to connect to (?:the )?(?:scheduler|head node|master|coordinator|driver)", "the head of the cluster was not reached", POSSIBLE),
    Sign(r"\bssh: connect to host \S+ port \d+: |ssh exited with exit code 255|[Uu]nable to connect (?:to )?\S* ?via ssh|Host key verification failed|Permission denied \(publickey", "the launcher did not reach its daemons on another host", POSSIBLE, unless=(_STARTED,)),
    Sign(r"bootstrap_addr\b[^\n]*(?:refused|timed out|fail)|[Dd]id not receive response from front-end process|(?:handshake|registration) (?:with|at|to) [^\n]{0,40}(?:timed out|failed)", "a part of the server did not find its other part"),
    Sign(r"\bgaierror\b|gethostbyname[^\n]{0,60}(?:fail|error|unknown)|\bip6\.arpa\b|in-addr\.arpa\b", "the name that is announced is known nowhere", anywhere=(_MEETING + r"|store|rank|worker",), unless=(_JOINED,)),
    Sign(_PROBE + r"(?::|failed:?|error:)? ?(?:Connection refused|Couldn't connect|Could not connect|closed)", "a try by hand shows that nothing listens at the port", anywhere=(_MEETING + r"|connect \(|::connect",), unless=(_FAILED_FIRST, _JOINED)),
    Sign(r"(?:ConnectionRefusedError|Connection refused|\[Errno 111\])[^\n]{0,120}\b(?:master|MASTER_ADDR|init_process_group|rendezvous|tracker|coordinator)\b|(?:init_process_group|rendezvous|tracker|coordinator|master)\b[^\n]{0,80}(?:Connection refused|\[Errno 111\])", "nothing listens at the meeting point", unless=(_FAILED_FIRST, _JOINED, r"Killed|SIGKILL"), passing=True),
    Sign(r"\b(?:MASTER_ADDR|master_addr|rdzv_endpoint|coordinator_address)\b[^\n]{0,30}\b(?:points?|set|is|refers|leads)\b[^\n]{0,20}\b(?:login|wrong|other|old|stale|another|non-?existent)\b", "the address of the meeting point is another host's", prose=True),
    Sign(r"\b(?:master|MASTER|rendezvous|coordinator)[-_ ](?:port|PORT|addr\w*|ADDR|endpoint)\b[^\n]{0,20}\b(?:differs?|different|not the same|unequal|mismatch\w*|not equal)\b", "ranks look for each other at different places", prose=True),
    Sign(r"\b(?:hostname|name|host)\b[^\n]{0,40}\b(?:cannot|can't|could not|is not|not) (?:be )?(?:resolv\w+|known|found)\b[^\n]{0,12}\b(?:from|on|by|at|in)\b[^\n]{0,16}\b(?:node|host|workers?|others?|rank|machine|pods?)\b", "the name of a host is not known here", prose=True),
    Sign(r"\bconnect\(\d+, [^\n]*htons\((?:29\d{3}|23456|2379|6379|8476)\)[^\n]*ECONNREFUSED", "nothing listens at the meeting point", unless=(_FAILED_FIRST, _JOINED)),
    # An address of an earlier attempt is handed out, while the one who serves listens elsewhere.
    Sign(r"\b(?:process|rank|node|worker|task|host) ?0\b[^\n]{0,60}\b(?:listens?|listening|serves|serving|bound)\b[^\n]{0,20}?(?:\bport |:)(\d{4,5})\b[\s\S]{0,400}?\b(?:coordinator|master|rendezvous|store|tracker|head)\b[^\n]{0,60}?(?:\bport |:)(?!\1\b)\d{4,5}\b", "the others are given another port than the one at which rank 0 listens", anywhere=(r"\binitialize\b|init_process_group|rendezvous|\binit\b", ), unless=(_FAILED_FIRST, _JOINED)),
    Sign(r"environment variable (?:MASTER_ADDR|MASTER_PORT|RANK|WORLD_SIZE) expected, but not set", "nobody said where to meet"),
    Sign(r"[Uu]nable to connect to (?:the )?(?:coordinator|coordination service|head|rendezvous|master)\b", "the coordinator was not reached", unless=(_FAILED_FIRST,)),
    Sign(r"client socket has failed to connect to|\[c10d\](?![^\n]*has timed out after)[^\n]*(?:errno: 1(?:01|10|11|13)\b|Connection refused|timed out)", "a rank tries in vain to reach the store", POSSIBLE, passing=True, until=_REACHED),
)  # fmt: skip

_STEPS = (
    "getent hosts $MASTER_ADDR; nc -zv $MASTER_ADDR 29500   # from every host",
    "ss -ltnp | grep :29500   # on the master",
)


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    if (told := _named_otherwise(case)) is not None:
        title = (
            "the endpoint names its host otherwise than the host itself: it may not take itself for the one that serves"
        )
        yield replace(simple(RULE, title, LIKELY, told, _STEPS), compared=True)
    elif found:
        steps = asking(_STEPS, case, (hit.line for hit in found))
        yield finding(RULE, case, found, "the meeting point was not reached", steps)


# What a shell answers to ``hostname``: the name by which torchrun asks whether an endpoint is its own (elastic/rendezvous/utils.py,
# _matches_machine_hostname); with a c10d backend each launcher decides by that whether it serves the store.
_HOSTNAME = regex(
    r"^(?:[^\n]{0,120}[#$>%] ?)?hostname(?: -s)?[ \t]*\n(?P<host>[A-Za-z0-9][A-Za-z0-9-]{1,62})[ \t]*$", re.M
)
_C10D = r"\brdzv[-_ ]backend[=_ ]c10d(?![a-z0-9])|\bc10d (?:rendezvous|rdzv|backend)\b"
_NOT_MET = r"\btim(?:ed|es) out\b|\btime-?out\b|Rendezvous(?:Timeout|Connection)Error|refused|" + HALTS


def _named_otherwise(case: Case) -> tuple[str, str] | None:
    """The name of a host, and an endpoint that is that name and a domain, where launchers do not meet."""
    told = accounts(case)
    if case.snapshot.live or not all(any(one.find(words) for one in told) for words in (_C10D, _NOT_MET)):
        return None
    for host in (found["host"] for one in told for found in _HOSTNAME.finditer(one.said)):
        endpoint = rf"(?:^|rdzv[-_]endpoint[= ][\"']?)(?P<name>{re.escape(host)}\.[A-Za-z][\w.-]{{0,200}})(?::\d{{1,5}})?[\"']?(?=\s|$)"
        for one in told:
            if (name := re.search(endpoint, one.said, re.M)) is not None:
                return f"the host calls itself {host}", f"the endpoint is {name['name']}"
    return None


RULE = make_rule(__name__, __doc__, "rendezvous-port", 26, check, yields_to=("master-out-of-reach",))
