"""Trials: what people report to have tried, and how it went: ``2.18 hangs, 2.17 is fine``, ``gone after downgrading``.

Each clause of what somebody wrote is read for releases and for an outcome; a release goes with the outcome of its clause.
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..model.patterns import regex
from ..model.repeated import of_texts
from .accounts import Account
from .endings import says_it_halts
from .meant import asks
from .remembered import remembered

_GOOD_WORDS = (
    r"works?|worked|makes? (?:it|them|this|everything|\w+) (?:train|run|start|work|pass|stable|return|finish|complete|succeed|go on|connect)|lets? (?:it|them|all \w+|the \w+|every\w*|\w+ ranks) (?:go on|run|continue|proceed|start|finish|pass)|(?:it|they|everything|training|all|then|now) (?:trains?|starts|connects|returns)|serves|(?:ran|serve[sd]?|train(?:s|ed)?|held|lasts?|stays? up) (?:[\w']+ ){0,4}?(?:for )?(?:days|weeks|months)|is good|(?:hangs?|problems?|crash\w*|errors?|freez\w+|stalls?|failures?) (?:have |has |then )?(?:stopped|ceased|ended)|working|fine|ok|okay|pass(?:es|ed)?|succe(?:ed\w*|ss\w*)|runs|ran|run (?:through|fine|clean\w*|ok|to the end)|complete[sd]?|finish(?:es|ed)?|clean(?:ly)?|stable|survive[sd]?|"
    r"all (?:\d{1,9} )?(?:\w+ ){0,2}?(?:every|each) time|"
    r"fix(?:es|ed)|solve[sd]?|resolve[sd]?|cure[sd]?|help(?:s|ed)?|avoid(?:s|ed)?|eliminate[sd]?|gone|goes away|went away|disappear(?:s|ed)?|vanish(?:es|ed)?|not reproducible|unaffected|(?:starts?|ends?|returns?|exits?|boots?|comes? up|done|loads?|imports?|answers?) (?:up )?(?:in|within) (?:(?:\d+|one|two|three|four|five|ten|half|a few|some) ?)?(?:s|secs?|seconds?|min\w*)\b|(?:starts?|profiles?|behaves?|trains?|serves?|exits?|ends?|continues?|boots?|comes? up|goes? on) (?:normally|fine|as well|too|cleanly|as expected|without (?:any )?(?:problems?|issues?|trouble))"
)
_BAD_WORDS = (
    r"hangs?|hung|hanging|is bad|aborts?|aborted|dies|deadlock\w*|freez\w+|froze\w*|stuck|stall\w*|wedge[sd]?|"
    r"crash\w*|fail\w*|broken?|breaks?|killed|"
    # A limit that is set, or longer, is no failure.
    r"(?<!larger )(?<!longer )(?<!higher )(?<!bigger )time[sd]? ?-?outs?(?! ?[=:] ?\d)|stops?|stopped|segfault\w*|"
    r"blocks?|blocked|affected|reproduce[sd]?|reproducible|reproduc\w+|"
    r"never (?:ends?|returns?|finish\w*|completes?|gets past)|stands? still|regress\w*|"
    r"(?:no|without|little) (?:change|effect|difference|success|luck)|problems?|errors?|issues?|bug|spins?|happens?|"
    r"occurs?|(?:does|do|did)(?: not|n't) (?:exit|return|terminate)|(?:stays?|remains?) open"
)
_NOT = (
    r"(?:\b(?:not|never|no|without|nor|neither|cannot|none|don't|doesn't|didn't|isn't|hasn't|haven't|won't|can't|"
    r"couldn't|wasn't|(?<![\d.])0)\b(?: \w+){0,3}? )"
)
_OUTCOME = regex(rf"(?P<no>{_NOT})?(?<![\w./=-])(?:(?P<good>{_GOOD_WORDS})|(?P<bad>{_BAD_WORDS}))\b", re.I)
_CURED = regex(
    r"fix|solv|resolv|cure|help|avoid|eliminat|gone|goes away|went away|disappear|vanish|surviv|unaffected", re.I
)
_CURES = regex(
    r"\b(?:fix(?:es|ed)|solve[sd]?|resolve[sd]?|cure[sd]?|help(?:s|ed)|avoids?|eliminate[sd]?) (?:\w+ ){0,2}?(?:it|this|that|everything|all|problems?|issues?|hang\w*|deadlock\w*|freez\w*|stall\w*|crash\w*|wedge)\b|"
    r"\b(?:it|this|that|problems?|issues?|hang\w*|deadlock\w*|freez\w*|stall\w*|crash\w*|wedge)\b (?:\w+ ){0,3}?(?:gone|goes away|went away|disappear\w*|vanish\w*|fixed|solved|resolved|cured)\b|\bnot (?:\w+ )?(?:hang|freeze|stall|deadlock)\w*\b[^\n]{0,12}any ?more",
    re.I,
)
# What may be missing where something goes wrong nevertheless: it hangs without an error.
_NOUN = regex(r"problem|error|issue|bug", re.I)
_UNIT = r"(?! ?(?:%|(?:s|ms|secs?|seconds?|min|minutes?|h|hours?|days?|[KMGT]i?B|[KMG]bps|GB/s|x|it/s|W)\b))"
_NUMBER = rf"(?<![\w.:/-])v?\d+\.\d+(?:\.\d+)*(?:\.x|\+|[+-]?(?:rc|post|a|b|dev|cu)\w*)?(?!\w|\.\d|:\d|[/>]){_UNIT}"
_LIBRARY = (
    r"(?:nccl|rccl|hccl|torch|pytorch|cuda|driver|kernel|vllm|sglang|glibc|py|python|triton|ray|jax(?:lib)?|"
    r"tensorflow|deepspeed|transformers|accelerate|datasets|lightning|horovod|"
    r"open ?mpi|mpi|ucx|openblas|numpy|scipy|grpc\w*|libfabric|efa|ofed|firmware|image|container|wheel|version|release|branch|library|package|build|dask|megatron|numba|flashinfer|tokenizers|wandb|rocm|os|ubuntu|rhel|centos)"
)
# What stands before a number that is a release: a library, or a word such as since or with; a number of three parts needs nothing.
_BEFORE = regex(
    rf"(?:^|\b(?:{_LIBRARY}s?|with|the|in|on|since|from|to|at|under|after|before|using|until|than|by|and|or|version)|"
    rf"==|[<>~(,])[\s\"'`=<>~(]*$",
    re.I,
)
# Any other name will do too, but not what is measured.
_NAME = regex(
    r"\b(?!(?:loss|lr|rate|acc\w*|ratio|scores?|temperature|top_p|eps\w*|dropout|gamma|beta|momentum|decay|grad\w*|"
    r"norm|memory|took|about|for|usage|util\w*|load|average|mean|times?|factor|threshold|section|figure|table|chapter|"
    r"step|epoch|speed\w*|is|was|only|around|of|exactly|over|below|above|up|down|every|each|within|size|p|tasks?|"
    r"stage|partition|executor|temp)\b)[A-Za-z][\w+-]{1,24} $",
    re.I,
)
# A release that is named by what it is beside the one in use.
_OTHER = (
    rf"(?:newer|older|latest|newest|previous|earlier|prior|next|last|another|other|system|distribution's|current|recent) (?:[\w.-]+ ){{0,2}}?(?:lib)?{_LIBRARY}s?\b|"
    r"\b(?:images?|builds?|versions?|releases?|wheels?|commits?|containers?) (?:from )?(?:before|prior to|older than)\b|"
    r"\b(?:latest|newest|newer|current|upstream|public|recent) (?:\w+ ){0,2}?(?:sources?|checkout|tree)\b(?! (?:file|line|rank|code of))|\bnightl(?:y|ies)\b|\b(?:on|with|from|in) (?:master|main|trunk|HEAD|the (?:main|master|dev\w*) branch)\b|^\W*(?:main|master) and (?:the )?v?\d[\w.]*|"
    r"\b(?:driver|cuda|ubuntu|rhel|branch) (?:version )?v?\d{2,3}\b(?![.\d])"
)
# Weights and states are updated as well, which is no change of a release.
_CHANGE = regex(
    rf"(?<!-)\b(?<!weight )(?<!weights )(?<!parameter )(?<!gradient )(?<!optimizer )(?<!state )(?:upgrad\w+|downgrad\w+|updat(?:e[ds]?|ing)|bump\w*|roll(?:ed|ing)? back|revert\w*|pinn?(?:ed|ing)?|(?:re)?install(?:ed|ing)?|switch(?:ed|ing)?(?! o(?:ff|n)\b)|mov(?:ed|ing)|went back|swap\w*|replac\w+|chang(?:ed|ing)|rebuil(?:t|ding))\b(?<!same switch)(?<!pcie switch)(?<!a switch)(?<!the switch)(?=[^\n]{{0,60}}(?:\b(?:lib)?{_LIBRARY}s?\b|{_NUMBER}|[=<>]=|\bcommit\b|nightl|\b(?:main|master)\b|libnccl))|\b(?:pull|rebuil|buil|compil)\w*\b(?=[^\n]{{0,30}}\b(?:latest|newest|current|upstream|public) (?:\w+ )?(?:sources?|checkout|tree)\b)|\bbisect\w*|\bfirst bad\b",
    re.I,
)
_RELEASE = regex(rf"(?P<number>{_NUMBER})|{_OTHER}", re.I)
_PARTS = regex(
    r"[;\n|]|(?<=\w)\.(?= |$)|,? (?:but|while|whereas|though|although|however)\b|"
    r", (?=(?:and |it |the |with |on |in |under |no |never |works|hangs|fine|runs|passes|completes|fails|crashes|"
    r"succeeds|stalls|does|is |was ))|(?<=[a-z\d]), (?=(?:\w+ )?v?\d+\.\d)|"
    r" and (?=(?:hangs?|works?|fails?|crash\w*|has|have|not|never|passes|is|the same)\b)| → | -> (?=\w+s\b)",
    re.I,
)
# One release instead of another: the outcome is that of the first.
_INSTEAD = regex(r"\b(?:instead of|rather than|in place of|unlike)\b[^,;]*$", re.I)
_OPPOSITE = regex(r"^\W*(?:but )?not\b(?! \w+ing)|\b(?:is|are|was|does|did|has)(?:n't| not)\W*$", re.I)
# What somebody advises has not been tried.
_ADVISED = regex(
    r"^\W*(?:if|set|use|try|run|add|make sure|check|consider|see|note|please)\b(?! (?:\w+ ){0,6}(?:and|then) (?:it|the))|\b(?:please|try (?:to|setting)|consider|you (?:can|may|could|should|need|might)|should|might|may|could (?:you|be)|to (?:avoid|fix|solve|resolve|work around|prevent))\b",
    re.I,
)
_UNTIL = regex(r"\b(?:until|unless|without|before|if not|no)\b(?: \w+){0,4}[^\w]*$", re.I)
_SENTENCE = regex(r"[\n]|(?<=[a-z\d)])\.(?= [A-Z])")


# Of what does not go on, that it ends without an error is no success.
_NO_ERROR = regex(rf"\W*(?:there (?:is|are) |with )?{_NOT}(?:problems?|errors?|issues?|exceptions?)\W*$", re.I)


@dataclass(frozen=True)
class Trial:
    """One release that somebody ran, or a change of release, and whether that went well."""

    subject: str
    good: bool
    line: str
    change: bool = False
    cures: bool = False  # it is said to have ended a trouble


@remembered
def trials(account: Account) -> tuple[Trial, ...]:
    """All that a subject's text reports to have been tried."""
    return tuple(trial for line in _lines(account, _change(_RELEASE)) for trial in told(line))


class _Change:
    """Something that may have been tried, and what single lines tell of it."""

    def __init__(self, change: re.Pattern[str]) -> None:
        self._pattern = change
        self.named_in = of_texts(self._named_in)
        self.cured_by = of_texts(self._cured_by)

    def _named_in(self, line: str) -> bool:
        return self._pattern.search(line) is not None

    def _cured_by(self, line: str) -> bool:
        """Whether a line tells that the change ended a trouble."""
        for sentence in _SENTENCE.split(line):
            for part in filter(None, _PARTS.split(sentence)):
                found = self._pattern.search(part)
                if found is None or _ADVISED.search(sentence) or asks(sentence):
                    continue
                outcome = _outcome(part)
                if outcome is None and len(whole := _outcomes(sentence)) == 1:
                    outcome = next(iter(whole))
                if outcome is not None and outcome is not bool(_UNTIL.search(part[: found.start()])):
                    return True
        return False


# A logger's line, whatever stands before its level: what it updates, moves or switches is the program's own business.
_LOGGED = regex(r"(?:\S{1,80} ){0,5}\W?(?:INFO|DEBUG)\b(?<!NCCL INFO)\W")


_change = functools.lru_cache(maxsize=64)(_Change)


def cured(account: Account, change: re.Pattern[str]) -> str | None:
    """The line that tells that a change ended the trouble: it works with it, it hangs until it is made."""
    about = _change(change)
    if not any(map(about.named_in, (_head(account), *_written(account)))):
        return None
    return next((line[:300] for line in _lines(account, about) if about.cured_by(line)), None)


def _lines(account: Account, about: _Change) -> list[str]:
    """What people wrote, line by line; where the heading names what was tried, it stands before the text below."""
    head, lines = _head(account), _written(account)
    if about.named_in(head) and len(lines) > 1:
        lines = (lines[0], f"{head}: {lines[1]}", *lines[1:])
    return [line for line in _joined(lines, about) if len(line) < 1000]


def _head(account: Account) -> str:
    """What stands above a subject's text, as words."""
    return account.label.replace("_", " ")


@remembered
def _written(account: Account) -> tuple[str, ...]:
    """The lines of what people wrote."""
    return tuple(line.strip() for line in account.prose.splitlines() if line.strip() and not _LOGGED.match(line))


def _joined(lines: Sequence[str], about: _Change) -> Iterator[str]:
    """A line that names what was tried and no outcome goes with the outcome on the next line."""
    for line, after in zip(lines, [*lines[1:], ""]):
        if (
            after
            and about.named_in(line)
            and _tells_outcome(after)
            and not (_tells_outcome(line) or about.named_in(after))
        ):
            yield f"{line}: {after}"
        else:
            yield line


@of_texts
def _tells_outcome(line: str) -> bool:
    return _OUTCOME.search(line) is not None


@of_texts
def told(line: str) -> tuple[Trial, ...]:
    """The trials of one line; a release without an outcome of its own has that of its sentence."""
    return tuple(_told(line))


def _told(line: str) -> Iterator[Trial]:
    for sentence in _SENTENCE.split(line):
        if _ADVISED.search(sentence) or asks(sentence):
            continue
        parts = [part for part in _PARTS.split(sentence) if part and part.strip()]
        whole, halts = _outcomes(sentence), says_it_halts(sentence)
        before: bool | None = None
        for part in parts:
            outcome = _outcome(part) if not (halts and _NO_ERROR.match(part)) else None
            if outcome is None and before is not None:
                outcome = not before if _OPPOSITE.search(part) else before
            if outcome is None and len(whole) == 1:
                outcome = next(iter(whole))
            if outcome is not None:
                before = outcome
                yield from _of_part(part, outcome, line)


def _of_part(part: str, outcome: bool, line: str) -> Iterable[Trial]:
    changed = _CHANGE.search(part) is not None
    mentioned = [
        (found.group().strip(), outcome ^ bool(_INSTEAD.search(part[: found.start()])))
        for found in _RELEASE.finditer(part)
        if _is_release(part, found)
    ]
    if changed and not mentioned:
        mentioned = [(part.strip()[:60], outcome)]
    cures = _CURES.search(line) is not None
    for subject, good in mentioned:
        yield Trial(subject, good, line, changed, cures and good)


# An address has four numbers, and so have few releases; arguments of a command stand in a row.
_ADDRESS = regex(r"^(?:1\d|[2-9]\d|[12]\d\d)(?:\.\d{1,3}){3}$")
_IN_A_ROW = regex(r"(?:^|\s)-?\d+\.\d+\s$")


def _is_release(part: str, found: re.Match[str]) -> bool:
    number = found["number"]
    if number and (_ADDRESS.match(number) or _IN_A_ROW.search(part[: found.start()])):
        return False
    return (
        not number
        or number.startswith("v")
        or number.count(".") > 1
        or bool(_BEFORE.search(part[: found.start()]) or _NAME.search(part[: found.start()]))
    )


@of_texts
def _outcome(part: str) -> bool | None:
    """Whether a part of a sentence tells of success or of failure; a cure outweighs the trouble that it cures."""
    found = list(_OUTCOME.finditer(part))
    if len(found) > 1 or says_it_halts(part):
        found = [one for one in found if not (one["no"] and one["bad"] and _NOUN.match(one["bad"]))]
    if not found:
        return None
    cures = [one for one in found if one["good"] and _CURED.match(one["good"])]
    if cures:
        return cures[-1]["no"] is None
    good = [(one["good"] is not None) is (one["no"] is None) for one in found]
    return good[0] or (good[-1] and found[-1]["bad"] is not None)


def _outcomes(sentence: str) -> set[bool]:
    parts = [part for part in _PARTS.split(sentence) if part]
    if says_it_halts(sentence):
        parts = [part for part in parts if not _NO_ERROR.match(part)]
    return {outcome for part in parts if (outcome := _outcome(part)) is not None}
