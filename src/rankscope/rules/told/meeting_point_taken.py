"""The meeting point is taken, or left over from another run.

## What it means
The port of the store already belongs to another job, or the file used with `file://` still holds the counters of an earlier run. Ranks then
meet a stranger, count too many workers, or cannot listen at all.

## How it is recognised
`Address already in use` (98) on the master port, `File already exists` with a count of workers above the world size, a rendezvous that
is closed already; HCCL's `listen on ip[…] and specific port[…] fail`, unless the link of that port is down. `wrong magic` whose digits are text: a scraper or scanner knocked. `has already checked in`: one rank came twice.
All ranks stand in `_store_based_barrier`: they are there, and the store has counted others.

## What to do
`ss -ltnp | grep :PORT`; end the other job, or take another `--master-port`; on one node `--standalone`, or
`--rdzv-backend=c10d --rdzv-endpoint=localhost:0`, finds a free one. With `file://` delete the file before each run. Give each run its own `--rdzv-id`.

## How to prevent it
Free ports (`--standalone`), a fresh file per run. Case: https://github.com/epfml/powersgd/issues/21
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.handled import handled
from ...model.diagnosis import Finding, Reason
from ...model.ranks import RankSet
from .. import make_rule
from .._outside import outsiders
from .._outside import said as words
from .._say import who
from ._findings import finding, simple
from ._lines import events
from ._ports import asking
from ._room import handles
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._wordings import HALTS

_STEPS = ("ss -ltnp | grep :29500", "torchrun --standalone …   # on one node: takes a free port")
# A line of a program that takes another port by itself.
_NO_OTHER = r"^(?![^\n]*\b(?:in use|taken|occupied|busy)\b\W{1,3}(?:so )?(?:trying|using|taking|mov(?:es|ing) to|switch(?:es|ing) to|fall(?:s|ing) back to) (?:the |a |port )*\d{4,5}\b)(?![^\n]*\busing port \d+ (?:because|since|as)\b)(?![^\n]*\b(?:using|trying|taking|mov(?:es|ing) to|switch(?:es|ing) to|fall(?:s|ing) back to) (?:the |a |port )*(?:\d{4,5}\b[^\n]{0,12}\binstead\b|(?:next|another|different|other|free)(?: free)?(?: port| one)?\b))[^\n]*?"
_ANOTHER_LATER = r"\bHosting the HTTP server on port \d+ instead\b"  # Dask's dashboard says so two lines below
_SIGNS = (
    # What UCX makes of EADDRINUSE where it binds a listener (ucs/sys/sock.c, ucs_socket_server_init).
    Sign(r"\bUCXError: Device is busy|\b(?:ucp_listener_create|uct_listener_create|create_listener)\b[^\n]{0,40}\bDevice is busy", "the port is taken: so UCX calls an address that is in use"),
    Sign(r"\bZMQError: Address already in use\b", "a port at which a part of the server publishes is taken"),
    Sign(_NO_OTHER + r"(?:EADDRINUSE|[Aa]ddress already in use|errno[ :=]+98\b|address and port have been bound|\[Errno 98\]|port[^\n]{0,30}(?:already|is) (?:in use|taken|occupied)|failed to bind(?! to \S*:0\b)(?! (?:NVLink|NVLS|multicast|(?:to )?(?:GPU|CPU|core|NUMA|memory)))|bind\(\) failed|Address in use)",
         "the port is taken", unless=(_ANOTHER_LATER,)),
    # The barrier of the store is over when as many have counted themselves under its key as the world has ranks (torch's _store_based_barrier).
    Sign(r"\b(?:all|every|each|both) (?:\w+ ){0,2}(?:ranks?|gpus?|processes|workers)\b[^\n]{0,40}\b(?:same|identical|equal)\b[^\n]{0,30}\b(?:stacks?|place|call|line|function)\b", "all have counted themselves at the meeting, and it does not end: the key has been used before (by a group that was made earlier and dropped), or they count in different stores", anywhere=(r"^_store_based_barrier \(",), unless=(r"worker_count=|\b(?:missing|absent|never (?:came|comes|joined|started)|not (?:there|started|joined|come))\b",), prose=True),
    Sign(r"RendezvousClosedError|rendezvous[^\n]{0,40}(?:is |has been |already )closed", "the rendezvous was closed before"),
    Sign(r"\b(?:old|previous|earlier|another|other|stale|last)[^\n]{0,30}(?:runs?\b|jobs?\b|process(?!es at the)|server|store)[^\n]{0,60}\b(?:ports?\b|rendezvous|rdzv|store\b|same (?:id|key)\b|same (?:rendezvous|init|store) file|file://)", "something of another run is in the way", prose=True),
    Sign(r"\b(?:zombie|orphan\w*|left-?over|stale|yesterday'?s?|killed|dead|previous|old)\b[^\n]{0,40}\b(?:still )?(?:listen\w*|holds?|holding|owns|occup\w+|bound|binds?|keeps?)\b", "a process of another run holds the meeting point", anywhere=(r"\bports?\b|_PORT\b|:\d{4,5}\b|\bsockets?\b|rendezvous|rdzv|\bstore\b|TCPStore",), prose=True),
    Sign(r"\b(?:two|both|second|several|another|other) (?:\w+ )?(?:jobs?|runs?|sweeps?|experiments?|trainings?|services?|launch\w*)\b[^\n]{0,80}\b(?:MASTER_PORT|master[-_ ]port|port 29500|:29500|same port|one port)", "two runs share a meeting point", prose=True),
    Sign(r"(?<!\bno )(?<!without )(?:--?master[-_]port|(?<!or )--rdzv[-_]endpoint|--standalone|\bMASTER_PORT|\b(?:free port|other port|random port|rdzv[-_]id))\b", "another port or identity cures it", cures=True),
    Sign(r"^(?![^\n]*\b(?:PCIe|HCA|QSFP\w*|OSFP|cable|switch)\b)[^\n]*?\b(?:same|identical|duplicate)(?![^\n]{0,12}\b(?:other|another|different|own)\b)[^\n]{0,20}(?:rdzv[-_ ]?id|job[-_ ]?id|master[-_ ]?port|MASTER_PORT|\bports?\b)", "two runs share a meeting point", prose=True),
    Sign(r"added itself to the wait list of round|joined the wait list of round", "more nodes came to the rendezvous than it takes: its places belong to another run, or to an earlier start of this one", anywhere=(HALTS + r"|\b(?:next_rendezvous|_rendezvous) \(",)),
    Sign(r"--rdzv[-_]endpoint[= ](\S+) (?:(?!--rdzv)[^\n])*?\b(\w+\.py)\b[^\n]*\n(?:[^\n]*\n){0,6}?[^\n]*--rdzv[-_]endpoint[= ]\1 (?:(?!--rdzv)[^\n])*?\b(?!\2)\w+\.py\b", "launchers of two programs name the same rendezvous"),
    Sign(r"File already exists", "a file of an earlier run is used again", LIKELY, also=(r"\binit_?method|init_process_group|\branks?\b|rendezvous|FileStore",), passing=True),
    Sign(r"wrong (?:magic|type|version) (?:[2-7][0-9a-f]){6,8}\b", "what knocked there is no rank of the job: its first bytes are text, as a scraper, a scanner or a browser sends"),
    Sign(r"rank \d+ of \d+ ranks has already checked in|mismatch in rank count from procs|duplicate (?:global )?rank\b|rank \d+ (?:is )?already (?:registered|joined|connected)", "ranks of two runs, or one rank twice, come to the same meeting point"),
    Sign(r"Binding port \d+ failed|\bEJ0001\b|\bEI0019\b|another process is utilizing it|Failed to initialize the HCCP process|last training process is running|[Pp]ort \d+ (?:was|is|has been) (?:already )?(?:bound|used|allocated)", "the port is taken"),
    # HCCL, which says the same of a port whose link is down.
    Sign(r"\blisten on ip\[[^\]\n]*\] and (?:specific )?port\[\d+\] fail|[Pp]lease check the port status and whether the port is be\w+ us\w+ by other", "the port is taken", unless=(r"[Nn]etwork port is down|\bEJ0002\b|\brdma init fail|ra_?rdev[^\n]{0,40}fail",)),
    Sign(r"\b(?:two|both|second|several|another|other|concurrent)\b[^\n]{0,40}\b(?:jobs?|runs?|trainings?|experiments?|instances?|launch\w*)\b[^\n]{0,80}\b(?:default|same|one|equal) ports?\b", "two runs share a meeting point", prose=True),
    Sign(r"\b(?:rdzv|rendezvous|run|job)[-_ ]?id\b[^\n]{0,30}\b(?:re-?used|used again|(?:shared|identical|the same)\b[^\n]{0,20}\b(?:two|both|another|other|earlier|previous|second|several) (?:jobs?|runs?|trainings?|experiments?))\b", "two runs share a meeting point", prose=True),
    Sign(_NO_OTHER + r"\bports?\b[^\n]{0,24}\b(?:still|was|were|is|are|already)\b(?:(?!\bnot\b|\bnever\b|n.t\b|\bno longer\b)[^\n]){0,12}\b(?:held|taken|occupied|owned|busy|in use)\b", "the port is taken", unless=(_ANOTHER_LATER,), prose=True),
    Sign(r"\bbind failed\b(?![^\n]*Cannot assign requested)|my_node_\.port|[Cc]ould not bind (?:to )?(?:port|socket|\S+:\d+)", "the port is taken"),
    Sign(r"Ping failed, invalid (?:value|nonce)|port must be 0-65535|server socket[^\n]*(?:errno: 13\b|Permission denied)", "something else answers at the meeting point, or nobody may listen there"),
    Sign(r"magic number|unexpected (?:message|handshake|token)|wrong cookie|invalid cookie", "a stranger answers at the meeting point", POSSIBLE, also=(r"store|rendezvous|bootstrap|connect",)),
    Sign(r"\bConnection in use: \('[\w.:]*', \d+\)", "the port of the server is taken"),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    for event in events(case, "store.barrier_timeout", "store.barrier_waiting"):
        joined, world = event.fields.get("joined"), event.fields.get("world_size")
        if isinstance(joined, int) and isinstance(world, int) and joined > world:
            title = f"the store counts {joined} workers for a world of {world}: it was used by another run"
            yield simple(RULE, title, LIKELY, [event.text], ("rm the file of init_method=file://…", *_STEPS))
            return
    found = list(hits(case, _SIGNS))
    if found:
        steps = asking(_STEPS, case, (hit.line for hit in found))
        said = finding(RULE, case, found, "the meeting point is taken or left over from another run", steps)
        # In a running job the one who holds the port is to blame, not the rank whose log says so.
        ranks = RankSet() if case.snapshot.live else said.ranks
        yield replace(said, ranks=ranks, because=(*said.because, *_seen(case)))


def _seen(case: Case) -> Iterator[Reason]:
    """What processes show: who answers at the meeting point, where it is no part of the job, and who finds the port taken."""
    for standing in case.standings.values():
        if standing.kind in (WaitKind.RENDEZVOUS, WaitKind.STORE):
            for one in outsiders(case, standing):
                yield Reason(
                    f"{who(standing.member.process)} is connected to {words(one)}", "sockets", standing.member.ref
                )
                return
        if handled(standing) == errno.EADDRINUSE:
            yield handles(standing)
            return


RULE = make_rule(__name__, __doc__, "rendezvous-port", 24, check)
