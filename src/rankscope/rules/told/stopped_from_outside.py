"""A process is stopped, traced or frozen from outside.

## What it means
A signal (SIGSTOP, SIGTSTP), a debugger, another tracer, a frozen control group or the scheduler's suspend holds the process. It does nothing wrong and
cannot answer; the others wait for it.

## How it is recognised
State T or t in `ps` or /proc/PID/status (whose: its `Pid`, its path, the order in which several were asked for, or the command of its tracer), a `TracerPid` that is not 0, wait channels `do_signal_stop` or `ptrace_stop`, a cgroup that says
`frozen 1` or `FROZEN`, state D in a sleep (`hrtimer_nanosleep`, `futex_wait`), a job that the scheduler suspended, `Stopped` in a shell. A child in a process group of its own (`os.setpgrp`) that has the
terminal as its standard input. `SSUSP` of LSF, `S` of PBS and Grid Engine, HTCondor's `Job was suspended`; a container, unit or virtual
machine that is paused or frozen; a machine that went to sleep; a process that `cuda-checkpoint` holds.

## What to do
`kill -CONT PID`; end the tracer (`ps -p TRACER`), `echo 0 > …/cgroup.freeze`, `scontrol resume JOB`, `docker unpause`.

## How to prevent it
No background jobs that read the terminal, no py-spy or strace left attached.
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.process import Role
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import finding, simple
from ._kernel import WOKEN_BY_SIGNALS
from ._lines import events, rank_of
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._wordings import HALTS

_SUSPENDED_ROW = r"JOBID[^\n]*\bST\b[^\n]*\n(?:[^\n]*\n){0,5}?\s*\d+ +\S+ +\S+ +\S+ +S +[\d:-]+"
_RUNNING_ROW = r"^\s*\d+ +\S+ +\S+ +\S+ +R +[\d:-]+"
_PAUSED_ROW = r"\(Paused\)|^[0-9a-f]{12} [^\n]*\bPaused\b|\bpaused container"
_UP_ROW = r"^[0-9a-f]{12} [^\n]*\bUp [^(\n]*(?:\((?!Paused)|  )"
# Clients know such a state of what they are connected by (kazoo's and Curator's SUSPENDED, LOST), databases of a transaction.
_STATE_OF_ANOTHER = r"[^\n]*\b(?:connections?|sessions?|Kazoo\w*|ZooKeeper|zk|Curator\w*|\w*ConnectionState\w*|channels?|leader\w*|listeners?|watchers?|subscriptions?|transactions?|coroutines?|greenlets?)\b"
_SIGNS = (
    Sign(r"\b(?:left|still)\b[^\n]{0,24}\b(?:gdb|strace|debugger|py-spy|pdb)\b[^\n]{0,16}attached|\bstate:? [Tt]\b(?![\w'-])", "a process is stopped or traced", prose=True),
    Sign(r"\bT \(stopped\)|\bt \(tracing stop\)|\(tracing stop\)|[\"'`]tracing stop[\"'`]|State:\s*[Tt]\b", "a process is stopped or traced"),
    Sign(r"TracerPid:\s*[1-9]\d*", "a tracer is attached", unless=(r"\bState:\s*[DRS]\b",)),
    Sign(r"TracerPid:\s*[1-9]\d*", "a tracer is attached", POSSIBLE),
    Sign(r"\b(?:gdb|lldb|strace|py-spy|cuda-gdb|debugger)\b[^\n]{0,80}\b(?:left(?! (?:out|early)\b)|forgotten|still (?:open|running|attached|at)|never (?:quit|detached))|\b(?:left(?! out\b)|forgot\w*)\b[^\n]{0,40}\b(?:gdb|lldb|strace|debugger|\(gdb\))|\b(?:resum\w+|went on|continued)\b[^\n]{0,20}\b(?:after|when|with|by)\b[^\n]{0,20}\b(?:quit\w*|detach\w*|SIGCONT|kill -CONT|fg\b|thaw\w*|unpause|scontrol resume)", "a debugger or a signal held the process", POSSIBLE, prose=True),
    Sign(r"\b(?:python\d?|process|rank \d+|pid \d+|worker|trainer)(?:'s \w+)?\W{1,3}(?:is |shows |stands )?(?:in )?(?:the )?(?:stat(?:e|us) )?[\"'`]?(?-i:T)\b[\"'`]?(?=[,;.)\s]|$)", "a process is in state T", anywhere=(r"\b(?:top|htop|ps|/proc|state|stat|status)\b",), prose=True),
    Sign(r"^[^\S\n]*\d+ +[\w.+-]+ +(?:-?\d+|rt) +-?\d+ +[\d.]+[kmgt]? +[\d.]+[kmgt]? +[\d.]+[kmgt]? +[Tt] +[\d.]+ +[\d.]+ (?![^\n]* (?:vim?|nvim|nano|emacs|less|more|man|top|htop|watch|tail|gdb|lldb|ssh|screen|tmux|git|journalctl|(?:ba|z|da|fi)?sh) *$)", "top shows a process in state T"),
    # Beside jobs that run, one that is suspended is of this evidence only where somebody says that something stands.
    Sign(_SUSPENDED_ROW, "the scheduler suspended the job", unless=(_RUNNING_ROW,)),
    Sign(_SUSPENDED_ROW, "the scheduler suspended the job", anywhere=(HALTS,)),
    # ps without its head, and /proc/PID/stat.
    Sign(r"^[^\S\n]*\d+ +(?:pts/\d+|tty\w*|\?) +(?-i:[Tt])[sl<N+]* +(?:[\d:-]+ +)?\S*(?:python|torchrun|mpirun)|^\d+ \([^)\n]+\) (?-i:[Tt]) \d+\b", "a process list shows it in state T"),
    # LSF, PBS, Grid Engine, HTCondor.
    Sign(r"\b(?-i:[UPS]SUSP)\b|\bSuspended by (?:the )?(?:scheduler|user|administrator|system)|\bJob (?:\d+ )?(?:was |is )?suspended\b|\bjob_state ?= ?(?-i:S)\b|^Job id\b[^\n]* S Queue\b[^\n]*\n(?:[^\n]*\n){0,8}?\S+ +\S+ +\S+ +[\d:]+ +(?-i:S) +\S+[^\S\n]*$|^\d+\.\d+ +\S+ +\d+/\d+ +[\d:]+ +\d+\+[\d:]+ +(?-i:S) |^ *\d+ [\d.]+ +\S+ +\S+ +(?-i:[sST]) +\d\d/\d\d/\d{4}", "the scheduler suspended the job", until=r"\b(?:unsuspended|resumed)\b"),
    # containerd, podman, docker inspect, libvirt, systemd; a machine that sleeps; cuda-checkpoint.
    Sign(r"^[^\n]+ (?-i:PAUSED)[^\S\n]*$|\bcontainer(?: \S+)? is paused\b|\bCONTAINER_PAUSED\b|\bState:\s*FROZEN\b|\"Paused\": ?true|\"Status\": ?\"paused\"|^[^\S\n]*(?:\d+|-) +\S+ +(?:paused|pmsuspended)[^\S\n]*$|^(?:vm )?status: (?:paused|suspended)\b|\bFreezerState=fr(?:ozen|eezing)|\bFreezer State: frozen|^ *Active: [^\n]*\(frozen\)", "a container, unit or virtual machine is paused"),
    Sign(r"\bPM: suspend entry|\bFreezing user space processes|systemd-logind\S* Suspending\b|systemd-sleep\S* (?:Suspending|Entering sleep|Performing sleep)", "a machine went to sleep", until=r"PM: suspend exit|Restarting tasks|System returned from sleep|resumed from"),
    Sign(r"^[^\n]*\bcuda-checkpoint\b[^\n]*\n(?:[^\n]*\n){0,8}?(?:\d+ +)?(?:locked|checkpointed)[^\S\n]*$", "the CUDA calls of a process are held for a checkpoint", unless=(r"\baction unlock\b",)),
    Sign(r"\bps\b[^\n]{0,40}[\"'`](?-i:T)\+?[\"'`]|\bfg\b(?: %?\d+)?[^\n]{0,40}\b(?:goes? on|went on|continue[sd]?|resume[sd]?|runs? (?:on|again))\b", "a process is in state T, or went on when it was brought to the front", prose=True),
    Sign(rf"(?<!\S)(?-i:D[sl<N+]{{0,4}})[ \t]+{WOKEN_BY_SIGNALS}(?!\S)", "a process is in state D in a sleep that signals end: its control group is frozen", also=(r"\bWCHAN\b",)),
    Sign(r"do_signal_stop|ptrace_stop|__refrigerator|do_freezer_trap|get_signal[^\n]*freez", "the kernel holds the process"),
    Sign(r"^[^\s:]*[: \t]*frozen 1[^\S\n]*$|\bpopulated 1,? frozen 1\b|^[^\w\n]*FROZEN[^\w?\n]*$|\b(?:freezer\.state|cgroup\.freeze)\b(?:[^\w\n]|\b(?:of|it|is|says|holds|shows|contains)\b){0,16}\n?(?:FROZEN|FREEZING|1)\b|\becho (?:1|FROZEN)\b[^\n]*\b(?:freezer\.state|cgroup\.freeze)\b|docker pause", "the control group is frozen"),
    Sign(r"\b(?:freezer\.state|cgroup\.freeze)\b", "the freezer of a control group is looked at", anywhere=(r"\b(?:hangs?|hung|stuck|blocked|never|does(?:n't| not)|cannot|time[sd]? out|stalls?|unfinished|killed)\b",)),
    Sign(_PAUSED_ROW, "a container is paused", unless=(_UP_ROW,)),
    Sign(_PAUSED_ROW, "a container is paused", anywhere=(HALTS,)),
    Sign(r"(?<!stop reason = signal )(?<!received signal )SIGSTOP|(?<!sigaction\()(?:SIGTSTP|SIGTTIN|SIGTTOU)|suspended \((?:tty|signal)|^\[\d+\][ \t]{0,4}[+-]?[ \t]{1,8}(?:\d+ {1,8})?(?:Stopped|suspended)\b|^(?:fish: )?Job \d+, .* has stopped|^zsh: suspended\b|\bsuspended (?:by|for|due to) (?:preemption|a higher)|kill -STOP|kill -19", "a stop signal was sent"),
    # A Windows console whose text is selected holds whoever writes to it, until a key is pressed (QuickEdit mode).
    Sign(r"\b(?:key|[Ee]nter|[Ee]sc(?:ape)?|[Rr]eturn|space|right[- ]?click|click)\b(?! (?:errors?|errored|not found)\b)[^\n]{0,40}\b(?:console|cmd(?:\.exe)?|command (?:prompt|line)|power ?shell|terminal|window)\b[^\n]{0,60}\b(?:goes? on|went on|continue[sd]?|resume[sd]?|wakes?|woke|runs? (?:on|again)|answers? again|un-?(?:blocks?|freezes?)|proceeds?)\b|\b(?:[Qq]uick ?[Ee]dit|(?:console|cmd)\b[^\n]{0,24}\bselect(?:ion|ed|ing)?\b)[^\n]{0,60}\b(?:mode|freez\w+|paus\w+|stop\w*|hold\w*|hang\w*)\b", "a console holds who writes to it, until a key is pressed in it", anywhere=(r"\b(?:Windows|cmd(?:\.exe)?|[Pp]ower ?[Ss]hell|[Qq]uick ?[Ee]dit|conhost)\b", HALTS + r"|\b(?:no|not?) (?:\w+ ){0,2}(?:answer(?:s|ed)?|request(?:s)?)\b|\bstop(?:s|ped)?\b"), unless=(r"\b(?:y/n|\[Y/n\]|input\(|Press any key|pause\b)",), prose=True),
    # Who is in another group than the terminal's and reads or sets the terminal gets SIGTTIN or SIGTTOU (setpgid(2), termios(3)).
    Sign(rf"(?:\bpreexec_fn ?= ?os\.setpgrp\b|\bprocess_group ?= ?0\b)[^\n]*(?:{HALTS}|\bno output\b|\bexpires\b)", "a child stands only where it is put into a group behind its terminal", anywhere=(r"\breturns?\b|\bworks?\b|\bfine\b|\bends?\b",), unless=(r"stdin ?= ?(?:subprocess\.)?(?:DEVNULL|PIPE)|start_new_session ?= ?True|\bsetsid\b",), prose=True),
    Sign(r"\bpreexec_fn ?= ?os\.setpgrp\b|\bprocess_group ?= ?0\b|\bos\.setpgid\(0, ?0\)", "a child is put into a group behind its terminal, where it is stopped as soon as it touches that", POSSIBLE, anywhere=(HALTS + r"|\bno output\b|\bexpires\b",), unless=(r"stdin ?= ?(?:subprocess\.)?(?:DEVNULL|PIPE)|start_new_session ?= ?True|\bsetsid\b",)),
    Sign(rf"\b(?:scontrol suspend|JobState=SUSPENDED|preempt\w*[^\n]{{0,30}}suspend)|^(?!{_STATE_OF_ANOTHER})[^\n]*?(?P<said>\b(?<!state: )(?-i:SUSPENDED)\b)", "the scheduler suspended the job"),
    Sign(r"\b(?:process|rank|worker)\b[^\n]{0,40}\b(?:is |was |got )?(?:stopped by|suspended|paused|traced by|held by (?:a )?(?:gdb|strace|debugger|py-spy))|(?:gdb|strace|debugger|py-spy)[^\n]{0,30}(?:still|left) (?:attached|running)",
         "somebody stopped or traces a process", POSSIBLE, prose=True),
)  # fmt: skip

_STEPS = ("grep -e State -e TracerPid /proc/PID/status", "kill -CONT PID")
_TITLE = "a process is stopped, traced or frozen from outside"
# Programs of a job; an editor or pager that somebody put aside with Ctrl-Z is stopped too, whatever file it shows.
_OF_A_JOB = regex(
    r"python|torchrun|deepspeed|accelerate|mpirun|horovodrun|orted|prted|\bray\b|nccl|_perf\b|train", re.I
)
_SHOWS_A_FILE = regex(
    r"^\W{0,9}(?:\S{0,200}/)?(?:g?vim?|view|nvim|nano|pico|micro|emacs|less|more|most|man|top|htop|watch|tail|git (?:log|diff|show))\b"
)
_PUT_ASIDE = regex(
    r"^\W{0,9}(?:\S{0,200}/)?(?:vim?|nvim|nano|emacs|less|more|man|top|htop|watch|tail|gdb|lldb|ssh|screen|tmux|mc|mutt|git log|"
    r"journalctl|-?(?:ba|z|da)?sh)\b"
)


def check(case: Case) -> Iterator[Finding]:
    rows = [event for event in events(case, "proc.row") if str(event.fields.get("state"))[:1] in ("T", "t")]
    stopped = [event for event in rows if _of_a_job(str(event.fields.get("command")))]
    if not stopped and any(one.find(HALTS, prose=True) for one in accounts(case)):
        stopped = [event for event in rows if not _PUT_ASIDE.search(str(event.fields.get("command")))]
    if stopped:
        ranks = RankSet(rank for event in stopped if (rank := rank_of(case, event)) is not None)
        pids = ", ".join(str(event.pid) for event in stopped[:4])
        whom = f"{ranks_phrase(ranks)}, pid {pids}" if ranks else f"pid {pids}"
        yield simple(RULE, f"{_TITLE}: {whom}", LIKELY, [event.text for event in stopped[:4]], _STEPS, ranks)
        return
    found = list(hits(case, _SIGNS))
    if found:
        yield _named(case, finding(RULE, case, found, _TITLE, _STEPS))


def _named(case: Case, told: Finding) -> Finding:
    """The finding with the processes of which /proc/PID/status says that they are held, where that shows whose it is."""
    held = sorted({*_held_by_status(case), *_traced(case)})
    if not held or told.certainty is not LIKELY:
        return told
    members = [one for one in case if one.ref.pid in held]
    ranks = RankSet(one.rank for one in members if one.rank is not None and one.role is Role.RANK) or told.ranks
    pids = ", ".join(map(str, held[:4]))
    whom = f"{ranks_phrase(ranks)}, pid {pids}" if ranks else f"pid {pids}"
    return replace(
        told, title=f"{told.title}: {whom}", ranks=ranks, processes=tuple(one.process for one in members[:16])
    )


def _held_by_status(case: Case) -> Iterator[int]:
    """Processes in state T or t, by /proc/PID/status: each says its number, or they were asked for in this order."""
    for account in accounts(case):
        asked, states = _pids(account.label), list[str]()
        own = [ref.pid for ref in account.refs if ref.numbered]
        for event in account.events if account.named("proc.state") else ():
            if event.event == "proc.state" and event.pid is not None:
                yield from _in_turn([event.pid], [str(event.fields.get("state"))])
            elif event.event == "proc.state":
                states.append(str(event.fields.get("state")))
            elif event.event == "text.line" and (said := _BY_NUMBER.match(event.text)):
                yield from _in_turn([int(said["pid"])], states[-1:])
            elif event.event == "text.line" and "/proc/" in event.text:
                yield from _in_turn(asked or own, states)
                asked, states = _pids(event.text), []
        yield from _in_turn(asked or own, states)


def _in_turn(pids: list[int], states: list[str]) -> Iterator[int]:
    """Those of some processes that are held, where there is one state for each."""
    yield from (pid for pid, state in zip(pids, states) if len(pids) == len(states) and state in _HALTED)


def _pids(text: str) -> list[int]:
    return list(dict.fromkeys(map(int, _PID.findall(text))))


_HALTED = ("T", "t")
_BY_NUMBER = regex(r"Pid:\s{1,8}(?P<pid>\d{1,9})")


def _traced(case: Case) -> Iterator[int]:
    """Processes to which the tracers that some ``TracerPid`` names were attached, by the command of these."""
    tracers = {event.fields.get("tracer") for event in events(case, "proc.tracer")}
    for event in case.events if tracers else ():
        found = _ATTACHED.search(event.text)
        if found and int(found["tracer"]) in tracers:
            yield int(found["traced"])


_PID = regex(r"(?<![\w.:-])\d{2,9}(?![\w.]|:\d)")
_ATTACHED = regex(
    r"^\W{0,9}(?:\w{1,40} {1,20})?(?P<tracer>\d{1,9}) [^\n]{0,200}?\b(?:gdb|lldb|strace|ltrace|cuda-gdb|rocgdb|py-spy|pystack|perf|rr|uftrace)\b"
    r"[^\n]{0,120}?(?: -p ?|--pid[= ]| attach | remote | \S{0,80}python\S{0,20} )(?P<traced>\d{1,9})\b"
)


def _of_a_job(command: str) -> bool:
    """Whether a command runs a program of a job, and does not only show or edit one."""
    return bool(_OF_A_JOB.search(command)) and not _SHOWS_A_FILE.search(command)


RULE = make_rule(__name__, __doc__, "process-stopped", 18, check)
