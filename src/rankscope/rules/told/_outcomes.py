"""What people write when a change helped or did not: one vocabulary for all rules that read it."""

from __future__ import annotations

GOOD = (
    r"\b(?:works?|worked|working|runs?|ran|pass(?:es|ed)?(?! ?#?\d)|fine|ok|okay|cure[sd]?|helps?|helped|fix(?:es|ed)|"
    r"solve[sd]?|resolve[sd]?|finish(?:es|ed)?|complete[sd]?|"
    r"return(?:s|ed)?|prints? (?:all|every|them|both|each)|all (?:\w+ ){0,2}(?:come|arrive|pass|return|are printed)|"
    r"comes? through|(?:end(?:s|ed)|exits?)(?! (?:\w+ ){0,3}(?:with|in) (?:an? |the )?\w*(?:[Ee]rror|[Ee]xception)\b)|"
    r"succeeds?|go(?:es)? (?:away|through|on)|gone|(?:it|they|all) do(?:es)?(?=[.,;)\n]|$)|disappear(?:s|ed)?|"
    r"vanish(?:es|ed)?|no (?:hang|deadlock|problem)|not (?:hang|show|happen|occur|block|reproduce\w*)\w*|"
    r"never (?:hangs?|happens?|occurs?|shows?|freezes|blocks|deadlocks|stalls|fails|stops|gets stuck))\b"
)
# Somebody forks by hand and then runs another program.
FORK_THEN_EXEC = r"\b(?:os\.)?fork\b[^\n]{0,60}\b(?:os\.)?(?:exec[lv]p?e?\b|exec\b)"
BAD = (
    r"\b(?:hangs?|hung|hanging|stuck|never (?!hangs?|happens?)|blocks?|blocked|freezes|(?<!<)frozen|stands? still|"
    r"stays?|stays there|does(?:n't| not) (?:return|finish|end|exit|come back|answer)|no (?:further|more) output|"
    r"nothing (?:more|further)|"
    r"for ?ever|deadlock\w*|no progress|stalls?|stalled|sleeps for|idle since|no prompt|still (?:there|running|alive))\b"
)

# A server that comes up all the same, without the device.
SERVES = r"\bStarted (?:HTTP|GRPC)\w*Service at\b|\bApplication startup complete\b|\bUvicorn running on\b"


def cured_by(what: str, within: int = 60) -> str:
    """A pattern: something is mentioned next to words of success, in either order, in one line or as its heading."""
    in_line = rf"(?:{what})[^\n]{{0,{within}}}{GOOD}|{GOOD}[^\n]{{0,{within}}}(?:{what})"
    # The change may be the heading, and what came of it the text below.
    return rf"{in_line}|\A[^\n]*(?:{what})[^\n]*\n(?:[^\n]*\n){{0,6}}?[^\n]{{0,160}}{GOOD}"
