"""Long lines that a terminal, a pager or a form cut at its width: what was copied there has a line end after so many characters.

Only the text as a whole shows the width: no line is longer, and lines that have it go on in the next one in the middle of a word.
Tables have such lines as well, and programs that write columns; there the next line begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.patterns import regex

# Narrower and wider windows are rare, and one such line may be the longest by chance.
_NARROW, _WIDE = 56, 320
_FEWEST = 2
# Of the lines that have the width, so many go on in the middle of a word or number.
_SHARE = 0.3
_IN_A_WORD = regex(r"[a-z]{2}|[A-Z][a-zA-Z]|\d\d|_\w|\w_")
# How lines of logs and stacks begin: a time, a head of a launcher or a library, a frame, an error. Where most lines do not,
# nothing tells a new one from the rest of the last.
_HEADS = regex(
    r"\s{0,8}(?:\[? {0,6}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d|\d{1,9}\.\d{6}\]|[A-Z][a-z]{2} (?:[A-Z][a-z]{2} )?[ \d]\d \d)|"
    r"\[(?:rank|default|[EWIF]\d{4} |\d+,)|\(\w+ (?:rank=\d+ )?pid=|[\w.-]{1,80}:\d{1,9}:\d{1,9} \[\d+\] |[EWIF]\d{4} |"
    r"File \"|#\d+ |Traceback |(?:Current )?[Tt]hread |Timeout \(|Fatal Python|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b)"
)
_MOST = 0.5
# Other beginnings: set in, a border, a row that begins with a number, a heading, a prompt.
_BEGINS = regex(r"\s{2}|\t|[|+#*>$-]|==|\d+ +\S|(?:Python v|Process )\d|[A-Z][\w./-]*: ")
_HEAD = 8


def width_of(text: str) -> int:
    """At how many characters the lines of a text were cut; 0 where they were not."""
    said = text.splitlines()
    width = max(map(len, said), default=0)
    full = [at for at, line in enumerate(said[:-1]) if len(line) == width]
    if not _NARROW <= width <= _WIDE or len(full) < _FEWEST:
        return 0
    rests = {at + 1 for at in full if _goes_on(said[at], said[at + 1])}
    inside = sum(_in_a_word(said[at - 1], said[at]) for at in rests)
    begun = [line for at, line in enumerate(said) if line.strip() and at not in rests]
    headed = sum(_HEADS.match(line) is not None for line in begun) > _MOST * len(begun)
    return width if headed and inside >= _FEWEST and inside >= _SHARE * len(full) else 0


def _goes_on(line: str, later: str) -> bool:
    """Whether the next line may be the rest of one that has the full width."""
    begins = _HEADS.match(later) or _BEGINS.match(later) or line[:_HEAD] == later[:_HEAD]
    return bool(later.strip()) and not begins


def _in_a_word(line: str, later: str) -> bool:
    return _IN_A_WORD.match(line[-1] + later[0]) is not None


def whole_lines(numbered: Iterable[tuple[int, str, bool]], width: int) -> Iterator[tuple[int, str, bool]]:
    """Numbered lines of a text that was cut at a width, put together again under the number of the first one."""
    first, text, may, last = 0, "", False, ""
    for number, raw, known in numbered:
        line = raw.rstrip("\r\n")
        if first and len(last) == width and _goes_on(last, line):
            text, may = text + line, may or known
        else:
            if first:
                yield first, text, may
            first, text, may = number, line, known
        last = line
    if first:
        yield first, text, may
