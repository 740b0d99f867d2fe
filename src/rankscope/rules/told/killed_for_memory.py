"""The kernel, a container limit or the scheduler killed a process because memory ran out.

## What it means
A process got SIGKILL. It could not print anything; the others notice that it is gone only when they next talk to it.

## How it is recognised
The kernel's log names the victim (`Out of memory: Killed process`, `oom-kill:constraint=CONSTRAINT_MEMCG`), the scheduler says
`oom-kill` or `OOMKilled`, a launcher reports exit code -9 or 137, or a loader worker was `killed by signal: Killed`. Exit
code -9 alone can also be the launcher's own clean-up, so it counts only where no earlier error is seen, and nobody is said to
send SIGKILL.
Slurm's accounting (`seff`) that says `OUT_OF_MEMORY` of a job which had used nearly all that it may have.
A pool that misses a worker while `free` shows no memory available and no swap.
Of a running job such a line of its log is *possible*, unless somebody of the job has ended; so is a line of the kernel that is
days older than the rest of the evidence, and what a runbook names.
The kernel's report of its memory in which a zone has less free than its `min:` and there is no swap.

## What to do
`dmesg -T | grep -i -e oom -e 'killed process'` on that node, `sacct -j JOB --format=JobID,State,MaxRSS`, or
`kubectl describe pod`. Fewer loader workers, smaller prefetch, no copy of the data set per rank, more memory for the step.

## How to prevent it
Watch the resident memory of workers (`memory.current` and `memory.events` of their cgroup, `ps -eo rss,pid,args --sort -rss`), set `--mem` with room to spare, and load checkpoints rank by rank.
Who waits for one that was killed: https://github.com/noxdafox/pebble/issues/97
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding, Reason
from ...model.patterns import regex
from ...model.ranks import RankSet
from .. import make_rule
from .._death import ended, killed, oom_kills
from .._say import who
from ._findings import finding
from ._lines import events
from ._signs import POSSIBLE, Hit, Sign, hits

_OTHER = (
    r"^(?!.*(?:ChildFailedError|exitcode|worker|Killed|SIGKILL|signal 9|BrokenProcessPool|ProcessExited|Terminated|"
    r"EOFError|[Cc]onnection|BrokenPipe|CalledProcessError|returned non-zero|Actor|"
    r"Engine)).*\b(?!Warning)\w+(?:Error|Exception): |Watchdog caught|Xid|segfault|CUDA error"
)
# Servers kill workers that do not answer, and guess at memory themselves.
# Whoever ends processes says so: a harness, uWSGI.
_KEEPER = r"WORKER TIMEOUT|NO MERCY|\b[Ss]ent signal (?:9|SIGKILL)\b|stop-\w+' timed out|timed out\. Killing|HARAKIRI|Hard time limit|TimeLimitExceeded|\b(?:exceeded|after|over) \d+(?:\.\d+)? ?(?:s|sec\w*|min\w*|h|hours?)\b[^\n]{0,40}\b(?:SIGKILL|kill)"
# Somebody who kills what hangs tells of it.
_BY_HAND = (
    r"\bkill(?:all)? -(?:9|KILL)\b|\b(?:only|needs?|has to|have to|must|had to|until) (?:be )?(?:a )?(?:kill\w* )?(?:by |with |a )?(?:kill -9|SIGKILL)|kill\w* (?:it |them )?(?:by hand|manually)|os\.kill\(|"
    r"\b(?:then|finally|followed by|before|until) (?:a |the )?SIGKILL\b|"
    r"\bSIGKILL\w* (?:after\b|to (?:the|all|its|it|them)\b|from another (?:terminal|shell|window)|"
    r"by (?:hand|me|us|(?:the |its )?(?:supervisor\w*|test|parent|launcher|init|runner|user|operator|watchdog|master|agent)))|"
    r"\b(?:sends?|sent|sending|gets?) (?:it |them |a |the \w+ )?SIGKILL\b|\bt?kill\((?:\d+, )?\d+, SIGKILL\)"
)
# Who crashes another time, or says that either was seen, was not short of memory each time.
_OR_CRASHED = r"(?<![\w.])-9\b[^\n]{0,40}?(?<![\w.])-(?:11|6|7|4|8)\b|(?<![\w.])-(?:11|6|7|4|8)\b[^\n]{0,40}?(?<![\w.])-9\b|\b137\b[^\n]{0,40}\b13[2459]\b|\b13[2459]\b[^\n]{0,40}\b137\b"
# kubectl tells of a container's last end for as long as its pod lives: this one has run for days since then.
_LONG_AGO = r"^\S+ +(\d+)/\1 +Running +\d+ \(\d+d(?:\d+h)? ago\)"
# A workflow tries a step again with more room, and ends well as a whole (argo get).
_SUCCEEDED = r"^Status: +Succeeded\b"
# The number of a job, process or worker, and what a test compares with.
_NO_NAME = r"(?<!\bjob )(?<!\bprocess )(?<!\bworker )(?<!\bcontainer )(?<!== )(?<!==)(?<!!= )(?<!!=)"
_SIGNS = (
    # Of a device that has no memory of its own, what is kept of files lies in the same memory as the weights.
    Sign(r"\b(?:buff/?cache|page cache|cached files)\b[^\n]{0,24}?\b\d{2,5}(?:\.\d)? ?G", "files that are kept fill the memory that host and device share, while weights are loaded", POSSIBLE, anywhere=(r"\b(?:container|process|worker|engine|server|launch\w*|job)\b[^\n]{0,20}\b(?:died|dies|vanish\w*|disappear\w*|was gone|is gone)\b|\b(?:died|dies) at \d{1,3} ?%", r"\bunified (?:memory|LPDDR\w*)\b|\bGB10\b|\bDGX Spark\b|\bJetson\b|\bStrix\b|\bApple M\d\b", r"\b(?:weights?|shards?|checkpoint|model) (?:\w+ )?load\w*|\bload\w* (?:the )?(?:weights?|shards?|checkpoint|model)\b"), prose=True),
    # GCC's driver, when its compiler got SIGKILL.
    Sign(r"internal compiler error: Killed \(program |Killed signal terminated program cc1", "a compiler was killed, as the system does for memory", unless=(_KEEPER, _BY_HAND)),
    Sign(r"\b(?:died|ended|exited) \(-9\)", "a process ended with SIGKILL", POSSIBLE, unless=(_KEEPER, _BY_HAND)),
    Sign(r"^[^\S\n]*Killed[^\S\n]*$|\b\d+ Killed\s+(?!by\b)\S|line \d+:\s+\d+ Killed\b", "the shell says that a process was killed"),
    Sign(r"\b(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process", "the kernel killed a process for memory"),
    # slurmstepd's words for a limit that was touched, by the page cache as well (failcnt); who was killed is told besides.
    Sign(r"\bexceeded (?:job|step) memory limit at some point\b", "a step came to its limit of memory", POSSIBLE),
    Sign(r"oom-kill:constraint|invoked oom-killer|oom_reaper: reaped|oom_kill_process", "the kernel's OOM killer ran"),
    Sign(r"(?<![-/\w])OOMKilled\b(?!-)(?!\W{1,4}(?:false|0)\b)|oom[-_ ]kill event|Detected \d+ oom|(?<![A-Z_])OUT_OF_MEMORY\b|^(?!app-\S*\.scope: )[^\n]*systemd-oomd? killed|exceeded (?:job |step |its )?memory limit(?! at some point)|cgroup out-of-memory handler|TERM_MEMLIMIT|\boom_kill [1-9]|earlyoom[^\n]*(?:SIGTERM|SIGKILL)|job killed: (?:p?v?mem|ncpus)\b",
         "the scheduler or container runtime killed it for memory", unless=(_LONG_AGO, _SUCCEEDED)),
    Sign(r"^(?!app-\S*\.scope: )[^\n]*\bsystemd-oomd\b[^\n]*[Kk]illed(?! \S*/app-[^/\s]*\.scope)|[Kk]illed (?!\S*/app-[^/\s]*\.scope)\S+(?: \S+)? due to memory (?:pressure|used)|memory\.max[^\n]*(?:exceeded|reached)|Memory cgroup stats|Task in \S+ killed as a result of limit|lowmemorykiller|jetsam", "the system killed it for memory"),
    Sign(r"tried to allocate more memory than is available|crashed after using all available (?:RAM|memory)|(?<!\(1\) The process is )(?<!\(1\) the process was )(?<!If the process was )killed by the (?:kernel'?s? |Linux )*(?:OOM|out[- ]of[- ]memory)[- ]?killer|out[- ]of[- ]memory killer (?:killed|ended|hit|took|chose)|\boom[- ]?killer (?:has |had )?(?:killed|kills|hit|ended|terminated|took|takes|struck|got|chose|reaped)|terminated by signal (?:9\b|KILL)|[Kk]illed because (?:it )?(?:ran )?out of (?:host |system )?memory", "it is told that memory ran out", prose=False),
    Sign(r"\b(?:host |system |CPU |container |node )?(?:RAM|memory|RSS)\b[^\n]{0,60}\b(?:climb|grow|rise|rose|increas|fill|exhaust|reach|goes up|going up|leak)\w*[^\n]{0,100}\b(?:killed|kills|restarted|dies|died|gone|evicted|reboot\w*|vanish\w*|disappear\w*)\b", "host memory grew until something was killed", unless=(r"CUDA out of memory",), prose=True),
    Sign(r"--mem(?:-per-cpu|ory)?[= ]|\b(?:more (?:host |system )?(?:RAM|memory)|larger (?:instance|node)|(?:bigger|higher) memory (?:limit|request))", "more host memory cures it", unless=(r"CUDA out of memory|shm",), cures=True),
    # sacct cuts its columns; the kubelet, systemd, HTCondor, PBS, earlyoom, srun, and the kernel's report of a control group.
    Sign(r"\bOUT_OF_ME\+|\boom[- ]killed \d+ tasks?\b|low on resource: memory\b|\bSystemOOM\b|(?<!If the process was )\bkilled by the (?:operating system|kernel|system)\b[^\n]*(?:\bOOM\b|memory)|^(?!app-\S*\.scope: )[^\n]*Failed with result 'oom-kill'|\bgone over (?:cgroup )?memory limit\b|\bexceeded resource (?:p?v?mem|memory)\b|low memory! at or below|\bsrun: error: \S+: tasks? [\d,-]+: Out Of Memory|\bmemory: usage (\d+kB), limit \1, failcnt", "the system killed it for memory"),
    Sign(r"killed by signal: Killed", "a loader worker got SIGKILL"),
    Sign(r"\bfree (?:host |system )?memory\b[^\n]{0,20}\b(?:near zero|close to zero|was zero|exhausted|gone|ran out)|\b(?:host|system|CPU|node) (?:memory|RAM) (?:was|is|were) (?:full|exhausted|used up)", "host memory was used up", POSSIBLE, unless=(r"CUDA out of memory",), prose=True),
    Sign(r"exceeded \d+% memory budget|[Cc]ontainer[^\n]{0,60}(?:beyond|exceed\w{0,20})[^\n]{0,20}memory limits?|Memory limit exceeded", "a memory monitor says so"),
    Sign(r"Perhaps out of memory", "a server guesses so", unless=(_KEEPER,)),
    Sign(r"\b(?:killed|terminated) (?:\w+ )*due to (?:the )?(?:node |host )?(?:running low on |low |out[- ]of[- ])?memory|memory (?:usage )?(?:above|exceed\w*) the (?:threshold|limit)",
         "a memory monitor killed it"),
    Sign(r"\b(?:exit ?codes?|exitcode|return ?code|exit status|exited with|status)\b(?:[^\w\n]|\b(?:codes?|is|are|was|were|of|with|the|job|process|workers?|container|SIGKILL)\b){0,24}?(?<![\w.])" + _NO_NAME + r"(?:-9|137)\b(?! ?m?s\b| of \d)",
         "a process ended with SIGKILL and without a word of its own", unless=(_OR_CRASHED, _OTHER, _KEEPER, _BY_HAND, _LONG_AGO, _SUCCEEDED)),
    Sign(r"\b(?:died|ended|terminated|killed|exit\w*|fail\w*|crash\w*)\b[^\n]{0,40}\b(?:SIGKILL|signal 9)\b",
         "a process was killed, and nothing says by whom", POSSIBLE, unless=(_OTHER, _KEEPER, _BY_HAND)),
    Sign(r"\b(?:SIGKILL|signal 9)\b", "a process got SIGKILL", POSSIBLE, unless=(_OTHER, _KEEPER, _BY_HAND)),
    Sign(r"\b(?:exit ?code|exitcode|return ?code|exit status)\W{0,4}\s?" + _NO_NAME + r"(?:-9|137)\b", "a process ended with SIGKILL", POSSIBLE, unless=(_OR_CRASHED, _LONG_AGO)),
    Sign(r"DefaultCPUAllocator: (?:can't|not enough) (?:allocate )?memory|^MemoryError", "host memory ran out", POSSIBLE),
)  # fmt: skip

_SIGKILL = -9  # torchrun's exit code of a worker that a signal ended (subprocess.Popen.returncode)
_STEPS = (
    "dmesg -T | grep -i -e oom -e 'killed process'",
    "sacct -j JOBID --format=JobID,State,ExitCode,MaxRSS,ReqMem",
    "cat /sys/fs/cgroup/memory.events",
)
# The kernel's report of its memory (show_mem): a zone has less than the least that is kept free, and nothing can be swapped out.
_ZONE = regex(r"\bNode \d+ (?:Normal|Movable|DMA32) free:(\d+)kB (?:boost:\d+kB )?min:(\d+)kB")
_NO_SWAP = r"\bFree swap *[=:] *0 ?kB"
_ASKED_FOR = r"sysrq\b[^\n]*Show Memory"


# free(1): what may still be had, and what is left of swap.
_FREE = regex(
    r"\btotal +used +free +shared +buff/cache +available\s*\n\s*Mem: +(?P<total>\d+)\S*(?: +[\d.]+\S*){4} +(?P<available>\d+)\S*(?:[^\n]*\n\s*Swap: +\d+\S* +\d+\S* +(?P<swap>\d+))?"
)
_SPARE = 50  # a machine with less than this part of its memory left has none
_LOST = r"\b(?:background|worker|child|sub-?)\w*(?: (?:process(?:es)?|workers?))? (?:is|are|was|were) (?:missing|no longer alive|dead|gone|6 feet under)|BrokenProcessPool|\bterminated abruptly\b|TerminatedWorkerError|died unexpectedly|exited unexpectedly|WorkerLostError"


def check(case: Case) -> Iterator[Finding]:
    compared = [*_lost_on_a_full_machine(case), *_used_all_it_had(case)]
    found = [*hits(case, _SIGNS), *_no_page(case), *_needs_more(case), *compared]
    if found:
        made = finding(RULE, case, found, "a process was killed because memory ran out", _STEPS)
        because = (*made.because, *islice(_agrees(case), 1))
        ranks = made.ranks or _killed_ranks(case)
        yield replace(made, ranks=ranks, because=because, compared=made.compared or bool(compared))


def _killed_ranks(case: Case) -> RankSet:
    """The ranks that torchrun's report of the failure says were killed."""
    failed = events(case, "elastic.root_cause", "elastic.failure")
    return RankSet(one.rank for one in failed if one.rank is not None and one.fields.get("exitcode") == _SIGKILL)


def _agrees(case: Case) -> Iterator[Reason]:
    """Who of a live job got SIGKILL, or ended in a group of which the kernel counts such deaths."""
    for member in case.members if case.snapshot.live else ():
        if member.dead and (killed(member) or (killed(member) is None and oom_kills(case, member))):
            yield Reason(f"{who(member.process)} {ended(member)}", "kernel", member.ref)


def _no_page(case: Case) -> Iterator[Hit]:
    """The kernel's report of a machine without a free page, which nobody asked for: it ends with somebody's death."""
    for account in accounts(case):
        line = account.find(_ZONE.pattern) if not account.find(_ASKED_FOR) else None
        zone = _ZONE.search(line) if line else None
        if zone and int(zone[1]) < int(zone[2]) and account.find(_NO_SWAP):
            yield Hit(
                Sign("", "the kernel reports that no page is free and none can be swapped out"), account, line or ""
            )
            return


def _lost_on_a_full_machine(case: Case) -> Iterator[Hit]:
    """A worker that is gone without a word, and ``free`` shows that the machine has no memory and no swap left."""
    found = accounts(case)
    full = next((one for one in found for seen in _FREE.finditer(one.said) if _none_left(seen)), None)
    lost = next(((one, line) for one in found if (line := one.find(_LOST))), None)
    if full is not None and lost is not None and not any(one.find(_OTHER_FAULT) for one in found):
        yield Hit(Sign("", "a worker is gone without a word, and no memory was left on its machine"), *lost)


# Slurm's accounting of one job: how it ended, and how much of the memory that it had it used (seff(1), reportseff).
_ACCOUNTED = regex(
    r"^State: OUT_OF_MEMORY\b[^\n]*\n(?:[A-Z][^\n]*\n){0,12}?Memory Efficiency: (?P<used>\d{1,3})(?:\.\d{1,9})?% of|"
    r"^\s*\d{1,9}\S* +OUT_OF_ME\S* [^\n]*?\s(?P<share>\d{1,3})(?:\.\d{1,9})?%\s*$",
    re.M,
)
_NEARLY_ALL = 90  # per cent: the kernel counts at moments, and what was asked for last was not had


def _used_all_it_had(case: Case) -> Iterator[Hit]:
    """The accounting calls a job out of memory, and by its figures it used what it had: files that are kept count there as well."""
    for account in accounts(case):
        for row in _ACCOUNTED.finditer(account.said):
            if int(row["used"] or row["share"]) >= _NEARLY_ALL:
                says = "the accounting calls it out of memory, and it had used what it may have"
                yield Hit(Sign("", says), account, row[0].strip().splitlines()[0])
                return


# What a program says that it needs of memory, and what it finds.
_AMOUNT = r"~?(?P<{}>\d{{1,6}}(?:\.\d{{1,6}})?) ?(?P<{}_unit>[MGT])i?B\b"
_NEEDS = regex(
    rf"\b(?:requires?|needs?|expects?|(?:is|are) (?:required|needed)|wants?)\b[^\n]{{0,40}}?{_AMOUNT.format('all', 'all')}"
    rf"(?=[^\n]*\b(?:RAM|memory)\b)[^\n]{{0,120}}?\b(?:but|however|only|while|and|;)\b[^\n]{{0,40}}?{_AMOUNT.format('there', 'there')}"
    r"[^\n]{0,24}\b(?:detected|available|found|free|present|installed|left|remain\w*)\b",
    re.IGNORECASE,
)
_GIGA = {"M": 1e-3, "G": 1.0, "T": 1e3}
_WENT = r"\b\w+(?:Exception|Error)\b|\bexit(?:ed|s)?\b[^\n]{0,20}\b(?!0\b)-?\d{1,3}\b|\b(?:killed|died|dies|gone|vanish\w*|disappear\w*|stays? at|hangs?|stuck)\b"


def _needs_more(case: Case) -> Iterator[Hit]:
    """A program warned that it needs more memory than there is, and then it ended or did not get on."""
    told = accounts(case)
    for one in told if any(one.find(_WENT, prose=True) for one in told) else ():
        for found in _NEEDS.finditer(one.said):
            units = (_GIGA[found[name].upper()] for name in ("all_unit", "there_unit"))
            needed, there = (float(found[name]) * unit for name, unit in zip(("all", "there"), units))
            if needed > there:
                says = f"the program needs {needed:g} GB and finds {there:g} GB"
                yield Hit(Sign("", says, POSSIBLE), one, found[0])
                return


# What tells by itself why a worker ended.
_OTHER_FAULT = r"[Ss]egmentation fault|SIGSEGV|SIGABRT|illegal memory|terminate called"


def _none_left(seen: re.Match[str]) -> bool:
    return int(seen["available"]) * _SPARE < int(seen["total"]) and not int(seen["swap"] or 0)


RULE = make_rule(__name__, __doc__, "oom-kill", 10, check)
