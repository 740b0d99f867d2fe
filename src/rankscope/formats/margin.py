"""What stands before every line of one text, whatever it is: the number that ``cat -n`` or ``grep -n`` gave it, the count of
``uniq -c``, the name of the host whose line ``pdsh`` or ``clush`` passed on, or of the file that ``grep`` read, the spaces of a
quotation. Only the text as a whole tells them from what a program said.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..model.patterns import regex
from . import collected, task_labels
from .lines import Line
from .names import rank_in

# Fewer lines than this may look alike by chance.
_FEWEST = 4
_HEAD_CHARS = 32 << 10
# nl(1) gives an empty line no number, cat(1) -n does: numbers that are left out are few.
_CLOSE = 4
# cat(1) -n and nl(1) put a tab behind the number, ``less -N`` a space, bat a line.
_NUMBERED = regex(r" *(?P<number>\d{1,9})(?:\t| *│ ?| )")
_PADDED = regex(r" *\d{1,9}(?:\t| *│)|  +\d{1,9} ")
_HOST = regex(r"(?=[\w.-]{2,253}:(?: |$))(?P<host>[A-Za-z](?:[\w-]*\.)*[\w-]*\d[\w.-]*|[\w-]+(?:\.[\w-]+)+):(?: |$)")
# One name alone may be that of the program (``mount.nfs``); hosts have numbers.
_NUMBERED_HOST = regex(r"\d$|(?:\.[\w-]+){2}$")
_RANK = regex(r"(?:global)?[-_]?rank[-_]?(\d{1,7})$", re.IGNORECASE)
# Parts of a machine or of a run, and files of sources, that have such a colon behind them in many a text.
_NO_HOST = regex(
    r"(?:gpu|cuda|nvidia|mlx\d|ib|eth|en|lo|br|docker|virbr|cpu|core|thread|step|epoch|iter|exp|test|case|layer|block|"
    r"version|python|torch)"
    r"\w*$|.*\.(?:py|so|c|cc|cpp|cu|h|hpp|rs|log|txt|json|ya?ml)(?:\.\d+)*$",
    re.IGNORECASE,
)  # fmt: skip
# There such numbers are of a compiler, or of the code itself.
_NO_SOURCE = r"(?<!\.py)(?<!\.c)(?<!\.cc)(?<!\.cpp)(?<!\.cu)(?<!\.h)"
# grep(1) -n: a colon behind what matched, a hyphen behind the lines around it (-A, -B, -C), "--" between such groups.
_FOUND = regex(
    rf"(?:(?P<file>[^\s:]*(?:/[^\s:/]+|\.(?:log|txt|out|err|stdout|stderr|jsonl?)(?:\.\d+)?)){_NO_SOURCE}:)?(?P<number>\d{{1,9}}):"
)
_BETWEEN = "--"
# Stacks name the lines of a source by these numbers; what tells of a lock there is read with them.
_TAKES_LOCK = regex(
    r" {0,20}\d{1,9}[:\s│]{1,80}(?:async )?with [\w.]{0,80}?(?:lock|mutex|cond)\w{0,80}(?:\(\))?:\s*(?:#|$)|"
    r" {0,20}\d{1,9}[:\s│]{1,80}[\w.]{0,80}?(?:lock|mutex)\w{0,80}\.acquire\(",
    re.IGNORECASE,
)
_DEFINES = regex(r" {0,20}\d{1,9}[:\s│]{1,80}(?:async )?def \w+\(")
_COUNTED = regex(r" *(?P<count>\d{1,6}) (?=\s*[A-Za-z_<])")
# A stack without its head is written with such a margin by its tool.
_FRAME = regex(r"File \"|\S.* \(\S+?(?::\d+)?\)$|\S+@0x|#\d")


@dataclass(frozen=True)
class Margin:
    """The margin of one text; ``pattern`` matches it at the beginning of a line, and may tell a host or a file. ``labels`` is how
    many labels of tasks stand behind it and what else collectors write."""

    pattern: re.Pattern[str] | None = None
    labels: int = 0

    def off(self, raw: str) -> str:
        """A line without it; one that does not have it stays as it is."""
        found = self._at(raw)
        return raw[found.end() :] if found else raw

    def _at(self, raw: str) -> re.Match[str] | None:
        return self.pattern.match(raw) if self.pattern is not None else None

    def lines(self, number: int, raw: str) -> Iterator[Line]:
        """The cleaned lines of a raw one, with whom its margin names."""
        found = self._at(raw)
        if found is None:
            yield from collected.lines(number, raw, self.labels)
            return
        told = found.groupdict()
        host, file = told.get("host"), told.get("file")
        by_host = _RANK.match(host) if host else None
        rank = int(by_host.group(1)) if by_host else rank_in(file) if file else None
        for line in collected.lines(number, raw[found.end() :], self.labels):
            yield replace(
                line, source=(host or file or "") + line.source, host=line.host or (None if by_host else host),
                rank=line.rank if line.rank is not None else rank,
            )  # fmt: skip


NONE = Margin()


def margin_of(head: str) -> Margin:
    """The margin that all lines of a text have, as far as its head shows; where that is cut, its last line is not looked at."""
    said = [line for line in head[:_HEAD_CHARS].split("\n")[: -1 if len(head) >= _HEAD_CHARS else None] if line.strip()]
    kinds = _KINDS if len(said) >= _FEWEST else ()
    margin = next((Margin(pattern) for kind in kinds if (pattern := kind(said)) is not None), NONE)
    labels = task_labels.depth(_texts(margin, head))
    return replace(margin, labels=labels) if labels else margin


def _texts(margin: Margin, head: str) -> Iterator[str]:
    """The lines that are not empty as they may begin with a label of a task; of others there is one for all that run together."""
    between = False
    for raw in head.split("\n") if task_labels.may_be_labelled(head) else ():
        if task_labels.may_be_labelled(raw):
            yield from (line.text for line in margin.lines(0, raw))
            between = False
        elif raw.strip() and not between:
            between = True
            yield ""


def _numbers(said: Sequence[str]) -> re.Pattern[str] | None:
    """Numbers that go up one by one, except over lines that are empty."""
    if not all(map(_PADDED.match, said)) or _is_listing(said):
        return None
    found = [int(match["number"]) for match in map(_NUMBERED.match, said) if match]
    return _NUMBERED if all(0 < later - before < _CLOSE for before, later in itertools.pairwise(found)) else None


def _is_listing(said: Sequence[str]) -> bool:
    """Whether numbered lines are of a source that takes locks."""
    return any(map(_TAKES_LOCK.match, said)) and any(map(_DEFINES.match, said))


def _hosts(said: Sequence[str]) -> re.Pattern[str] | None:
    names = Counter(match["host"] for match in map(_HOST.match, said) if match)
    whole = sum(names.values()) == len(said) >= 2 * len(names)
    alone = len(names) == 1 and not all(map(_NUMBERED_HOST.search, names))
    return _HOST if whole and not alone and not any(map(_NO_HOST.match, names)) else None


def _finds(said: Sequence[str]) -> re.Pattern[str] | None:
    """Numbers that go up in each file; lines that only stand around a match tell their file by what the matches tell."""
    matches = [match for match in map(_FOUND.match, said) if match]
    files = {match["file"] for match in matches}
    labelled = all(match.string.startswith(" ", match.end()) for match in matches)  # so srun(1) -l writes the rank
    if not files or labelled or (None in files and len(files) > 1) or _is_listing(said):
        return None
    names = "|".join(re.escape(file) for file in files if file)
    pattern = regex(
        rf"(?P<file>{names})(?P<by>[:-])(?P<number>\d{{1,9}})(?P=by)" if names else r"(?P<number>\d{1,9})[:-]"
    )
    last: dict[str | None, int] = {}
    for line in said:
        found = pattern.match(line)
        if found is None:
            if line != _BETWEEN:
                return None
            continue
        file, number = found.groupdict().get("file"), int(found["number"])
        if number <= last.get(file, 0):
            return None
        last[file] = number
    return pattern


def _counts(said: Sequence[str]) -> re.Pattern[str] | None:
    """One and the same count before the frames of a stack, as uniq(1) -c writes it of stacks that are alike."""
    found = [_COUNTED.match(line) for line in said]
    counts = {match["count"] for match in found if match}
    alike = len(counts) == 1 and counts != {"1"}
    framed = all(match and _FRAME.match(match.string[match.end() :].lstrip()) for match in found)
    return _COUNTED if alike and framed else None


def _spaces(said: Sequence[str]) -> re.Pattern[str] | None:
    margin = min((line[: len(line) - len(line.lstrip(" \t"))] for line in said), key=len)
    if (
        not margin
        or not all(line.startswith(margin) for line in said)
        or all(map(_FRAME.match, (line[len(margin) :] for line in said if not line[len(margin)].isspace())))
    ):
        return None
    return regex(re.escape(margin))


# A time of the day (``ts %T``, a terminal's log); a service's name and a line (compose, foreman); Open MPI's host and process.
_EACH = (
    regex(r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? "),
    regex(r"(?P<host>[a-z][\w.-]{0,60}) +\| "),
    regex(r"\[(?P<host>[A-Za-z][\w.-]{0,80}):\d{2,10}\] "),
)


def _each(said: Sequence[str]) -> re.Pattern[str] | None:
    """What a program, a launcher or a terminal puts before every line: some of what stands behind it is set in, as stacks are."""
    return next((one for one in _EACH if all(map(one.match, said)) and _is_set_in(one, said)), None)


def _is_set_in(margin: re.Pattern[str], said: Sequence[str]) -> bool:
    return any(line[found.end() :].startswith((" ", "\t")) for line in said if (found := margin.match(line)))


_KINDS: tuple[Callable[[Sequence[str]], re.Pattern[str] | None], ...] = (
    _numbers,
    _finds,
    _hosts,
    _counts,
    _each,
    _spaces,
)
