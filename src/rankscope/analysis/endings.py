# ruff: noqa: E501  (a row of a pattern is one line)
"""How a log ends decides: of a run that is seen to end well, the troubles told before its end are past.

Programs say at the end that they are done, schedulers and test runners that it went well. A log that ends so, with no
trouble behind it, is of a run that is over; only somebody who says or shows that it does not end knows better.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence

from ..model.evidence.events import Event
from ..model.evidence.stacks import NativeStacks, PythonStacks
from ..model.labels import stem, who
from ..model.patterns import regex
from ..model.repeated import found_in, of_texts
from .case import Case
from .papers import papers
from .phrases import NO_ARGUMENT
from .remembered import remembered

# What comes behind the last words of a run: its tables, summaries and the good-byes of its libraries.
_BEHIND = 40
_RUN = (
    r"(?:training|fine-?tuning|pre-?training|evaluation|testing|inference|"
    r"(?:the |all |this )?(?:job|run|runs|script|program|process|experiment|workflow|pipeline|benchmark|build|sweep|"
    r"everything|epochs|steps|iterations|jobs|tasks|stages|worker group|conversion|export|download|preprocessing|tokeni[sz]ation))"
)
_ENDED = r"(?:done|finished|completed?|ended|successful(?:ly)?|succeeded|over)"
_GOOD = regex(
    rf"\b{_RUN}\b(?: \S+){{0,3}}? (?:is |are |was |has |have )?(?:now |been |successfully )?{_ENDED}\b(?! (?:(?:for |of |in )?(?:step|epoch|iter|batch|\d+/)|by (?!itself|now|\d)))"
    rf"|\b(?:end of|finished|completed|done(?: with)?|exit(?:s|ed|ing)|exiting from) (?:the )?{_RUN}\b(?! (?:step|epoch|iter|batch|data|loop|\d+/))|^(?:end of|total) (?:training|run|wall|elapsed|execution)\W(?:time|duration)?"
    r"|^(?:all )?(?:done|finished|completed|success|good ?bye|bye|ok|all good)\b[.! ]*(?:(?:total |wall |elapsed )+time\b.*)?$|^(?:finished|completed|done with|ran) (?:all )?\d+ (?:steps|epochs|iterations|tasks|jobs|samples|files)\b|^done: \w"
    r"|\b(?:successfully|is) complete[d]?\W*$|\b(?:finish|complet|exit|end|terminat|shut ?down)(?:e?s|e?d)? (?:successfully|normally|cleanly|gracefully|without errors?)\b|\bsuccessfully (?:finished|completed|exited|built|tagged|ended)\b"
    r"|\b(?:exit(?:ed|s|ing)?|return(?:ed)?|rc)\b(?:[ -](?:with|code|status|value)){0,2}\W{1,3}0\b"
    r"|\b(?:COMPLETED|CD) +0:0\b|^\d+\S* .*\bCOMPLETED\b|\b0/1 +Completed\b|(?-i:\bSUCCEEDED\b)|"
    r"\b(?:phase|state|status|finished|result)\W{1,3}(?:succe(?:eded|ss)|completed|ok)\b|\bJob\w*Succeeded\b|"
    r"\bas success\b"
    r"|\breached (?:the )?max\w*|`?\.?fit`? stopped: `?max_\w+=\S+ reached|'?\btrain_runtime\b|"
    r"\bexiting program (?:at|after)\b|\bearly stopp(?:ing|ed)\b.*\bbest\b"
    r"|(?:^|[=, ])\d+ passed\b(?!.*\b(?:failed|errors?)\b)|\b\d+/\d+ tests? passed\b|^100% tests passed|"
    r"^OK(?: \(\w+=\d+.*\))?$|\btest result: ok\b"
    r"|\b(?:saved|saving|wrote|written|uploaded|exported|pushed)\b.{0,30}\bfinal\b|"
    r"\bfinal (?:checkpoint|model|weights)\b.{0,40}\b(?:saved|written|uploaded)\b"
    r"|\bfinal (?:test |validation |eval\w* |train\w* )?(?:metrics?|accuracy|loss|results?|score)\b|"
    r"^(?:test|validation) (?:accuracy|acc|loss|score)\b"
    r"|\bshut ?down (?:cleanly|gracefully|complete[d]?|successful(?:ly)?)|\bclean(?:ly)? (?:shut ?down|exit)\b|"
    r"^Finished server process\b|\bDone waiting for other agents\b|^wandb: Synced\b"
    r"|\bfalse alarm\b|\bnever ?mind\b|\bmy mistake\b|\bnot a (?:deadlock|hang) after all\b|"
    r"\ball (?:is )?(?:fine|good|well) again\b(?! (?:with|without|when|if|after|on|since))|^#\d+ DONE \d"
    r"|^\s*Normal +Started +\S+ +kubelet +Started container (?!init)"
    r"|\bpass rate 100 ?%|\bkept \d+, (?:skipped|dropped) \d+\b|"
    r"\bRestoring model weights from the end of the best epoch|"
    r"\b(?:training|train|test(?:s|ing)?) (?:is )?(?:done|over)\b",
    re.IGNORECASE,
)  # fmt: skip
# One rank that is done says nothing of the others, and what is not so is no good end.
_NOT_ALL = regex(
    r"\bnot (?:\w+ )?(?:done|finish\w*|complete\w*|succe\w+)|\b(?:un|in)(?:successful|complete|finished)|"
    r"\b(?:before|until|unless|if|when|while|once|one (?:ends|of them)|after(?! \d)|would|should|never|waiting|that|"
    r"which|already|had|not|same|\w+n't)\b|\bexit\w*\b.{0,12}\b[1-9]\d*\b|"
    # What all was for did not come.
    r"(?:,|;|\b(?:but|and|yet)) (?:there (?:is|was) |still )?no (?:images?|pictures?|results?|answers?|responses?|tokens?|files?) ?(?:[,;.]|and\b|is\b|was\b|comes?\b|came\b|$)|"
    # Slurm names an exit code of a job that it ended as well (sacct(1), JOB STATE CODES).
    r"\bState\W{1,3}(?:OUT_OF_ME\w*|NODE_FAIL|CANCELLED|TIMEOUT|DEADLINE|BOOT_FAIL|PREEMPTED|FAILED)\b",
    re.IGNORECASE,
)
_HEAD = regex(
    r"^(?:\[\d+,\d+\]<std(?:out|err)>:?|\[?\d{4}[-/]\d\d[-/]\d\d[T ]?[\d:.,+Z]*\]?|\[?\d\d:\d\d(?::\d\d)?[.,\d]*\]?|"
    r"\[?(?:INFO|NOTICE|DEBUG)\]?:?|\[?rank ?\d+\]?:?|\[?[\w./-]+\.(?:py|cc|cpp|go):\d+(?::\w+)?\]?|"
    r"\[[\w.:/-]{1,40}\]|\[[^\]\n]{0,40}\d\d:\d\d[^\]\n]{0,30}\]|[-|:>*#, \t]+)+\s*",
    re.IGNORECASE,
)
# What tells that something is wrong, in the words of programs. LLDB stops by SIGSTOP what it looks at,
# and gdb's py-bt heads the stack of a living thread by a word for errors.
WRONG = regex(
    r"\b(?:Traceback(?! \(most recent call first\))|\w*Error|\w*Exception|KeyboardInterrupt|(?!(?<=stop reason = signal )SIGSTOP\b)SIG[A-Z]{3,}|FATAL|CRITICAL|segmentation fault|"
    rf"core dumped|killed|aborted|terminated|panic|[Ww]atchdog|{NO_ARGUMENT}timed? ?out|out of memory|cancel+ed|preempt\w*|OOM\w*|"
    r"[1-9]\d* failed|exit ?code\W{1,3}[1-9-]|CrashLoopBackOff|(?:Err)?ImagePull(?:BackOff)?|Init:\d+/\d+)\b|\^C|"
    r"\bERROR\b|\bE\d{4} |^(?:\[rank\d+\]:)?\[?E\]? |\[E\d",
)
# What people say of a program that does not go on; programs have no such words.
SAID = regex(
    r"\b(?:hangs?|hanging|hung|stuck|takes? (?:ages|for ?ever)|(?:painfully|far too|unbearably) slow|"
    r"freez(?:es?|ing)\b|froze[ns]?\b(?! (?:param|layer|backbone|encoder|weight|model|module|import|runpy|set\b))|"
    r"never (?:returns?|ends?|exits?|finish\w*|comes?(?: back)?\b|terminates?|quits?|reach\w*)|"
    r"(?:does|do|did|will|would)(?:n't| not) (?:return|end|exit|finish|terminate|stop|quit|come|go on|give)|"
    r"nothing (?:happens|more|further|else)|no (?:further |more )?(?:output|prompt|answer)|"
    r"still (?:there|running|runs|alive|in ps|holds?)|for ?ever|(?:had|have|need) to (?:kill|press|ctrl)|ctrl-?c|"
    r"kill -9|until (?:the|its) (?:wall[ -]?(?:clock )?time|time[ -]limit)\b|idle since|sits? there|locks? up|stalls?|stays?|remains?|deadlock\w*|"
    r"during (?:the|this|that|each|such a) (?:pause|standstill|lull|gap))\b",
    re.IGNORECASE,
)


# What may happen, by a warning's words, has not happened.
_SUPPOSED = regex(
    r"\b(?:may|might|could|can) (?:\w+ )?(?:lead|result|cause|hang|deadlock|stall|freeze|block)\w*\b.*|"
    r"\bavoid(?:s|ing)? (?:\w+ )?(?:deadlock|hang|stall)\w*",
    re.IGNORECASE,
)


@of_texts
def says_it_halts(line: str) -> bool:
    """Whether a line tells of a program that does not go on, and does not only warn of it."""
    return SAID.search(_SUPPOSED.sub("", line)) is not None


@remembered
def ended_well(case: Case) -> bool:
    """Whether what was saved is of a run that is over, and nobody says or shows that it hangs all the same."""
    if case.snapshot.live or not case.events:
        return False
    by_file: dict[str, list[Event]] = {}
    for event in case.events:
        by_file.setdefault(event.file, []).append(event)
    if any(_taken_back(said) or _succeeded(said) for said in by_file.values()):
        return True
    if _completed(case) and not any(wrong(event.text) or event.event in _BROKE for event in case.events):
        return True  # whoever looked did so before
    good = {name for name, said in by_file.items() if ends_well(said)}
    passed = {who(stem(name)).text for name in good if _tests_passed(by_file[name])}
    looked = [member for member in case.members if _looked(member.looks)]
    if any(member.process.label not in passed for member in looked):
        return False
    if not looked and any(map(_pods_completed, by_file.values())):
        return not any(map(_people_say_it_halts, by_file.values()))
    return bool(good) and all(name in good | papers(case) or _quiet(said) for name, said in by_file.items())


def _tests_passed(said: Sequence[Event]) -> bool:
    """Whether a log ends with the last word of a runner of tests: what its tests dumped on purpose came before."""
    lines = [line for line in _lines(said) if line.strip()]
    return bool(lines) and _OK.search(lines[-1]) is not None


# unittest, pytest, cargo; CTest.
_OK = regex(
    r"^OK(?: \(\w+=\d+.*\))?$|^=* ?\d+ passed\b(?!.*\b(?:failed|errors?)\b)|\btest result: ok\b|^100% tests passed"
)
# Rows of ``kubectl get pods``.
_PODS = regex(r"^NAME +READY +STATUS +RESTARTS +AGE\b")
_POD = regex(r"^\S+ +\d+/\d+ +(?P<status>[A-Z]\w+) +\d+ ")


def _pods_completed(said: Sequence[Event]) -> bool:
    """Whether a table of a job's pods shows each of them completed: what became of earlier containers is over."""
    lines = _lines(said)
    rows = [found["status"] for line in lines if (found := _POD.match(line)) is not None]
    return bool(rows) and set(rows) == {"Completed"} and any(map(_PODS.match, lines)) and len(lines) == len(rows) + 1


def _people_say_it_halts(said: Sequence[Event]) -> bool:
    return SAID.search(said[0].file) is not None or any(
        says_it_halts(line) and not printed(line) for line in _lines(said)
    )


def _looked(looks: Iterable[dict[type, object]]) -> bool:
    """Whether somebody looked at the stacks of a process; who does has a reason."""
    return any(PythonStacks in look or NativeStacks in look for look in looks)


def _lines(said: Sequence[Event]) -> list[str]:
    lines = {event.line: event.text for event in said if event.event == "text.line"}
    return _without_its_end([lines[number] for number in sorted(lines)])


def _without_its_end(lines: list[str]) -> list[str]:
    """The lines of a program that runs until somebody ends it, without those that tell that somebody did."""
    invites = next((at for at, line in enumerate(lines) if found_in(line, TO_BE_ENDED)), None)
    if invites is None:
        return lines
    began = next((at for at in range(invites + 1, len(lines)) if lines[at].startswith(("Traceback (", "^C"))), None)
    ended = began is not None and any("KeyboardInterrupt" in line or "^C" in line for line in lines[-2:])
    return [line for line in lines[: began if ended else None] if not TO_BE_ENDED.search(line)]


# A server runs until somebody ends it, and says so.
TO_BE_ENDED = regex(
    r"\b(?:press|use|hit|with|type) (?:Ctrl|Control)[-+ ]?C\b.{0,20}\b(?:to|for) (?:quit|stop|exit|end|shut|terminate|cancel|halt)|\bquit the server with\b",
    re.IGNORECASE,
)


def ends_well(said: Sequence[Event]) -> bool:
    """Whether the last words of a log are good ones, and no trouble comes behind them."""
    if SAID.search(said[0].file):
        return False
    lines = _lines(said)
    at = next((at for at in range(len(lines) - 1, max(-1, len(lines) - 1 - _BEHIND), -1) if _good(lines[at])), None)
    if at is None or not _of_all(said, lines[-_BEHIND:]) or any(wrong(line) for line in lines[at + 1 :]):
        return False
    if any(_BEGINS.search(line) for line in lines[at + 1 :]) or any(map(_BROKEN_OFF.match, lines)):
        return False
    if _WHATEVER.search(lines[at]) and any(map(wrong, lines[-_BEHIND:])):
        return False
    if any(_TRACED.match(line) for line in lines[at + 1 :]) and _TRACED.match(lines[at]):
        return False
    return _taken_back(said) or not any(says_it_halts(line) for line in lines if not printed(line))


# A server that is started again has not come to its end, and pytest tells by this that it was interrupted.
_BEGINS = regex(r"\bStarted server process\b|\bApplication startup complete\b")
_BROKEN_OFF = regex(r"!{5,} (?:KeyboardInterrupt|Interrupted)\b")
# What programs say when they end, also in the midst of an error.
_WHATEVER = regex(r"\bFinished server process\b|\bTotal training time\b", re.IGNORECASE)
# A command that a shell with -x is about to run (bash(1), PS4): what it says is no last word where more commands come.
_TRACED = regex(r"^\++ ")


@of_texts
def _good(line: str) -> bool:
    text = _HEAD.sub("", line)
    said = _GOOD.search(text) and not _STEP_DAEMON.search(line)
    return bool(said) and not (_NOT_ALL.search(text) or WRONG.search(text)) and len(line) < 300


# Slurm's daemon is done with a job however it ended (slurmd, _rpc_terminate_job).
_STEP_DAEMON = regex(r"\[\d+\.\w+\] done with job$")


def _of_all(said: Sequence[Event], last: Sequence[str]) -> bool:
    """Whether the last words are not those of one rank among several that the log tells of."""
    named = {int(found[1]) for line in last if _good(line) for found in _RANK.finditer(line)}
    named |= {event.rank for event in said if event.rank is not None and event.text in last and _good(event.text)}
    told = {event.rank for event in said if event.rank is not None and not _TENSORS.match(event.text)}
    told |= {int(found[1]) for event in said for found in _RANK.finditer(event.text)} if named else set()
    return not named or told <= named


# Horovod's list of the tensors that a rank has not submitted.
_TENSORS = regex(r"\[[\w./:, -]+(?: \.\.\.)?\]\s*$")
_RANK = regex(r"\brank\W{0,2}(\d+)", re.IGNORECASE)


def _taken_back(said: Sequence[Event]) -> bool:
    """Whether somebody takes back at the end what was said before."""
    return any(_FALSE_ALARM.search(line) for line in _lines(said)[-_BEHIND // 8 :])


def _succeeded(said: Sequence[Event]) -> bool:
    """Whether the scheduler's own record says that the job as a whole went well: an attempt before that does not count."""
    lines = _lines(said)
    return any(map(_SUCCEEDED.search, lines)) and not any(map(_FAILED.search, lines))


def _completed(case: Case) -> bool:
    """Whether Slurm's accounts show the job and each of its steps completed (sacct(1)): not another job beside it."""
    rows = [found for event in case.events if event.event == "text.line" and (found := _ACCOUNT.match(event.text))]
    jobs = {row["job"] for row in rows if not row["step"]}
    named = {number for event in case.events for number in _OUTPUT.findall(event.file)}
    whole = len(jobs) == 1 and named <= jobs
    return whole and all(row["state"] == "COMPLETED" and _CODE_0.search(row[0]) for row in rows)


_ACCOUNT = regex(
    r"^\s*(?P<job>\d{1,12}(?:_\d{1,9})?)(?P<step>\.\w{1,20})?[ |]\S?[^\n]{0,200}?\b(?P<state>COMPLETED|RUNNING|PENDING|COMPLETING|FAILED|CANCELLED|"
    r"TIMEOUT|NODE_FAIL|OUT_OF_ME\w{0,6}|PREEMPTED|REQUEUED|SUSPENDED|BOOT_FAIL|DEADLINE)\b[^\n]{0,200}"
)
_CODE_0 = regex(r"(?<![\d:])0:0(?![\d:])")
# A script may end well, though what it ran did not.
_BROKE = {"slurm.task_failed", "slurm.cancelled", "slurm.oom", "python.exception"}
# Where Slurm writes what a job prints, unless it is told otherwise (sbatch(1), --output).
_OUTPUT = regex(r"(?<![^\W_])slurm-(\d{1,12}(?:_\d{1,9})?)\b")


# What the operators of Kubeflow write on a job when all of it is over; and when it failed for good.
_SUCCEEDED = regex(r"\bReason:\s+(?:MPI|PyTorch|TF|XGBoost|Paddle|JAX|Train)JobSucceeded\b")
_FAILED = regex(r"\bReason:\s+\w+JobFailed\b")
_FALSE_ALARM = regex(
    r"\bfalse alarm\b|\bnever ?mind\b|\bmy mistake\b|\bnot a (?:deadlock|hang) after all\b|"
    r"\b(?:ignore|disregard) my (?:\w+ )?(?:message|mail|e-mail|post|report|question|note)\b|"
    r"\b(?:run|job|training) (?:ended|finished|completed) (?:ok|fine|well|normally)\b|"
    r"\ball (?:is )?(?:fine|good|well) now\b(?! (?:with|without|when|if|after|on|since))|"
    r"\bnot an issue (?:now|any ?more)\b",
    re.IGNORECASE,
)


@of_texts
def wrong(line: str) -> bool:
    """Whether a program reports an error in a line, or somebody says in it that something does not go on."""
    return WRONG.search(line) is not None or (says_it_halts(line) and not printed(line))


def printed(line: str) -> bool:
    """Whether a program wrote a line: it has a time, a level, or the shape of a table."""
    return _PRINTED.search(line) is not None


_PRINTED = regex(
    r"^(?:#\d+ +)?0x[0-9a-f]{6,} in |^(?:\[pid +\d+\] )?(?:[\d:.]+ )?\w+\(.*\) += |"
    r"^\s*[\[(]?(?:\d{4}[-/]\d\d|\d\d:\d\d|[WIED]\d{4}|(?:\w+ )?pid=)|\b(?:INFO|DEBUG|WARNING|NOTICE|ERROR)\b|"
    r"^\s+File \"|^\S+::\S+|^[-=_]{3,}|\b(?:PASSED|SKIPPED|XFAIL)\b|\w=\S+ \w+="
)


def _quiet(said: Sequence[Event]) -> bool:
    """Whether a text beside the log tells of no trouble and of no progress that could have ended too soon."""
    lines = _lines(said)
    return bool(lines) and not any(WRONG.search(line) or says_it_halts(line) or _STEPS.search(line) for line in lines)


_STEPS = regex(r"\b(?:step|iter(?:ation)?|epoch|batch)\W{0,3}\d", re.IGNORECASE)


_ORDINARY = regex(r"^\W{0,2}(?:I\b|INFO\b)|^.{0,60}\b(?:INFO|I \d{4}-\d\d)\b|\bHTTP/1\.[01]\W+[23]\d\d\b")
_CLOSING = regex(
    r"\b(?:exit\w*|shut\w*|terminat\w*|stopp\w*|kill\w*|clos\w*|abort\w*|fail\w*|dead|died|lost|sent signal|sending|wait\w*)\b",
    re.IGNORECASE,
)


def went_on(case: Case, event: Event) -> bool:
    """Whether a program that told of an error of its own goes on with ordinary lines, and never speaks of trouble again.

    In a log that many write, what another process says shows nothing of the one that had the error.
    """
    trouble, ordinary = _ordinary(case).get((event.file, event.rank), (0, {}))
    writers = ordinary if event.pid is None else {None, event.pid}
    lines = (ordinary.get(pid, []) for pid in writers)
    return trouble <= event.line and sum(len(one) - bisect.bisect_right(one, event.line) for one in lines) > 1


_Ordinary = dict[tuple[str, "int | None"], tuple[int, dict["int | None", list[int]]]]


@remembered
def _ordinary(case: Case) -> _Ordinary:
    return _ordinary_lines(case.events)


@of_texts
def _sense_of(line: str) -> tuple[bool, bool]:
    """Whether a line speaks of trouble or of an end, and whether it is an ordinary one."""
    return bool(WRONG.search(line) or _CLOSING.search(line)), _ORDINARY.search(line) is not None


def _ordinary_lines(events: Iterable[Event]) -> _Ordinary:
    """Of each rank in each file: the last line that speaks of trouble or of an end, and all ordinary ones by who wrote them."""
    lines: _Ordinary = {}
    for one in events:
        if one.event == "text.line":
            trouble, ordinary = lines.get((one.file, one.rank), (0, {}))
            troubled, is_ordinary = _sense_of(one.text)
            if troubled:
                trouble = max(trouble, one.line)
            if is_ordinary:
                bisect.insort(ordinary.setdefault(one.pid, []), one.line)
            lines[one.file, one.rank] = trouble, ordinary
    return lines
