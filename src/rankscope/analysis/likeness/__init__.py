"""How much a case reads like known ones: its words, weighed by what was learned from a corpus of cases with their truth."""

from . import table, threads
from .nearness import Likeness, compare, likeness, telling
from .words import words

__all__ = ["Likeness", "compare", "likeness", "table", "telling", "threads", "words"]
