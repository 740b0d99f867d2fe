"""What a user is told when a request cannot be carried out. Gaps (``model.gap``) are something else: expected, recorded."""

from __future__ import annotations


class RankscopeError(Exception):
    """A request we could not carry out: what, why, and what to type next."""

    def __init__(self, what: str, because: str = "", hint: str = "", more: str = "") -> None:
        super().__init__(what)
        self.what, self.because, self.hint, self.more = what, because, hint, more

    def __str__(self) -> str:
        lines = [f"rankscope: {self.what}"]
        for word, text in (("because", self.because), ("try", self.hint), ("more", self.more)):
            if text:
                lines.append(f"  {word:<8} {text}")
        return "\n".join(lines)
