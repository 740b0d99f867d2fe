"""What a user is told when a request cannot be carried out. Gaps (``model.gap``) are something else: expected, recorded."""

from __future__ import annotations

_MARGIN = " " * 11


class RankscopeError(Exception):
    """A request we could not carry out: what, why, and what to type next."""

    def __init__(self, what: str, because: str = "", hint: str = "", more: str = "") -> None:
        super().__init__(what)
        self.what, self.because, self.hint, self.more = what, because, hint, more

    def __str__(self) -> str:
        lines = [f"rankscope: {_beside('', self.what)}"]
        for word, text in (("because", self.because), ("try", self.hint), ("more", self.more)):
            if text:
                lines.append(_beside(f"  {word:<8} ", text))
        return "\n".join(lines)


def _beside(margin: str, text: str) -> str:
    """Text beside its word; further lines, which may be those of a stranger, begin no line of their own."""
    first, *rest = text.split("\n")
    return "\n".join((margin + first, *(_MARGIN + line.strip() for line in rest)))
