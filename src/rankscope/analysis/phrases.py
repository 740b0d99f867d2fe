"""Phrases by which people deny, doubt, ask, advise, suppose, and tell of other runs (``meant``)."""

# ruff: noqa: E501  (a list of words is one line)
from __future__ import annotations

import re

from ..model.patterns import regex

# Before a word for a time that ran out: it is not the name of an argument or an option, nor the variable that is handed on.
NO_ARGUMENT = (
    r"(?<!-)(?<!\w\()(?<!True, )(?<!timeout=)(?<!timeout = )(?<!timeout_s=)(?!(?<=(?:self|args|opts)\.)timeout\s*[),])"
    r"(?!time-?outs?\w*(?:_\w+|[\"']?)(?: ?=|[\"']?: ?(?:\d|None\b|Optional\b|float\b|int\b)))"
)

# What denies; not in names (``no-op``, ``--no-cache``) and options, and not where it only stresses (``not only``).
NOT = regex(
    r"\b(?:not|never|no|without|hardly|nor|neither|nobody|nothing|none of|rul(?:es?|ed|ing) out|exclud(?:es?|ed|ing)|"
    r"free (?:of|from)|instead of|rather than|absence of|(?!ca|could)\w+n['’]t|"
    r"(?:cannot|ca(?:n['’]t|n not)|could(?:n['’]t| not))(?= (?:be|have|hang|explain|reproduce|see|find|confirm)\b))\b"
    r"(?! (?:only|just|even|matter|doubt|sooner|but|until|sure|clear|know\w*|why)\b)(?!\w*[=:])(?<!-no)(?!-\w)",
    re.I,
)
_LIGHT = (
    r"(?:an?|the|any|this|that|there|its?|our|their|of|to|in|on|at|by|be|been|being|is|are|was|were|has|have|had|do|"
    r"does|did|get|gets|got|longer|ever|yet|also|really|actually|even|further|all|so|one|single|which|who|such|"
    r"seem\w*|appear\w*|look\w*|like|shows?|showed|shown|sees?|seen|saw|finds?|found|says?|said|reports?|reported|mentions?|prints?|printed|logs?|logged|lists?|listed|contains?|signs?|traces?|evidence|indications?|kinds?|sorts?)"
)
# What may stand between a negation and what it denies.
THROUGH = regex(
    rf"(?:[\s\"'`*(]|\b(?:{_LIGHT}|from|more|caus\w+|because|due|related|case|think|believe|"
    rf"(?:hang|hung|stuck|block|fail|wait|stand|dropp|filter|reject|refus|remov|kill)\w*)\b)*\Z",
    re.I,
)
# Words that a negation passes over on its way to what it denies.
PASSED = regex(rf"{_LIGHT}\Z", re.I)
# Where the reach of a negation ends.
ENDS = regex(
    r"[,;:()\n]|\.\s|\b(?:and|but|or|when|while|because|since|so|although|though|unless|until|if|from|with|than|after|before|for)\b",
    re.I,
)
# What is a trouble where it is missing.
WANTED = regex(
    r"(?:order\w*|lock(?:s|ing)|synchroni[sz]ation|coordination|agreement|answers?|response|reply|replies|output|"
    r"progress|room|space|route|access|support|permissions?|return\w*|finish\w*|complet\w+|respond\w*|exits?|ends?|"
    r"arriv\w+|reach\w*|enter\w*|join\w*)\Z",
    re.I,
)
# What makes a supposition of what follows.
MAY = regex(r"\b(?:may|might|could|would|should|can)\b(?!['’])(?! not\b)", re.I)
# What comes behind and takes it back.
TAKEN_BACK = regex(
    r"\W{0,3}(?:\w+ ){0,2}?(?:(?:(?:can|could|may) be |(?:is|are|was|were|has been|have been) )?(?:ruled out|excluded|disproved)\b"
    r"|(?:is|are|was|were|do|does|did|has|have)(?: not|n['’]t| never) (?:been |be )?(?:(?:seen|observed|involved|visible|logged|reported|in use|loaded|mixed|the (?:case|cause|reason|problem|culprit)|an? (?:problem|issue)|happen\w*|occur\w*|appear\w*|show up|to blame)\b))"
    r"|\s*(?::|\?|=|->|→)\s*(?:no|none|never|nothing|0|not (?:seen|there|present|found|involved))\s*(?:$|[.,;)])",
    re.I,
)
# What comes behind and says that all is well with it.
FINE = regex(
    r"[^.;,:\n]{0,40}?\b(?:(?:never|(?:do|does|did)(?: not|n['’]t)) (?:hangs?|blocks?|fails?|crash(?:es)?|stalls?|freezes?|deadlocks?|times? out|gets? stuck)|(?:work|run|behave)(?:s|ed|ing)? (?:fine|well|normally|as expected|as (?:it|they) should)|(?:is|are|was|were|looks?|seems?) (?:all |quite |perfectly )?(?:fine|ok|okay|normal|healthy|clean|as expected))\b",
    re.I,
)
# What tells how something went: of it nothing more need be said.
OUTCOME = regex(
    r"\b(?:hang\w*|hung|stuck|fail\w*|crash\w*|error\w*|block\w*|dead\w*|wait\w*|stop\w*|stall\w*|slow\w*|kill\w*|"
    r"works?|fine|cure\w*|helps?|runs?|ok|never|not|no|only|without|unless|until|return\w*|finish\w*|complet\w*|"
    r"pass(?:es|ed)?|start\w*|train\w*)\b",
    re.I,
)
# The rest of a question; questions that take for granted what they ask about.
ASKED = regex(r"[^.!?\n]*\?(?!\w)")
ASKS_OF_A_FACT = regex(
    r"^\W*(?:\w+ ){0,2}?(?:why|how|what|where|when|which|who)\b|\b(?:any(?:one|body|thing)|ideas?|known (?:issue|bug|problem))\b",
    re.I,
)
# What comes before words that somebody should look for, or only supposes.
ADVICE = regex(
    r"(?:^|[.;:,(]|\b(?:to|and|or|then|please|must|should|could|can|might|you|we))\s*(?:please )?(?:make sure|ensure|check(?! shows)|verify|confirm|avoid|consider|prevent|beware|look|see|test)\b[^.;:\n]{0,70}$"
    r"|\b(?:whether|as if|suppos(?:e|ing)|assum(?:e|ing)|imagine|in case(?: of)?|maybe|perhaps|possibly|"
    r"hypothetically|i wonder(?: if)?|not sure (?:if|that)|"
    r"(?:don['’]t|do not|cannot|can['’]t) (?:know|tell|say) (?:if|whether|that)|"
    r"(?:could|might|may) (?:it )?be(?: that)?|would (?:be|have|mean))\b[^.;:\n]{0,70}$",
    re.I,
)
# Advice under a condition: what to do, if; or if, then what to do.
_DO = r"(?:then )?(?:please )?(?:(?:you|we|one|i|it|they) )?(?:['’]d |would |should |must |can |could |might |may |need to |have to |will )?(?:try|check|run|set|use|reboot|restart|kill|raise|increase|lower|remove|delete|see|look|make|add|call|contact|consider|open|report|file|verify|replace|drain|free|clean|let me know|tell)"
IF = regex(rf"^(?P<do>\W*{_DO}\b[^.;\n]*)?(?:^|(?<=\W))(?:if|in case|when|whenever|should)\b[^.;:,\n]{{0,60}}$", re.I)
THEN = regex(rf"[^.;,\n]{{0,60}}(?:,| then\b)\s*{_DO}\b", re.I)
# What tells of another machine, job or time; in a heading it holds for the whole sentence.
ELSEWHERE = regex(
    r"\b(?:on|in|with|at|for) (?:the|an|my|our|some|his|her|their)? ?other (?:machines?|clusters?|systems?|box(?:es)?|"
    r"computers?|laptops?|servers?|jobs?|runs?|projects?|packages?|models?|teams?|users?|data ?cent(?:er|re)s?)\b|"
    r"\b(?:on|in|with|at|for) (?:my|a|the) laptop\b"
    r"|\banother (?:machine|cluster|system|box|computer|laptop|job|run|project|package|model|team|user|issue|bug)\b|"
    r"\b(?:last (?:year|month|week|summer|winter)|(?:years?|months?|weeks?) ago|in the past|formerly|"
    r"previous (?:job|run|cluster|project)|(?:an )?earlier (?:job|run|project|incident))\b"
    r"|\b(?:was|were|has been|have been|is|are) (?:since |already |now |long )*(?:fixed|repaired|solved|resolved|replaced)(?: (?:since|before|already|now|then|long ago))?\W*$|\bused to\b",
    re.I,
)
HEADING = regex(rf"(?<!\W)\W*(?:\w+ ){{0,3}}(?:{ELSEWHERE.pattern})", re.I)
