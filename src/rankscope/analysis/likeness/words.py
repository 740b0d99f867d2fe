"""case → the words that its evidence is made of: identifiers, whole and in their parts, each once."""

from __future__ import annotations

import re
from itertools import islice

from ..accounts import accounts
from ..case import Case

_WORD = re.compile(r"[A-Za-z_]{3,}")
_PART = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])|[A-Z]{2,}(?=[A-Z][a-z])")

# Of more subjects, and of longer texts, the first ones show what there is.
_MOST_ACCOUNTS, _MOST_TEXT = 200, 128 << 10


def words(case: Case) -> frozenset[str]:
    """Every word of every subject's stacks and lines, in small letters."""
    found: set[str] = set()
    for account in islice(accounts(case), _MOST_ACCOUNTS):
        found.update(_WORD.findall(account.text[:_MOST_TEXT]))
    parts = {part.lower() for word in found for part in _PART.findall(word)}
    return frozenset(parts | {word.lower() for word in found})
