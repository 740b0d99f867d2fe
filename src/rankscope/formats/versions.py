"""Versions of libraries wherever a text names them."""

# ruff: noqa: E501  (a pattern or a row of a table is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ..model.evidence.events import Event
from .lines import Line

# name as we write it → how people and programs write it before a version
_NAMES = {
    "torch": r"(?:py)?torch(?:[ _-]?version)?", "nccl": r"(?:nvidia-)?(?:lib)?nccl(?:-cu\d+)?(?:[ _-]?version)?(?: code| runtime)?", "cuda": r"cuda(?:[ _-]?(?:version|runtime|toolkit))?",
    "driver": r"(?:nvidia[ -])?driver(?:[ _-]version)?", "python": r"(?:c?python)", "glibc": r"glibc", "kernel": r"(?:linux[ -])?kernel(?:[ _-]version)?",
    "vllm": r"vllm", "sglang": r"sglang", "ray": r"ray", "deepspeed": r"deepspeed", "megatron": r"megatron(?:-core|-lm)?", "transformers": r"transformers",
    "accelerate": r"accelerate", "lightning": r"(?:pytorch[ -]?)?lightning", "datasets": r"datasets", "triton": r"triton", "horovod": r"horovod",
    "openmpi": r"open ?mpi", "ofed": r"(?:mlnx[_-])?ofed", "numpy": r"numpy", "polars": r"polars", "wandb": r"wandb", "grpc": r"grpc(?:io)?",
    "rocm": r"rocm", "rccl": r"rccl", "gloo": r"gloo", "efa": r"(?:aws-)?ofi-nccl|libfabric", "cudnn": r"cudnn", "tensorflow": r"tensorflow",
    "jax": r"jax", "docker": r"docker", "slurm": r"slurm", "fabricmanager": r"fabric ?manager(?:[ _-]version)?",
    "dask": r"dask(?:\[\w+\])?|distributed", "celery": r"celery", "kombu": r"kombu", "flashinfer": r"flashinfer(?:[ _-]python)?", "joblib": r"joblib", "loky": r"loky",
    "ucx": r"ucx", "gunicorn": r"gunicorn", "pyarrow": r"pyarrow", "tokenizers": r"tokenizers",
}  # fmt: skip
_PATTERN = re.compile(
    r"(?<![\w./-])(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _NAMES.items())
    + r")\s*(?:[:=@]{1,2}|-|is|>=|<=|>|<|v)?\s*v?(?P<version>\d+\.\d+(?:\.\d+)*(?:[+.-](?:cu|cuda|rocm|post|rc|dev|a|b)[\w.]*)?)(?![\w/])",
    re.IGNORECASE,
)  # fmt: skip


def versions_of(line: Line) -> Iterator[Event]:
    """An event per version named in a line."""
    for found in _PATTERN.finditer(line.text[:4000]):
        name = next(key for key in _NAMES if found[key])
        yield Event(
            "text.version", line=line.number, text=line.text, fields={"name": name, "version": found["version"]}
        )
