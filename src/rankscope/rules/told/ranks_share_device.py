"""Two ranks use one device, or a group is bound to the wrong one.

## What it means
Every rank took the default GPU, or all took a fixed one, or a barrier guessed a device from the rank. NCCL refuses two ranks on a GPU, or
the first collective hangs because two communicators wait on one device.

## How it is recognised
`Duplicate GPU detected`, the warning that devices used by this process are currently unknown before a hang in the first barrier,
`invalid device ordinal`, or a process table in which several ranks own memory of GPU 0, or each of them most of its memory there and a mere context on one of its own. A script that
calls `init_process_group` and `barrier` before `set_device`; a barrier that hangs only when it is the first communication; memory on a device that was not chosen.
The memory of all devices of a job of several workers: one is full, the others are empty. A process table in which one GPU has a big process and
small ones of the same program, all alike: contexts of those who work elsewhere. NCCL's `Init START` lines in which ranks of one
communicator have one bus id on one host; a device that admits one process and is asked for by a second. Code that makes NCCL's
communicators for several ranks (`NcclCommunicator`, `ncclCommInitRank`) and chooses no device before.

## What to do
`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before `init_process_group`, and pass `device_id=`. Start as many ranks per node as
it has GPUs; check `CUDA_VISIBLE_DEVICES` per rank.

## How to prevent it
One line at the top of the program that binds the device; `device_ids=[local_rank]` in `barrier`.
Case: https://github.com/Peterande/D-FINE/issues/289
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.pasted_code import mostly_code
from ...analysis.saying import saying
from ...model.diagnosis import Certainty, Finding
from ...model.patterns import regex
from ...model.ranks import RankSet
from .. import make_rule
from ._findings import finding, simple
from ._lines import events
from ._signs import CERTAIN, LIKELY, POSSIBLE, Sign, hits
from ._wordings import HALTS

_STEPS = (
    "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))   # before init_process_group(device_id=…)",
    "nvidia-smi --query-compute-apps=pid,gpu_uuid --format=csv",
)
# The barrier came back where a call long after it is waited for; a barrier of NCCL is a sum of one number.
_LATER_CALL = r"\bSeqNum=\d{3,}, OpType=\w+, NumelIn=(?!1,)"
_SIGNS = (
    Sign(r"\b[Mm]ultiple (?:processes|ranks|workers)\b[^\n]{0,60}\b(?:on|us(?:e|ing)|shar(?:e|ing)) (?:the )?(?:same|one) (?:CUDA |GPU )?(?:device|GPU)\b[^\n]{0,20}\b(?:not supported|unsupported|not allowed)", "the library found several ranks on one device"),
    Sign(r"Duplicate GPU detected", "NCCL found two ranks on one GPU", CERTAIN),
    Sign(r"device(?:s)? used by this process (?:is|are) currently unknown|Guessing device ID based on global rank", "a barrier had to guess its device", unless=(_LATER_CALL,), anywhere=(r"\b(?:hangs?|hung|stuck|frozen|freezes|(?<!\()idle|deadlocked)\b|timed out|Watchdog caught|in barrier\b|processes on (?:one )?GPU|Duplicate GPU|same GPU|barrier \([^\n]*distributed_c10d|broadcastUniqueNCCLID",)),
    Sign(r"\b(?:no|without|missing|lacks?|forgot\w*|never calls?|not call\w*|does(?:n't| not) call|did(?:n't| not) call|before(?: any)?|omits?)\b[^\n]{0,40}\b(?:torch\.cuda\.|cuda\.|npu\.)?set_device\b|\bset_device(?:\([^\n)]*\))? (?:is |was )?(?:missing|absent|not called|never called|only (?:later|after)|commented out|after)|\bno device_ids?\b", "the program does not bind its device in time",
         anywhere=(HALTS + r"|barrier|SeqNum=1\b|first collective|same GPU|GPU 0",)),
    Sign(r"\bbarrier\b[^\n]{0,60}\b(?:before any (?:other )?|is the first |as the first |first )(?:communication|collective|operation|call)|\b(?:communication|collective|all_?reduce|broadcast)\b[^\n]{0,40}\bbefore the (?:first )?barrier[^\n]{0,40}(?:work|fine|help|no hang|cure|goes away)", "only a barrier that comes first hangs: it had to guess its device", anywhere=(r"init_process_group|nproc|GPUs?\b|set_device",)),
    Sign(r"\b(?:memory|process(?:es)?|contexts?|allocat\w+|MiB)\b[^\n]{0,40}\b(?:GPU|cuda:|device|card) ?#?\d+[^\n]{0,30}\b(?:as well|too|also|although|was not (?:chosen|selected|requested)|not (?:chosen|selected|requested|assigned)|of (?:all|every|each|both))\b|\b(?:every|each|all|both)\b[^\n]{0,30}\b(?:ranks?|processes|workers?)\b[^\n]{0,40}\b(?:context|memory|allocat\w+|MiB)[^\n]{0,20}\bon (?:GPU|cuda:|device) ?0\b", "memory is in use on a device that the rank should not touch", anywhere=(HALTS,), prose=True),
    Sign(r"\b(?:ranks?|process(?:es)?|nproc\w*|workers?)\b[^\n]{0,30}\b(?:more|exceeds?|greater|larger)\b[^\n]{0,30}\b(?:than )?(?:\w+ )?(?:GPUs?|devices?|device_count)\b", "there are more ranks than devices", prose=True),
    Sign(r"CUDA_VISIBLE_DEVICES[^\n]{0,60}\b(?:same|equal|identical)\b[^\n]{0,40}\b(?:all|every|both|each)\b|\b(?:all|every|both|each)\b[^\n]{0,40}(?:ranks?|process\w*|workers?|actors?|tasks?)\b[^\n]{0,40}CUDA_VISIBLE_DEVICES ?= ?0\b", "all ranks see the same device", prose=True),
    Sign(r"(?:gpu|device)\w{0,20}\[[^\]\n]{0,60}\b(?:local_)?rank\b[^\]\n]{0,20}\][^\n]{0,200}(?:\n[^\n]*){0,3}?\n[^\n]*IndexError: list index out of range", "a rank asked for a GPU that it cannot see"),
    Sign(r"invalid device ordinal|\bInvalid device id\b|(?:error|ret|code)(?: is)?\W{0,4}107001\b", "a rank asked for a GPU that it cannot see"),
    Sign(r"Device already acquired|CUDA-capable device(?:s are|\(s\) is/are) busy or unavailable|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE", "a device that admits one process was asked for by a second", anywhere=(r"Exclusive_Process|E\. Process|EXCLUSIVE_PROCESS|Device already acquired",), unless=(r"forked subprocess|initialization error",)),
    Sign(r"CUDA-capable device(?:s are|\(s\) is/are) busy or unavailable|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE", "a device does not admit another process", POSSIBLE, unless=(r"forked subprocess|initialization error",)),
    Sign(r"Tensor found on device \S+ but backend constrained to|Attempt to perform collective on tensor not on device passed to init_process_group", "a rank brings a tensor of another device than its group's"),
    # torch's allocator names the other owners of a device that is full.
    Sign(r"\bGPU \d+ has[^\n]*(?:\bProcess \d+ has [\d.]+ [GM]iB memory in use\. ?){3}", "three and more other processes fill the device of a rank"),
    Sign(r"\b(?:all|every|both|two|several|multiple|[2-9]|\d\d) (?:\d+ )?(?:\w+ )?(?:ranks?|processes|workers)[^\n]{0,60}(?:same (?:gpu|device)|GPU ?0\b(?! ?%)|cuda:0|device 0)", "several ranks use one GPU", prose=True),
    Sign(r"\b(?:GPU|device)s?(?: placement| assignment| mapping| binding| selection)? (?:is|are|was|were)? ?(?:wrong|incorrect|not (?:as expected|right))|\bwrong (?:GPU|device|card)\b|\b(?:same|equal|identical|duplicate) local[_ ]rank|\blocal[_ ]rank(?:\(\))? (?:is |are )?(?:always |all )?(?:0|zero) (?:on|for|in) (?:all|every|each|both)|\b(?:local[_ ]rank|LOCAL_RANK)\b[^\n]{0,40}\b(?:wrong|not set|unset|missing|empty|None|always 0)\b", "ranks are given the wrong device", prose=True),
    Sign(r"\b(?:same|one) (?:GPU|CUDA device|device)[^\n]{0,40}(?:two|both|multiple|several|all) (?:ranks|processes)", "several ranks use one GPU", prose=True),
    Sign(r"\b(?:nvidia-smi|GPU ?0)[^\n]{0,60}(?:all|eight|four|\d) (?:processes|ranks|contexts)", "the table of GPUs shows several ranks on one", POSSIBLE, prose=True),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    said = events(case, "nccl.duplicate_gpu")
    if said:
        ranks = RankSet(
            rank
            for event in said
            for rank in (event.fields.get("first"), event.fields.get("second"))
            if isinstance(rank, int)
        )
        title = f"ranks {ranks} use one GPU (bus id {said[0].fields.get('bus_id')})"
        yield simple(RULE, title, Certainty.CERTAIN, [event.text for event in said[:3]], _STEPS, ranks)
        return
    yield from _one_bus_id(case)
    yield from _crowded(case)
    yield from _models_together(case)
    yield from _one_filled(case)
    yield from _contexts(case)
    yield from _unbound(case)
    yield from _bound_late(case)
    yield from _current_device(case)
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, "ranks are not bound to a device of their own", _STEPS)


_MEETS = regex(r"(?<!def )\b(?:barrier|all_?reduce|broadcast|all_?gather\w*|DistributedDataParallel|DDP|FSDP)\(")
_BINDS = regex(
    r"set_device|device_ids?\b ?=|CUDA_VISIBLE_DEVICES|\.cuda\((?!\))|cuda:\{|[\"']cuda:[\"'] ?\+|"
    r"torch\.device\([\"']cuda[\"'], ?|\.to\((?:\w+[._])*(?:rank|local_rank|gpu|device|device_id)\b|"
    r"accelerat|Trainer\(|deepspeed|with torch\.cuda\.device|local_device_ids|set_per_process"
)
# The library's own communicators, as its bindings call what makes one for a rank: it is bound to the device that is current.
_COMMUNICATOR = regex(
    r"(?<!def )\b(?:NcclCommunicator|ncclCommInitRank(?:Config)?|nccl\.Communicator\.init)\((?! ?1 ?,)|"
    r"\bcupyx\.distributed\.init_process_group\("
)
_CHOOSES = regex(
    r"\bDevice\([^()]*(?:\([^()]*\))?[^()]*\)(?:\.use\(|\.set_current\(|:|$)|\b(?:cuda|hip)?[sS]etDevice\(|\bset_device\(|"
    r"(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES|\bjax\.|\bselect_device\("
)
_DEFAULT_DEVICE = regex(r"\.cuda\(\)|device ?= ?[\"']cuda(?::0)?[\"']|\.to\([\"']cuda(?::0)?[\"']\)|cuda\.FloatTensor")

# What the library says to two ranks on one device, also in a remark behind the line that was refused.
_REFUSED = regex(r"NCCL_ERROR_INVALID_USAGE|ncclInvalidUsage|\bnccl\w*\b[^\n]*\binvalid usage", re.I)


def _bound_late(case: Case) -> Iterator[Finding]:
    """Code that meets on the device that is current, which is the same for all, and then on one of its own: the group is bound
    by its first call."""
    if not any(one.find(HALTS) for one in accounts(case)):
        return
    for account in accounts(case):
        steps = list(_steps(line.text for line in account.code))
        names = "".join(step for step, _ in steps)
        if not re.fullmatch(r"c+m[cm]*o[com]*m?", names) or not any(
            step == "m" for step, _ in steps[names.index("o") :]
        ):
            continue
        lines = [steps[0][1], steps[names.index("o")][1]]
        title = (
            "the first call binds the group to the device that is current, and the next brings data of another device"
        )
        yield simple(RULE, title, LIKELY, lines, _STEPS)
        return


# A device by the number of a rank.
_OWN_DEVICE = regex(r"cuda:\{|[\"']cuda:[\"'] ?\+|cuda:%[ds]|torch\.device\([\"']cuda[\"'], ?\w*rank")


def _steps(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What code does in turn: data on the current device (c), data on its own one (o), a meeting (m); nothing behind a binding."""
    for line in lines:
        if re.search(r"set_device|with torch\.cuda\.device|device_ids?\b ?=", line):
            return
        for name, pattern in (("o", _OWN_DEVICE), ("c", _DEFAULT_DEVICE), ("m", _MEETS)):
            if pattern.search(line):
                yield name, line
                break


def _unbound(case: Case) -> Iterator[Finding]:
    """Code that starts a group on NCCL and meets before it chooses a device, or never chooses one."""
    if not any(one.find(HALTS) for one in accounts(case)):
        return
    for account in accounts(case):
        lines = [line.text for line in account.code]
        starts = [at for at, line in enumerate(lines) if re.search(r"(?<!def )init_process_group\(", line)]
        text = "\n".join(lines)
        if not starts or not re.search("nccl", text, re.I):
            continue
        meets = next((at for at in range(starts[0] + 1, len(lines)) if _MEETS.search(lines[at])), None)
        binds = next((at for at, line in enumerate(lines) if _BINDS.search(line)), None)
        if meets is None or not (_DEFAULT_DEVICE.search(text) if binds is None else binds > meets):
            continue
        title = "the program meets its peers before it chooses a device" if binds else "the program chooses no device"
        yield simple(RULE, title, LIKELY, [f"the first meeting: {lines[meets]}"], _STEPS)
        return


def _current_device(case: Case) -> Iterator[Finding]:
    """Code that makes communicators of the library for several ranks, none of which chooses a device before."""
    if not any(one.find(HALTS) for one in accounts(case)) and not saying(case, _REFUSED):
        return
    made: list[str] = []
    for account in accounts(case):
        lines = [line.text for line in account.code]
        if any(map(_CHOOSES.search, lines)) or not mostly_code(lines):
            continue
        made += [line for line in lines if _COMMUNICATOR.search(line)][:1]
    if made and not any(one.find(r"_VISIBLE_DEVICES ?=") for one in accounts(case)):
        title = "the program makes a communicator on the device that happens to be current"
        yield simple(RULE, title, LIKELY, [f"no device is chosen before: {line}" for line in made[:2]], _STEPS)


def _one_bus_id(case: Case) -> Iterator[Finding]:
    """Ranks of one communicator that begin to initialise it on one host with one GPU: NCCL tells the bus id of each."""
    at: dict[tuple[object, ...], dict[int, str]] = {}
    for event in events(case, "nccl.comm_init_start"):
        told = event.fields
        if event.rank is None or event.host is None or not told.get("bus_id") or not told.get("comm_id"):
            continue
        at.setdefault((event.host, told["bus_id"], told["comm_id"]), {})[event.rank] = event.text
    for (host, bus_id, _), ranks in at.items():
        if len(ranks) > 1:
            title = f"ranks {RankSet(ranks)} use one GPU of {host} (bus id {bus_id})"
            yield simple(RULE, title, LIKELY, list(ranks.values())[:3], _STEPS, RankSet(ranks))
            return


def _crowded(case: Case) -> Iterator[Finding]:
    """The table of processes of a job that waits: several of one program on one device, and none on another."""
    held: dict[object, set[object]] = {}
    names: dict[object, set[object]] = {}
    for event in events(case, "gpu.process"):
        kind, used = str(event.fields.get("type", "C")), event.fields.get("used_mib")
        if kind.startswith("C") and used != 0 and (used is not None or kind == "C"):  # pmon tells no memory
            held.setdefault(event.fields.get("gpu"), set()).add(event.pid)
            names.setdefault(event.fields.get("gpu"), set()).add(event.fields.get("name"))
    crowded = [gpu for gpu, pids in held.items() if len(pids) > 1 and len(names[gpu]) == 1]
    if (
        len(held) == 1
        and crowded
        and any(
            one.find(HALTS + r"|barrier|all_?reduce|broadcast|all_?gather|init_process_group") for one in accounts(case)
        )
    ):
        title = f"{len(held[crowded[0]])} processes of one program use GPU {crowded[0]}, and no other is in use"
        yield simple(
            RULE,
            title,
            LIKELY,
            [f"GPU {crowded[0]}: pids {', '.join(map(str, sorted(map(str, held[crowded[0]]))[:8]))}"],
            _STEPS,
        )


def _models_together(case: Case) -> Iterator[Finding]:
    """The table of processes of several GPUs: processes of one program, of which each has most of its memory on one and the same
    GPU, and no more than a context on another one that it was meant to work on."""
    used: dict[tuple[object, object], dict[object, int]] = {}
    for event in events(case, "gpu.process"):
        told, mib = event.fields, event.fields.get("used_mib")
        if event.pid is not None and isinstance(mib, int) and str(told.get("type", "C")).startswith("C"):
            used.setdefault((told.get("name"), event.pid), {})[told.get("gpu")] = mib
    main: dict[tuple[object, object], dict[object, dict[object, int]]] = {}
    for (name, pid), held in used.items():
        gpu = max(held, key=lambda one: held[one])
        if (
            len(held) > 1
            and held[gpu] > _CONTEXT_MIB
            and max(mib for at, mib in held.items() if at != gpu) < _CONTEXT_MIB
        ):
            main.setdefault((name, gpu), {})[pid] = held
    for (_, gpu), by_pid in main.items():
        own = {other for held in by_pid.values() for other in held if other != gpu}
        if len(by_pid) > 1 and len(own) >= len(by_pid):  # one of which all have a context is where they began
            title = f"{len(by_pid)} processes keep their data on GPU {gpu}, and have but a context on one of their own"
            lines = [
                f"pid {pid}: " + ", ".join(f"GPU {at} {mib} MiB" for at, mib in held.items())
                for pid, held in by_pid.items()
            ]
            yield replace(simple(RULE, title, LIKELY, lines[:4], _STEPS), compared=True)
            return


# Memory in use, GPU by GPU: how monitors, people and gpustat write it.
_USED = regex(
    r"^\W*(?:gpu|cuda|device|card) ?[#:]? ?(?P<gpu>\d{1,2})\b[^\n]{0,60}?(?P<used>\d{1,7})(?: ?/ ?\d{3,7})? ?(?P<unit>[MG])i?B\b",
    re.I,
)
_WORKERS = r"\b(?:ranks?|workers?|actors?|processes|per GPU|torchrun|nproc\w*)\b"
_FULL_MIB, _IDLE_MIB = 8 << 10, 700  # what a model fills, and what a driver or a context takes


def _one_filled(case: Case) -> Iterator[Finding]:
    """The memory of all devices of a job of several ranks that lacks memory or stands: one is full, the others are empty."""
    if not any(one.find(HALTS + r"|out[- ]of[- ]memory|OutOfMemory") for one in accounts(case)):
        return
    if not any(one.find(_WORKERS) for one in accounts(case)):
        return
    for account in accounts(case):
        used: dict[object, float] = {}
        for event in account.named("gpu.load"):
            if isinstance(mib := event.fields.get("used_mib"), int):
                used[event.fields.get("gpu")] = mib
        for event in account.events:
            if told := _USED.match(event.text):
                used[int(told["gpu"])] = int(told["used"]) * (1024 if told["unit"] in "gG" else 1)
        full = [gpu for gpu, mib in used.items() if mib >= _FULL_MIB]
        if len(full) == 1 and len(used) > 2 and all(mib < _IDLE_MIB for gpu, mib in used.items() if gpu != full[0]):
            title = f"all that is in use is on GPU {full[0]}; the other {len(used) - 1} are empty"
            lines = [f"GPU {gpu}: {mib:.0f} MiB" for gpu, mib in list(used.items())[:4]]
            yield simple(RULE, title, LIKELY, lines, _STEPS)
            return


_CONTEXT_MIB = 1800  # what a process takes of a device that it only once asked for something
_ALIKE = 0.1  # contexts of one program differ by less


def _contexts(case: Case) -> Iterator[Finding]:
    """One GPU that, beside the process that works on it, has contexts of the same program: small, and all alike."""
    held: dict[tuple[object, object], dict[object, int]] = {}
    for event in events(case, "gpu.process"):
        told, used = event.fields, event.fields.get("used_mib")
        if isinstance(used, int) and str(told.get("type", "C")).startswith("C"):
            held.setdefault((told.get("gpu"), told.get("name")), {})[event.pid] = used
    for (gpu, name), by_pid in held.items():
        big, *small = sorted(by_pid.values(), reverse=True)
        if len(small) < 2 or not 0 < small[0] <= min(_CONTEXT_MIB, big / 2) or small[-1] < small[0] * (1 - _ALIKE):
            continue
        title = (
            f"{len(small)} more processes of {name} hold {small[0]} MiB each of GPU {gpu}, on which another one works"
        )
        lines = [f"GPU {gpu}: pid {pid} {mib} MiB" for pid, mib in list(by_pid.items())[:4]]
        # Such contexts waste memory; that they are why a job stands is another thing.
        stands = any(one.find(HALTS) for one in accounts(case))
        yield simple(RULE, title, POSSIBLE if stands else LIKELY, lines, _STEPS)
        return


RULE = make_rule(__name__, __doc__, "device-mapping", 16, check)
