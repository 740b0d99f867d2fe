"""One rank does long work that the others wait for until a limit expires.

## What it means
Rank 0 tokenises, downloads, builds an index, evaluates or saves while the others stand in a barrier. The work is fine; the limit of the wait (30 or 10 minutes) is shorter.

## How it is recognised
A progress bar in the same console stands at about the limit (29:5x, 10:0x) or has hours to go; `main_process_first`, `wait_for_everyone` or a barrier above data preparation
in a traceback; a monitored barrier that names the rank that is still busy; ranks that compile or save while others stand in a collective; step times of which one is a multiple.
Work that is dealt out beforehand (prompts, samples) and a limit that expires in the next small call.
A rank that loads what was compiled waits for its device and does no such work; one whose own percentages grow between the time-outs of the others does.

## What to do
Do the work before the launch and cache it, or on every rank its share; a longer limit for that one wait (`init_process_group(timeout=…)`, a separate
gloo group for long waits).

## How to prevent it
Data preparation as a job of its own. Case: https://github.com/hiyouga/LlamaFactory/issues/360
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks
from ...analysis.frame_tables import WaitKind
from ...analysis.looked_twice import mover
from ...analysis.main_thread import main_thread
from ...analysis.sayings import sayings
from ...model.diagnosis import Finding
from ...model.labels import STEP, who
from ...model.patterns import regex
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._findings import finding, simple
from ._lines import events
from ._outcomes import cured_by
from ._paces import uneven
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._wordings import BELOW_IT, HALTS, ONE_RANK

_STEPS = (
    "prepare the data before the launch, and cache it",
    "init_process_group(timeout=timedelta(hours=4))   # for that one wait",
)
_FIRST = r"main_process_first|local_main_process_first|rank_zero_first|torch_distributed_zero_first|zero_first|main_rank_first|wait_for_everyone|on_main_process|local_zero_first|rank_zero_only_first"
_WORK = r"(?:tokeniz\w+|map(?:ping)?|preprocess\w*|prepar\w+|download\w*|building|index\w*|pack\w*|convert\w*|load\w* (?:the )?(?:checkpoint|model|data\w*)|generat\w+|evaluat\w+|validat\w+|saving|merg\w+|compil\w+|extract\w*|consolidat\w+|serializ\w+|writ(?:es?|ing|ten)|accumulat\w+|scor\w+|cop(?:y|ies|ying)|upload\w*|unpack\w*|quantiz\w+|shard(?:ing|ed)|filter\w*|sort\w*|hash\w*|cach\w+|calibrat\w+|warm\w* up)"
# What programs themselves print while they do something that takes long.
_LOGGED_WORK = (
    r"JIT compilation during inference|Compiling (?:a |the )?(?:graph|kernel|model|function|\d+ )|[Aa]utotun(?:e|ing)\b|AUTOTUNE \w+\(|Capturing (?:the )?(?:CUDA|cuda) ?graphs?|torch\.compile takes|Dynamo bytecode transform time|"
    r"Loading (?:safetensors|pt|model) checkpoint shards|Loading extension module|Building extension module|ninja: (?:no work|build)|\[\d+/\d+\] (?:nvcc|c\+\+|g\+\+)|Downloading (?:data|shards|builder|and preparing)|Generating (?:train|test|validation) split|"
    r"Running tokenizer on|Tokenizing|Grouping texts|Extracting|Packing|Filter \(num_proc|Map \(num_proc|building (?:train|validation|test|index|sample|doc|shuffle)[^\n]*(?:dataset|idx|index|mapping)|> elapsed time to build|"
    r"Merging (?:lora|adapter|weights)|converting (?:checkpoint|weights)|Quantizing|calibrat\w+ (?:data|samples)|warm(?:ing)?[ -]?up (?:the )?(?:model|engine|kernels)|DeepGEMM (?:warmup|JIT)"
)
# What libraries say at the beginning of work of one process over all data: faiss, sentencepiece, tokenizers, XGBoost's sketches, UMAP.
_OVER_ALL = (
    r"\bClustering \d{7,} points in \d+D to \d+ clusters|\bTraining (?:IVF|level-1 quantizer|PQ slice|a product quantizer)|\bIndexIVF\w*::(?:train|add)|\badding \d{7,} (?:elements|vectors)|"
    r"trainer_interface\.cc\(\d+\) LOG\(INFO\)|\bunigram_model_trainer\.cc|\b(?:Tokenize words|Count pairs|Compute merges) |\bpynndescent\b|\bNN descent for\b|\bhnsw_add_vertices"
)
# Work that is dealt out before it is done, and of which the pieces are not equally long.
_SHARES = (
    r"\b(?:samples?|prompts?|requests?|questions?|files?|images?|documents?|items?|data|work|cases|episodes?|sequences?|videos?|instances?)\b[^\n]{0,30}\b(?:dealt out|split|distributed|divided|partitioned|sharded|spread|shared out|assigned)\b[^\n]{0,16}\b(?:to|over|among|between|across)\b[^\n]{0,12}\b(?:ranks?|GPUs?|workers?|processes|cards?|devices?)\b"
    r"|\b(?:its|their|his) (?:own )?shares?\b(?! (?:of (?:the )?(?:memory|bandwidth)))|\b(?:rank|GPU|worker|process)\b[^\n]{0,20}\b(?:is|are) (?:done|through|finished|ready) (?:with|first|earlier|long before)\b"
)
_LONG = r"\b(?:generat(?:ion|es?|ing)|decod\w+|long (?:answers?|outputs?|sequences?|generations?)|evaluat\w+|inference|benchmark\w*|roll-?outs?|simulat\w+)\b"
_SIGNS = (
    Sign(r"\bslow (?:disk|node|gpu|storage|nic|cpu|rank|host|machine|loader)\b|takes \d+ ?\w+ longer|(?:\d+|several|many|two|three|four|five|ten|twenty) ?(?:times|x|×) slower", "one rank is slower than the others", also=(r"rank|node|gpu|host|worker",), unless=(r"power brake|HW (?:Power )?Slowdown",), prose=True),
    Sign(r"Saving (?:latest |model |full )?checkpoint|Running (?:Evaluation|Prediction|Validation|evaluation|validation)|Getting full model state dict|saving model weights|push(?:ing)? to (?:the )?hub", "a rank saves or evaluates while the others wait", POSSIBLE, anywhere=(r"Watchdog caught|timed out|Timeout\(ms\)",)),
    Sign(r"\b(?:one|1|a single)\b[^\n]{0,30}\b(?:process|rank)\b[^\n]{0,30}\b(?:100 ?%|busy)[^\n]{0,60}\b(?:others?|rest)\b[^\n]{0,20}\b(?:idle|asleep|0 ?%)", "one process works on its CPU, the others are idle", anywhere=(rf"\b{_WORK}\b", r"Watchdog caught|timed? ?out|Timeout\(ms\)"), unless=(r"stuck|deadlock|spin|out of memory",), prose=True),
    Sign(ONE_RANK + BELOW_IT + rf"\w*{_WORK}\w*\(", "the code works on one rank while the others go on to the next call", anywhere=(HALTS, r"barrier|broadcast|wait_for_everyone|init_process_group|store"), unless=(r"FSDP|ZeRO|stage ?3|state_dict|sync_dist|\b(?:accelerator|fabric)\.save\w*\(|engine\.save_checkpoint\(",)),
    Sign(cured_by(r"\b(?:smaller|shorter|fewer|tiny|small|reduced|subset)\b[^\n]{0,30}\b(?:sets?|data\w*|samples?|files?|corpus|validation|split|subset|eval\w*)\b"), "it works when there is less to do", anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)|minute limit",), unless=(r"dev/shm|out of memory|pipe",), prose=True),
    Sign(cured_by(r"\b(?:larger|longer|higher|bigger|increas\w+|rais\w+|ddp_timeout|timeout=)\b[^\n]{0,30}time-?out"), "it works with a longer limit", POSSIBLE, anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)",), prose=True),
    Sign(_LOGGED_WORK, "a rank's log shows long work of its own before the limit of the others", POSSIBLE, anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)",), unless=(r"SeqNum=1\b[^\n]*NumelIn=1\b",)),
    Sign(_OVER_ALL, "one process works through all of the data, which takes longer than the others' limit", anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)",), unless=(r"Killed|oom-kill|illegal memory|Segmentation",)),
    Sign(rf"^(?![^\n]*(?:[Rr]etr(?:y|ies)|[Aa]ttempt))[^\n]*(?i:\b(?:{_WORK}|read(?:ing|s)?|assembl\w+|collect(?:ing|s)|gathering))\b[^\n]{{0,80}}\b(\d+) ?(?:/|of) ?(?!\1\b)\d{{2,}}\b(?! ?(?:\[|it|s/))", "a rank counts through work of its own while the others wait", POSSIBLE, anywhere=(r"Watchdog caught|Timeout\(ms\)|Timed out waiting \d+ms|Barrier timed out",), unless=(r"SeqNum=[12]\b",)),
    Sign(_SHARES, "each rank works through a share of its own, and the shares do not take equally long", anywhere=(r"Watchdog caught|timed? ?out|Timeout\(ms\)", _LONG), unless=(r"out of memory|Killed|Segmentation|illegal memory",), prose=True),
    Sign(_FIRST, "the others wait while one rank goes first", POSSIBLE, also=(r"time|\d+%|Timed out|timeout|barrier|__enter__|dataset|map|token",)),
    Sign(rf"(?<![\w/]){_WORK}[^\n]{{0,80}}(?<!for )(?:rank ?(?:0|zero)|main process|one rank|master)|(?:rank ?(?:0|zero)|main process|one rank|master|rank \d+)[^\n]{{0,80}}\b(?:still|busy|slow|long|takes?|spends?|alone|needs?)\b[^\n]{{0,60}}(?:{_WORK}|minutes|hours)", "one rank still works while the others wait", POSSIBLE, anywhere=(r"barrier|wait|time-?out|timed out",), prose=True),
    Sign(r"\b(?:straggler|slowest rank|slow rank|slower than (?:the )?(?:others|rest)|much slower|load imbalance|imbalanced?(?!=)|skew\w*)\b", "a rank is slower than the others", POSSIBLE, unless=(r"power brake|HW (?:Power )?Slowdown",), prose=True),
    Sign(r"^(?![^\n]*Not Active)[^\n]*\b(?:throttl\w+|\w+[_ ]slowdown\W+Active\b|clock(?:s)? (?:dropped|reduced|low)|thermal|power (?:cap|brake)|HW Slowdown|SW Power Cap)[^\n]*", "a device is slowed down", POSSIBLE, prose=True),
)  # fmt: skip


# Rank 0 broke off: it, or a rank that only its own log names, has failed.
_UNCLEAR = "received errors while waiting"
# A limit expired, or somebody stands at a meeting; what a log has gone on from is over.
_WAITED = Sign(
    r"timed? ?out|time-?out|monitoredBarrier|Watchdog caught|barrier|Traceback|main_process_first",
    "somebody waited",
    passing=True,
)


def check(case: Case) -> Iterator[Finding]:
    busy = list(_busy_bars(case))
    waited = any(True for _ in hits(case, (_WAITED,)))
    named = [event for event in events(case, "torch.monitored_barrier_failed") if _UNCLEAR not in event.text]
    missing = RankSet(rank for event in named for rank in (event.fields.get("missing") or ()) if isinstance(rank, int))  # type: ignore[union-attr]
    if busy and (waited or _others_wait(case)):
        ranks = missing or RankSet([0])
        title = f"{ranks_phrase(ranks)} {'is' if len(ranks) == 1 else 'are'} still at work ({busy[0]}) while the others wait"
        yield simple(RULE, title, LIKELY, [*busy[:2], *(event.text for event in named[:1])], _STEPS, ranks)
        return
    elsewhere = [doing for doing in in_kind(doings(case), WaitKind.COLLECTIVE.value) if doing.ranks & missing]
    if named and not elsewhere:
        yield simple(
            RULE,
            f"{ranks_phrase(missing)} did not reach a monitored barrier in time",
            LIKELY,
            [named[0].text],
            _STEPS,
            missing,
            against=("they may have failed: look at their logs",),
        )
        return
    found = [*hits(case, _SIGNS), *_at_work(case), *_compiling(case), *_step_times(case), *_paces(case)]
    if found:
        yield finding(RULE, case, found, "one rank does long work that the others wait for", _STEPS)


def _others_wait(case: Case) -> bool:
    """Whether the stack of somebody was seen in a call that needs the others."""
    waiting = in_kind(doings(case), WaitKind.COLLECTIVE.value)
    return not case.snapshot.live and any(one.account is not None and one.account.seen for one in waiting)


def _at_work(case: Case) -> Iterator[Hit]:
    """One rank whose own account speaks of long work, while somebody waits for it."""
    waits = any(
        one.find(HALTS + r"|times? out|timed out|time-?out|others? wait|wait\w* for rank|main_process_first")
        for one in accounts(case)
    )
    for one in accounts(case):
        alone = len(one.ranks) == 1 or one.find(r"^(?:rank ?0|main process|master|one rank)")
        line = one.find(
            rf"^(?! *File \")[^\n]*?\b{_WORK}\b[^\n]{{0,60}}(?:data\w*|shards?|files?|GB|TB|model|index|cache|samples|tokens|minutes|\bmin\b|hours?\b|results|checkpoint)"
        )
        if (
            waits
            and alone
            and line is not None
            and not one.find(r"rror\b|killed|out of memory|all_?reduce|stuck|deadlock|ENOSPC|No space")
        ):
            yield Hit(Sign("", "one rank does long work while the others wait", LIKELY), one, line)


def _paces(case: Case) -> Iterator[Hit]:
    """Ranks that are behind by what programs print of all of them; and those that move while the others wait for them."""
    for account, line in uneven(case):
        yield Hit(Sign("", "one rank is far behind the others", LIKELY), account, line)
    for account in accounts(case):
        if (late := _stalls_pass(account)) is not None:
            them = replace(account, who=replace(account.who, ranks=account.ranks | who(late).ranks))
            yield Hit(Sign("", "the same ranks come late to a call, and then the job goes on", LIKELY), them, late)
    for account in accounts(case):
        if (own := _percent_grows(case, account)) is not None:
            yield Hit(Sign("", "it gets on while the limit of the others expires", LIKELY), account, own)
    moves = None if case.snapshot.live else mover(case)
    waiting = [
        doing
        for doing in in_kind(doings(case), WaitKind.COLLECTIVE.value)
        if doing.account is not None and doing.account.seen and of_ranks(doing)
    ]
    if moves is not None and any(doing.account.ranks != moves.ranks for doing in waiting if doing.account):
        yield Hit(Sign("", "it stands elsewhere at each look, while the others wait", LIKELY), moves, moves.label)


_PERCENT = regex(r"\b(\d{1,2})(?:\.\d+)? ?%")
_SOME_OTHERS = 2


def _percent_grows(case: Case, account: Account) -> str | None:
    """The last line of a rank that counts on, between or behind the time-outs of others, and reports none itself."""
    late = {event.rank for event in events(case, "torch.watchdog_timeout", "gloo.op_timeout")} - {None}
    first = {event.file: event.line for event in reversed(events(case, "torch.watchdog_timeout", "gloo.op_timeout"))}
    counts: dict[int, list[tuple[int, str]]] = {}
    for event in account.events:
        found = _PERCENT.search(event.text) if event.line > first.get(event.file, event.line) else None
        if event.rank is not None and event.rank not in late and found and event.event == "text.line":
            counts.setdefault(event.rank, []).append((int(found[1]), event.text))
    for told in counts.values() if len(late) >= _SOME_OTHERS and len(counts) == 1 else ():
        numbers = [number for number, _ in told]
        if len(numbers) > 1 and numbers == sorted(numbers) and numbers[0] < numbers[-1]:
            return told[-1][1]
    return None


_LACKING = regex(
    r"(?:Missing ranks|Stalled ranks):?\s*\n?(?P<ranks>(?:\d+[ ,:]+)+)|\[missing ranks: (?P<them>[\d, ]+)\]"
)


def _stalls_pass(account: Account) -> str | None:
    """A report of Horovod's about ranks that come late, made anew after steps: they came in the end."""
    last: dict[str, int] = {}
    text, steps = "\n".join(said.text for said in account.events), 0
    marks = sorted(
        [(found.start(), "step", found.group()) for found in STEP.finditer(text)]
        + [(found.start(), "late", found["ranks"] or found["them"]) for found in _LACKING.finditer(text)]
    )
    for _, kind, what in marks:
        if kind == "step":
            steps += 1
        elif last.get(what, steps) < steps:
            return f"ranks {what.strip(' :,')} were missing, and again after more steps"
        else:
            last.setdefault(what, steps)
    return None


def _compiling(case: Case) -> Iterator[Hit]:
    """Ranks that compile or save while others wait for them in a call."""
    if case.snapshot.live:
        return
    known = [doing for doing in doings(case) if doing.account is not None and of_ranks(doing)]
    waiting = in_kind(
        known, WaitKind.COLLECTIVE.value, WaitKind.P2P.value, WaitKind.STORE.value, WaitKind.RENDEZVOUS.value
    )
    inside = set(map(id, waiting))
    waits = bool(waiting) or bool(events(case, "torch.watchdog_timeout", "gloo.op_timeout"))
    at_work = [
        doing
        for doing in known
        if id(doing) not in inside and not _imports(doing) and _WORK_FRAMES.search(" ".join(_paths(doing)))
    ]
    for doing in (*in_kind(known, WaitKind.COMPILE.value, WaitKind.CHECKPOINT.value), *at_work):
        told = any(one.account is doing.account and one.ranks != doing.ranks for one in waiting)
        if (
            waits
            and doing.account is not None
            and not _loads(doing)
            and (doing.account.stacks or (told and doing.ranks))
        ):
            yield Hit(Sign("", "ranks compile or save while others wait for them", LIKELY), doing.account, doing.site)


# Files in which a process works for minutes when there is much to do.
_WORK_FRAMES = regex(
    r"(?:^| )(?:\S*/)?(?:safetensors/|huggingface_hub/|datasets/(?:arrow_dataset|arrow_writer|builder|fingerprint|iterable_dataset|table|formatting)|tokenizers/|transformers/(?:tokenization|modeling_utils|modeling_tf_utils)|pyarrow/|pandas/(?:io|core)|"
    r"numpy/lib/(?:npyio|_npyio|format)|h5py/|tarfile\.py|zipfile|gzip\.py|bz2\.py|shutil\.py|json/(?:encoder|decoder|__init__)|pickle\.py|_?pickle|dill/|cloudpickle/|torch/serialization\.py|PIL/|matplotlib/|sklearn/|scipy/|pycocotools/|faiss/|nltk/|sacrebleu/|rouge\w*/|"
    r"evaluate/|megatron/\S*(?:indexed_dataset|gpt_dataset|blended\w*dataset|helpers)|hashlib\.py|ijson|orjson|yaml/|sentencepiece/|librosa/|soundfile|cv2/|torchvision/datasets|xxhash|zstandard|lm_eval/|seqeval/|jiwer/|tensorstore|orbax/|zarr/|fsspec/implementations/local|smart_open|csv\.py|linecache)"
)


# Triton's and CUTLASS's calls that load what was compiled: they wait for the device, and are no work of their own.
_LOADING = {"_init_handles", "_load_cuda_library"}


def _loads(doing: Doing) -> bool:
    """Whether a subject loads onto its device what is compiled already."""
    main = main_thread(doing.account) if doing.account is not None else None
    return main is not None and bool(main.stack) and main.stack[-1].function in _LOADING


def _imports(doing: Doing) -> bool:
    """Whether a subject only loads the modules whose files it stands in."""
    main = main_thread(doing.account) if doing.account is not None else None
    return main is not None and any(frame.file.startswith("<frozen importlib") for frame in main.stack)


def _paths(doing: Doing) -> list[str]:
    """The files of the deepest frames of a subject."""
    main = main_thread(doing.account) if doing.account is not None else None
    return [frame.file for frame in main.stack[-4:]] if main is not None else []


_TIME = regex(r"\b(?P<number>\d+(?:\.\d+)?) ?(?P<unit>ms|s|sec|seconds|min|minutes)\b", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0}
_MUCH = 4  # times the others' time


def _step_times(case: Case) -> Iterator[Hit]:
    """Times that are told per rank, of which one is a multiple of the others'."""
    for account in accounts(case):
        times: dict[int, tuple[float, str]] = {}
        for line in account.said.splitlines():
            for subject, said in sayings(line):
                found = _TIME.search(said)
                if found and len(subject.ranks) == 1:
                    times[next(iter(subject.ranks))] = (float(found["number"]) * _UNITS[found["unit"].lower()], said)
        ordered = sorted(times.values(), reverse=True)
        if (
            len(ordered) > 2
            and ordered[0][0] > _MUCH * ordered[1][0] > 0
            and account.find(r"\bstep|iter|batch|load|took|takes")
        ):
            yield Hit(Sign("", "one rank takes much longer than the others", LIKELY), account, ordered[0][1])


def _busy_bars(case: Case) -> Iterator[str]:
    """Progress bars that are not done and have run for minutes, or for as long as a shorter limit allows: somebody works."""
    last: dict[str, tuple[int, str]] = {}
    limit = _limit(case)
    long = min(_LONG_S, limit or _LONG_S)
    over = any(one.find(_LEFT_EARLY) for one in accounts(case))
    for event in events(case, "progress.bar"):
        percent, elapsed = event.fields.get("percent"), _seconds(str(event.fields.get("elapsed", "")))
        label = str(event.fields.get("label", ""))[:60].strip() or "progress"
        if percent == 100:
            last[label] = (0, "")
        # A bar of the same name that has run for less is that of another rank.
        elif isinstance(percent, int) and elapsed >= last.get(label, (0, ""))[0]:
            # Items of a data set that is prepared, and long to go: the limit may expire long before.
            ahead = _seconds(_TO_GO.search(event.text)[1]) if _ITEMS.search(event.text) else 0  # type: ignore[index]
            stands = _OF_STEPS.match(label) is not None and elapsed < _NEARLY * limit
            # Its first step has not been made, or its loop was left before its end: who has the bar waits, too.
            own = label == "progress" or _OF_STEPS.match(label) is not None
            stands = stands or (own and (over or _NOTHING_DONE.search(event.text) is not None))
            last[label] = (
                0 if stands else max(elapsed, ahead),
                f"{label} {percent}% after {event.fields.get('elapsed')}",
            )
    for elapsed, text in last.values():
        if elapsed >= long:
            yield text


_LONG_S = 240
_NOTHING_DONE = regex(r"\b0/\d+ \[[\d:]+<\?")
_LEFT_EARLY = (
    r"^Training completed\. Do not forget to share your model"  # transformers/trainer.py, at the end of its loop
)
_OF_STEPS = regex(r"(?:train|epoch|step|iter|fit|sft|grpo|ppo|pretrain)\w*\b", re.IGNORECASE)
_NEARLY = 0.8  # of the limit: a bar of steps that stopped long before it expired is of those who wait


def _limit(case: Case) -> float:
    """The limit that expired, in seconds; 0 where none is told."""
    told = [event.fields.get("timeout_ms") for event in events(case, "torch.watchdog_timeout")]
    return max((one / 1000 for one in told if isinstance(one, int)), default=0.0)


_ITEMS = regex(r"\d:\d\d<(?:\d+:)?\d+:\d\d, [^\]]*(?:examples|files|shards|docs|lines|rows|tokens|samples|MB|GB)/s")
_TO_GO = regex(r"<((?:\d+:)?\d+:\d\d)")


def _seconds(text: str) -> int:
    total = 0
    for part in text.split(":"):
        total = total * 60 + (int(part) if part.isdigit() else 0)
    return total


RULE = make_rule(__name__, __doc__, "straggler-slow-rank", 41, check)
