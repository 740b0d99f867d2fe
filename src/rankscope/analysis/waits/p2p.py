"""A rank in a send or receive waits for the peer that the call names (``src`` or ``dst`` among its locals).

Where recorders hold messages (NCCL's, and those of prepared ranks), they decide. gloo's has none, so the arguments of the
blocked call are all there is. Of a sender and the receiver of its message, who both stand in their calls, the one that came
first has waited for the other, and now the message is under way. A receive from any source waits for whoever still goes about
something else. Calls of MPI show no arguments; where all ranks send, or all receive, each waits for one of the others,
whichever it is, and so in a circle. Nor does the ``wait`` for a message that was posted before show any: where all ranks wait
for messages, nobody is left to post another.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..identity import birth
from ..own_age import own_s
from ..scene import Scene
from ..standing import Standing
from .collective import arrived

_SOURCES = ("src", "group_src")
_TO_ONE, _FROM_ONE = {"send", "isend", "send_object_list"}, {"recv", "irecv", "recv_object_list"}
_PEERS = ("src", "dst", "group_src", "group_dst", "peer", "source", "dest")


def find(scene: Scene) -> Iterator[Wait | Share]:
    everybody = _Everybody(scene)
    for standing in scene.of_role(Role.RANK):
        rank = standing.member.rank
        if standing.kind is not WaitKind.P2P or rank is None:
            continue
        if rank in scene.rank_edges:
            for target, why in scene.rank_edges[rank]:
                yield Wait(standing.member.ref, scene.rank_ref(target), why, standing.still_s)
            continue
        peer = peer_of(standing)
        if peer is not None and _came_last(standing, scene.standings.get(scene.rank_ref(peer))):
            continue
        if peer is not None and peer != rank and (peer in scene.ranks or peer in scene.missing):
            yield Wait(standing.member.ref, scene.rank_ref(peer), f"{_message(standing)} rank {peer}", standing.still_s)
        elif peer is None and from_anybody(standing):
            yield from _from_senders(everybody.senders(standing), standing)
        elif peer is None and everybody.waits:
            why = f"{_message(standing)} one of the others, who all wait for messages themselves"
            yield from for_all(standing.member.ref, everybody.ranks, why, standing.still_s)


def _message(standing: Standing) -> str:
    """What kind of message it waits for, as its call has it, before the name of the other rank."""
    op = standing.wait.op.rsplit(".", 1)[-1].lower()
    if op in _POSTED:
        return "a message that was posted before, from or to"
    way = "with" if "send" in op and "recv" in op else "from" if "recv" in op else "to" if "send" in op else "with"
    return f"{standing.wait.op} {way}"


class _Everybody:
    """What holds for all receivers and senders alike, found once and only where somebody asks."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @functools.cached_property
    def ranks(self) -> Crowd:
        return Crowd(tuple(one.member.ref for one in self._scene.of_role(Role.RANK)))

    @functools.cached_property
    def waits(self) -> bool:
        return _nobody_answers(self._scene)

    def senders(self, receiver: Standing) -> Crowd:
        """Who may send to a receiver from anybody: ranks that do something else, and those whose message is under way to it."""
        sent = [one for one in self._sent.get(receiver.member.rank, ()) if _under_way(one, receiver)]
        return Crowd((*(one.member.ref for one in sent), *self._free.refs)) if sent else self._free

    @functools.cached_property
    def _free(self) -> Crowd:
        """Ranks that wait for something themselves send nothing."""
        others = [one for one in self._scene.of_role(Role.RANK) if one.member.rank is not None]
        free = [one.member.ref for one in others if not arrived(one) and one.kind is not WaitKind.P2P]
        return Crowd((*free, *map(self._scene.rank_ref, self._scene.missing)))

    @functools.cached_property
    def _sent(self) -> dict[int | None, list[Standing]]:
        """Who stands in a send, by the rank to which."""
        found: dict[int | None, list[Standing]] = {}
        for one in self._scene.of_role(Role.RANK):
            if one.wait.op in _TO_ONE:
                found.setdefault(peer_of(one), []).append(one)
        return found


# MPI's blocking calls of one direction; a buffered send (Bsend) waits for nobody, a Sendrecv goes both ways.
_SENDS, _RECEIVES = {"send", "ssend"}, {"recv", "mprobe", "probe"}
_POSTED = {"wait", "waitall", "waitany", "_wait_batch_p2p"}


def _nobody_answers(scene: Scene) -> bool:
    """Whether every rank of the job stands in a send, or every one in a receive, so that none of them has a partner; or all in
    messages, some of them posted before."""
    ops = {
        one.wait.op.rsplit(".", 1)[-1].lower() if one.kind is WaitKind.P2P else "" for one in scene.of_role(Role.RANK)
    }
    return not scene.missing and (ops <= _SENDS or ops <= _RECEIVES or ("" not in ops and not ops.isdisjoint(_POSTED)))


def _from_senders(senders: Crowd, receiver: Standing) -> Iterator[Wait | Share]:
    """Where all others wait themselves, there is nobody to wait for."""
    if senders.refs:
        yield from for_all(receiver.member.ref, senders, f"{receiver.wait.op} from any rank", receiver.still_s)
    else:
        why = f"{receiver.wait.op} from any rank, while all others wait themselves"
        yield Wait(receiver.member.ref, None, why, receiver.still_s)


def _came_last(standing: Standing, peer: Standing | None) -> bool:
    """Whether its message is under way since it came; where nothing tells who came last, it was the sender."""
    sends = _under_way(standing, peer)
    if peer is None or not (sends or _under_way(peer, standing)):
        return False
    mine, other = own_s(standing), own_s(peer)
    return sends if mine is None or other is None or mine == other else mine < other


def _under_way(sender: Standing, receiver: Standing | None) -> bool:
    """Whether two ranks stand in the two halves of one message: a send to the one who receives from the other, or from anybody,
    under one tag as far as the calls tell."""
    if receiver is None or sender is receiver or sender.wait.op not in _TO_ONE or receiver.wait.op not in _FROM_ONE:
        return False
    tags = {tag for one in (sender, receiver) if (tag := _named(one, ("tag",))) is not None}
    return (
        peer_of(sender) == receiver.member.rank
        and (from_anybody(receiver) or peer_of(receiver) == sender.member.rank)
        and len(tags) < 2
    )


def from_anybody(standing: Standing) -> bool:
    """Whether the blocked call is a receive that names no source."""
    thread = standing.thread
    if thread is None or "recv" not in standing.wait.op:
        return False
    user = standing.wait.user + birth(thread.stack)
    told = {local.value for local in thread.locals if local.depth > user and local.name in _SOURCES}
    return told == {"None"}


def peer_of(standing: Standing) -> int | None:
    """The rank that the blocked call names; the outermost library frame holds the world rank."""
    return _named(standing, _PEERS)


def _named(standing: Standing, names: tuple[str, ...]) -> int | None:
    """The whole number that the outermost library frame of the blocked call has under one of these names, the first first."""
    if standing.thread is None:
        return None
    user = standing.wait.user + birth(standing.thread.stack)
    found = {
        (local.depth, local.name): number
        for local in standing.thread.locals
        if local.depth > user and local.name in names and (number := local.number) is not None and number >= 0
    }
    return next((found[key] for key in sorted(found, key=lambda key: (key[0], names.index(key[1])))), None)
