"""Whether words that were found are meant: not where they are denied, asked, advised, supposed or said of another run.

A word is part of a pattern where the pattern is not found without it. So ``nvidia-smi never hangs`` denies what
``nvidia-smi … hangs`` looks for, while ``never returns`` keeps its sense for a pattern that asks for ``never``.
"""

# ruff: noqa: E501  (a list of words is one line)
from __future__ import annotations

import enum
import re


class Meant(enum.Enum):
    """In which sense words stand in a text."""

    SAID = "it is told as a fact"
    DOUBTED = "it is asked, advised, supposed, or told of another run: it may be so"
    DENIED = "it is told not to be so"


_NOT = re.compile(
    r"\b(?:not|never|no|without|hardly|nor|neither|nobody|nothing|none of|rul(?:es?|ed|ing) out|exclud(?:es?|ed|ing)|free (?:of|from)|instead of|rather than|absence of|(?!ca|could)\w+n['’]t|(?:cannot|ca(?:n['’]t|n not)|could(?:n['’]t| not))(?= (?:be|have|hang|explain|reproduce|see|find|confirm)\b))\b"
    r"(?! (?:only|just|even|matter|doubt|sooner|but|until|sure|clear|know\w*|why)\b)(?!\w*[=:])(?<!-no)(?!-\w)",
    re.I,
)
_LIGHT = (
    r"(?:an?|the|any|this|that|there|its?|our|their|of|to|in|on|at|by|be|been|being|is|are|was|were|has|have|had|do|does|did|get|gets|got|longer|ever|yet|also|really|actually|even|further|all|so|one|single|which|who|such|"
    r"seem\w*|appear\w*|look\w*|like|shows?|showed|shown|sees?|seen|saw|finds?|found|says?|said|reports?|reported|mentions?|prints?|printed|logs?|logged|lists?|listed|contains?|signs?|traces?|evidence|indications?|kinds?|sorts?)"
)
# What may stand between a negation and what it denies.
_THROUGH = re.compile(
    rf"(?:[\s\"'`*(]|\b(?:{_LIGHT}|from|more|caus\w+|because|due|related|case|think|believe|(?:hang|hung|stuck|block|fail|wait|stand|dropp|filter|reject|refus|remov|kill)\w*)\b)*\Z",
    re.I,
)
_WORD = re.compile(r"[\w'’][\w'’.-]*")
_PASSED = re.compile(rf"{_LIGHT}\Z", re.I)
# Where the reach of a negation ends.
_ENDS = re.compile(
    r"[,;:()\n]|\.\s|\b(?:and|but|or|when|while|because|since|so|although|though|unless|until|if|from|with|than|after|before|for)\b",
    re.I,
)
_REACH = 2  # words
# What is a trouble where it is missing.
_WANTED = re.compile(
    r"(?:order\w*|lock(?:s|ing)|synchroni[sz]ation|coordination|agreement|answers?|response|reply|replies|output|progress|room|space|route|access|support|permissions?|return\w*|finish\w*|complet\w+|respond\w*|exits?|ends?|arriv\w+|reach\w*|enter\w*|join\w*)\Z",
    re.I,
)
_MAY = re.compile(r"\b(?:may|might|could|would|should|can)\b(?!['’])(?! not\b)", re.I)
# What comes behind and takes it back.
_TAKEN_BACK = re.compile(
    r"\W{0,3}(?:\w+ ){0,2}?(?:(?:(?:can|could|may) be |(?:is|are|was|were|has been|have been) )?(?:ruled out|excluded|disproved)\b"
    r"|(?:is|are|was|were|do|does|did|has|have)(?: not|n['’]t| never) (?:been |be )?(?:(?:seen|observed|involved|visible|logged|reported|in use|loaded|mixed|the (?:case|cause|reason|problem|culprit)|an? (?:problem|issue)|happen\w*|occur\w*|appear\w*|show up|to blame)\b))"
    r"|\s*(?::|\?|=|->|→)\s*(?:no|none|never|nothing|0|not (?:seen|there|present|found|involved))\s*(?:$|[.,;)])",
    re.I,
)
_FINE = re.compile(
    r"[^.;,:\n]{0,40}?\b(?:(?:never|(?:do|does|did)(?: not|n['’]t)) (?:hangs?|blocks?|fails?|crash(?:es)?|stalls?|freezes?|deadlocks?|times? out|gets? stuck)|(?:work|run|behave)(?:s|ed|ing)? (?:fine|well|normally|as expected|as (?:it|they) should)|(?:is|are|was|were|looks?|seems?) (?:all |quite |perfectly )?(?:fine|ok|okay|normal|healthy|clean|as expected))\b",
    re.I,
)
_OUTCOME = re.compile(
    r"\b(?:hang\w*|hung|stuck|fail\w*|crash\w*|error\w*|block\w*|dead\w*|wait\w*|stop\w*|stall\w*|slow\w*|kill\w*|works?|fine|cure\w*|helps?|runs?|ok|never|not|no|only|without|unless|until|return\w*|finish\w*|complet\w*|pass(?:es|ed)?|start\w*|train\w*)\b",
    re.I,
)
_ASKED = re.compile(r"[^.!?\n]*\?(?!\w)")
_ASKS_OF_A_FACT = re.compile(
    r"^\W*(?:\w+ ){0,2}?(?:why|how|what|where|when|which|who)\b|\b(?:any(?:one|body|thing)|ideas?|known (?:issue|bug|problem))\b",
    re.I,
)
_ADVICE = re.compile(
    r"(?:^|[.;:,(]|\b(?:to|and|or|then|please|must|should|could|can|might|you|we))\s*(?:please )?(?:make sure|ensure|check(?! shows)|verify|confirm|avoid|consider|prevent|beware|look|see|test)\b[^.;:\n]{0,70}$"
    r"|\b(?:whether|as if|suppos(?:e|ing)|assum(?:e|ing)|imagine|in case(?: of)?|maybe|perhaps|possibly|hypothetically|i wonder(?: if)?|not sure (?:if|that)|(?:don['’]t|do not|cannot|can['’]t) (?:know|tell|say) (?:if|whether|that)|(?:could|might|may) (?:it )?be(?: that)?|would (?:be|have|mean))\b[^.;:\n]{0,70}$",
    re.I,
)
_DO = r"(?:then )?(?:please )?(?:(?:you|we|one|i|it|they) )?(?:['’]d |would |should |must |can |could |might |may |need to |have to |will )?(?:try|check|run|set|use|reboot|restart|kill|raise|increase|lower|remove|delete|see|look|make|add|call|contact|consider|open|report|file|verify|replace|drain|free|clean|let me know|tell)"
_IF = re.compile(
    rf"^(?P<do>\W*{_DO}\b[^.;\n]*)?(?:^|(?<=\W))(?:if|in case|when|whenever|should)\b[^.;:,\n]{{0,60}}$", re.I
)
_THEN = re.compile(rf"[^.;,\n]{{0,60}}(?:,| then\b)\s*{_DO}\b", re.I)
_ELSEWHERE = re.compile(
    r"\b(?:on|in|with|at|for) (?:the|an|my|our|some|his|her|their)? ?other (?:machines?|clusters?|systems?|box(?:es)?|computers?|laptops?|servers?|jobs?|runs?|projects?|packages?|models?|teams?|users?|data ?cent(?:er|re)s?)\b|\b(?:on|in|with|at|for) (?:my|a|the) laptop\b"
    r"|\banother (?:machine|cluster|system|box|computer|laptop|job|run|project|package|model|team|user|issue|bug)\b|\b(?:last (?:year|month|week|summer|winter)|(?:years?|months?|weeks?) ago|in the past|formerly|previous (?:job|run|cluster|project)|(?:an )?earlier (?:job|run|project|incident))\b"
    r"|\b(?:was|were|has been|have been|is|are) (?:since |already |now |long )*(?:fixed|repaired|solved|resolved|replaced)(?: (?:since|before|already|now|then|long ago))?\W*$|\bused to\b",
    re.I,
)
_HEADING = re.compile(rf"\W*(?:\w+ ){{0,3}}(?:{_ELSEWHERE.pattern})", re.I)
_CLAUSE = re.compile(r"[,;:()\n—–]|[.!?](?=\s|$)|\b(?:but|while|whereas|although|though|however|because|since)\b", re.I)
_SENTENCE = re.compile(r"[;\n]|[.!?](?=\s|$)")


def meant(pattern: re.Pattern[str], text: str, found: re.Match[str]) -> Meant:
    """In which sense a pattern was found at a place of a text that people wrote."""
    first, last = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
    passage = _Passage(pattern, text, found, first, len(text) if last < 0 else last)
    if passage.denied():
        return Meant.DENIED
    return Meant.DOUBTED if passage.doubted() else Meant.SAID


def asks(sentence: str) -> bool:
    """Whether a sentence asks if something is so; why or how it is so is asked of a fact."""
    return sentence.rstrip().endswith("?") and _ASKS_OF_A_FACT.search(sentence) is None


class _Passage:
    """The lines in which a pattern was found, and where in them."""

    def __init__(self, pattern: re.Pattern[str], text: str, found: re.Match[str], first: int, last: int) -> None:
        self.pattern, self.text, self.first, self.last = pattern, text, first, last
        self.start, self.end = found.start(), found.end()
        self.before = _SENTENCE.split(text[first : self.start])[-1]
        self.match = found.group()
        self.after = _SENTENCE.split(text[self.end : last])[0]

    def denied(self) -> bool:
        """Whether a negation stands before the words or among them, or something behind them takes them back."""
        if any(self._governs_start(no) for no in _NOT.finditer(self.before)):
            return True
        if any(self._within(word) for word in _NOT.finditer(self.match)):
            return True
        if _TAKEN_BACK.match(self.after + "\n"):
            return True
        return not _OUTCOME.search(self.match) and _FINE.match(self.after) is not None

    def _governs_start(self, no: re.Match[str]) -> bool:
        """Whether a negation before the words denies the first of them; ``without`` reaches no further than its noun."""
        if _THROUGH.match(self.before, no.end()) is None or _WANTED.match(self.match):
            return False
        alone = f"{_CLAUSE.split(self.before[: no.start()])[-1]} {self.match}"
        return no.group().lower() != "without" or not (_OUTCOME.search(alone) or _CLAUSE.search(self.match))

    def _within(self, word: re.Match[str]) -> bool:
        """Whether a word that the pattern does not ask for stands before one that it cannot do without."""
        if self._needs(word):
            return False
        ends = _ENDS.search(self.match, word.end())
        reach = _WORD.finditer(self.match, word.end(), ends.start() if ends else len(self.match))
        governed = [one for one in reach if not _PASSED.match(one.group())][:_REACH]
        if not governed or _WANTED.match(governed[0].group()):
            return False
        return self._needs_between(governed[0].start(), governed[-1].end())

    def _needs(self, word: re.Match[str]) -> bool:
        """Whether the pattern is not found here without a word of the match."""
        return self._needs_between(word.start(), word.end())

    def _needs_between(self, start: int, end: int) -> bool:
        """Whether the pattern is not found here without a part of the match."""
        at, end = self.start + start, self.start + end
        changed = f"{self.text[:at]}{'x' * (end - at)}{self.text[end:]}"
        return not any(
            one.start() < self.end and one.end() > self.start
            for one in self.pattern.finditer(changed, self.first, self.last)
        )

    def doubted(self) -> bool:
        """Whether it is asked, advised, supposed, or told of another run."""
        return self._asked() or self._advised() or self._elsewhere()

    def _asked(self) -> bool:
        rest = _ASKED.match(self.text[self.end : self.last])
        return rest is not None and asks(f"{self.before}{self.match}{rest.group()}")

    def _advised(self) -> bool:
        if _ADVICE.search(self.before):
            return True
        if any(self._within(word) for word in _MAY.finditer(self.match)):
            return True
        condition = _IF.search(self.before)
        return condition is not None and (condition["do"] is not None or _THEN.match(self.after) is not None)

    def _elsewhere(self) -> bool:
        clause = f"{_CLAUSE.split(self.before)[-1]}{self.match}{_CLAUSE.split(self.after)[0]}"
        heading = _HEADING.match(self.before)
        return heading is not None or any(not self._part(one.group()) for one in _ELSEWHERE.finditer(clause))

    def _part(self, words: str) -> bool:
        """Whether such words belong to what is looked for."""
        at = self.match.find(words)
        return at >= 0 and any(self._needs(one) for one in re.finditer(re.escape(words), self.match))
