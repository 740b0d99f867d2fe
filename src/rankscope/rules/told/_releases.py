"""What came of other releases, as people report it: shared by the rules about releases."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.listings import listings
from ...analysis.trials import Trial, trials
from ...analysis.versions import named_versions
from ...model.patterns import regex
from ._lines import events
from ._signs import LIKELY, POSSIBLE, Hit, Sign
from ._wordings import troubled

# Where another setting than the release is known to cure it, that setting tells more.
_SETTINGS = r"NCCL_P2P_DISABLE|NCCL_IB_DISABLE"
# Who names one release beside the one in use.
_BESIDE = regex(r"\b(?:same|identical|unchanged|everything else|all else|otherwise equal|only that)\b", re.I)
Tried = tuple[Account, Trial]


def compared(case: Case) -> Iterator[Hit]:
    """Releases that work beside one that does not, where there is trouble at all."""
    tried = _tried(case)
    yield from (Hit(Sign("", "another release cures it"), one, trial.line) for one, trial in tried if trial.cures)
    good = [(one, trial) for one, trial in tried if trial.good]
    bad = [(one, trial) for one, trial in tried if not trial.good]
    if not troubled(case) and not (good and bad):
        return
    for one, trial in good:
        if trial.change:
            yield Hit(Sign("", "another release cures it"), one, trial.line)
        elif any(trial.subject != other.subject for _, other in bad):
            yield Hit(Sign("", "one release works and another does not"), one, trial.line)
        elif not bad and (_BESIDE.search(trial.line) or _of_another_release(case, trial.line)):
            yield Hit(Sign("", "another release works", POSSIBLE), one, trial.line)


def began(case: Case) -> Iterator[Hit]:
    """Troubles that began when a release was replaced."""
    bad = [(one, trial) for one, trial in _tried(case) if not trial.good] if troubled(case) else []
    for one, trial in bad:
        if trial.change:
            certainty = LIKELY if len(bad) > 1 else POSSIBLE
            yield Hit(Sign("", "it began when a release was replaced", certainty), one, trial.line)


def named(case: Case) -> str:
    """The versions that the evidence names, in words."""
    short = {name: dict.fromkeys(one.split("+")[0] for one in known) for name, known in named_versions(case).items()}
    return ", ".join(f"{name} {one}" for name, known in short.items() for one in list(known)[:2]) or "version not shown"


def _tried(case: Case) -> list[Tried]:
    told = accounts(case)
    if any(one.find(_SETTINGS) for one in told):
        return []
    written = [one for one in told if not one.events or any(event.file not in listings(case) for event in one.events)]
    return [(one, trial) for one in written for trial in trials(one)]


def _of_another_release(case: Case, line: str) -> bool:
    """Whether what went well names a library in a release that the rest of the evidence names in another one."""
    here, there = dict[str, set[str]](), dict[str, set[str]]()
    for event in events(case, "text.version"):
        said = here if event.text.strip()[:200] in line else there
        said.setdefault(str(event.fields.get("name")), set()).add(str(event.fields.get("version")))
    return any(there.get(name) and not _share(known, there[name]) for name, known in here.items())


def _share(some: set[str], others: set[str]) -> bool:
    """Whether a release is named in both, be it by fewer of its numbers: 3.11 may be 3.11.7."""
    return any(f"{one}.".startswith(f"{two}.") or f"{two}.".startswith(f"{one}.") for one in some for two in others)
