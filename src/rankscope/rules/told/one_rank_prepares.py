"""One rank does long work that the others wait for until a limit expires.

## What it means
Rank 0 tokenises, downloads, builds an index, evaluates or saves while the others stand in a barrier. The work is fine; the limit of the wait (30 or 10 minutes) is shorter.

## How it is recognised
A progress bar in the same console stands at about the limit (29:5x, 10:0x) or has hours to go; `main_process_first`, `wait_for_everyone` or a barrier above data preparation
in a traceback; a monitored barrier that names the rank that is still busy; ranks that compile or save while others stand in a collective; step times of which one is a multiple.
Work that is dealt out beforehand (prompts, samples) and a limit that expires in the next small call.
A rank whose two looks differ, and at neither of which it waits for anybody, while others stand in one call, is *likely* although nobody complains.
A rank that loads what was compiled waits for its device and does no such work; one whose own percentages grow between the time-outs of the others does,
and one whose log counts pieces from long before these time-outs until after them.

A rank that makes its kernels (a warm-up, an empty JIT cache) while those of others end their wait for it on the device (`DeepGEMM NVLink barrier timeout`).

## What to do
Do the work before the launch and cache it, or on every rank its share; a longer limit for that one wait (`init_process_group(timeout=…)`, a separate
gloo group for long waits).

## How to prevent it
Data preparation as a job of its own. Case: https://github.com/hiyouga/LlamaFactory/issues/360
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.at_work import moving_files
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind
from ...analysis.frame_tables import WaitKind
from ...analysis.slowed import slowed
from ...model.diagnosis import Finding
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._bars import busy_bars
from ._findings import finding, simple
from ._lateness import come_late, count_on, move
from ._lines import events
from ._outcomes import cured_by
from ._paces import told_apart, uneven
from ._preparing import preparing
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import BELOW_IT, DEVICE_BARRIER, HALTS, MAKES_KERNELS, ONE_RANK

_STEPS = (
    "prepare the data before the launch, and cache it",
    "init_process_group(timeout=timedelta(hours=4))   # for that one wait",
)
_FIRST = (
    r"main_process_first|local_main_process_first|rank_zero_first|torch_distributed_zero_first|zero_first|"
    r"main_rank_first|wait_for_everyone|on_main_process|local_zero_first|rank_zero_only_first"
)
_WORK = (
    r"(?:tokeniz\w+|map(?:ping)?|preprocess\w*|prepar\w+|download\w*|building|index\w*|pack\w*|convert\w*|"
    r"load\w* (?:the )?(?:checkpoint|model|data\w*)|generat\w+|evaluat\w+|validat\w+|saving|merg\w+|compil\w+|"
    r"extract\w*|consolidat\w+|serializ\w+|writ(?:es?|ing|ten)|accumulat\w+|scor\w+|cop(?:y|ies|ying)|upload\w*|"
    r"unpack\w*|quantiz\w+|shard(?:ing|ed)|filter\w*|sort\w*|hash\w*|cach\w+|calibrat\w+|warm\w* up)"
)
# What programs themselves print while they do something that takes long.
_LOGGED_WORK = (
    r"JIT compilation during inference|Compiling (?:a |the )?(?:graph|kernel|model|function|\d+ )|"
    r"[Aa]utotun(?:e|ing)\b|AUTOTUNE \w+\(|Capturing (?:the )?(?:CUDA|cuda) ?graphs?|torch\.compile takes|"
    r"Dynamo bytecode transform time|"
    r"Loading (?:safetensors|pt|model) checkpoint shards|Loading extension module|Building extension module|"
    r"ninja: (?:no work|build)|\[\d+/\d+\] (?:nvcc|c\+\+|g\+\+)|Downloading (?:data|shards|builder|and preparing)|"
    r"Generating (?:train|test|validation) split|"
    r"Running tokenizer on|Tokenizing|Grouping texts|Extracting|Packing|Filter \(num_proc|Map \(num_proc|"
    r"building (?:train|validation|test|index|sample|doc|shuffle)[^\n]*(?:dataset|idx|index|mapping)|"
    r"> elapsed time to build|"
    r"Merging (?:lora|adapter|weights)|converting (?:checkpoint|weights)|Quantizing|calibrat\w+ (?:data|samples)|"
    r"warm(?:ing)?[ -]?up (?:the )?(?:model|engine|kernels)|DeepGEMM (?:warmup|JIT)"
)
# What libraries say at the beginning of work of one process over all data: faiss, sentencepiece, tokenizers, XGBoost's sketches, UMAP.
_OVER_ALL = (
    r"\bClustering \d{7,} points in \d+D to \d+ clusters|"
    r"\bTraining (?:IVF|level-1 quantizer|PQ slice|a product quantizer)|\bIndexIVF\w*::(?:train|add)|"
    r"\badding \d{7,} (?:elements|vectors)|"
    r"trainer_interface\.cc\(\d+\) LOG\(INFO\)|\bunigram_model_trainer\.cc|"
    r"\b(?:Tokenize words|Count pairs|Compute merges) |\bpynndescent\b|\bNN descent for\b|\bhnsw_add_vertices"
)
# Work that is dealt out before it is done, and of which the pieces are not equally long.
_SHARES = (
    r"\b(?:samples?|prompts?|requests?|questions?|files?|images?|documents?|items?|data|work|cases|episodes?|sequences?|videos?|instances?)\b[^\n]{0,30}\b(?:dealt out|split|distributed|divided|partitioned|sharded|spread|shared out|assigned)\b[^\n]{0,16}\b(?:to|over|among|between|across)\b[^\n]{0,12}\b(?:ranks?|GPUs?|workers?|processes|cards?|devices?)\b"
    r"|\b(?:its|their|his) (?:own )?shares?\b(?! (?:of (?:the )?(?:memory|bandwidth)))|\b(?:rank|GPU|worker|process)\b[^\n]{0,20}\b(?:is|are) (?:done|through|finished|ready) (?:with|first|earlier|long before)\b"
)
_LONG = (
    r"\b(?:generat(?:ion|es?|ing)|decod\w+|long (?:answers?|outputs?|sequences?|generations?)|evaluat\w+|inference|"
    r"benchmark\w*|roll-?outs?|simulat\w+)\b"
)
_SIGNS = (
    Sign(r"\bslow (?:disk|node|gpu|storage|nic|cpu|rank|host|machine|loader)\b|takes \d+ ?\w+ longer|(?:\d+|several|many|two|three|four|five|ten|twenty) ?(?:times|x|×) slower(?! than (?:on|with|in) (?:one|a single|1)\b)", "one rank is slower than the others", also=(r"rank|node|gpu|host|worker",), unless=(r"power brake|HW (?:Power )?Slowdown",), prose=True),
    Sign(r"Saving (?:latest |model |full )?checkpoint|Running (?:Evaluation|Prediction|Validation|evaluation|validation)|Getting full model state dict|saving model weights|push(?:ing)? to (?:the )?hub", "a rank saves or evaluates while the others wait", POSSIBLE, anywhere=(r"Watchdog caught|timed out|Timeout\(ms\)",)),
    Sign(r"\b(?:one|1|a single)\b[^\n]{0,30}\b(?:process|rank)\b[^\n]{0,30}\b(?:100 ?%|busy)[^\n]{0,60}\b(?:others?|rest)\b[^\n]{0,20}\b(?:idle|asleep|0 ?%)", "one process works on its CPU, the others are idle", anywhere=(rf"\b{_WORK}\b", r"Watchdog caught|timed? ?out|Timeout\(ms\)"), unless=(r"stuck|deadlock|spin|out of memory",), prose=True),
    Sign(ONE_RANK + BELOW_IT + rf"\w*{_WORK}\w*\(", "the code works on one rank while the others go on to the next call", anywhere=(HALTS, r"barrier|broadcast|wait_for_everyone|init_process_group|store"), unless=(r"FSDP|ZeRO|stage ?3|state_dict|sync_dist|\b(?:accelerator|fabric)\.save\w*\(|engine\.save_checkpoint\(",)),
    Sign(cured_by(r"\b(?:smaller|shorter|fewer|tiny|small|reduced|subset)\b[^\n]{0,30}\b(?:sets?|data\w*|samples?|files?|corpus|validation|split|subset|eval\w*)\b"), "it works when there is less to do", anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)|minute limit",), unless=(r"dev/shm|out of memory|pipe",), prose=True),
    Sign(cured_by(r"\b(?:larger|longer|higher|bigger|increas\w+|rais\w+|ddp_timeout|timeout=)\b[^\n]{0,30}time-?out"), "it works with a longer limit", POSSIBLE, anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)",), prose=True),
    Sign(_LOGGED_WORK, "a rank's log shows long work of its own before the limit of the others", POSSIBLE, anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)",), unless=(r"SeqNum=1\b[^\n]*NumelIn=1\b",)),
    Sign(MAKES_KERNELS, "a rank makes its kernels, which takes longer than the others wait for it on their devices", anywhere=(DEVICE_BARRIER + r"|\bDeep(?:EP|GEMM)\b[^\n]{0,80}\btime-?out",)),
    Sign(_OVER_ALL, "one process works through all of the data, which takes longer than the others' limit", anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)",), unless=(r"Killed|oom-kill|illegal memory|Segmentation",)),
    Sign(rf"^(?![^\n]*(?:[Rr]etr(?:y|ies)|[Aa]ttempt))[^\n]*(?i:\b(?:{_WORK}|read(?:ing|s)?|assembl\w+|collect(?:ing|s)|gathering))\b[^\n]{{0,80}}\b(\d+) ?(?:/|of) ?(?!\1\b)\d{{2,}}\b(?! ?(?:\[|it|s/))", "a rank counts through work of its own while the others wait", POSSIBLE, anywhere=(r"Watchdog caught|Timeout\(ms\)|Timed out waiting \d+ms|Barrier timed out",), unless=(r"SeqNum=[12]\b",)),
    Sign(_SHARES, "each rank works through a share of its own, and the shares do not take equally long", anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)", _LONG), unless=(r"out of memory|Killed|Segmentation|illegal memory",), prose=True),
    Sign(rf"\A[^\n]*\b(?:others?|rest|remaining|late(?:r|comers)?|slow(?:er)?)\b[^\n]*\n(?:[^\n]*\n){{0,4}}?[^\n]*\bstill (?:\w+ ){{0,2}}?(?:{_WORK}|loading|reading|batching|parsing|fetching)\b", "others are still at work of their own while the limit of those who came first expires", anywhere=(r"\b[Ww]ait timeout\b|wait timeout after|Timed out (?:after \d|initializing|waiting)|Watchdog caught|Timeout\(ms\)|\btimed out after\b",), unless=(r"\bstuck\b|dead-?lock|out of memory|\bkilled\b|No space left|Segmentation",), prose=True),
    # What takes longer than a limit of seconds need not stand.
    Sign(r"\b(?:first|next) (?:batch|sample|shard|chunk|step)\b[^\n]{0,80}\b(?:when|before|by the time)\b[^\n]{0,16}\b\d{1,4} ?(?:s|secs?|seconds|min\w*)\b[^\n]{0,60}\b(?:over|up|past|gone|expire[sd]?|elapsed|ended)\b|\bfirst (?:batch|sample|shard|chunk|step)\b[^\n]{0,40}\b(?:longer|later|slower) than\b[^\n]{0,60}\b(?:limit|time-?out|barrier|\d{1,4} ?(?:s|secs?|seconds|min\w*))\b", "what a rank needs first comes later than the limit of those who wait", anywhere=(r"\b(?:ranks?|barrier|others?|all_?reduce|join)\b",), unless=(r"Killed|out of memory|\bnever (?:comes?|arriv\w+|deliver\w*)",), prose=True),
    Sign(_FIRST, "the others wait while one rank goes first", POSSIBLE, also=(r"time|\d+%|Timed out|timeout|barrier|__enter__|dataset|map|token",)),
    Sign(rf"(?<![\w/]){_WORK}\b[^\n]{{0,80}}(?<!for )(?:rank ?(?:0|zero)|main process|one rank|master)|(?:rank ?(?:0|zero)|main process|one rank|master|rank \d+)[^\n]{{0,80}}\b(?:still|busy|slow|long|takes?|spends?|alone|needs?)\b[^\n]{{0,60}}(?:{_WORK}|minutes|hours)", "one rank still works while the others wait", POSSIBLE, anywhere=(r"barrier|wait|time-?out|timed out",), prose=True),
    Sign(r"\b(?:straggler|slowest rank|slow rank|slower than (?:the )?(?:others|rest)|much slower|load imbalance|imbalanced?(?!=)|skew\w*)\b", "a rank is slower than the others", POSSIBLE, unless=(r"power brake|HW (?:Power )?Slowdown",), prose=True),
    Sign(r"^(?![^\n]*(?:Not Active|\bThermal event interrupts))[^\n]*\b(?:throttl\w+|\w+[_ ]slowdown\W+Active\b|clock(?:s)? (?:dropped|reduced|low)|thermal|power (?:cap|brake)|HW Slowdown|SW Power Cap)[^\n]*", "a device is slowed down", POSSIBLE, prose=True),
)  # fmt: skip


# What an account of one rank says of long work, and what of trouble instead; what somebody says who waits for it.
_AT_LONG_WORK = rf"^(?! *File \")(?![^\n]*\b(?:python\d?|torchrun|srun|mpirun)\b)[^\n]*?\b{_WORK}\b[^\n]{{0,60}}(?:data\w*|shards?|files?|GB|TB|model|index|cache|samples|tokens|minutes|\bmin\b|hours?\b|results|checkpoint)"
_TROUBLED = (
    r"do not (?:run|enter|call|take part)|rror\b|killed|out of memory|all_?reduce|stuck|deadlock|ENOSPC|No space"
)
# Who has come to the meeting after its work is not late for it: others have not come.
_WAITS_ITSELF = r"(?:^|[,;:] |-> )(?:(?:it )?(?:stands|waits|is|stays|now|then) ){0,2}(?:in|at) (?:the |a )?(?:next )?(?:barrier|monitored_barrier|all_?gather|broadcast)\b(?! timed)"
_WAITS = HALTS + r"|times? out|timed out|time-?out|others? wait|wait\w* for rank|main_process_first"
_MAY_HAVE_FAILED = ("they may have failed: look at their logs",)
# Rank 0 broke off: it, or a rank that only its own log names, has failed.
_UNCLEAR = "received errors while waiting"
# A limit expired, or somebody stands at a meeting; what a log has gone on from is over.
_WAITED = Sign(
    r"timed? ?out|time-?out|monitoredBarrier|Watchdog caught|barrier|Traceback|main_process_first",
    "somebody waited",
    passing=True,
)


def check(case: Case) -> Iterator[Finding]:
    bars = list(busy_bars(case))
    # Whose looks differ while those of others show one call works for them; a log of steps that goes on tells of another time.
    compared = any(move(case)) and (bool(bars) or not moving_files(case))
    for one in _found(case, bars):
        yield replace(one, compared=one.compared or compared)


def _found(case: Case, bars: list[str]) -> Iterator[Finding]:
    named = [event for event in events(case, "torch.monitored_barrier_failed") if _UNCLEAR not in event.text]
    missing = RankSet(rank for event in named for rank in (event.fields.get("missing") or ()) if isinstance(rank, int))  # type: ignore[union-attr]
    in_calls = in_kind(doings(case), WaitKind.COLLECTIVE.value)
    if bars and (any(hits(case, (_WAITED,))) or _seen_waiting(case, in_calls)):
        ranks = missing or RankSet([0])
        title = f"{ranks_phrase(ranks)} {verb('are', len(ranks))} still at work ({bars[0]}) while the others wait"
        yield simple(RULE, title, LIKELY, [*bars[:2], *(event.text for event in named[:1])], _STEPS, ranks)
    elif named and not any(doing.ranks & missing for doing in in_calls):
        title = f"{ranks_phrase(missing)} did not reach a monitored barrier in time"
        yield simple(RULE, title, LIKELY, [named[0].text], _STEPS, missing, against=_MAY_HAVE_FAILED)
    elif found := [*hits(case, _SIGNS), *_shown(case)]:
        made = finding(RULE, case, found, "one rank does long work that the others wait for", _STEPS)
        # Steps that became slow, and a device that is far behind the others, are compared by figures; a count by the clock.
        yield replace(made, compared=any(count_on(case)) or (slowed(case) is not None and any(uneven(case))))


def _seen_waiting(case: Case, in_calls: list[Doing]) -> bool:
    """Whether the stack of somebody was seen in a call that needs the others."""
    return not case.snapshot.live and any(one.account is not None and one.account.seen for one in in_calls)


def _shown(case: Case) -> Iterator[Hit]:
    """What no wording gives away: accounts, stacks, times and reports that show somebody behind the others."""
    for says, found in (
        ("one rank does long work while the others wait", _at_work(case)),
        ("ranks compile or save while others wait for them", preparing(case)),
        ("one rank takes much longer than the others", told_apart(case)),
        ("one rank is far behind the others", uneven(case)),
        ("the same ranks come late to a call, and then the job goes on", come_late(case)),
        ("it gets on while the limit of the others expires", count_on(case)),
        ("it stands elsewhere at each look, while the others wait", move(case)),
    ):
        yield from (Hit(Sign("", says), account, line) for account, line in found)


def _at_work(case: Case) -> Iterator[tuple[Account, str]]:
    """One rank whose own account speaks of long work, while somebody waits for it."""
    if not any(one.find(_WAITS) for one in accounts(case)):
        return
    for one in accounts(case):
        alone = len(one.ranks) == 1 or one.find(r"^(?:rank ?0|main process|master|one rank)")
        line = one.find(_AT_LONG_WORK) if alone else None
        if line is not None and not one.find(_TROUBLED) and not (alone and one.find(_WAITS_ITSELF)):
            yield one, line


RULE = make_rule(__name__, __doc__, "straggler-slow-rank", 41, check)
