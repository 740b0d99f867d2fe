"""Listings: tables of names, lists of changes, notices. What they list may happen; they do not say that it happened here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model.patterns import regex
from .case import Case
from .papers import output_of_script, papers
from .remembered import remembered

# A row of a table of error numbers, signals, states or fault codes: a code, then its name or an empty field.
_ROW = regex(r"^\W*((?:[A-Z]{1,5}[,\t ]+)?(?:\d{1,3}|[A-Z]{1,4}))(?:[),:;|\t ]+[A-Z][A-Z0-9_]{2,}\b|,,)")
# What only an event has: a time of the day, a number of a process, an address, a setting.
_EVENT = regex(r"\d\d:\d\d|\b\d{4,}\b|0x[0-9a-f]{3,}|=")
_ROWS = 6
# What ls(1), mount(8), df(1), ss(8) of sockets that are well, dpkg(1), rpm(8) and modinfo(8) print in a row, and the driver.
_INVENTORY = regex(
    r"^(?:total \d+\S*$|Filesystem .* Mounted on$|"
    r"[./]\S*:$|[-dlcbps](?:[r-][w-][xsStT-]){3}[.+@]? +\d+ \S+ +\S+ |\S+ on /\S* type \w[\w.]* \(|"
    r"\S+ /\S* \w[\w.]* r[wo]\S* \d \d$|\S+(?: +[a-z][\w.]{1,20})?(?: +[\d.]+[KMGTP]?i?){3} +\d\d?% +/|"
    r"(?:(?:tcp|udp)6? +)?(?:LISTEN|ESTAB|UNCONN) +\d|"
    r"(?:tcp|udp)6? +\d+ +\d+ \S+ +\S+ +(?:LISTEN|ESTABLISHED)?\b|[ihr][ic] +\S+ +\d|"
    r"[\w+.-]+-\d[\w.+~]*-\d[\w.]*\.(?:x86_64|noarch|aarch64)$|"
    r"(?:NVRM|GCC) version: |(?:src)?version: +[\dA-F.]+$|[|+][-=+]+[|+]$|\|[ =|]+\|$|\| NVIDIA-SMI [\d.]+ |[$#] \S)"
)
# A name and its release, as pip(1), conda and torch.utils.collect_env list them; an address is none.
_RELEASE = regex(
    r"(?:\[\w+\] )?[A-Za-z][\w ()/+-]{0,40}?(?:: |==|={1,2} ?| {2,})v?(?:[A-Za-z]+-)?"
    r"(?!\d+\.\d+\.\d+\.\d+\b)\d+\.\d+[\w.+-]*(?: [(\[].*)?$"
)
_HEADS = 6  # lines at most that may stand above or below the rows of a table
# Entries of a list of changes, subjects of commits, and what a bot that updates libraries writes above them.
_ENTRY = regex(
    r"^\s*(?:[-*] (?:Fix|Add|Remov|Improv|Support|New\b|Drop|Updat|Bump|Mak|Allow|Avoid|Chang|Deprecat|Enabl|Optimi|Rework)\w*\b"
    r"|[0-9a-f]{7,12} (?!<)[A-Za-z\[(])"
)
_ENTRIES = 4
_COMMIT = regex(r"^commit [0-9a-f]{40}\b")
_OF_COMMIT = regex(r"^(?:commit [0-9a-f]{40}\b|(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): |\$ git |\s)")
_QUOTED = regex(r"^(?:Bumps (?:the )?\S+ |Updates `[^`\n]+` from \S+ to |Release notes$|Changelog$|What's Changed)")
# What a team sends to all its users: work that is planned, an outage that is over.
_ANNOUNCED = regex(r"^Subject: [^\n]*\b(?:maintenance|closed|resolved)\b", re.IGNORECASE)


@remembered
def listings(case: Case) -> frozenset[str]:
    """The files of a case that are nothing but tables of names, lists of changes, or notices to everybody."""
    return frozenset(name for name, lines in _lines(case).items() if is_table(lines) or are_notes(lines))


@remembered
def pages(case: Case) -> frozenset[str]:
    """The files of a case that are written to be read at any time: what they mention may happen."""
    lines = _lines(case)
    return frozenset(
        name for name in papers(case) if not output_of_script(name.removesuffix(".txt"), lines.get(name, ()))
    )


def is_table(lines: Sequence[str]) -> bool:
    """Whether most lines give a code and its name, each code once, and none of them tells of an event."""
    codes = [found[1] for line in lines if (found := _ROW.match(line)) and not _EVENT.search(line)]
    return _ROWS <= len(set(codes)) == len(codes) > 0.7 * len(lines)


def heads_of_inventory(lines: Sequence[str]) -> list[str] | None:
    """Of a list of what is there (files, mounts, sockets, packages, devices) the lines that are no rows of it; None where it is
    no such list."""
    heads = [line for line in lines if line.strip() and not (_INVENTORY.match(line) or _RELEASE.match(line))]
    return heads if len(heads) <= min(_HEADS, len(lines) / 2) else None


def are_notes(lines: Sequence[str]) -> bool:
    """Whether a text is a list of changes, or quotes one, or is sent to all users of a cluster."""
    quoted = sum(_QUOTED.match(line) is not None for line in lines)
    entries = sum(_ENTRY.match(line) is not None for line in lines)
    listed = entries >= _ENTRIES and 2 * entries > len(lines)
    return any(map(_ANNOUNCED.match, lines)) or quoted > 1 or listed or _is_history(lines)


def _is_history(lines: Sequence[str]) -> bool:
    """Whether a text is what ``git log`` prints: each commit by its hash, its author, and a message that is set in."""
    commits = sum(_COMMIT.match(line) is not None for line in lines)
    return commits > 0 and all(map(_OF_COMMIT.match, lines))


@remembered
def _lines(case: Case) -> dict[str, list[str]]:
    """The lines of each file that are not empty; several events may stand in one line."""
    found: dict[str, dict[int, str]] = {}
    for event in case.events:
        kept = found.setdefault(event.file, {}) if event.text.strip() else {}
        if len(event.text) > len(kept.get(event.line, "")):  # what is read from a line has lost its indent
            kept[event.line] = event.text
    return {name: list(lines.values()) for name, lines in found.items()}
