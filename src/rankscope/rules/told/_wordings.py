"""Wordings that many rules share: of what does not go on, of trouble, of code for one rank only."""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.phrases import NO_ARGUMENT
from ...model.patterns import regex

# How people say that something does not go on.
HALTS = (
    r"\b(?:hangs?|hanging|hung|stuck|freez(?!er\b)\w+|(?<!<)froze\w*|deadlock\w*|stall\w*|block(?:s|ed|ing)\b|locks? up|"
    r"lockups?|never (?:returns?|ends?|finish\w*|completes?|comes? back|gets? (?:past|through))|"
    r"does(?:n't| not) (?:return|continue|go on|finish|complete|proceed|progress|respond|answer)|"
    r"(?:no|without|nothing|any) (?:\w+ ){0,2}(?:progress|output|response|happens|sign of life)|"
    r"stands? (?:still|there|at)\b|stays? (?:there|at)\b|times? out|timed out|"
    # … but neither an argument nor an option of that name.
    rf"{NO_ARGUMENT}time-?outs?|Watchdog caught|"
    r"(?:after that|then|but) nothing\b|nothing (?:more|else|further)\b|unchanged for|"
    r"waits? (?:for ?ever|indefinitely)|spins?\b|stops? (?:at|there|after|responding|moving|dead)|"
    r"(?:does(?:n't| not)|no longer|not) mov(?:e|es|ing)\b|nothing (?:is )?(?:printed|logged)|"
    r"(?:then|but) (?:there is )?silence|goes? silent|unresponsive|"
    r"is (?:ever|never) (?:printed|reached|written|returned|called|shown))"
)
# Code that runs on one rank only: the condition, then the rest of its line or one of the next lines that are set deeper.
ONE_RANK = r"^(?P<at>[ \t+>|-]*)(?:el)?if (?:not )?[\w.()\[\]'\" ]*(?:(?:(?:world_|global_|local_)?rank|get_rank\(\)|RANK|process_index(?:\(\))?) ?== ?0|is_global_zero|is_(?:local_)?main_process(?:\(\))?|is_world_process_zero(?:\(\))?|is_master(?:\(\))?|is_rank_zero|is_rank_0\(\)|is_main\b|main_process\b|should_save\b)"
BELOW_IT = r"[^\n:]*:(?:[^\n]*|[^\n]*(?:\n(?P=at)[ \t][^\n]*){0,4}?\n(?P=at)[ \t][^\n]*)(?<!def )\b"
_TROUBLE = (
    r"\b(?:crash\w*|abort\w*|unhealthy|fail(?:s|ed|ure)|errors?\b|illegal memory|segfault|killed|refused|timed out|"
    rf"{NO_ARGUMENT}timeouts?|(?<!CLOSE-)(?<!TIME-)(?<!FIN-)waits?|for ?ever|bus error|problem|issue|trouble)\b"
)
# A table of who has a file open, or of who holds locks, with a process in it.
HOLDER_SEEN = r"\b(?:fuser|lsof|lslocks)\b[^\n]*\n(?:[^\n]*\n){0,9}?[^\n]*\b\d{3,}\b"
# How a row of ``coredumpctl list`` begins, until the number or name of the signal.
CORE = r"^[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+(?: +\d+){3} +"
# A frame in which somebody waits for a pool of processes.
POOL_WAITS = r"(?:get|wait|map|starmap|next|imap\w*) \((?:[^\n]*/)?(?:multiprocess(?:ing)?|billiard)/pool\.py"
# A kernel that meets its peers on the device, ends its own wait at a limit, and prints so with its rank (DeepGEMM's barrier).
DEVICE_BARRIER = r"\b(?:NVLink|XGMI|cross-rank|inter-rank|peer|grid|device|symm\w{0,12})[ _]?(?:barrier|signal|sync\w{0,16})\b[^\n]{0,16}\btime(?:d[ -]?|-?)out\b[^\n]{0,40}\brank ?[=:]? ?\d"
# A rank makes or tries its kernels before it comes to its first call.
MAKES_KERNELS = (
    r"\bpre-?(?:warm|compil)\w*|\bwarm(?:s|ed|ing)?[- ]?up (?:of )?(?:the |its )?(?:\w+ )?kernels?\b|"
    r"\b(?:empty|cold|no) (?:JIT|kernel|compile|compilation|Triton|TileLang|Inductor) cache\b|"
    r"\bJIT(?: cache)? (?:is )?(?:empty|cold)\b|\bJIT[- ]compil\w+|\bautotun\w+"
)
_SO_LONG = (
    r"(?:\d{1,6}(?:\.\d{1,3})?|a few|several|many|an?|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty) ?"
    r"(?:s|sec\w*|min\w*|h|hours?)\b"
)
# It began, or went on, so long after what looked like its end; what it says comes at long intervals.
COMES_LATE = (
    r"\b(?:training|it|(?:the |first |its )(?:job|run|server|program|step|batch|epoch|loss))\b(?:[^\n,;.:]{0,16}\b)?(?:start(?:s|ed)|begins?|began|goes on|went on|"
    r"continue[sd]|comes?|came|appear(?:s|ed)|is printed)\b(?: only)?(?: about| some| roughly| around| nearly| almost)? "
    rf"{_SO_LONG} (?:after|later)\b(?![^\n]*\b(?:hangs?|stuck|stops?|fails?|crash\w*|dies|freez\w+|when|once|because|until)\b)|"
    rf"\b{_SO_LONG} between (?:the |two |each of the |every two )?(?:blocks?|lines?|messages?|steps?|batches|epochs?|prints?)\b"
)
# What is told as past.
OVER = regex(r"\b(?:took|waited)\b", re.I)
_INFO = regex(
    r"(?:\S+ ){0,5}\W?INFO\b(?!: task |.*(?:rror|fail|timed out|existing lock|acquire lock|been waiting))(?<!NCCL INFO)"
)


# The subject of a commit, as git prints it where a job notes what it runs: it tells of what was mended.
_COMMIT = regex(
    r"\W{0,3}(?:HEAD is now at [0-9a-f]{7,40} |(?:Switched to|Already on) |\[[\w./ -]+ [0-9a-f]{7,12}\] |"
    r"(?:commit:? )?(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,40} (?=[A-Za-z\[(\"']))"
)


def halted(case: Case) -> bool:
    """Whether the evidence is about something that does not go on: in words, or because somebody looked at stacks."""
    return any(account.stacks or account.find(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)") for account in accounts(case))


def troubled(case: Case) -> bool:
    """Whether the evidence is about any trouble at all."""
    return halted(case) or any(account.find(_TROUBLE) for account in accounts(case))


def tells_trouble(line: str) -> bool:
    """Whether a line by itself is about any trouble."""
    return re.search(rf"{HALTS}|{_TROUBLE}", line, re.IGNORECASE) is not None


def routine(line: str) -> bool:
    """Whether a line only informs: a logger's INFO, but not NCCL's, which is all that NCCL says of its network; git."""
    return bool(_INFO.match(line) or _COMMIT.match(line))
