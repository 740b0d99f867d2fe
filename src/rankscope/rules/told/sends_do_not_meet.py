"""Sends and receives are posted in an order that cannot complete.

## What it means
NCCL's send may block until the matching receive is posted. If both sides send first (or both receive first), or a middle stage posts them in another order
than its neighbours, nobody can go on. A send without its receive looks the same from one side.

## How it is recognised
All ranks that were seen stand in a send or receive, no one in a collective and none failed; two neighbours are both in `send` or both in `recv`; the recorder shows
P2P entries without their partner, or (as `torchfrtrace -j` lists them) ranks that have begun a send or receive whose other end waits in its rank's queue behind
such a one, in a circle. It works up to a size (the eager limit of MPI, the buffers of NCCL) and hangs above it; a pipeline's schedule stands between `SEND` and `RECV` actions.

## What to do
Order by parity (even ranks send first), or post both in one `batch_isend_irecv` (NCCL: one group call). Check shapes and tags that are exchanged before.

## How to prevent it
One function for the exchange of two stages, used by both. Explained in https://github.com/NVIDIA/nccl/issues/479 and /584
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks, seen_apart, size
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Certainty, Finding
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import finding, simple
from ._first_error import first_error
from ._lines import events
from ._message_queues import behind, circle
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._wordings import HALTS

_STEPS = (
    "dist.batch_isend_irecv([...])   # both directions in one call",
    "rankscope stacks --ranks A,B --locals   # shows src and dst",
)
_SIGNS = (
    Sign(r"issued a set of MPI calls that can cause a deadlock|GLOBAL:DEADLOCK:(?:HARD|POTENTIAL|NO_PROGRESS)", "a checker of MPI's calls says that they cannot complete", unless=(r"GLOBAL:COLLECTIVE:",)),
    Sign(r"(?:default_pg|\d+)/\d*//cuda//\d+:\d+\b|getNCCLComm \([^)\n]*opType=(?:c10d::OpType::)?(?:SEND|RECV)\b", "a rank makes the communicator of a pair, which the other end does not make", POSSIBLE),
    Sign(r"\b(?:sends?|recvs?|receives?)\b[^\n]{0,40}\b(?:then|before|and only then|first)\b[^\n]*[;,\n][^\n]*\b(?:sends?|recvs?|receives?)\b[^\n]{0,40}\b(?:then|before|first)\b", "two sides post in an order that cannot complete", prose=True),
    Sign(r"\b(?:sends?|recvs?|receives?)\b[^\n]{0,60}\b(?:comes? )?only (?:after|when|once)\b[^\n]{0,60}", "a send or receive is posted only after something that waits for it", anywhere=(HALTS + r"|not (?:yet )?(?:complete|issued|posted)",), prose=True),
    Sign(r"\beager (?:limit|threshold|size)\b|\b(?:works?|passes|fine)\b[^\n]{0,20}\b(?:small|short) (?:messages?|tensors?|sizes?)\b[^\n]{0,120}(?:hang|stuck|deadlock|block)", "a send waits for its receive from a certain size on", anywhere=(r"send",)),
    Sign(r"\bi?send\b[^\n;]*[;\n][^\n;]*\.wait\(\)[^\n;]*[;\n][^\n;]*\bi?recv\b", "a send is waited for before the receive is posted", anywhere=(HALTS + r"|\bwait \(",)),
    Sign(r"\b\d+_?(?:SEND|RECV)_?[FB]\d+\b[^\n]{0,200}\b\d+_?(?:RECV|SEND)_?[FB]\d+", "a pipeline's schedule stands between sends and receives", anywhere=(r"hang|stuck|deadlock|wait|time-?out|timed out|freez",)),
    Sign(r"both (?:ranks|sides|stages|gpus|processes|peers|of them)?[^\n]{0,40}\b(?:send\w*|recv|receiv\w*)\b|each (?:rank|side|stage|other)?[^\n]{0,40}\b(?:send|recv|receiv)\w*[^\n]{0,40}(?:first|before|other)", "both sides do the same", POSSIBLE, prose=True),
    Sign(r"\b(?:send|recv|receive)s?\b[^\n]{0,60}\b(?:order\w*|unmatched|without (?:a )?(?:matching|corresponding)|no matching|deadlock|mismatch\w*|cross(?:ed|ing)?|not paired|tag)", "sends and receives do not meet", prose=True),
    Sign(r"\b(?:isend|irecv|ncclSend|ncclRecv|batch_isend_irecv|send_forward|recv_forward|send_backward|recv_backward|P2POp|p2p_communication)[^\n]*", "ranks stand in sends and receives", POSSIBLE, anywhere=(r"\bhang|stuck|deadlock|(?<!\.)\bwait|timeout|timed out|not (?:yet )?(?:complete|issued|posted|matched)|incomplete|outstanding",), unless=(r"out of memory|killed|exitcode|illegal memory|Xid|refused",), prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return  # who stands where is known there, and other rules ask the graph
    if made := _queued(case) or _all_in_pairs(case) or _timed_out(case):
        yield made
    elif signs := list(hits(case, _SIGNS)):
        yield finding(RULE, case, signs, "sends and receives are posted in an order that cannot complete", _STEPS)


def _queued(case: Case) -> Finding | None:
    """Recorders show that ranks have begun sends and receives that wait for each other in a circle."""
    waits = circle(case)
    if not waits:
        return None
    certainty = LIKELY if behind(case, waits) else POSSIBLE
    ranks = RankSet(one.owner for one in waits)
    calls = " and ".join(sorted({"send" if one.sends else "recv" for one in waits}))
    title = f"{ranks_phrase(ranks)} wait for each other: each has begun a {calls} before what the other needs of it"
    because = [f"rank {one.owner}: {one.text}" for one in waits[:4]]
    return replace(simple(RULE, title, certainty, because, _STEPS, ranks), compared=True)


def _all_in_pairs(case: Case) -> Finding | None:
    """Every rank that was seen stands in a send or receive."""
    found = [doing for doing in doings(case) if doing.account is not None and doing.kind not in ("unknown", "silent")]
    if seen_apart(case):  # what a console says is done nobody does any more
        found = [doing for doing in found if doing.kind != "done" or doing.ranks]
    # Who only waits for the ranks that it started stands in no call with them.
    found = [doing for doing in found if of_ranks(doing) or doing.kind != WaitKind.CHILD.value]
    p2p = in_kind(found, WaitKind.P2P.value)
    if sum(map(size, p2p)) < 2 or len(p2p) < len(found):
        return None
    ops = sorted({doing.op for doing in p2p})
    title = "every rank that was seen stands in a send or receive (" + ", ".join(ops[:4]) + ")"
    because = [f"{doing.account.label if doing.account else ''}: {doing.op}" for doing in p2p][:5]
    return replace(simple(RULE, title, _sure(case, p2p), because, _STEPS), compared=seen_apart(case))


def _timed_out(case: Case) -> Finding | None:
    """Nothing but sends and receives timed out."""
    timeouts = events(case, "torch.watchdog_timeout")
    if not timeouts or any(event.fields.get("op") not in ("SEND", "RECV") for event in timeouts) or first_error(case):
        return None
    certainty = LIKELY if len({event.rank for event in timeouts}) > 1 else POSSIBLE
    title = "what timed out are sends and receives, which had no partner"
    return simple(RULE, title, certainty, [event.text for event in timeouts[:3]], _STEPS)


def _sure(case: Case, p2p: list[Doing]) -> Certainty:
    """Words of a call, in a script say, place nobody: stacks do, and what is told rank by rank; who was cut off waits no more."""
    placed = any(doing.account and doing.account.stacks for doing in p2p) or all(doing.ranks for doing in p2p)
    cut_off = any(one.find(r"Connection (?:closed|reset) by (?:remote )?peer") for one in accounts(case))
    return LIKELY if placed and not cut_off else POSSIBLE


RULE = make_rule(__name__, __doc__, "p2p-order-deadlock", 46, check)
