"""A diagnosis as one screen for a terminal: verdict, evidence, who waits, what to type next, what was not seen.

Plain lines with a word in the left margin; colour only repeats that word.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from ..analysis.commands import typed
from ..analysis.scene import is_absent
from ..model.diagnosis import READS_WELL, Diagnosis, Finding, Kind, State
from ..model.evidence.source import Place
from ..model.gap import Why
from ..model.process import ProcessRef
from ..model.ranks import RankSet, ranks_phrase
from ..model.snapshot import FILES
from ..model.words import counted, span
from . import gaps, hosts, paths
from . import places as places_of
from .one_trouble import but_for_numbers, told_once
from .plain import clean

MARGIN = 9
# Of a line of somebody's log this much is enough to find it again; --json has the whole.
LONGEST = 300
_STILL = (
    "nothing wrong found, but nothing moved while we looked: so it is with a program without work, and with a wait that has "
    "just begun"
)
_COLOURS = {
    "cause": "1;31", "possible": "33", "waiting": "36", "next": "1;32", "unseen": "33", "job": "1", "clean": "1;32",
    "slow": "1;33", "unknown": "1;33", "note": "34", "against": "33", "paths": "36",
}  # fmt: skip


def render(
    diagnosis: Diagnosis, width: int = 80, colour: bool = False, source: Mapping[Place, str] | None = None
) -> str:
    """The whole screen, ending in a newline; ``source`` has lines of the job's own files by place."""
    out = []
    for word, text in _lines(diagnosis):
        out.extend(_wrap(word, clean(text), width, colour))
    if diagnosis.parted is not None:
        out.extend(_beside("paths", paths.render(diagnosis.parted, source or {}, max(40, width - MARGIN)), colour))
    for word, text in _after(diagnosis):
        out.extend(_wrap(word, clean(text), width, colour))
    return "\n".join(out) + "\n"


def _lines(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    yield "job", _job(diagnosis)
    if diagnosis.job.launcher == FILES and any(name != "python" for name, _ in diagnosis.versions):
        yield "versions", _versions(diagnosis)
    causes = [finding for finding in diagnosis.findings if finding.kind is Kind.CAUSE]
    if diagnosis.job.launcher == FILES:
        causes = told_once(causes)
    if not causes:
        yield from _no_cause(diagnosis)
    told: set[tuple[object, ...]] = set()
    for finding in causes[:4]:
        yield "cause", f"{finding.title}  [{finding.cls}, {finding.certainty.value}]"
        if but_for_numbers(finding) not in told:
            yield from _why(diagnosis, finding)
        told.add(but_for_numbers(finding))
    yield from _more(len(causes) - 4, "cause")
    if diagnosis.verdict is not None or diagnosis.state is not State.MOVING:
        yield from _waiting(diagnosis)
    others = [finding for finding in diagnosis.findings if finding.kind is not Kind.CAUSE]
    for finding in others[:4]:
        yield "note", finding.title
    yield from _more(len(others) - 4, "note")


def _more(count: int, what: str) -> Iterator[tuple[str, str]]:
    """Says that something was left out."""
    if count > 0:
        yield "", f"… and {counted(count, 'more ' + what)}: --json shows all"


def _after(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    yield from (("unseen", text) for text in gaps.unseen(diagnosis.gaps, diagnosis.roster))
    for step in diagnosis.next[:4]:
        yield "next", str(step)
    yield from _more(len(diagnosis.next) - 4, "step")
    if diagnosis.effort.took_s:
        yield "cost", _cost(diagnosis)


def _job(diagnosis: Diagnosis) -> str:
    if diagnosis.job.launcher == FILES:
        ended = f": {diagnosis.state.value}" if diagnosis.state is State.EXITED else ""
        return "read from files" + (f", {_how_many(diagnosis)}" if diagnosis.processes else "") + ended
    where = f" on {hosts.phrase(diagnosis.hosts)}" if diagnosis.hosts else ""
    return f"{diagnosis.job.name or 'a job'} ({diagnosis.job.launcher}), {_how_many(diagnosis)}{where}: {diagnosis.state.value}"


def _versions(diagnosis: Diagnosis) -> str:
    """What the evidence names; of a list of packages the first ones."""
    told = [f"{name} {' and '.join(known[:_OF_ONE])}" for name, known in diagnosis.versions]
    return ", ".join(told[:_LIBRARIES]) + (f" and {len(told) - _LIBRARIES} more" if len(told) > _LIBRARIES else "")


_LIBRARIES, _OF_ONE = 8, 3


def _how_many(diagnosis: Diagnosis) -> str:
    ranks = len(diagnosis.ranks)
    if diagnosis.world_size and ranks != diagnosis.world_size:
        return f"{ranks} of {counted(diagnosis.world_size, 'rank')}"
    if not ranks:
        return counted(diagnosis.processes, "process")
    # Without a size a number that is missing between them would not show.
    return counted(ranks, "rank") if max(diagnosis.ranks) < ranks else ranks_phrase(diagnosis.ranks)


def _no_cause(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    if diagnosis.verdict is not None:
        yield "slow", f"{diagnosis.verdict.title}  [{diagnosis.verdict.cls}]"
    elif diagnosis.evidence_weak:
        yield "unknown", _not_enough(diagnosis)
    elif diagnosis.job.launcher == FILES:
        yield "clean", "nothing wrong found in it"
    elif diagnosis.state is State.MOVING:
        yield "clean", "nothing wrong found: the job moves"
    elif diagnosis.state is State.UNKNOWN:
        yield "unknown", _STILL
    else:
        yield "clean", "nothing wrong found"


# Why files tell less than they were given for.
_IN_PART = (Why.DAMAGED, Why.CUT, Why.FAILED, Why.DENIED, Why.MISSING)


def _not_enough(diagnosis: Diagnosis) -> str:
    if diagnosis.state is State.STUCK:
        return "the job is stuck, and nothing that was seen says why"
    if diagnosis.again_s is not None:
        return f"nothing moved while we looked, and who waits has not waited for long; look again in {span(diagnosis.again_s)}"
    if any(READS_WELL in one.against for one in diagnosis.findings):
        return (
            "it reads like runs in which nothing is wrong, but for what a note below says; a second look would decide"
        )
    if diagnosis.job.launcher == FILES and diagnosis.processes:
        if any(gap.why in _IN_PART and gap.process is None for gap in diagnosis.gaps):
            return "a part of what was given could not be read or holds nothing, and the rest shows no cause"
        return "somebody waits or does not run, and one picture does not tell for how long"
    if diagnosis.job.launcher == FILES and diagnosis.findings:
        return "nothing that was given says why; a note below says what it tells"
    if diagnosis.findings:
        return "nothing moves, and nothing that was seen says why"
    if not diagnosis.gaps and diagnosis.job.launcher == FILES:
        return "not enough evidence to say anything: no stack and no message in it tells what a job does"
    return "not enough evidence to say anything; see what was not seen, and why"


def _why(diagnosis: Diagnosis, finding: Finding) -> Iterator[tuple[str, str]]:
    """Where the accused run, what a cause rests on, and what speaks against it."""
    reasons = {reason.text: reason.place for reason in finding.because}
    if where := _where(diagnosis, finding, "\n".join((finding.title, *reasons))):
        yield "", where
    for text, place in reasons.items():
        yield "", clean(text, LONGEST) + (f"  ({clean(place, LONGEST)})" if place else "")
    for text in finding.against:
        yield "against", text


def _where(diagnosis: Diagnosis, finding: Finding, told: str) -> str:
    """Where the ranks at fault run, or those of a circle, unless the sentences name a process of them."""
    blamed = {process.ref for process in finding.processes}
    places = {
        rank: ref
        for ref, rank in diagnosis.roster.items()
        if (rank in finding.ranks if finding.ranks else ref in blamed)
    }
    known = any(ref.spoken and ref.spoken in told for ref in {*places.values(), *blamed})
    return "" if known else places_of.phrase(places)


_COUNTS = 1.0  # seconds; who asks again and again has waited longer than since it asked last


def _waiting(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Equal waits folded: who waits for what, and since when."""
    folded: dict[tuple[str, str], list[ProcessRef]] = {}
    since: dict[tuple[str, str], float] = {}
    for wait in diagnosis.waits:
        rank = diagnosis.roster.get(wait.target) if wait.target else None
        if rank is None and wait.target is not None and is_absent(wait.target):
            rank = wait.target.pid
        who = f"rank {rank}" if rank is not None else str(wait.target or "nobody")
        key = (wait.why, who)
        folded.setdefault(key, []).append(wait.waiter)
        if wait.since_s is not None and wait.since_s >= _COUNTS:
            since[key] = max(since.get(key, 0.0), wait.since_s)
    for (why, target), waiters in sorted(folded.items(), key=lambda item: -len(item[1]))[:5]:
        age = f", for {span(since[why, target])}" if (why, target) in since else ""
        yield "waiting", f"{_who(diagnosis, waiters)} for {target}: {why}{age}"
    yield from _more(len(folded) - 5, "wait")
    if diagnosis.waits_unwritten:
        yield "", f"{diagnosis.waits_unwritten} more waits for members of large groups are not listed"
    yield from _time_left(diagnosis)
    for cycle in diagnosis.cycles[:2]:
        between = [f"… {len(cycle) - 6} more"] if len(cycle) > 6 else []
        yield "cycle", " → ".join([*(str(ref) for ref in cycle[:6]), *between, str(cycle[0])])
    yield from _more(len(diagnosis.cycles) - 2, "circle")


def _time_left(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """How long until waiting ranks give up by themselves: the first, and the last where that is another matter."""
    ahead = [(left, ranks) for left, ranks in diagnosis.deadlines if left > 0]
    if not ahead:
        return
    (first, early), (last, late) = ahead[0], ahead[-1]
    if last - first <= 60:
        everybody = RankSet(rank for _, ranks in ahead for rank in ranks)
        yield "left", f"{span(first)} until the calls of {ranks_phrase(everybody)} time out"
    else:
        yield (
            "left",
            f"{span(first)} until the calls of {ranks_phrase(early)} time out, {span(last)} of {ranks_phrase(late)}",
        )


def _who(diagnosis: Diagnosis, waiters: list[ProcessRef]) -> str:
    ranks = RankSet(r for r in (diagnosis.roster.get(ref) for ref in waiters) if r is not None)
    if len(ranks) == len(waiters):
        return ranks_phrase(ranks)
    return ", ".join(map(str, waiters[:3])) + (f" and {len(waiters) - 3} more" if len(waiters) > 3 else "")


def _cost(diagnosis: Diagnosis) -> str:
    effort = diagnosis.effort
    pause = "nobody was paused" if not effort.paused_ms_max else f"longest pause {effort.paused_ms_max:.1f} ms"
    took = f"{effort.took_s:.1f} s ({effort.slept_s:.1f} s of it between the sweeps)"
    return f"{took}, {counted(diagnosis.processes, 'process')}, {pause}"


def _beside(word: str, lines: Iterable[str], colour: bool) -> Iterator[str]:
    """Lines as they are, the word before the first."""
    for number, line in enumerate(lines):
        yield (_head(word, colour) if number == 0 else " " * MARGIN) + line


def _head(word: str, colour: bool) -> str:
    head = f"\x1b[{_COLOURS[word]}m{word}\x1b[0m" if colour and word in _COLOURS else word
    return head + " " * (MARGIN - len(word))


_ON = re.compile(r"on [\w.-]{1,255}(?:, while it runs)?: ")


def _wrap(word: str, text: str, width: int, colour: bool) -> list[str]:
    if word == "next" and typed(_ON.sub("", text, count=1)):
        return [_head(word, colour) + text]  # a command that is broken into lines cannot be pasted
    lines = textwrap.wrap(text, max(20, width - MARGIN), break_long_words=False, break_on_hyphens=False) or [""]
    first = _head(word, colour) + lines[0]
    return [first.rstrip(), *(" " * MARGIN + line for line in lines[1:])]
