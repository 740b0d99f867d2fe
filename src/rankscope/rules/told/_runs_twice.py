"""Commands that somebody ran more than once: with what in their environment and arguments, and how far each run came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.remembered import remembered
from ...model.patterns import regex


@dataclass(frozen=True)
class Run:
    """One command of a console, what was set before it (sh(1): a variable before a command), and what it wrote."""

    account: Account
    text: str
    command: str
    settings: tuple[str, ...] = ()
    lines: tuple[str, ...] = field(default=(), repr=False)

    @property
    def broken_off(self) -> bool:
        """Whether somebody did not wait for its end."""
        return any(_BROKEN_OFF.search(line) for line in self.lines)

    def further_than(self, other: Run) -> bool:
        """Whether it came past the line with which another run ends: a line that is begun goes on, or others follow."""
        last = _SPINNER.sub("", other.lines[-1]) if other.lines else ""
        at = next((at for at, line in enumerate(self.lines) if last and line.startswith(last)), None)
        return at is not None and (len(self.lines) > at + 1 or len(_SPINNER.sub("", self.lines[at])) > len(last))


_PROMPT = regex(
    r"^(?:[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#\n]{0,80})?[$#>%] {1,4}(?P<set>(?:[A-Z_]\w{0,40}=\S{0,80} ){0,6})"
    r"(?P<command>[a-z./~]\S[^\n]{1,300})$"
)
_BROKEN_OFF = regex(r"^[^\n]{0,20}(?:\^C|\^\\|\^Z)|^KeyboardInterrupt\b|^Terminated\b")
_SPINNER = regex(r"[\s\\|/.…-]+$")


@remembered
def runs(case: Case) -> tuple[Run, ...]:
    """The commands of all consoles, in their order."""
    return tuple(run for account in accounts(case) for run in _of(account))


def _of(account: Account) -> Iterator[Run]:
    begun: Run | None = None
    lines: list[str] = []
    for line in account.said.splitlines():
        if found := _PROMPT.match(line):
            if begun is not None:
                yield replace(begun, lines=tuple(lines))
            command = " ".join(found["command"].split())
            begun, lines = Run(account, line.strip(), command, tuple(found["set"].split())), []
        elif line.strip() not in _BARE:
            lines.append(line.strip())
    if begun is not None:
        yield replace(begun, lines=tuple(lines))


_BARE = {"", "$", "#", ">", "%"}
