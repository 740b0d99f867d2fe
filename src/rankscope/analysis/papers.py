"""Papers: sources, settings and manuals among the evidence. What they mention may happen; it is not said to have happened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..model.patterns import regex
from .case import Case
from .file_lines import lines_by_file
from .remembered import remembered

_NAMED = regex(
    r"\.(?:pyi?|sh|bash|sbatch|slurm|ya?ml|toml|cfg|ini|conf|rst|c|cc|cpp|cxx|cu|cuh|h|hpp|rs|go|js|ts|patch|diff|env)$"
    r"|(?:^|[/_])(?:README|CONTRIBUTING|CHANGELOG|FAQ|TROUBLESHOOTING|HOWTO|MANUAL|RUNBOOKS?|PLAYBOOKS?|POST-?MORTEMS?|HANDOVERS?)(?![A-Za-z0-9])[^/]*$"
    r"|(?:^|/)(?:\d+_)?CHANGES(?![A-Za-z0-9])[^/]*$"
    r"|(?:^|/)(?:requirements|constraints|environment|pyproject|Makefile|Dockerfile|setup)\b[^/]*$",
    re.IGNORECASE,
)
# Headings that a manual has, and a report of trouble has not.
_CHAPTER = regex(
    r"^\s{0,3}(?:#{1,4} +|=+ )(?:\d+[.)] +)?(?:troubleshoot\w*|faq\b|frequently asked|known issues|"
    r"(?:quick[- ]?)?install(?:ation|ing)?\b|usage\b|getting started|quick ?start|requirements|"
    r"prerequisites|configuration|contributing|licen[cs]e|table of contents|when (?:it|a job|your job) hangs)",
    re.IGNORECASE,
)
_CONDITION = regex(r"\bif (?:you|your|the|a|it|one)\b|\b(?:usually|typically|often) (?:means|caused)\b", re.IGNORECASE)
_SETTING = regex(r"^\s*(?:export |set |- ?)?[A-Za-z_][\w.-]*\s*[=:]\s*\S.*$|^\s*(?:[#;{}\[\]].*)?$|^\s*\"[\w.-]+\":.*$")
# A list of environment variables; frames begin with a number behind the same sign.
_VARIABLE = regex(r"^\s*(?:export )?[A-Z][A-Z0-9_]*=\S*\s*$|^\s*$|^#(?!\d+ )")
_CHAPTERS = 2
# What a script printed may be saved under the name of the command: errors, a shell's trace (set -x). A source has code instead.
_SCRIPT = regex(r"\.(?:py|sh|bash|sbatch|slurm|js|ts)$", re.IGNORECASE)
_RAISED = regex(r"^(?:Traceback \(most recent call last\):|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): \S|\++ \w)")
_CODE = regex(r"^(?:#!|#SBATCH|import |from [\w.]+ import |def |class |export |set -|if |for |>>> )")
# Behind a line of code, what came of it when it was run; not what might come of it.
_REMARKED = regex(
    r"^\s*[^#\s][^#]*#+ ?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): "
    r"(?!.*\b(?:if|when|unless|may|might|could|would|should|expected)\b)\S"
)
# The questions of a list of them, and the head of a change as git shows it.
_QUESTION = regex(r"^\s*(?:#{1,4} +|\*\*)?Q\d*[:.)] +\S")
_QUESTIONS = 3
_CHANGE = regex(r"^(?:commit [0-9a-f]{7,40}\b|diff --git |From [0-9a-f]{40} )")


# Settings are read by name; a comment in them tells of other days.
_SETTINGS = regex(r"\.(?:ya?ml|toml|cfg|ini|conf)$", re.IGNORECASE)
_COMMENT = regex(r"(?:^|(?<=\s))[#;].*$")


def without_comment(name: str, line: str) -> str:
    """A line without its comment, where it stands in settings."""
    return _COMMENT.sub("", line) if _are_settings(name) else line


@cache
def _are_settings(name: str) -> bool:
    return _SETTINGS.search(name.removesuffix(".txt")) is not None


@remembered
def papers(case: Case) -> frozenset[str]:
    """The files of a case that are papers."""
    return frozenset(
        name for name, said in lines_by_file(case).items()
        if is_paper(name.rsplit("/", 1)[-1].removesuffix(".txt"), [event.text for event in said])
    )  # fmt: skip


def is_paper(name: str, lines: Sequence[str]) -> bool:
    """Whether a file is a program's source, its settings or a manual, by its name or by how it is written."""
    if any(map(_REMARKED.match, lines)):
        return False
    if (_NAMED.search(name) and not _printed_by(name, lines)) or (lines and lines[0].startswith("#!")):
        return True
    if name.lower().endswith((".json", ".env")):
        return bool(lines) and all(_SETTING.match(line) for line in lines)
    if lines and all(_VARIABLE.match(line) for line in lines):
        return True
    if lines and _CHANGE.match(lines[0]) and any(line.startswith("+++ ") for line in lines):
        return True
    if sum(_QUESTION.match(line) is not None for line in lines) >= _QUESTIONS:
        return True
    chapters = sum(_CHAPTER.match(line) is not None for line in lines)
    return chapters >= _CHAPTERS and any(_CONDITION.search(line) for line in lines)


# A command that starts a script, as the name of what it printed.
_STARTED = regex(
    r"^(?:\d+_)?(?:\$[ _]*)?(?:mpirun|mpiexec|srun|torchrun|python\d?|horovodrun|deepspeed|accelerate)[ _]",
    re.IGNORECASE,
)
# A command that goes on behind its script: what it was given is no name of a file.
_GIVEN = regex(
    r"(?<![A-Za-z])(?:mpirun|mpiexec|srun|torchrun|python\d?|horovodrun|deepspeed|accelerate|bash)[ _]"
    r"(?:[^\n]{1,200}\.(?:py|sh)|(?:[^\n]{1,100}[ _])?-m[ _]\S{1,100})[ _]+\S|\.(?:py|sh)[ _]+--?[A-Za-z]",
    re.IGNORECASE,
)
# A heading of several parts tells of a script: "the prints, in train.py".
_DESCRIBED = regex(r",[ _]")


def output_of_script(name: str, lines: Sequence[str]) -> bool:
    """Whether a file that is named like a script has no line of code: it is what the script printed, or about it."""
    return _SCRIPT.search(name) is not None and not any(_CODE.match(line) for line in lines)


def _printed_by(name: str, lines: Sequence[str]) -> bool:
    """Whether a file that is named like a script is what it printed, or is about it: an error or a trace stands in it, or the
    name is that of the command or a heading; and no code. Of one that is named like settings: a command was given them."""
    raised = any(_RAISED.match(line) for line in lines)
    if _GIVEN.search(name):
        return not any(_CODE.match(line) for line in lines) and (raised or not all(map(_SETTING.match, lines)))
    told = _STARTED.match(name) is not None or _DESCRIBED.search(name) is not None
    return (told or raised) and output_of_script(name, lines)
