"""A forked worker sleeps inside a library that keeps threads or locks, in code that shows no Python frame of its own.

## What it means
py-spy and faulthandler show Python frames only. A worker that waits in native code (an OpenMP barrier, an empty thread
pool) or at `with lock:` of a library ends in the Python function that called it. When the library was in use before the
fork, what it waits for stayed in the parent.

## How it is recognised
The stack is that of a forked child (`_worker_loop`, `_launch` of `popen_fork`, a pool's `worker`), it is idle, and its
innermost frame belongs to a library that computes with threads (BLAS through numpy and scipy, PyTorch's CPU operators,
Polars, Arrow, tokenizers, gradient boosting) or that guards its state with locks and helper threads (clients, tracers, log
sinks), not to a wait for data, network or files.

## What to do
`py-spy dump --native --pid WORKER` names the wait. `multiprocessing_context="spawn"`, `torch.set_num_threads(1)` and
`cv2.setNumThreads(0)` in `worker_init_fn`, clients opened in the worker.

## How to prevent it
Fork before the first use, or not at all. Mechanism: https://github.com/pytorch/pytorch/issues/33296,
https://github.com/benoitc/gunicorn/issues/2478
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import kind_of, wait_of
from ...analysis.origin import module_path
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Stack
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._forks import FRESH_FRAMES, is_child
from ._signs import POSSIBLE, Hit, Sign

_LIBRARY = regex(
    r"^(?:torch/(?:nn/(?:functional|modules/\w+)|functional|_tensor|_ops|linalg/\w+|fft/\w+|autograd/function|_jit_internal)|torchvision/transforms/\S+|torchaudio/\S+|"
    r"(?:numpy|scipy|sklearn|polars|pyarrow|tokenizers|transformers/tokenization\w*|xgboost|lightgbm|catboost|faiss|"
    r"numba|numexpr|onnxruntime|tensorflow|keras|jax|jaxlib|"
    r"duckdb|spacy|stanza|ctranslate2|sentence_transformers|skimage|albumentations|kornia|pyvips|dgl|torch_geometric|"
    r"redis|kombu|pymongo|motor|kafka|confluent_kafka|pika|cassandra|couchbase|elasticsearch|grpc|"
    r"google/(?:cloud|api_core|auth)|azure|botocore|s3fs|gcsfs|fsspec|"
    r"opentelemetry|ddtrace|datadog|newrelic|sentry_sdk|elasticapm|prometheus_client|statsd|wandb|mlflow|neptune|comet_ml|loguru|structlog|jpype|py4j|pyspark|zmq)/\S*)\.pyx?$"
)
_PARENTS_LOOP = ("torch/utils/data", "multiprocessing/", "concurrent/futures")


def check(case: Case) -> Iterator[Finding]:
    found = [] if case.snapshot.live else list(_asleep(case))
    if found:
        yield finding(
            RULE, case, found, "a forked worker sleeps inside a library that keeps threads or locks",
            ("py-spy dump --native --pid WORKER", "multiprocessing.set_start_method('spawn')   # or 'forkserver'"),
        )  # fmt: skip


def _asleep(case: Case) -> Iterator[Hit]:
    for account in accounts(case):
        if not is_child(account, False) or account.find(FRESH_FRAMES):
            continue
        for seen in account.seen:
            where = sleeps_in(seen.stack) if seen.thread.active is False else ""
            if where:
                yield Hit(
                    Sign("", "a forked worker is idle in a library, and waits for nothing that Python shows", POSSIBLE),
                    account,
                    where,
                )
                break


def sleeps_in(stack: Stack) -> str:
    """The innermost frame when it is a library's and says nothing of data, network or files; else ""."""
    if (
        not stack
        or kind_of(stack[-1]) not in (None, WaitKind.UNKNOWN, WaitKind.LIBRARY)
        or wait_of(stack).kind is WaitKind.IDLE
    ):
        return ""
    leaf = stack[-1]
    path = module_path(leaf.file)
    if leaf.library is not None or path.startswith(_PARENTS_LOOP) or not _LIBRARY.match(path):
        return ""
    return f"{leaf.function} ({path}:{leaf.line})"


RULE = make_rule(__name__, __doc__, "fork-with-threads", 39, check)
