"""A rank stands in code of the job itself: at a debugger's prompt, in input(), in a loop or a call without a time-out.

## What it means
One rank left the common path and does not come back by itself. The others entered the next collective.

## How it is recognised
A debugger's prompt or `input()` in the log or at the end of a stack; one rank ends in a frame of the job (a `while` loop, `sleep`, a request without
a time-out) while its peers are in a collective; a loop polls for an entry that stays "running". A shell's trace (`set -x`) whose last command lacks its file: it reads its standard input.

## What to do
Answer the prompt or take `breakpoint()` out; give the loop a limit, the request a time-out. `rankscope stacks --ranks N` shows the line.

## How to prevent it
No prompts under a launcher (`PYTHONBREAKPOINT=0`); time-outs on all that is outside the job.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks, seen_apart
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...model.diagnosis import Finding
from ...model.process import Process
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._drops import HOST_DROPS
from ._findings import finding, members, simple
from ._lateness import count_on
from ._outcomes import cured_by
from ._own_code import in_own_code
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._together import scattered
from ._wordings import HALTS

_PEERS = (
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|watchdog|collective|init_process_group"
)
# An interpreter that was started without a program, or has none left to run, asks for the next line of its own accord.
_PROMPT = r"\b(?:tok_underflow_interactive|_?PyRun_Interactive(?:Loop|One)\w*|pymain_(?:repl|run_stdin))\b"
# Who types these at a prompt is there, and looks.
_LOOKS = r"(?! ?(?:pp?|bt|where|ll?|up?|type|len|vars|dir)\b)"
# Somebody started a program as it is, without what it is to read.
_NOTHING_PIPED = (
    r"\b(?:without|no)(?: an?| any)? (?:pipe|input|redirect\w*|(?:file|argument)s?(?: or (?:pipe|input|redirect\w*))?)\b|\bnothing (?:is |was )?(?:piped|redirected|typed|written to (?:it|stdin))\b|\bnobody (?:types|writes)\b|"
    r"\b(?:stdin|standard input) (?:is|was) (?:the|a) (?:terminal|tty|console)\b|\b(?:Ctrl|\^)[-+ ]?D\b[^\n]{0,24}\b(?:ends?|returns?|goes on|finish\w*|helps?)\b"
)
# A child that is given an empty input ends; else it has the terminal, or the pipe through which its parent is spoken to.
_EMPTY = (
    r"(?:\bstdin ?= ?[\w.]{0,40}DEVNULL\b|\bstdin\b[^\n]{0,24}\b(?:DEVNULL|/dev/null|closed|empty)\b|< ?/dev/null\b)"
)
_WITHOUT_INPUT = rf"{cured_by(_EMPTY)}|{_EMPTY}[^\n]{{0,12}}: (?:\d{{1,6}}(?:\.\d{{1,6}})? ?(?:ms|s|sec\w*)\b)"
# A filter waits at its terminal for what it is to read: nothing was piped into it.
_UNPIPED = Sign(
    r"\b(?:reads?|waits? (?:for|on)|expects?|takes?)\b[^\n]{0,40}\b(?:(?:from|on|at|its|the) )?(?:stdin|standard input)\b",
    "a program reads its standard input, to which nobody writes",
    anywhere=(rf"{HALTS}|\bno (?:output|prompt)\b|\bdoes(?:n't| not) end\b", _NOTHING_PIPED),
    unless=(
        r"\b(?:stdin ?= ?\S*(?:PIPE|DEVNULL)|communicate\(|\.stdin\.(?:write|close))|\bpipe_(?:read|write)\b|\bfull\b|\btail (?:-\w+ )?-[fF]\b",
    ),
    prose=True,
)
_SIGNS = (
    # Remote debuggers wait for somebody to connect: debugpy, pydevd, remote-pdb, rdb of celery, pudb, ray debug.
    Sign(r"\b(?:RemotePdb|Rdb|debugpy|pydevd|ptvsd|[Dd]ebugger|pudb:\d+|madbg)\b[^\n]{0,60}\b[Ww]aiting for (?:a )?(?:client|connection|debugger|attach)|\b[Ww]aiting for (?:a |the )?(?:debugger|debug client)(?: to)? (?:attach|connect)|\bRemotePdb session open at |Please (?:start a telnet session|telnet into)|\bbreakpoint open at \S+", "a debugger waits for somebody to connect"),
    Sign(r"^(?:> )?[\w./~-]+\.py\(\d+\)[\w<>.]+\(\)[^\n]*\n-> |^In \[\d+\]: *$", "a debugger asks somebody", unless=(r"^Out\[\d+\]",)),
    Sign(rf"^[^\w\n]*\(?(?:I?Pdb|ipdb|rpdb|pudb)\)?>? ?$|(?:^ipdb>|\(Pdb\+*\)){_LOOKS}|^-> ?\w[^\n]*\n\(Pdb\)|Entering (?:pdb|interactive)|\bbreakpoint\([^)\n]*\)|set_trace|post_mortem", "a debugger asks somebody"),
    Sign(r"^(?:__call__|embed|mainloop|interact|prompt_for_code|run|prompt) \((?:[^\n]*/)?(?:IPython/(?:terminal|frontend)|ptpython|bpython|prompt_toolkit)/|\binteract \((?:[^\n]*/)?code\.py", "an interactive interpreter asks somebody"),
    Sign(r"\b(?:interaction|cmdloop|_cmdloop|raw_input|do_wait_suspend|wait_for_client|set_trace) \([^()\n]*\.py\w?:\d|\b(?:interaction|cmdloop) \((?:\S*/)?i?pdb\.py\)", "a debugger asks somebody"),
    Sign(r"\bbuiltin_input\b|(?<!`)\binput ?\((?=[\"\'\)]|<\w+>:|[^\s()]+\.pyx?:\d)|PyOS_Readline|my_fgets|\bgetpass \(|unix_getpass|(?:\[y/N\]|\(y/n\)|\[Y/n\])(?! ?[:?]? ?[YyNn]\b)|[\[(]\[?[Yy](?:es)?\]?/\[?[Nn](?:o)?\]?[\])] ?\??:? *$|^(?:Username|Password|Passphrase)(?: for '[^'\n]+')?: *$|Press (?:enter|any key)|Enter (?:passphrase|password|your choice)|wandb: Enter your choice", "the program asks somebody", unless=(_PROMPT,)),
    # Of a shell with -x the last line is what it has begun: a variable was empty, and the command reads the terminal or the job's input.
    Sign(r"^\++ (?P<command>(?:cat|gzip|gunzip|zcat|bzip2|bunzip2|xz|unxz|pigz|zstd|sort|uniq|wc|md5sum|sha\d+sum|tail|head|cut|tr|awk|sed|grep|jq|python\d?|bash|sh|tee)(?: -\S+)*) [^-\s][^\n]*\n(?:[^\n]*\n)*?\++ (?P=command) *\n?\Z", "a command that was given a file before is given none, and reads its standard input"),
    _UNPIPED,
    Sign(_WITHOUT_INPUT, "it ends when its standard input is empty: it reads one that it has from its parent", anywhere=(HALTS,), unless=(r"\b(?:SIGTTIN|SIGTTOU|setpgrp|process_group)\b|\bStopped\b|\bstate:? T\b|\(stopped\)|\bssh\b",), prose=True),
    Sign(r"\b(?:while True|while not (?!v?\d|\w*context\.join\()|busy[- ]?wait\w*|infinite loop|endless loop|polls? (?:for ever|forever|without)|retry loop|retries? (?:for ever|forever|indefinitely))", "a loop has no end", also=(_PEERS,), prose=True),
    Sign(r"^[^\n#]*\bwhile (?:not )?[^\n:]{0,200}(?:exists|isfile|is_file|isdir|is_dir|getsize|listdir|glob)\w*\([^\n]{0,200}:[^\n]*(?:\n[^\n]*){0,2}?(?:sleep\(|pass\b|continue\b)", "a loop waits for a file that does not come", anywhere=(HALTS,)),
    Sign(r"\b(?:infinite loop|endless loop|retry loop|retries? (?:for ever|forever|indefinitely))", "a loop has no end", POSSIBLE, prose=True),
    Sign(r"\b(?:uid|key|prompt|request|rollout|sample|trajectory|item|entry|record|row|episode|future|ticket|message)s?\b[^\n]{0,24}\b(?:keeps?|stays?|remains?|never leaves?|is left)\b[^\n]{0,12}(?:\b(?:status|state|tag|flag)\b[^\n]{0,4})?[\"'`]?\b(?:running|pending|processing|in[-_ ]progress|in[-_ ]flight|unfinished|incomplete|queued|claimed)\b", "what a loop without a limit polls for keeps its state", POSSIBLE, anywhere=(r"\b(?:still|stands?|stays?|sits?|hangs?|stuck|waits?|blocks?|blocked|polls?|spins?)\b[^\n]{0,24}(?:\w\(\)|\bloop\b|\bpoll)",), unless=(rf"\b(?:{_PEERS})\b", r"rror\b(?!s? in any)|\bkilled\b|\bdied\b"), prose=True),
    Sign(r"\b(?:time\.)?sleep\(\d{3,}|\bsleep\b \(|time\.sleep(?!\(monitor_interval\))", "a rank sleeps", POSSIBLE, anywhere=(_PEERS,)),
    Sign(r"\b(?:request|http|rpc|grpc|remote (?:call|server|api)|api call|reward (?:model|server)|urlopen|socket\.recv)\b[^\n]{0,80}(?:without (?:a )?time-?out|no time-?out|never (?:returns?|answers?)|timeout=None)", "a remote call has no time-out", POSSIBLE, prose=True),
)  # fmt: skip

_CALLS = (WaitKind.COLLECTIVE.value, WaitKind.BACKWARD.value, WaitKind.P2P.value)
_STEPS = ("rankscope stacks pid:PID --source", "PYTHONBREAKPOINT=0 torchrun …")


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    if found:
        made = finding(RULE, case, found, "a rank stands in code of the job itself", _STEPS)
        yield replace(made, compared=made.compared or any(hit.sign is _UNPIPED for hit in found))
    elif not case.snapshot.live:
        yield from _alone(case)


def _alone(case: Case) -> Iterator[Finding]:
    """One subject in its own code, a request or a sleep, while others are in a call of all."""
    found = [doing for doing in doings(case) if doing.account is not None]
    waiting = [doing for doing in in_kind(found, *_CALLS) if of_ranks(doing)]
    odd = in_own_code(found)
    if not 0 < _number(odd) <= _number(waiting) or scattered(found, waiting) or any(count_on(case)):
        return  # whose log counts on while the others give up does not stand
    requests = all(doing.kind == WaitKind.SOCKET.value for doing in odd)
    if requests and any(hits(case, HOST_DROPS)):
        return  # its host says why nobody answers
    ranks = RankSet(rank for doing in odd for rank in doing.ranks)
    told = [process for doing in odd if doing.account for process in members(case, doing.account)]
    name = ranks_phrase(ranks) if ranks else _named(told[0]) if len(told) == 1 else "a process"
    place = odd[0].site.split(" < ")[0]
    title = f"{name} {verb('are', _number(odd))} in {place}, while the others are in {waiting[0].op}"
    unsure = _UNNAMED if requests and all(map(_native, odd)) else _MAY_MOVE if _may_move(case, odd) else ()
    against = unsure or (_MAY_BE_LOCKS if all(map(_idle_together, odd)) else ())
    because = [doing.site for doing in (*odd[:2], waiting[0])]
    made = simple(RULE, title, POSSIBLE if against else LIKELY, because, _STEPS, ranks, processes=told, against=against)
    yield replace(made, compared=seen_apart(case))


def _number(found: list[Doing]) -> int:
    """How many subjects: what is shown of one rank twice, in its log and in its stack, counts once."""
    ranks = RankSet(rank for doing in found for rank in doing.ranks)
    return len(ranks) + sum(1 for doing in found if not doing.ranks)


def _named(process: Process) -> str:
    """By its number, else by the file that shows it."""
    return f"process {process.ref.pid}" if process.ref.numbered else f"the process of {process.label or 'a file'}"


# What ends by itself as often as not.
_PASSES = {WaitKind.USER.value, WaitKind.SLEEP.value}
_MAY_MOVE = ("one picture does not tell whether it stands or is only late: the same stacks a minute later do",)


def _may_move(case: Case, odd: list[Doing]) -> bool:
    """Whether it was seen at one moment, or to run, in what may be its work, and nobody says that anything hangs."""
    once = all(doing.account is None or not doing.account.again or _runs(doing) for doing in odd)
    working = all(doing.kind in _PASSES for doing in odd)
    return once and working and not any(account.find(HALTS, prose=True) for account in accounts(case))


def _runs(doing: Doing) -> bool:
    """Whether its main thread was at work whenever somebody looked."""
    return doing.main is not None and doing.main.thread.active is True


_UNNAMED = (
    "which Python code waits there is not shown: a loader's queue does so too; py-bt in gdb, or py-spy dump, names it",
)


_MAY_BE_LOCKS = (
    "several of its threads are idle at lines that show no wait, as they are at `with lock:`; "
    "the source at these lines, or py-spy dump --locals, names the locks",
)


def _idle_together(doing: Doing) -> bool:
    """Whether several threads of a process are idle in its own code, none of them in a call that waits."""
    seen = doing.account.seen if doing.account else ()
    idle = {
        one.thread.tid
        for one in seen
        if one.thread.active is False and one.stack and wait_of(one.stack).kind is WaitKind.USER
    }
    return doing.kind == WaitKind.USER.value and len(idle) > 1


def _native(doing: Doing) -> bool:
    return doing.main is not None and doing.main.native


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 42, check)
