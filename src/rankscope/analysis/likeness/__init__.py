"""How much a case reads like known ones: its words, weighed by what was learned from a corpus of cases with their truth."""

from . import table, threads
from .health import reads_well
from .nearness import Likeness, compare, likeness, telling
from .words import STEM, says_something, words

__all__ = [
    "STEM",
    "Likeness",
    "compare",
    "likeness",
    "reads_well",
    "says_something",
    "table",
    "telling",
    "threads",
    "words",
]
