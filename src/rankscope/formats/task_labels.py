"""The number of the task that srun(1) ``-l`` and its like put before every line of a program: ``3: step 17``; MPICH's
``-prepend-rank`` writes ``[3] step 17``.

Numbers with a colon stand before lines for many other reasons: ``404: Not Found``, steps and epochs, ``ip link``, /proc/locks(5),
items of a list. Labels of tasks come again and again, next to each other; they mix as the tasks write, or stand before several
lines each. Only the text as a whole shows that. Epochs and footnotes stand in brackets too, so that such
numbers have to mix.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from ..model.patterns import regex

# A label may stand before another: a step that starts steps.
_DEEPEST = 2
# As many lines are enough to tell.
_MOST_LINES = 4000
# Where they do not mix, each stands before so many lines: a trainer that counts steps has one or two for each.
_LINES_EACH = 3
LABEL = regex(r"(?P<bracket>\[)?(?P<rank>\d{1,6})(?(bracket)\]|:) (?=\S|$| {2,})")
_BRACKET = "["
_DIGITS = tuple("0123456789")
# Rows of ``ip link``, of /proc/locks and of Horovod's list of ranks that lack tensors, which are numbered as well.
_ROW = regex(
    r"[\w.@-]+:? +(?:<[A-Z]|inet6? )|(?:-> )?(?:POSIX|FLOCK|OFDLCK|LEASE) |\[[\w./]+(?:, [\w./]+)*(?: \.\.\.|\])"
)
_MAY = regex(r"(?<![\w.])\d{1,6}: |\[\d{1,6}\] ")


def may_be_labelled(raw: str) -> bool:
    """Whether a line may hold a label, behind other prefixes; quick, and often wrong."""
    return _MAY.search(raw) is not None


def depth(said: Iterable[str]) -> int:
    """How many labels stand before lines of a text, given its lines without other prefixes and without empty ones."""
    found = 0
    texts: Sequence[str] = list(itertools.islice(said, _MOST_LINES))
    while found < _DEEPEST and (runs := _labels(texts)):
        found += 1
        texts = [text for run in runs for _, text in run]
    return found


def _labels(texts: Sequence[str]) -> list[list[tuple[int, str]]]:
    """Labels and texts of lines, where they are labels of tasks; with a colon, else in brackets."""
    by_colon, in_brackets = list(_runs(texts, _DIGITS)), list(_runs(texts, _BRACKET))
    if _labelled(by_colon):
        return by_colon
    return in_brackets if _labelled(in_brackets, may_be_blocks=False) else []


def _runs(texts: Iterable[str], sign: str | tuple[str, ...]) -> Iterator[list[tuple[int, str]]]:
    """Numbers and texts of neighbours that have both, but for lists: there each number comes once, and is the next one."""
    told = ((text, LABEL.match(text) if text.startswith(sign) else None) for text in texts)
    for matches, group in itertools.groupby(told, lambda one: one[1] is not None):
        parts = [(label["rank"], text[label.end() :]) for text, label in group if label] if matches else []
        run = [(int(number), text) for number, text in parts if not _ROW.match(text)]
        if len(run) > 1 and not all(other == one + 1 for (one, _), (other, _) in itertools.pairwise(run)):
            yield run


def _labelled(runs: Sequence[Sequence[tuple[int, str]]], may_be_blocks: bool = True) -> bool:
    said = [one for run in runs for one in run]
    numbers = [number for number, _ in said]
    if len(set(numbers)) == len(numbers) or len(set(said)) == 1:
        return False
    each = len(numbers) / len(set(numbers))
    changes = [other - one for one, other in itertools.pairwise(numbers) if one != other]
    mixed = 4 * sum(change < 0 for change in changes) > len(changes)
    uneven = len(set(changes)) > 1  # a program counts evenly
    return mixed or (may_be_blocks and (not changes or each >= (2 if uneven else _LINES_EACH)))
