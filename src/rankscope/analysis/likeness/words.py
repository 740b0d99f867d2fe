"""case → the words that its evidence is made of: identifiers, whole and in their parts, and numbers with their names."""

from __future__ import annotations

from itertools import islice

from ...model.labels import STEP
from ...model.patterns import regex
from ...model.repeated import found_in
from ..account import Account
from ..accounts import accounts
from ..case import Case
from ..remembered import remembered

_WORD = regex(r"[A-Za-z_]{3,}")
_PART = regex(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])|[A-Z]{2,}(?=[A-Z][a-z])")

# What a number is of tells as much as a word: ``exit code 137``, ``Xid 79``, ``rank=3``, ``line 320``. Words of two letters
# tell how something is written: prose or a table, of units or of devices.
_NUMBER = regex(r"\b([A-Za-z_]{3,})\b[^\w\n]{1,3}(-?\d{1,3})\b(?![.:]\d)")
_SHORT = regex(r"\b[A-Za-z]{2}\b")
_OF = "="

# Long words count by their beginnings as well, which their other forms share.
_STEM = 6
STEM = "*"

# Of more subjects, and of longer texts, the first ones show what there is.
_MOST_ACCOUNTS, _MOST_TEXT = 200, 128 << 10


def words(case: Case) -> frozenset[str]:
    """Every word of every subject's stacks and lines, in small letters."""
    return frozenset().union(*(said for _, said in by_account(case)))


@remembered
def by_account(case: Case) -> tuple[tuple[Account, frozenset[str]], ...]:
    """The subjects that are compared, each with its words."""
    first = islice(accounts(case), _MOST_ACCOUNTS)
    return tuple((account, frozenset(words_of(telling_text(account)[:_MOST_TEXT]))) for account in first)


def telling_text(account: Account) -> str:
    """What a subject shows without the steps that were made before, and without the rows of process tables.

    Whose state a row shows rules read; its words are those of whoever looked, and known cases with such a table are mostly
    of one class.
    """
    rows = {event.text.strip() for event in account.events if event.event == "proc.row"}
    text = account.text
    if rows:
        text = "\n".join(line for line in text.split("\n") if line.strip() not in rows and not _HEAD.match(line))
    return without_steps(text)


# The first line of ps(1) and top(1).
_HEAD = regex(r"^\s*(?:USER|UID|F|S|[PT]ID|P?PID)\b.*\b(?:COMMAND|CMD)\s*$")


def without_steps(text: str) -> str:
    """A text without the steps that a job made before what it says last; all of it where it ends with a step.

    A thousand steps are those of a healthy run, whatever comes behind them.
    """
    lines = text.rstrip().split("\n")
    steps = [found_in(line, STEP) for line in lines]
    if not any(steps) or steps[-1]:
        return text
    return "\n".join(line for line, is_step in zip(lines, steps) if not is_step)


def words_of(text: str) -> set[str]:
    """The words of one text."""
    found = set(_WORD.findall(text))
    parts = {part.lower() for word in found for part in _PART.findall(word)}
    whole = parts | {word.lower() for word in found}
    numbers = {f"{name.lower()}{_OF}{number}" for name, number in _NUMBER.findall(text)}
    return (
        whole | numbers | set(_SHORT.findall(text)) | {f"{word[:_STEM]}{STEM}" for word in whole if len(word) > _STEM}
    )


def says_something(word: str) -> bool:
    """Whether it is a word that a reader would know: no beginning of one, no number, and longer than two letters."""
    return len(word) > 2 and not word.endswith(STEM) and _OF not in word
