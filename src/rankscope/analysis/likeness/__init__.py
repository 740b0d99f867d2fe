"""How much a case reads like known ones: its words, weighed by what was learned from a corpus of cases with their truth."""

from . import table, threads
from .health import trouble
from .nearness import Likeness, compare, likeness, telling
from .words import STEM, words

__all__ = ["STEM", "Likeness", "compare", "likeness", "table", "telling", "threads", "trouble", "words"]
