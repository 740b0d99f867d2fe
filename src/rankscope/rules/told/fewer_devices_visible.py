"""The ranks of a node see fewer devices than there are ranks of it.

## What it means
`CUDA_VISIBLE_DEVICES` is the same for all of them and names too few: it is set in the shell that starts the launcher, or by the program itself, which
each rank runs. Some rank asks for a device that it does not see, or several take the same one and wait for each other in their first call.

## How it is recognised
A launcher is told to start several processes on a node, and on its command line, or in the program by a value that is the same for all ranks, fewer devices
are made visible; and somebody says that it hangs, or a device was refused. That a program sets the variable to a value that nobody shows, while its ranks stand
in their first call, is possible at most.

## What to do
Take the setting out of the program; name as many devices as ranks before the launcher (`CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 …`), and let
each rank take its own by `LOCAL_RANK`.

## How to prevent it
No visible devices in code that is started by a launcher. Mechanism: https://github.com/DLLXW/baby-llama2-chinese/issues/37
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._before_meeting import PER_NODE, number
from ._findings import simple
from ._signs import LIKELY, POSSIBLE
from ._wordings import HALTS

_STEPS = (
    "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node=2 …   # as many devices as ranks, and none in the program",
    'python -c "import torch; print(torch.cuda.device_count())"   # at the place where the program chooses its device',
)
_NAME = r"(?:CUDA|HIP|ROCR|ASCEND_RT)_VISIBLE_DEVICES"
_LIST = r"[\"']?(?P<devices>\d{1,3}(?: ?, ?\d{1,3}){0,63})[\"']?"
# The shell of a launcher (sh(1): a variable before a command).
_BEFORE = regex(rf"\b{_NAME}={_LIST} (?P<command>[^\n]{{1,1000}})")
# The program: what it sets holds for each rank that runs it.
_SETS = regex(rf"\benviron(?:\.setdefault\(|\[)[\"']{_NAME}[\"'](?:\]|,)(?P<rest>[^\n]{{0,120}})")
_VALUE = regex(rf"(?: ?=)? ?{_LIST}\)?;?\s*(?:#[^\n]*)?\Z")
_REFUSED = r"invalid device ordinal|\bInvalid device id\b|Duplicate GPU detected"
_FIRST_CALL = (
    r"\b(?:first|very first|initial) (?:\w+ )?(?:collective|barrier|call|all_?reduce|broadcast|all_?gather|communication)\b|"
    r"\bSeqNum=1\b|\b(?:DistributedDataParallel|DDP|init_process_group)\b"
)


def check(case: Case) -> Iterator[Finding]:
    told = accounts(case)
    if case.snapshot.live or not any(one.find(rf"{HALTS}|{_REFUSED}") for one in told):
        return
    ranks = max((each for one in told if (each := number(PER_NODE, one.said))), default=0)
    if (line := _in_the_shell(told)) is not None:
        yield simple(RULE, "fewer devices are made visible to a launcher than it starts ranks", LIKELY, [line], _STEPS)
    elif ranks > 1 and (found := _in_the_program(told)) is not None:
        line, devices = found
        if 0 < devices < ranks:
            title = (
                f"the program, of which {ranks} ranks are started on a node, makes {devices} visible to each of them"
            )
            yield simple(RULE, title, LIKELY, [line], _STEPS)
        elif not devices and any(one.find(_FIRST_CALL) for one in told):
            title = f"the program, of which {ranks} ranks are started on a node, sets itself which devices it sees"
            against = ("what it sets is not shown: as many devices as there are ranks do no harm",)
            yield simple(RULE, title, POSSIBLE, [line], _STEPS, against=against)


def _in_the_shell(told: Iterable[Account]) -> str | None:
    """A command that starts more processes on a node than it names devices before it."""
    for found in (found for one in told for found in _BEFORE.finditer(one.said)):
        if (number(PER_NODE, found["command"]) or 0) > _count(found["devices"]):
            return found.group()
    return None


def _in_the_program(told: Iterable[Account]) -> tuple[str, int] | None:
    """The line by which a program makes devices visible to itself, and how many: 0 where the value is not shown.

    What depends on a rank, or is another in other branches, is not the same for all.
    """
    lines = [line.strip() for one in told for line in one.said.splitlines() if _SETS.search(line)]
    lines = [line for line in lines if not line.startswith("#")]
    if not lines or any(re.search(r"rank|_id\b|index|\bi\b", line, re.IGNORECASE) for line in lines):
        return None
    values = [_VALUE.match(found["rest"]) for line in lines if (found := _SETS.search(line))]
    named = {value["devices"] if value else None for value in values}
    if len(named) > 1:
        return None
    value = named.pop()
    shows = value is not None or not re.search(r"[=(]", lines[0].split("VISIBLE_DEVICES", 1)[1])
    return (lines[0], _count(value) if value else 0) if shows else None


def _count(devices: str) -> int:
    return len(set(re.findall(r"\d+", devices)))


RULE = make_rule(__name__, __doc__, "device-mapping", 17, check)
