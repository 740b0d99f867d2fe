"""The program's code lets some ranks make a call that the others do not make.

## What it means
A collective stands below `if rank == 0`, after a `return` or `continue` that only some ranks take, or in an `except` that one rank enters. The ranks
that make the call wait for those that do not. Hidden collectives count too: the forward pass of a wrapped model (its buffers are
broadcast, its shards are gathered), `state_dict()` of split parameters, `save_checkpoint`, a logged metric that is reduced.

## How it is recognised
From code in the evidence: a block below a condition on the rank (or a function marked `rank_zero_only`) with such a call and no counterpart in the
other branch; a block that leaves the loop or function on a rank's own data before a call that the others make; any call of the program in
such a block from which the rank is said not to come back while the others are through. The job must be said to hang.
Or the last words of a rank are those that one branch prints, and the stacks of all others stand in a call of the other branch.
Or the stack of a rank that waits in a collective comes through a function marked so, and those of the others do not.

## What to do
Take the call out of the branch: every rank calls, one rank writes. Where a rank must skip, let all skip:
`flag = torch.tensor(bad, device=…); dist.all_reduce(flag, op=dist.ReduceOp.MAX)`. For a pass on one rank use the bare module:
`model.module(x)`; for split parameters all ranks must take part (`GatheredParameters`, `synced_gpus=True`).

## How to prevent it
No collective below a condition that is local to a rank; decide on one rank and broadcast. Cases: https://github.com/pytorch/pytorch/issues/54059,
https://github.com/NVIDIA-NeMo/Automodel/pull/2468
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.doings import doings, way
from ...analysis.frame_tables import WaitKind
from ...analysis.pasted_code import Section, mostly_code, sections
from ...model.diagnosis import Certainty, Finding
from ...model.labels import STEP
from ...model.patterns import regex
from ...model.ranks import ranks_phrase
from .. import make_rule
from ._branches_taken import Parted, parted
from ._findings import simple
from ._lines import events
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS

_STEPS = (
    "rankscope diagnose   # shows the last common call and the first different line",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …",
)
# Calls in which every rank must take part, of torch, its trainers and other frameworks.
_CALL = regex(
    r"(?<!def )\b(?:(?:\w+\.){0,8}(?:barrier|Barrier|all_?reduce\w*|Allreduce|all_?gather\w*|Allgather|"
    r"all_?to_?all\w*|broadcast\w*|bcast|Bcast|reduce_scatter\w*|monitored_barrier|"
    r"gather_object|gather_for_metrics|pad_across_processes|wait_for_everyone|synchronize_between_processes|"
    r"synchronize_processes|sync_all|run_on_main|reduce_dict|reduce_value|reduce_tensor|concat_all_gather|"
    r"save_state|consolidate_state_dict|full_optim_state_dict|optim_state_dict|get_model_state_dict|"
    r"get_optimizer_state_dict|get_fp32_state_dict\w*|summon_full_params|GatheredParameters|new_group|"
    r"init_process_group|destroy_process_group|mesh_reduce|sync_global_devices|process_allgather|broadcast_one_to_all|"
    r"accelerator\.(?:gather|reduce|get_state_dict|prepare|backward)|"
    r"(?:hvd|comm|COMM_WORLD|dist|xm|fabric|strategy|paddle\.distributed)\.(?:gather|reduce|scatter|rendezvous)|"
    r"trainer\.(?:save_checkpoint|save_model|validate|test|predict|evaluate|train)|"
    r"(?:engine|model_engine|ds_engine|model|accelerator)\.save_(?:checkpoint|16bit_model|state)|(?:dcp|dist_cp|checkpoint|DCP)\.(?:save|load|async_save)|DistributedDataParallel|DDP|FullyShardedDataParallel|FSDP|fully_shard|deepspeed\.initialize)\(|"
    r"self\.log(?:_dict)?\(.*sync_dist ?= ?True)|\btrainer\.(?:log_dir|strategy\.barrier)\b|\b(?:self\.)?\w*(?:metric|auroc|accuracy|f1|map)\w*\.compute\(\)",
    re.IGNORECASE,
)
# A pass through the model itself, which is one where the model is wrapped.
_PASS = regex(
    r"(?<!def )(?<!\.module)(?<!\.)\b(?:self\.)?(?:(?:\w+_)?(?:model|net|network|engine|generator|student|encoder|decoder|policy|unet|transformer|vae|backbone)\w*|netG|netD)(?:\.generate|\.sample|\.forward|\.infer\w*)?\(|"
    r"(?<!def )\b(?:\w+\.)*(?:evaluate|validate|validation|eval|val|test|run_eval\w*|run_validation|eval_\w+|"
    r"evaluate_\w+|validate_\w+|do_eval\w*|\w+_evaluate|\w+_validate|log_validation|do_test|do_validation|"
    r"compute_metrics|inference_on_dataset|generate|"
    r"sample)\((?=\)|.*(?:model|net\b|loader|trainer|engine|generator|\(\)))|"
    r"\bfor\b.*\bin\b.*(?:val|test|eval|dev)\w*(?:loader|_dl|_data\w*|_iter\w*)\b"
)
_STATE = regex(
    r"(?:\w+\.)*(?<!module\.)(?<!optimizer\.)(?<!optim\.)(?<!scheduler\.)(?<!scaler\.)state_dict\(|save_pretrained\(|"
    r"save_model\(|save_checkpoint\("
)
# The step of a loop in which a wrapped model meets its peers.
_STEP = regex(
    r"\bbackward\(|\.step\(\)|" + _CALL.pattern + r"|(?<!def )\b(?:self\.)?(?:model|net|engine|model_engine)\("
)
_WRAPPED = (
    r"\b(?:DDP\w*|DistributedDataParallel|distributed data parallel|FSDP\d?|Fully ?Sharded\w*|fully_shard|ZeRO\S*|"
    r"zero[-_ ]?(?:stage)?[-_ ]?[123]|stage3|deep_?speed\w*|DTensor|SyncBatchNorm|SyncBN|sync_?bn|"
    r"convert_sync_batchnorm|accelerator|accelerate|Lightning|strategy ?= ?|horovod|hvd)\b"
)
_SPLIT = (
    r"\b(?:FSDP\d?|Fully ?Sharded\w*|fully_shard|FULL_SHARD|ZeRO-?3|zero[-_ ]?(?:stage)?[-_ ]?3|stage ?3|stage3|"
    r"deep_?speed\w*|DTensor|DeviceMesh|tensor[- ]parallel|TP ?= ?\d)\b"
)
_MANY = (
    r"\b(?:ranks?|world_size|nproc\w*|num_processes|torchrun|init_process_group|GPUs\b|[2-9]\d? ?[x×]? ?\w*gpus?|Watchdog|all_?reduce)\b|"
    + _WRAPPED
)
_GROUPED = r"\b(?:torch\.distributed|dist)\.(?:barrier|get_rank|all_reduce|init_process_group)\b"
# Work that all ranks do alike although a condition stands above it.
_PAIRED = regex(r"\b(?:isend|irecv|send|recv|Send|Recv)\(")


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live and not case.collectives and (one := parted(case)) is not None:
        yield replace(_of_parted(one), compared=True)
        return
    if case.snapshot.live or case.collectives or not (_hangs(case) or _asked(case)):
        return
    if (led := next(_led_there(case), None)) is not None:
        yield led
        return
    found = [one for account in accounts(case) for one in _found(case, account)]
    for certainty, says, head, line in sorted(found, key=lambda one: one[0] is not LIKELY)[:1]:
        title = "the code lets some ranks make a call that the others do not make"
        certainty = certainty if _hangs(case) else POSSIBLE
        yield simple(RULE, title, certainty, [f"{says}: {head}", f"the call: {line}"], _STEPS)


def _of_parted(one: Parted) -> Finding:
    """What two sides of a condition show: the one by its last words, the other by its stacks."""
    who = ranks_phrase(one.ranks)
    title = f"{who} did not call {one.call}, in which the others stand: {one.head.rstrip(':')} was not the same on all"
    because = [f"the last words of {who} are those of the other branch: {one.said}", f"the others stand in {one.call}"]
    return simple(RULE, title, LIKELY, because, _STEPS, one.ranks)


def _led_there(case: Case) -> Iterator[Finding]:
    """A function that one rank alone runs, in the stack of a rank that waits in a call, and in no stack of the others."""
    code = (account.code for account in accounts(case))
    alone = {one.function: one.head for lines in code for one in sections(lines) if one.who == "one" and one.function}
    seen = [doing for doing in doings(case) if doing.ranks and way(doing)] if alone else []
    for function, head in alone.items():
        inside = [doing for doing in seen if function in way(doing)]
        waits = inside[0] if len(inside) == 1 and inside[0].kind == WaitKind.COLLECTIVE.value else None
        if waits is not None and len(seen) > 1:
            because = [f"{function} is run by one rank alone: {head}", f"{ranks_phrase(waits.ranks)}: {waits.site}"]
            title = f"{function}, which one rank alone runs, led to {waits.op}"
            yield replace(simple(RULE, title, LIKELY, because, _STEPS), compared=True)


def _hangs(case: Case) -> bool:
    return bool(events(case, "torch.watchdog_timeout", "gloo.op_timeout")) or _any(case, HALTS)


def _asked(case: Case) -> bool:
    """Whether somebody gave code with a short note or excerpt beside it, in which nothing goes on."""
    notes = [one for one in accounts(case) if 0 < len(one.said) < _NOTE and not mostly_code(one.said.splitlines())]
    return any(not one.find(STEP.pattern + r"|\bloss\b") for one in notes)


_NOTE = 1500  # characters; more are a log


def _any(case: Case, pattern: str) -> bool:
    return any(one.find(pattern) is not None for one in accounts(case))


def _found(case: Case, account: Account) -> Iterator[tuple[Certainty, str, str, str]]:
    found = list(sections(account.code))
    for section in found:
        if section.who == "own":
            yield from _loops(section)
        elif section.who == "some":
            yield from _skips(case, section)
            yield from _decides(case, section)
        else:
            yield from _alone(case, section, found)


def _alone(case: Case, section: Section, all_: list[Section]) -> Iterator[tuple[Certainty, str, str, str]]:
    """A call in a block of one rank, or of the others, without a counterpart."""
    yield from _told_to_stand(case, section)
    yield from _calls_alone(section, all_)
    yield from _leaves_first(section)
    if any(_PASS.search(line) for line in section.otherwise):
        return
    yield from _runs_model(case, section)
    if section.who == "one" and not section.otherwise and _any(case, _WRAPPED):
        yield from _unknown(section)


def _calls_alone(section: Section, all_: list[Section]) -> Iterator[tuple[Certainty, str, str, str]]:
    """A call of all that no block of the other ranks makes."""
    twins = [line for other in all_ if other.who in ("one", "rest") and _apart(other, section) for line in other.body]
    elsewhere = {name for line in (*section.otherwise, *twins) if (name := _name(_CALL, line))}
    members = re.search(r"\bin [A-Za-z_]", section.head) is not None
    for line in section.body:
        name = _name(_CALL, line)
        if name and name not in elsewhere and not (members and "group" in line):
            yield LIKELY, "a block of some ranks calls what all must call", section.head, line


def _leaves_first(section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """A block that leaves before a call that the others make, without having met them."""
    if section.leaves is None or any(_CALL.search(line) or _PAIRED.search(line) for line in section.body):
        return
    if (call := _first(section.after, _CALL)) is not None:
        yield LIKELY, f"some ranks leave ({section.leaves}) before a call that the others make", section.head, call


def _runs_model(case: Case, section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """A model that all ranks hold together, gathered or run by some of them."""
    for line in section.body:
        if _STATE.search(line) and _any(case, _SPLIT) and "torch.save(model.module" not in line:
            yield LIKELY, "a block of some ranks gathers what all ranks hold", section.head, line
        elif _PASS.search(line) and ".module" not in line and _any(case, _WRAPPED + "|" + _GROUPED):
            sure = LIKELY if _any(case, _WRAPPED) else POSSIBLE
            yield sure, "a block of some ranks runs the wrapped model", section.head, line


def _apart(one: Section, other: Section) -> bool:
    """Whether two blocks are those of different ranks: of one and of the rest, or of odd and of even numbers."""
    return one.who != other.who or (one.head != other.head and "%" in one.head and "%" in other.head)


# What may take long, or for ever, without meeting anybody: files, networks, programs, people.
_BY_ITSELF = regex(
    r"(?:\b|_)(?:open|close|print|input|sleep|system|run|call|Popen|communicate|wait|join|get|put|recv|login|init|"
    r"finish|upload|push|pull|request\w*|urlopen|urlretrieve|makedirs|mkdir|exists|remove|rmtree|copy\w*|"
    r"listdir|glob|read\w*|write\w*|dump\w*|load\w*|download\w*|extract\w*|unzip|tokeniz\w*|preprocess\w*|prepare\w*|build\w*|compile\w*|from_pretrained|len|range|str|int|float|format|set_trace|breakpoint)$",
    re.I,
)
_CALLED = regex(r"(?<!def )\b(?:[A-Za-z_][\w\[\]]*\.)*([A-Za-z_]\w*)\(")
_ALONE_WORKS = r"\b(?:(?:one|a single|1) (?:process|rank)|serial(?:ly)?|-np? ?1|without mpi\w*)\b"
_OTHERS_GO_ON = r"\b(?:ranks?[ _#]?[1-9]\d*|(?:the )?(?:other|remaining)s?(?: ranks?| process(?:es)?)?)\b[^\n;]{0,30}\b(?:(?:gets?|comes?|is|are|goes|runs?) (?:\w+ ){0,2}(?:to the end|past|through|done|finished|on)|reach(?:es)? the end|finish(?:es|ed)?|ends?\b|exits?\b|waits? (?:in|at) (?:the )?(?:next|exit|end|finali\w+))"


def _told_to_stand(case: Case, section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """A call of the program in a block of one rank, of which somebody says that the rank does not come back from it, although
    one process alone does, or the others are through: it meets them somewhere inside."""
    others = (*section.otherwise, *section.after)
    for line in section.body:
        for name in _CALLED.findall(line):
            if _BY_ITSELF.search(name) or any(re.search(rf"\b{name}\(", other) for other in others):
                continue
            at = rf"[`'\"]?(?:\w+(?:\([^()\n]*\))?\.)*{name}\b"
            stands = (
                rf"\b(?:(?:does|did|do)(?: not|n't)|never) (?:come|get|return)\w*(?: back| out)?(?: from| of)? {at}|"
                rf"\b(?:hangs?|hung|stuck|blocks?|blocked|stands?|waits?|freezes) (?:in|at|on|inside) {at}|"
                rf"{at}(?:\([^()\n]*\))?[`'\"]? (?:never returns?|hangs?|blocks?|does(?: not|n't) (?:return|come back))"
            )
            if _any(case, stands) and (_any(case, _ALONE_WORKS) or _any(case, _OTHERS_GO_ON) or _through(case)):
                says = "a block of some ranks makes a call from which they do not come back, and which the others do not make"
                yield LIKELY, says, section.head, line


# What the item of other ranks tells, under their name.
_OTHERS = regex(
    r"\b(?:(?:rank|process|task|proc)s?[ _#]?[1-9]\d{0,6}|(?:other|remaining) (?:ranks?|process(?:es)?))\b",
    re.IGNORECASE,
)
_IS_THROUGH = r"^[^\w\n]{0,3}(?:\w+ ){0,3}?(?:at|past|reach(?:es|ed)|(?:has|have) (?:reached|come to)) the (?:very )?end\b|^[^\w\n]{0,3}(?:\w+ ){0,2}?(?:in )?MPI_Finalize\b|^[^\w\n]{0,3}(?:(?:is|are|has|have) ){0,2}(?:finished|ended|done|through|exited)\b"


def _through(case: Case) -> bool:
    """Whether somebody tells, under the name of other ranks, that these are at the end of the program."""
    return any(_OTHERS.search(one.label) and one.find(_IS_THROUGH) for one in accounts(case))


def _unknown(section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """Calls of one rank of which nobody knows whether they meet others; printing and writing do not."""
    for line in section.body:
        if _OWN_CALL.search(line) and not _HARMLESS.search(line):
            yield (
                POSSIBLE,
                "a block of one rank makes a call of the program, which may meet the others",
                section.head,
                line,
            )
            return


_OWN_CALL = regex(r"(?<!def )\b(?:self|trainer|model|engine|accelerator|callback\w*|runner|solver|pl_module)\.[\w.]+\(")
_HARMLESS = regex(
    r"^(?:print|log\w*|logger|tqdm|writer|wandb|mlflow|os|shutil|time|json|path|plt)\b|"
    r"\.(?:info|debug|warning|error|print|write|add_scalar\w*|close|flush|update|append|set_postfix|set_description|"
    r"item|mkdir|exists|format|join)\(|"
    r"torch\.save\(|(?:optimizer|scheduler|scaler)\.state_dict"
)


def _name(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.search(line)
    return found.group().rsplit(".", 1)[-1] if found else ""


def _skips(case: Case, section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """A block that leaves, by a rank's own data or error, before a step that the others make."""
    handled = section.head.startswith("except")
    left = section.leaves or (handled and next((line for line in section.body if line == "pass"), None))
    if not left or _STEP_IN(section.body) or not _any(case, _MANY):
        return
    coming = _first(section.after, _STEP) or (handled and _first(section.before, _STEP))
    if not coming:
        return
    certainty = LIKELY if _any(case, _WRAPPED + r"|\branks?\b|all_?reduce|Watchdog") else POSSIBLE
    yield certainty, f"a rank leaves ({left}) by its own data, before a step that the others make", section.head, coming


# A part of a model that only some data need.
_PART = regex(
    r"(?<!def )\b(?:self\.)?(?:\w+\.)*\w*(?:visual|vision|image|audio|video|speech|expert|adapter|tower|encoder|modality|projector|perceiver|resampler)\w*(?:\[[^\]]*\])?\((?!\))"
)
# What differs between ranks for certain: clocks and values that were never reduced.
_APART = regex(r"time\.\w+\(\)|time\(\)|\bbest|patience|random|elapsed|early", re.I)


def _decides(case: Case, section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """A call, or a part of a split model, below a condition that each rank decides by its own data or clock."""
    if section.otherwise or section.head.startswith("except"):
        return
    for line in section.body:
        if _CALL.search(line) and "group" not in line and _any(case, _MANY):
            sure = LIKELY if _APART.search(section.head) else POSSIBLE
            yield (
                sure,
                "a call of all ranks stands below a condition that each rank decides by itself",
                section.head,
                line,
            )
            return
        if _PART.search(line) and not _CALL.search(line) and _any(case, _SPLIT):
            yield LIKELY, "a part of the split model runs only where a rank's own data need it", section.head, line
            return


def _loops(section: Section) -> Iterator[tuple[Certainty, str, str, str]]:
    """A loop over what a rank has by itself, with a call of all in it."""
    for line in section.body:
        if _CALL.search(line) and "group=" not in line:
            yield POSSIBLE, "a call of all ranks stands in a loop over what one rank has", section.head, line
            return


def _first(lines: Iterable[str], pattern: re.Pattern[str]) -> str | None:
    return next((line for line in lines if pattern.search(line)), None)


def _STEP_IN(lines: Iterable[str]) -> bool:
    return any(_CALL.search(line) or "backward(" in line for line in lines)


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 40, check)
