"""Whether words that were found are meant: not where they are denied, asked, advised, supposed or said of another run.

A pattern that begins with a condition on its whole line names what it looks for ``said``: the sense is that of those words.
A word is part of a pattern where the pattern is not found without it. So ``nvidia-smi never hangs`` denies what
``nvidia-smi … hangs`` looks for, while ``never returns`` keeps its sense for a pattern that asks for ``never``.
"""

from __future__ import annotations

import enum
import re

from ..model.patterns import regex
from . import phrases


class Meant(enum.Enum):
    """In which sense words stand in a text."""

    SAID = "it is told as a fact"
    DOUBTED = "it is asked, advised, supposed, or told of another run: it may be so"
    DENIED = "it is told not to be so"


SAID = "said"
_REACH = 2  # words that a negation denies, from where it stands
_WORD = regex(r"[\w'’][\w'’.-]*")
_CLAUSE = regex(r"[,;:()\n—–]|[.!?](?=\s|$)|\b(?:but|while|whereas|although|though|however|because|since)\b", re.I)
_SENTENCE = regex(r"[;\n]|[.!?](?=\s|$)")


def meant(pattern: re.Pattern[str], text: str, found: re.Match[str]) -> Meant:
    """In which sense a pattern was found at a place of a text that people wrote."""
    first, last = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    passage = _Passage(pattern, text, found, first, len(text) if last < 0 else last)
    if passage.denied():
        return Meant.DENIED
    return Meant.DOUBTED if passage.doubted() else Meant.SAID


def asks(sentence: str) -> bool:
    """Whether a sentence asks if something is so; why or how it is so is asked of a fact."""
    return sentence.rstrip().endswith("?") and phrases.ASKS_OF_A_FACT.search(sentence) is None


class _Passage:
    """The lines in which a pattern was found, and where in them."""

    def __init__(self, pattern: re.Pattern[str], text: str, found: re.Match[str], first: int, last: int) -> None:
        self.pattern, self.text, self.first, self.last = pattern, text, first, last
        self.start, self.end = found.span(SAID if SAID in pattern.groupindex else 0)
        self.before = _SENTENCE.split(text[first : self.start])[-1]
        self.match = text[self.start : self.end]
        self.after = _SENTENCE.split(text[self.end : last])[0]

    def denied(self) -> bool:
        """Whether a negation stands before the words or among them, or something behind them takes them back."""
        if any(self._governs_start(no) for no in phrases.NOT.finditer(self.before)):
            return True
        if any(self._within(word) for word in phrases.NOT.finditer(self.match)):
            return True
        if phrases.TAKEN_BACK.match(self.after + "\n"):
            return True
        return not phrases.OUTCOME.search(self.match) and phrases.FINE.match(self.after) is not None

    def _governs_start(self, no: re.Match[str]) -> bool:
        """Whether a negation before the words denies the first of them; ``without`` reaches no further than its noun."""
        if phrases.THROUGH.match(self.before, no.end()) is None or phrases.WANTED.match(self.match):
            return False
        alone = f"{_CLAUSE.split(self.before[: no.start()])[-1]} {self.match}"
        return no.group().lower() != "without" or not (phrases.OUTCOME.search(alone) or _CLAUSE.search(self.match))

    def _within(self, word: re.Match[str]) -> bool:
        """Whether a word that the pattern does not ask for stands before one that it cannot do without."""
        if self._needs(word):
            return False
        ends = phrases.ENDS.search(self.match, word.end())
        reach = _WORD.finditer(self.match, word.end(), ends.start() if ends else len(self.match))
        governed = [one for one in reach if not phrases.PASSED.match(one.group())][:_REACH]
        if not governed or phrases.WANTED.match(governed[0].group()):
            return False
        return self._needs_between(governed[0].start(), governed[-1].end())

    def _needs(self, word: re.Match[str]) -> bool:
        """Whether the pattern is not found here without a word of the match."""
        return self._needs_between(word.start(), word.end())

    def _needs_between(self, start: int, end: int) -> bool:
        """Whether the pattern is not found here without a part of the match."""
        at, end = self.start + start, self.start + end
        changed = f"{self.text[:at]}{'x' * (end - at)}{self.text[end:]}"
        return not any(
            one.start() < self.end and one.end() > self.start
            for one in self.pattern.finditer(changed, self.first, self.last)
        )

    def doubted(self) -> bool:
        """Whether it is asked, advised, supposed, or told of another run."""
        return self._asked() or self._advised() or self._elsewhere()

    def _asked(self) -> bool:
        rest = phrases.ASKED.match(self.text[self.end : self.last])
        return rest is not None and asks(f"{self.before}{self.match}{rest.group()}")

    def _advised(self) -> bool:
        if phrases.ADVICE.search(self.before):
            return True
        if any(self._within(word) for word in phrases.MAY.finditer(self.match)):
            return True
        condition = phrases.IF.search(self.before)
        return condition is not None and (condition["do"] is not None or phrases.THEN.match(self.after) is not None)

    def _elsewhere(self) -> bool:
        clause = f"{_CLAUSE.split(self.before)[-1]}{self.match}{_CLAUSE.split(self.after)[0]}"
        heading = phrases.HEADING.match(self.before)
        return heading is not None or any(not self._part(one.group()) for one in phrases.ELSEWHERE.finditer(clause))

    def _part(self, words: str) -> bool:
        """Whether such words belong to what is looked for."""
        at = self.match.find(words)
        return at >= 0 and any(self._needs(one) for one in re.finditer(re.escape(words), self.match))
