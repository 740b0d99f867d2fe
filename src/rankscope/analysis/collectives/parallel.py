"""What a process group is for, from the names that frameworks give, and where a rank stands in the job's parallelism."""

from __future__ import annotations

from ...model.evidence.recorder import Recorder
from ...model.patterns import regex

# Megatron, DeepSpeed, torch's DeviceMesh and others: the shortest name people use, and what the description says.
_ROLES = (
    ("TP", r"(?<!and_)(?:tensor_model_parallel|tensor_parallel|(?:^|[_\W])tp)(?:_group)?$"),
    ("PP", r"(?:pipeline_model_parallel|pipeline_parallel|pipeline|(?:^|[_\W])pp)(?:_group)?$"),
    ("EP", r"^(?:expert_model_parallel|expert_parallel|ep)(?:_group)?$"),
    ("CP", r"^(?:context_parallel|cp)(?:_group)?$"),
    ("SP", r"^(?:sequence_parallel|sp)(?:_group)?$"),
    ("DP", r"^(?:data_parallel(?:_group)?(?:_with_cp)?|dp|dp_shard|dp_replicate|fsdp|ddp)(?:_group)?$"),
)
_PATTERNS = tuple((role, regex(pattern)) for role, pattern in _ROLES)


def role(desc: str) -> str:
    """``TP`` for ``TENSOR_MODEL_PARALLEL_GROUP``; empty where the description says nothing we know."""
    text = desc.strip().lower().replace("mesh_", "")
    return next((name for name, pattern in _PATTERNS if pattern.search(text)), "")


def coordinates(recorder: Recorder, rank: int) -> str:
    """``TP 1, PP 1, EP 1``: the rank's place in each group whose purpose is known; groups of one say nothing."""
    places: dict[str, int] = {}
    for config in recorder.groups:
        name = role(config.desc)
        if name and rank in config.ranks and len(config.ranks) > 1:
            places.setdefault(name, config.ranks.index(rank))
    return ", ".join(f"{name} {places[name]}" for name, _ in _ROLES if name in places)
