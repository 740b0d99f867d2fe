"""How much a case reads like known ones: its words, weighed by what was learned from a corpus of cases with their truth."""

from .compare import Likeness, likeness
from .words import words

__all__ = ["Likeness", "likeness", "words"]
