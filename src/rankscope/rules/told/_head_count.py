"""Who came to a meeting, as stores, libraries, schedulers and programs count them."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re

from ...analysis.accounts import accounts, line_at
from ...analysis.case import Case
from ...analysis.remembered import remembered
from ...model.evidence.events import Event
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from ._findings import Fact
from ._lines import events
from ._signs import POSSIBLE, Sign, ended

# A scheduler has found a place for what it waited with.
PLACED = (
    r"Successfully assigned|\bScheduled\b|\bStarted container|placement group (?:is )?(?:created|ready)|"
    r"\b1/1 +Running\b|\b0/1 +Completed\b"
)


def few_in_store(case: Case) -> Fact | None:
    """A store to which fewer came than it expects."""
    for event in events(case, "store.clients_missing", "store.barrier_timeout", "store.barrier_waiting"):
        joined, world = event.fields.get("joined"), event.fields.get("expected", event.fields.get("world_size"))
        if isinstance(joined, int) and isinstance(world, int) and joined < world and not came_later(case, event):
            return Fact(f"only {joined} of {world} arrived", (event.text,))
    return None


def came_later(case: Case, waiting: Event) -> bool:
    """Whether some rank told later, or in another file, that all had come to the barrier that a line waits in."""
    last = _met(case).get(waiting.fields.get("key"), {})
    return bool(last.keys() - {waiting.file}) or last.get(waiting.file, 0) > waiting.line


@remembered
def _met(case: Case) -> dict[object, dict[str, int]]:
    """Per barrier of the store that all came to, the last line of each file that tells so."""
    found: dict[object, dict[str, int]] = {}
    for event in events(case, "store.barrier_met"):
        lines = found.setdefault(event.fields["key"], {})
        lines[event.file] = max(event.line, lines.get(event.file, 0))
    return found


# kube-batch and Volcano: how many pods of a gang there are, in which states, and how many it needs at least.
_GANG = regex(r"tasks in gang unschedulable: [^\n]*?not ready, (?P<states>[^\n]*?)(?P<least>\d+) minAvailable")
_IN_STATE = regex(r"\b(\d+) [A-Z][A-Za-z]+\b")


def gang_incomplete(case: Case) -> Fact | None:
    """A gang that waits for pods which nobody has created."""
    for account in accounts(case):
        found = list(_GANG.finditer(account.said))
        if not found or ended(account, Sign(_GANG.pattern, "", until=PLACED)):
            continue
        have, least = sum(map(int, _IN_STATE.findall(found[-1]["states"]))), int(found[-1]["least"])
        if have < least:
            title = (
                f"{have} of the {least} pods that have to start together are there, and none starts without the others"
            )
            return Fact(title, (line_at(account.said, found[-1].start()),), compared=True)
    return None


def key_missing(case: Case) -> Fact | None:
    """Ranks for whose key in the store the others wait."""
    said = events(case, "store.key_wait_timeout")
    named = [(rank, one.text) for one in said if isinstance(rank := one.fields.get("missing_rank"), int)]
    if not named:
        return None
    ranks = RankSet(rank for rank, _ in named)
    title = f"{ranks_phrase(ranks)} never came to init_process_group: the others wait for its key"
    return Fact(title, (named[0][1],), ranks=ranks)


# The coordination service of jax and tensorflow (PjRT_Client_Connect): later barriers are the program's own.
_FIRST_BARRIER = regex(
    r"Barrier timed out\b[^\n]{0,80}\b\w*(?:Connect|connect|Init|init|WaitForAll)\w*[^\n]{0,300}(?:\n[^\n]{0,300}){0,3}?[Tt]imed out task names:"
    r"(?P<tasks>(?:\s{0,4}/job:\w{1,60}/replica:\d{1,6}/task:\d{1,6},?){1,512})"
)
_TASK = regex(r"/task:(\d{1,6})\b")


def tasks_missing(case: Case) -> Fact | None:
    """Tasks that the coordination service names because they did not come to its first barrier."""
    for account in accounts(case):
        if (found := _FIRST_BARRIER.search(account.said)) is not None:
            ranks = RankSet(int(number) for number in _TASK.findall(found["tasks"]))
            title = f"{ranks_phrase(ranks)} did not come to the first barrier of the coordination service"
            return Fact(title, (line_at(account.said, found.start()),), ranks=ranks)
    return None


def communicator_incomplete(case: Case) -> Fact | None:
    """A communicator of which some members began or finished the initialisation and others did not."""
    comms: dict[object, tuple[set[int], set[int], int]] = {}
    for event in events(case, "nccl.comm_init_start", "nccl.comm_init_complete"):
        number, size = event.fields.get("comm_id", event.fields.get("nranks")), event.fields.get("nranks")
        if event.rank is not None and isinstance(size, int):
            started, done, _ = comms.setdefault(number, (set(), set(), size))
            (done if event.event.endswith("complete") else started).add(event.rank)
    return next((fact for comm in comms.values() if (fact := _lacking(*comm)) is not None), None)


def _lacking(started: set[int], done: set[int], size: int) -> Fact | None:
    """Who is missing from a communicator of some size: a half of its members at most."""
    unfinished = RankSet(started - done) if done else RankSet()
    if 0 < len(unfinished) <= size // 2:
        title = f"{ranks_phrase(unfinished)} began to initialise a communicator and never finished"
        return Fact(title, ("the others report Init COMPLETE",), ranks=unfinished)
    absent = RankSet(range(size)) - RankSet(started)
    if started and not done and 0 < len(absent) <= size // 2:
        title = f"{ranks_phrase(absent)} never began to initialise the communicator of {size}"
        return Fact(title, ("the others report Init START",), POSSIBLE, absent)
    return None


_ARRIVED = regex(
    r"(?<!#)(?<!iteration )(?<!step )(?<!epoch )(?<!batch )(?<!rank )(?<!worker )(?<!process )(?<!task )(?<!node )(?<!host )\b(?P<have>\d{1,6}) ?(?:of|/|out of) ?(?P<want>\d{1,6}) (?:\w+ ){0,2}(?:workers?|ranks?|nodes?|clients?|peers?|processes|members?|hosts?|agents?|pods?|replicas?|tasks?)?"
    r"(?: (?:are|is|have|has))? ?(?:ready|joined|connected|arrived|registered|up|started|running|checked in)\b(?!\W?[=:])(?! (?:and|or) queued| (?:tasks?|jobs?|requests?|slots?)\b)|"
    r"\b(?:ready|joined|connected|arrived|registered|alive)\W{1,3}(?P<have_>\d{1,6}) ?(?:of|/) ?(?P<want_>\d{1,6})\b",
    re.IGNORECASE,
)


def few_counted(case: Case) -> Fact | None:
    """A counter of those who came that stands below the number of those expected."""
    for account in accounts(case):
        found = list(_ARRIVED.finditer(account.said))
        if not found:
            continue
        last = found[-1]
        have, want = int(last["have"] or last["have_"]), int(last["want"] or last["want_"])
        if have < want:
            return Fact(f"only {have} of {want} arrived", (line_at(account.said, last.start()),))
    return None
