"""finding → the same without steps that are for a library of which saved evidence shows nothing.

A rule knows a mechanism, and its steps name the library in which people meet it most. Whoever asks about an MPI code, or a server
without any ranks, cannot type ``torchrun``.
"""

from __future__ import annotations

from dataclasses import replace

from ..model.diagnosis import Finding, Step
from ..model.patterns import regex
from .accounts import accounts
from .case import Case
from .remembered import remembered

_FOR_TORCH = regex(r"\btorchrun\b|\bTORCH_[A-Z]|\bdist\.[a-z]")
_TORCH = (
    r"torch|\bc10d?\b|\bddp\b|\bfsdp\b|deepspeed|megatron|lightning|\baccelerat\w+|transformers|\bvllm\b|sglang|\bgloo\b|"
    r"ProcessGroup|\bnn\.|\bTCPStore\b|\bpeft\b|diffusers|\btrainer\b|inductor|dynamo|\btriton|hugging ?face|\bhf[_-]"
)
_RANKS = (
    r"\branks?\b|world[_ ]?size|all_?reduce|all_?gather|all_?to_?all|\bbarrier\b|broadcast|\b[nrh]ccl|\bcuda|\bgpus?\b"
)
_OTHERS = (
    r"\bmpi\w*\b|\bpmix|\borte|horovod|tensorflow|\btf\.|\bkeras|\bjax|\bmxnet|paddle|mindspore|\bdask\b|\bspark\b|chainer|"
    r"lightgbm|xgboost"
)


def fitting(case: Case, finding: Finding) -> Finding:
    """A finding with the steps that its reader can take."""
    kept = tuple(step for step in finding.next if not _FOR_TORCH.search(_command(step)))
    if len(kept) == len(finding.next) or case.snapshot.live or _may_be_torch(case):
        return finding
    return replace(finding, next=kept)


def _command(step: Step | str) -> str:
    return step.command if isinstance(step, Step) else step


@remembered
def _may_be_torch(case: Case) -> bool:
    """Whether the evidence is of PyTorch, or of ranks of which nothing tells what they run on."""
    if any(one.find(_TORCH) for one in accounts(case)):
        return True
    return any(one.find(_RANKS) for one in accounts(case)) and not any(one.find(_OTHERS) for one in accounts(case))
