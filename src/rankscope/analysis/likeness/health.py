"""case → whether it reads like runs in which nothing is wrong: the whole of it, and passage by passage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..accounts import accounts
from ..case import Case
from ..remembered import remembered
from .nearness import ENOUGH, compare, likeness, set_aside
from .table import HEALTHY, weights
from .words import telling_text, words_of

# Passages overlap, so that no trouble is cut in two. Of more than these nobody asks: one would read badly by chance.
_LINES, _STEP, _MOST = 60, 30, 300

# How probable a healthy run must be: by the worst passage alone; or by the whole, and not out of question by the worst passage.
# Chosen by known cases that were left out (docs/adr/0007).
_WELL, _LEAST = 0.4, 0.03


@remembered
def reads_well(case: Case) -> bool:
    """Whether nothing in it reads like trouble, or the whole like a healthy run in which some passage is a little odd.

    The whole alone would not do: one bad line may stand among thousands of good ones. False where nothing can be
    compared, or too much. What a known thread tells of is as well as that.
    """
    if (thread := likeness(case).thread) is not None:
        return thread.cls == HEALTHY
    texts = list(islice(_passages(case), _MOST + 1))
    read = [compare(weights(), words_of(text)) for text in texts] if len(texts) <= _MOST else []
    if not any(len(one.words) >= ENOUGH for one in read):
        return False
    worst = min(one.healthy for one in read if one.scores)
    return worst > _WELL or (worst > _LEAST and likeness(case).healthy > _WELL)


def _passages(case: Case) -> Iterator[str]:
    for account in (one for one in accounts(case) if one.label not in set_aside(case)):
        lines = telling_text(account).split("\n")
        for start in range(0, max(1, len(lines) - _STEP // 2), _STEP):
            yield "\n".join(lines[start : start + _LINES])
