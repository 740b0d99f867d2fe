"""The job moves, only slowly.

## What it means
Nothing is stuck. A compiler, a cold cache, an autotuner or a slow file system makes one step take minutes.

## How it is recognised
Two samples of the same thread stand in different frames, above all inside a compiler (Triton, LLVM, ptxas, Inductor, cutlass); CPU time grows; a progress bar moves.
A compiler that runs as a process of its own (`ps` shows it at work), above all another one at a second look; a group of processes that its limit keeps from the CPU in most periods
(`nr_throttled` of `nr_periods` in `cpu.stat`); what came in the first minutes and what came afterwards, saved side by side; a log whose time goes for the most part into compiling, again and again; steps that take several times as long as before, by a log or by what somebody tells of the pace then and now; weights that take half a minute a file;
a worker that a server or kubelet ends because it is busy for longer than it may, above all where a longer limit helps; a test that passed, after minutes; a bar of mmcv over an evaluation that took long and is full: the metrics come after it without a word.
Two looks that differ are an answer only where somebody asked, a probe of Kubernetes failed, steps take many minutes (or the first one did),
or a compiler was met at both: else they are a note about a job at work.
Where somebody tells that nothing changed between two looks, or a compiler crashed,
words of slowness count for nothing; and who loads what was compiled (Triton's `_init_handles`) waits for the device.

## What to do
Wait and look again after a minute. Keep the compilers' caches (`TORCHINDUCTOR_CACHE_DIR`, `TRITON_CACHE_DIR`), compile before serving, limit autotuning.

## How to prevent it
Warm up with all shapes; share caches between nodes by copying, not over the network file system. Case: https://github.com/vllm-project/vllm/pull/41834
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.at_work import calls_slow, moving_files
from ...analysis.case import Case
from ...analysis.compilers import RUNS
from ...analysis.endings import WRONG, printed, says_it_halts, wrong
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.looked_twice import gets_on, mover, of_the_worker
from ...analysis.slowed import crawls, paces_apart, slowed
from ...model.diagnosis import Finding, Kind
from ...model.patterns import regex
from .. import make_rule
from ._compile_times import compiles_most_of_the_time
from ._findings import finding, simple
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._wordings import COMES_LATE

_STEPS = (
    "look again after a minute: rankscope diagnose --sweeps 3 --interval 20",
    "keep TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR on a local disk",
)
_COMPILER = (
    r"llvm::|mlir::|libtriton\b|\bLLVM\b|ptxas|cicc|nvrtc|AssemblyWriter|make_(?:llir|ttir|ttgir|ptx|cubin)|"
    r"compile_and_jit|(?<!_load_cuda_library \(cutlass/)base_dsl|codegen|_inductor|"
    r"(?<!_init_handles \()triton/compiler|autotun\w+|torch\.compile|lowering(?! kernel\.| requires)|ptxjitcompiler|"
    r"__cuda_CallJitEntryPoint|nvPTXCompiler|nvJitLink|amd_comgr|hiprtc|GenericSearch|backend_compile|llvmlite|"
    r"nvcc(?!\W{0,3}\d)|JIT (?:compil(?!ed ops)\w+|cuda)|"
    r"(?<!requires )ninja(?!: no work| build file| to set a| ?\.{3})|[Cc]apturing CUDA graph|cuda ?graph capture(?!d)"
)
_FIRST = (
    r"\bfirst (?:step|batch|request|iteration|call|run|epoch|launch|query|start)\b(?![^\n]*\b(?:none|never)\b)[^\n]{0,60}(?:\d+ ?(?:s|sec\w*|m|min\w*|h|hours?)\b|slow|long|minutes)"
    r"[^\n]{0,80}\b(?:next|later|second|following|subsequent|other|after(?:wards)?)\b"
)
# Compilers that run as processes of their own, as people and process lists name them.
_PROGRAMS = (
    r"(?:bisheng|ccec|clang(?:\+\+)?(?:-\d+)?|cc1(?:plus)?|[gc]\+\+|gcc|nvcc|cicc|ptxas|fatbinary|hipcc|icpx|ocloc|"
    r"lld|neuronx?-cc|walrus_driver|rustc|llc)"
)
# A test that took five minutes or more, as CTest, GoogleTest, pytest, go and Bazel tell of it.
_LONG_TEST = (
    r"^[^\n]*\bTest +#\d+: [^\n]*\bPassed +(?:[3-9]\d\d|\d{4,})\.\d+ sec|^\[ +OK \] \S+ \((?:[3-9]\d{5}|\d{7,}) ms\)|"
    r"^(?:[3-9]\d\d|\d{4,})\.\d+s (?:call|setup|teardown) +\S+|"
    r"^ *--- PASS: \S+ \((?:[3-9]\d\d|\d{4,})\.\d+s\)|\bPASSED in (?:[3-9]\d\d|\d{4,})\.\ds"
)
# What an error, a dead process or a broken lock says is not slowness; nor what somebody saw that did not move between looks.
_OVER = (
    r"\bunchanged\b|\b(?:does(?:n't| not)|did(?:n't| not)|never) (?:change|move)s?\b|"
    r"\bthe (?:very )?same (?:stacks?|frames?|lines?|places?)\b|\bsilence\b|"
    r"\buntil (?:something|somebody|a time-?out|the watchdog|it) (?:gives? up|ends? it|kills? it|is killed)|"
    r"Segmentation fault|core dumped|build stopped|errors? detected in the compilation|deadlock|defunct|died|"
    r"never resolve|broken|watchdog|\bno end\b|was interrupted\b|\bflat at\b|\w+Error: |exits? with|return code|"
    r"Killing subprocess|closed pool|did not complete within"
)
# What servers and kubelets say of a worker that they give up, and what tells of another reason than long work.
_KEPT_SHORT = (
    r"\bWORKER TIMEOUT \(pid:\d{1,9}\)|\*{3} HARAKIRI ON WORKER|\bHard time limit \(\d|"
    r"\b(?:Startup|Liveness) probe failed\b[^\n]*|failed (?:startup|liveness) probe, will be restarted|"
    r"\b(?:killed|ended|terminated|restarted) before\b[^\n]{0,60}\b(?:loaded|ready|up|started|finished|done)\b"
)
_OTHER_THAN_BUSY = (
    r"--preload\b|\bpreload_app\b|\bfork|(?<!Perhaps )out of memory|oom-?kill|\bOOMKilled\b|dead-?lock|\block\b|mutex|futex|"
    r"No module named|SyntaxError|Address already in use|\b(?:un)?changed\b|\bnever\b|[Cc]onnection (?:refused|reset)"
)
# What programs themselves say of long work: XLA's alarm, TensorFlow's and the driver's compiler of PTX, DeepGEMM, MIOpen, TensorRT, ZLUDA.
_SAID = (
    r"Very slow compile\?|slow_operation_alarm\.cc(?!(?s:.){0,2000}The operation took \d{1,2}(?:\.\d+)?s)|Constant folding an instruction is taking > ?\d(?!(?s:.){0,2000}The operation took \d{1,2}(?:\.\d+)?s)|"
    r"jit-compiled from PTX|JIT compiled from PTX|DeepGEMM JIT Pre-Compile session|"
    r"\[SearchImpl\] Searching the best solution among|\[Monitor\] \d+/\d+/\d+ |Autotuning format combination|"
    r"Compiling in progress\. Please wait|\b[Pp]lease (?:wait|be patient)\b[^\n]{0,60}\b(?i:compil|build|optimi[sz]|tun|first|convert|warm)\w*|"
    r"\b(?i:compil|build|optimi[sz]|autotun|convert|warm|JIT (?:code )?generat|code generat)\w*\b[^\n]{0,80}\b[Pp]lease (?:wait|be patient)\b|"
    r"Timing Runner: |\b[Ii]t (?:may|might|can|could) take (?:a long time|several minutes|\d+)"
)
# Who compiles and asks the key-value store for what another has tuned waits for that other.
_EXCHANGED = r"\b(?:Blocking)?(?:KeyValue(?:Try)?Get|GetKeyValue)\b"
# Each file takes minutes (vLLM's and transformers' bars).
_WEIGHTS = Sign(
    r"Loading (?:\w+ )?checkpoint shards: +\d+%[^\n]*\[[^\]\n]*, +(?:[3-9]\d|\d{3,})\.\d+s/it\]",
    "the weights are read, at half a minute a file or more",
    POSSIBLE,
    unless=(_OVER,),
)
_SIGNS = (
    Sign(_SAID, "the program itself says that this takes long", unless=(_OVER,), passing=True),
    # What goes on somewhere else, or to another thing, is not what stands.
    Sign(r"(?<![Ll]ong as the )\b(?:step|iteration|progress|counter|epoch|log|bar)\w*\b[^\n;:]{0,40}\b(?:grows?|advances?|increas\w+|moves?|goes on(?! (?:to|with)\b)|continues?|keeps? (?:going|moving|growing))\b|\b(?:one|each|every|an?) (?:step|iteration|batch|epoch|sample|image|file|round) (?:takes|lasts|needs) (?:about |some |roughly |around |up to |~ ?)?\d+ ?(?:min|s\b|sec|h\b|hour)", "the job gets on", POSSIBLE, unless=(r"others? wait|Watchdog|deadlock|longer (?:there|than)",), prose=True),
    Sign(r"\b(?:second|next|later|another|following|both|two|repeated|successive|consecutive)[^\n]{0,30}(?:sample|dump|stack|look|snapshot)s?[^\n]{0,60}(?:differ|other|moved|moving|changed|different)", "two samples differ", prose=True),
    Sign(r"^(?![^\n]*\bwith(?:out)? [A-Z][A-Z0-9_]{3,}\b)[^\n]*?(?P<said>\b(?:(?:is|was|it's)(?: really| actually)? not (?:a )?(?:dead)?(?:lock|hang)|not a (?:dead)?(?:lock|hang)|just slow|only slow|very slow|extremely slow|slow(?:ly)? but|still (?:making )?progress\w*|makes progress|eventually (?:finish|complet|continu|return|start)\w*|after (?:\d+|several|a few|ten|some) minutes (?:it )?(?:continu|finish|complet|start|proceed|works)\w*))", "it moves, only slowly", POSSIBLE, passing=True),
    Sign(r"\b(?:then|afterwards|after that|finally|eventually|in the end)\b[^\n]{0,40}\b(?:goes on|continues|proceeds|resumes|carries on|finishes|completes|starts|runs)\b", "it went on after all", anywhere=(r"\b(?:look(?:s|ed)|seem(?:s|ed)|appear(?:s|ed)) (?:like|to|as|stuck|hung|frozen)|compil|minutes|warm|cache|\d+ ?%|no output for|for \d+(?:-\d+)? ?(?:s|sec\w*|min\w*)\b|each new|every (?:new|start)",), unless=(_OVER, r"\bthen\b[^\n]{0,60}\b(?:hangs?|stuck|never)"), prose=True),
    Sign(r"\b(?:left alone|left running|if (?:one|you|they) waits?|after waiting|with (?:enough )?patience|given (?:enough )?time|reach(?:es|ed) 100 ?%|(?:finish\w*|complet\w*|start\w*|done|ready|serves|answers) (?:only )?after (?:about |some |roughly )?\d+ ?(?:min|hour|h\b|s\b|sec))", "it gets there when one waits", unless=(_OVER,), prose=True),
    Sign(r"\b(?:compiles?|compiling|recompiles?|builds?|JIT)\b[^\n]{0,60}\b(?:every|each|again|first)\b[^\n]{0,60}\b\d+ ?(?:min|hour|s\b|sec)|\d+ ?(?:min|hours?)\b[^\n]{0,30}\bbefore the first (?:step|batch|iteration|token|request)", "long preparation before the first step", unless=(_OVER,), prose=True),
    Sign(r"\b(?:Loading|Load|Compil|Captur|Graph|Initiali[sz]|Warm)\w*[^\n]{0,40}\b(?:took|finished in|takes|in) \d{3,}(?:\.\d+)? ?s", "a step of the start took minutes and ended", POSSIBLE, unless=(_OVER,)),
    Sign(r"\bTime[ :=]+(\d{2,})\.\d+[^\n]*\bData[ :=]+\1\.", "the time of a step goes into loading its data"),
    Sign(r"\bone (?:iteration|step|batch|image|sample|request)\b[^\n]{0,20}\b(?:each|every|per|in)\b \d+ ?(?:s\b|sec|min)|\b(?:GPUs?|device)\b[^\n]{0,30}\b(?:mostly|most of the time|in between|between)\b[^\n]{0,20}\b(?:idle|idling|waits?|0 ?%)|\b(?:idle|idling|0 ?%)\b[^\n]{0,20}\b(?:in between|most of the time)", "the device waits between steps, and steps are made", unless=(_OVER,), prose=True),
    Sign(r"\bafter (?:about |some |roughly )?\d+ ?(?:min\w*|hours?|h|s|sec\w*)\b[^\n.;]{0,40}\b(?:is|was|are|were|it|got)?\s?(?:up|ready|served|serves|continue[ds]|started|starts|done|through)\b", "it gets there when one waits", unless=(_OVER,), prose=True),
    Sign(r"\d+%\|(?=[^\n]*/s)[^\n]*\[(?:\d+:)?\d+:\d\d<[^\n?]*/s", "a progress bar has a rate", POSSIBLE, anywhere=(r"\b(?:stuck|hang\w*|slow|normal|frozen)\b[^\n]{0,24}\?",), unless=(_OVER, r"all_?reduce|barrier|timed? ?out|Timeout")),
    Sign(r"^\W{0,3}after (?:about |some |roughly )?\d+ ?(?:s|sec\w*|min\w*|hours?)\b(?: (?:to|or|and) \d+ ?\w+)?,? [^\n.;]{0,50}\b(?:appears|is printed|comes(?: up| out)?|is reached|arrives|succeeds|goes on|gets past)\b(?! (?:up )?(?:an? )?(?:\w+ )?(?:error|exception|time-?out|warning|traceback))", "what is awaited comes in the end", unless=(_OVER, r"\bfail(?:s|ed|ure)?\b|timed? ?out"), prose=True),
    Sign(r"\b(?:disk reads?|reads? from (?:the )?disks?|disk (?:I/?O|activity|traffic)|downloads?|page-?ins?|read_bytes)\b[^\n]{0,24}\b(?:go(?:es)? on|continues?|keeps? (?:going|coming|growing)|grows?|increases?|(?:is|are) still going)\b", "it reads on: what it needs is on its way", POSSIBLE, unless=(_OVER, r"\bstate D\b|\bnfs: server|not responding|blocked for more than"), prose=True),
    # Python before 3.9 (FreeBSD: before 3.12), and programs that become daemons, close each number that a descriptor may have.
    Sign(r"\bclose_fds ?= ?True\b|^close\(\d{5,9}\) += -1 EBADF|\bstrace\b[^\n]*\bclose\b[^\n]*\bwc -l\b|\bclos(?:es|ing|ed)\b[^\n]{0,40}\b(?:every|each|all|\d{6,9}|\d{3},\d{3})\b[^\n]{0,30}\b(?:descriptors?|fds?|handles?)\b|\b(?:all|every|each)\b[^\n]{0,20}\b(?:descriptors?|fds?)\b[^\n]{0,60}\bclosed\b", "each command closes as many descriptors as there may be open ones",
         anywhere=(r"\b(?:maxfiles\w*|max_?fds?|SC_OPEN_MAX|ulimit|nofile|RLIMIT_NOFILE|LimitNOFILE|open files?)\b[^\n]{0,40}(?:\n[^\n]{0,40})?\b(?:[5-9]\d{5}|\d{7,10}|[5-9]\d\d,\d{3}|\d{1,3}(?:,\d{3}){2})\b|\bwc -l\b[^\n]*\n\s*(?:[5-9]\d{5}|\d{7,10})\b|\bclose\([5-9]\d{5,8}\)",), unless=(r"\bToo many open files\b",)),
    Sign(COMES_LATE, "it gets there when one waits", POSSIBLE, unless=(_OVER,), prose=True),
    Sign(_FIRST, "the first time takes long, later ones do not", prose=True),
    Sign(r"\b(?:bar|counter|percentage|queue|loss|index)\b (?:still )?(?:advance[ds]|moved?s? on|went on|goes on(?! (?:to )?(?:serv|answer|accept|tak|poll|wait|listen)\w*)|grew|kept (?:growing|moving|advancing))\b|\bCPU time (?:grows|increases|keeps growing)|\b(?:finishes|completes|returns|starts|continues) after (?:about |some )?\d+ (?:min|hour|s\b)", "it gets on while one waits", unless=(_OVER,), prose=True),
    Sign(rf"(?<![\w/.-]){_PROGRAMS}(?:(?:,| and| or|,? &) {_PROGRAMS})*(?: processes)? (?:is|are|was|were) (?:still )?(?:running|at work|busy|active|seen|there)\b|\b(?:ps|p?s?top|htop|process(?:es)?(?: list| table)?)\b[^\n]{{0,24}}\b(?:shows?|lists?|has|have|with)\b[^\n]{{0,24}}(?<![\w/.-]){_PROGRAMS}(?![\w/.-])", "compilers run as processes of their own", unless=(_OVER,), prose=True),
    Sign(rf"^(?=[^\n]*\s(?-i:R)[lsN<+]*\s)(?![^\n]*\s\d{{4,}}:\d\d\s)[^\n]*[\s/]{_PROGRAMS}(?:\s|$)", "compilers run as processes of their own", unless=(_OVER,)),
    # mmcv's bar is over the pictures; what is computed of all their results comes after it and says nothing.
    Sign(r"\[>+\s*\] (?P<all>\d+)/(?P=all), [\d.]+ task/s, elapsed: \d{4,}s, ETA: +0s\s*\Z|\[>+\s*\] (?P<n>\d+)/(?P=n), [\d.]+ task/s, elapsed: \d{4,}s, ETA: +0s\s*\n(?:\s*\n)*\^C", "the pictures of an evaluation took long, and its metrics come after them without a word", POSSIBLE, unless=(_OVER, r"collect_results|Timeout\(ms\)|all_?(?:reduce|gather)|barrier")),
    Sign(_LONG_TEST, "a test passed, after minutes", POSSIBLE, unless=(_OVER, r"\*\*\*(?:Timeout|Failed)|\[  FAILED  \]|\bFAILED\b|\bTIMEOUT\b")),
    _WEIGHTS,
    # Wall times beside a comparison: it ends each time.
    Sign(r"\b(?:\d{1,6}(?:\.\d+)?|several|many|two|three|four|five|ten|twenty|hundred) ?(?:times|x|×|-?fold) (?:faster|slower|quicker|longer|as long|the time)\b", "it ends, in a multiple of the time that another machine or setting takes", anywhere=(r"\b(?:wall|elapsed|took|takes|total|passe?s?|runs?|round)\b[^\n]{0,80}\b\d{1,9}(?:\.\d+)? ?(?:s|sec|min|h)\b", r"py-spy|\bstacks?\b|\bidle\b|\bhang\w*|\bstuck\b"), unless=(_OVER, r"\b(?:ranks?|nodes?|all_?reduce|barrier|NCCL)\b"), prose=True),
    Sign(r"\b(?:builds?|built|compil\w+|loads?|loading|downloads?|conver\w+|tun(?:es?|ing)|prepar\w+)\b[^\n]{0,60}\b(?:one (?:node|rank|host|machine|process|worker|gpu) after (?:the other|another)|(?:node after node|rank after rank|one after the other|one by one|in turn))\b[^\n]{0,40}\b\d+ ?(?:min|h(?:ours?)?\b)", "each does in its turn what all wait for, and gets there", unless=(_OVER,), prose=True),
    # A server's keeper ends workers that are busy for longer than a request, or a start, may take (gunicorn's arbiter.py, uWSGI, celery).
    Sign(_KEPT_SHORT, "a worker was busy for longer than its keeper allows, and was ended for that", POSSIBLE, unless=(_OTHER_THAN_BUSY,)),
    Sign(r"\b(?:larger|longer|higher|bigger|increas\w+|rais\w+|doubl\w+)\b[^\n]{0,24}\b(?:time-?out|limit)\b|(?:--)?\b(?:time-?out|[Tt]imeoutSeconds|failureThreshold|initialDelaySeconds|start_?period)\b ?[=: ] ?\d+", "it gets there with a longer limit", anywhere=(rf"{_KEPT_SHORT}|\b(?:re-?start(?:s|ed)|re-?boots?|kill(?:s|ed)|ended|terminated)\b",), unless=(_OTHER_THAN_BUSY, r"all_?reduce|all_?gather|\bbarrier\b|NCCL|gloo|init_process_group|\bstore\b"), cures=True),
    Sign(r"\b(?:same|again|re-?run|with)\b[^\n]{0,60}(?<![\w-])(?:-t|--?(?:graceful-?)?time-?out|--?harakiri)[ =]\d{3,6}\b(?:[^\n]{0,12}|[^\n]*\n+[^\n]{0,20})\b(?:starts?|serves?|works?|answers?|is up|runs?|fine|ok|no (?:more |worker )?time-?outs?)\b", "with a longer limit the worker gets there", anywhere=(_KEPT_SHORT,), unless=(_OTHER_THAN_BUSY,), prose=True),
    Sign(r"\b\d{1,4}(?:\.\d{1,3})? ?(?:s|secs?|seconds?|min\w*|hours?|h) (?:until|before|till) (?:the |its |an? )?(?:\w+ ){1,3}?(?:is|are|comes|appears|opens|starts|answers)\b(?! (?:killed|ended|dead|gone|lost|restarted|terminated|over|stopped|down))", "what is awaited comes in the end", POSSIBLE, unless=(_OVER,), prose=True),
    Sign(r"(?m:^)\W{0,3}(?P<set>[A-Za-z][\w.-]{1,30}) ?= ?(?P<to>\S{1,12}?): (?:about )?\d{1,6}(?:\.\d{1,3})? ?(?:s|ms|secs?|seconds?|min\w*|h)\b[^\n]*\n\W{0,3}(?P=set) ?= ?(?!(?P=to):)\S{1,12}: (?:about )?\d{1,6}(?:\.\d{1,3})? ?(?:s|ms|secs?|seconds?|min\w*|h)\b", "it ends with each value of a setting, in another time", POSSIBLE, unless=(_OVER, r"\btime-?outs?\b|\btimed out\b"), prose=True),
    Sign(RUNS, "a compiler is at work", unless=(_OVER, _EXCHANGED)),
    Sign(_COMPILER, "a compiler is at work", POSSIBLE, unless=(_OVER, _EXCHANGED), prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    if (starved := _starved(case)) is not None:
        title = "the job moves, only slowly: its share of the CPU is used up"
        yield replace(simple(RULE, title, LIKELY, [starved], _STEPS), compared=True)
        return
    if (renewed := _compilers_renewed(case)) is not None:
        title = "the job moves, only slowly: one compiler after the other runs for it"
        yield replace(simple(RULE, title, LIKELY, [renewed], _STEPS), compared=True)
        return
    who = gets_on(case)
    if who is not None:
        # Two looks that differ answer somebody who says that it hangs; where nobody does, they show a job at work. Who came back
        # to a compiler found no step made.
        crawls = _crawls(case)
        asked = crawls is not None or any(map(_asks, accounts(case)))
        told = asked or _compiles_on(case)
        made = simple(
            RULE,
            f"{who} moves: two samples of it stand in different places",
            LIKELY if asked else POSSIBLE,
            ["the stacks of two moments differ", *filter(None, [crawls])],
            _STEPS if told else (),
            kind=Kind.CAUSE if told else Kind.NOTE,
        )
        # A program's own words may tell of what is over; a probe asks for the program as it is.
        ill = any(one.find(_NOT_HEALTHY) for one in accounts(case))
        yield replace(made, compared=crawls is not None or ill)
        return
    if (later := _went_on_later(case)) is not None:
        title = (
            "the job moves, only slowly: what came in its first minutes and what came later was saved, and it went on"
        )
        yield replace(simple(RULE, title, LIKELY, [later], _STEPS), compared=True)
        return
    if (compiles := compiles_most_of_the_time(case)) is not None:
        asked = any(map(_asks, accounts(case)))
        title = "the job moves, only slowly: it compiles for most of the time, again and again"
        made = simple(RULE, title, LIKELY if asked else POSSIBLE, [compiles], _STEPS)
        yield replace(made, compared=asked, kind=Kind.CAUSE if asked else Kind.NOTE)
        return
    if (told_of := paces_apart(case)) is not None:
        title = "the job moves, only slowly: its pace is a fraction of what it was"
        sure = LIKELY if any(map(_asks, accounts(case))) else POSSIBLE
        yield replace(simple(RULE, title, sure, [told_of], _STEPS), compared=True)
        return
    if signs := list(hits(case, _SIGNS)):
        yield finding(RULE, case, signs, "the job moves, only slowly", _STEPS)
    elif (grows := slowed(case)) is not None:
        title = "the job moves, only slowly: its steps take several times as long as before"
        yield simple(RULE, title, POSSIBLE, [grows], _STEPS)
    elif (called := next(_called_slow(case), None)) is not None:
        yield simple(RULE, "the job moves, only slowly", POSSIBLE, [f"its steps grow to the end: {called}"], _STEPS)


# How people head what a program had printed when it seemed to stand, and what it printed in the end.
_AT_FIRST = regex(
    r"\b(?:(?:in |during |for )?the first|first|for|after) (?:about |some )?\d{1,4} ?(?:min(?:ute)?s?|hours?|h)\b",
    re.IGNORECASE,
)
_LATER_ON = regex(r"\b(?:afterwards|after that|later on|then|finally|in the end)\b", re.IGNORECASE)
_GOES_ON = 3  # lines


def _went_on_later(case: Case) -> str | None:
    """The heading of what one program printed later, where what it had printed in its first minutes is headed so."""
    told = [one for one in accounts(case) if one.events and not one.stacks]
    first = [one for one in told if _AT_FIRST.search(one.label) and not _LATER_ON.search(one.label)]
    for one in told if first else ():
        lines = [event.text for event in one.events if event.text.strip()]
        same = any(one.label.split(",")[0] == other.label.split(",")[0] for other in first)
        if same and _LATER_ON.search(one.label) and len(lines) >= _GOES_ON and not any(map(wrong, lines)):
            return f"{first[0].label}; {one.label}: {lines[0].strip()[:160]}"
    return None


def _crawls(case: Case) -> str | None:
    """What a log tells of work that gets on far too slowly: nobody need say so, then."""
    return slowed(case) or crawls(case) or next((hit.line for hit in hits(case, (_WEIGHTS,))), None)


def _called_slow(case: Case) -> Iterator[str]:
    """The headings that call something slow of which a log gets on."""
    moving = moving_files(case)
    return (one.label for one in accounts(case) if calls_slow(one) and any(said.file in moving for said in one.events))


def _compiles_on(case: Case) -> bool:
    """Whether the one who stands elsewhere at two looks is in a compiler at both."""
    moves = mover(case)
    looks = [wait_of(seen.stack).kind for seen in of_the_worker(moves)] if moves is not None else []
    return len(looks) > 1 and all(kind is WaitKind.COMPILE for kind in looks)


_ROW = regex(r"^[ \t]{0,40}(?:[\w.+-]{1,32} +)?(?P<pid>\d{2,10})[ \t][^\n]{1,2000}$", re.M)
_COMPILES = regex(rf"[\s/]{_PROGRAMS}(?:\s|$)")


def _compilers_renewed(case: Case) -> str | None:
    """A row of a compiler at the second of two looks at the processes of a host, of which the compilers at the first have ended."""
    if any(account.find(_OVER) for account in accounts(case)):
        return None
    rows = [row for account in accounts(case) for row in _ROW.finditer(account.said)]
    at: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        at.setdefault(row["pid"], []).append(number)
    compilers = [number for number, row in enumerate(rows) if _COMPILES.search(row.group())]
    for seen in at.values() if compilers else ():
        before = {rows[number]["pid"] for number in compilers if seen[0] < number < seen[-1]}
        after = [rows[number] for number in compilers if number > seen[-1]]
        renewed = before and after and not _COMPILES.search(rows[seen[0]].group())
        if renewed and before.isdisjoint(row["pid"] for row in after):
            return after[0].group().strip()
    return None


def _starved(case: Case) -> str | None:
    """What tells that a group of processes was kept from the CPU in most of its periods; of several that are shown, any."""
    for account in accounts(case):
        periods = None
        for found in _PERIODS.finditer(account.said):
            number = int(found["number"])
            if found["name"] == "nr_periods":
                periods = number
            elif periods is not None and 2 * number > periods >= _MANY_PERIODS:
                return f"nr_throttled {number} of nr_periods {periods}"
    return None


# The counters of a group (cgroup-v2, cpu.stat): its periods of CPU time, and those of them that it spent in part without any.
_PERIODS = regex(
    r"^[^\w\n]{0,8}(?:\S{1,120}cpu\.stat:)?(?P<name>nr_periods|nr_throttled)[^\w\n]{1,3}(?P<number>\d{1,18})\b", re.M
)
_MANY_PERIODS = 600  # of 100 ms each: a minute


# Who comes back after minutes to look at the same process wonders about it.
_CAME_BACK = regex(r"\b(?:min(?:ute)?s?|hours?|h) (?:later|after)\b", re.IGNORECASE)
# Kubernetes asks each container for its health, and says so where that does not answer.
_NOT_HEALTHY = r"\b(?:Startup|Readiness|Liveness) probe (?:failed|errored)\b"


def _asks(account: Account) -> bool:
    """Whether somebody says of a subject, in its heading or in its lines, that something is wrong with it, or came back to it."""
    lines = (account.label, *account.said.splitlines())
    if _CAME_BACK.search(account.label) or account.find(_NOT_HEALTHY):
        return True
    return any(WRONG.search(line) or (says_it_halts(line) and not printed(line)) for line in lines)


RULE = make_rule(__name__, __doc__, "not-a-hang-slow", 47, check)
