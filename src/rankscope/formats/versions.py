"""Versions of libraries wherever a text names them: lists of packages, reports of an environment, sentences, paths of libraries."""

# ruff: noqa: E501  (a pattern or a row of a table is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ..model.evidence.events import Event
from ..model.patterns import regex
from ..model.repeated import of_texts
from .lines import WORDS_LIMIT, Line

# name as we write it → how people and programs write it before a version
_NAMES = {
    "torch": r"(?<!to build )(?:py)?torch", "nccl": r"(?:nvidia-)?(?:lib)?nccl2?(?:-cu\d{1,4})?(?: code| runtime)?", "cuda": r"cuda used to build (?:py)?torch|cuda(?:toolkit)?(?:[ _-](?:runtime|toolkit))?",
    "driver": r"(?:nvidia[ _-])?driver|NVRM[^\n]{0,40}?Kernel Module|NVIDIA-SMI", "python": r"c?python3?", "glibc": r"glibc|ldd \(\w+ libc\)", "kernel": r"(?:linux[ -])?kernel|linux",
    "vllm": r"vllm", "sglang": r"sglang", "ray": r"ray", "deepspeed": r"deepspeed(?: info)?", "megatron": r"megatron(?:[-_ ](?:core|lm))?", "transformers": r"transformers",
    "accelerate": r"accelerate", "lightning": r"(?:pytorch[ _-]?)?lightning", "datasets": r"datasets", "triton": r"(?:pytorch-)?triton", "horovod": r"horovod",
    "openmpi": r"open ?mpi\)?", "ofed": r"(?:mlnx[_-])?ofed", "numpy": r"numpy", "polars": r"polars", "wandb": r"wandb", "grpc": r"grpc(?:io)?",
    "rocm": r"rocm", "rccl": r"rccl", "gloo": r"gloo", "efa": r"(?:aws-)?ofi-nccl", "libfabric": r"libfabric", "cudnn": r"cudnn", "tensorflow": r"tensorflow(?:-gpu)?",
    "jax": r"jax(?:lib)?", "docker": r"docker", "slurm": r"slurm", "fabricmanager": r"fabric ?manager", "openblas": r"(?:lib)?openblas(?:64)?", "mpi4py": r"mpi4py", "tensorrt_llm": r"tensorrt[-_ ]llm",
    "dask": r"dask|distributed", "celery": r"celery", "kombu": r"kombu", "flashinfer": r"flashinfer(?:[ _-]python)?", "joblib": r"joblib", "loky": r"loky", "peft": r"peft", "trl": r"trl",
    "ucx": r"uc[xt]", "gunicorn": r"gunicorn", "pyarrow": r"pyarrow", "tokenizers": r"tokenizers", "numba": r"numba", "mkl": r"mkl", "pmix": r"pmix", "mpich": r"mpich", "cann": r"cann", "torch_npu": r"torch[_-]npu", "mindspore": r"mindspore", "rocprofiler": r"rocprof(?:iler)?(?:-sdk|v\d)?", "nvshmem": r"nvshmem", "cupy": r"cupy(?:-cuda\d+x)?", "lightgbm": r"lightgbm", "xgboost": r"xgboost", "hdf5": r"(?:lib)?hdf5", "fsspec": r"fsspec", "s3fs": r"s3fs", "flash_attn": r"flash[_-]attn", "xformers": r"xformers", "bitsandbytes": r"bitsandbytes", "uvicorn": r"uvicorn", "optree": r"optree", "paddle": r"paddle(?:paddle)?(?:-gpu)?", "mxnet": r"mxnet", "gevent": r"gevent", "libgomp": r"libgomp",
}  # fmt: skip
_VERSION = r"\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:[+.-](?:cu|cuda|hip|rocm|post|rc|dev|a|b)[\w.]*)?(?![\w/])"
_NO_UNIT = r"(?! ?(?:%|(?:s|ms|secs?|seconds?|min|minutes?|h|hours?|[KMGT]i?B|x|it/s)\b))"
# Between a name and its version: the word version, a sign, dots that lead to a column, quotes.
_BETWEEN = (
    r"(?:\[[\w,]+\])?[`\"']{0,2}(?:[ _-]?(?:API server|package|library|info)?[ _-]?version)?(?: \(\w+\??\))?[`\"']?,?\s{0,16}"
    r"(?:[:=@]{1,2}|-|\.{3,}|is|>=|<=|>|<|\()?\s{0,16}[`\"']?v?"
)
_NAMED = "|".join(f"(?P<{name}>{words})" for name, words in _NAMES.items())
_PATTERN = regex(
    rf"(?:(?<![\w./-])|(?<=-with-))(?:{_NAMED}){_BETWEEN}(?P<version>{_VERSION}){_NO_UNIT}"
    rf"(?: ?(?:to|->|→|and) v?(?P<other>{_VERSION}){_NO_UNIT})?", re.IGNORECASE,
)  # fmt: skip
_CHANGED = regex(
    rf"(?<![\w./-])(?:{_NAMED})[^\d\n.;]{{0,30}}\bfrom v?(?P<version>{_VERSION}) ?(?:to|->|→) ?v?(?P<other>{_VERSION})", re.IGNORECASE
)  # fmt: skip
# As programs print a release that is a tuple: torch.cuda.nccl.version() and mpi4py's get_vendor().
_TUPLE = regex(
    rf"(?<![\w./-])(?:{_NAMED})(?:\.version\(\)|[ _-]version)?[`\"']?\W{{0,6}}\((?P<version>\d+, \d+(?:, \d+)?)\)",
    re.IGNORECASE,
)
# Names of files that bear a version: name as we write it → what stands around the version.
_FILES = {
    "nccl": r"libnccl\.so\.(\d+\.\d+(?:\.\d+)*)", "driver": r"lib(?:cuda|nvidia-[a-z]+|nvcuvid)\.so\.(\d{3}\.\d+(?:\.\d+)?)", "glibc": r"\b(?:libc|ld|libpthread|libdl)-(\d\.\d+)\.so",
    "python": r"libpython(\d\.\d+)\w?\.so", "kernel": r"\bLinux-(\d+\.\d+\.\d+)", "ucx": r"/ucx-v?(\d+\.\d+(?:\.\d+)*)/", "openmpi": r"/openmpi[-/]v?(\d+\.\d+(?:\.\d+)*)/",
    "cuda": r"/cuda-(\d+\.\d+)/", "rocm": r"/rocm-(\d+\.\d+(?:\.\d+)*)/", "openblas": r"libopenblas\w*\.so\.(\d+\.\d+\.\d+)",
    "libfabric": r"/libfabric-(\d+\.\d+(?:\.\d+)*)/", "rccl": r"librccl\.so\.(\d+\.\d+\.\d+)",
}  # fmt: skip
_IN_FILES = tuple((name, regex(shape)) for name, shape in _FILES.items())
# A wheel's own copy of OpenBLAS 0.3.5 is called libopenblasp-r0-HASH.3.5.so: the zero stands before the hash.
_WHEEL = regex(r"libopenblas\w*-r(0)(?:-[0-9a-f]{8})?((?:\.\d+){2})")
# A line that has none of these names no version: to look for plain words is much faster than to try all patterns.
_NEEDLES = (
    "torch", "nccl", "cuda", "driver", "nvrm", "nvidia", "python", "libc", "kernel", "linux", "vllm", "sglang", "ray", "deepspeed", "megatron", "transformers",
    "accelerate", "lightning", "datasets", "triton", "horovod", "mpi", "ofed", "numpy", "polars", "wandb", "grpc", "rocm", "rccl", "gloo", "libfabric",
    "cudnn", "tensor", "jax", "docker", "slurm", "fabric", "openblas", "dask", "distributed", "celery", "kombu", "flashinfer", "joblib", "loky", "peft",
    "trl", "uc", "gunicorn", "pyarrow", "tokenizers", "numba", "mkl", "pmi", "gevent", "libgomp", "cann", "mindspore", "rocprof",
    "nvshmem", "cupy", "lightgbm", "xgboost", "hdf5", "fsspec", "s3fs", "flash", "xformers", "bitsandbytes", "uvicorn", "optree", "paddle", "mxnet",
)  # fmt: skip


def versions_of(line: Line) -> Iterator[Event]:
    """An event per version named in a line."""
    for name, version in _versions(line.text[:WORDS_LIMIT]):
        yield Event("text.version", line=line.number, text=line.text, fields={"name": name, "version": version})


@of_texts
def _versions(text: str) -> tuple[tuple[str, str], ...]:
    """What is named, each with its version, once."""
    lower = text.lower()
    if ("." not in text and ", " not in text) or not any(needle in lower for needle in _NEEDLES):
        return ()
    return tuple(dict.fromkeys((*_named(text), *_of_files(text))))


def _named(text: str) -> Iterator[tuple[str, str]]:
    for pattern in (_PATTERN, _CHANGED):
        for found in pattern.finditer(text):
            name = next(key for key in _NAMES if found[key])
            yield name, found["version"]
            if found["other"]:
                yield name, found["other"]

    for found in _TUPLE.finditer(text) if ", " in text else ():
        yield next(key for key in _NAMES if found[key]), found["version"].replace(", ", ".")


def _of_files(text: str) -> Iterator[tuple[str, str]]:
    if ".so" not in text and "/" not in text and "Linux-" not in text:
        return
    for name, shape in _IN_FILES:
        for found in shape.finditer(text):
            yield name, found[1]
    for found in _WHEEL.finditer(text):
        yield "openblas", found[1] + found[2]
