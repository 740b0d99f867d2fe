"""The pasted program uses a library with threads, and then forks workers that use it too.

## What it means
BLAS and OpenMP kernels, tokenizers, JAX, TensorFlow, Polars, Arrow, gRPC, object-store and data-base clients start threads
at their first use. A worker that is forked afterwards has the library's books but none of its threads: its first call never
returns. Small calls, done without threads, may.

## How it is recognised
In the code a line of the parent (module level, or the function that starts the workers) calls the library, a later line
starts workers by fork (`DataLoader(num_workers=…)`, `Pool`, `ProcessPoolExecutor`, `Process`, `os.fork`,
`map(num_proc=…)`), and a function that runs in the worker calls the same library, or is one of it (`pool.map(np.linalg.inv, …)`). No start method other than fork is set.
It needs a report that something hangs. Of GLib the import of Gtk in the parent is enough, which starts its connection to the bus and a thread for it.

## What to do
Make the first use of the library happen in the workers (delete the call in the parent to prove it), or
`multiprocessing.set_start_method("spawn")`, `mp_context=multiprocessing.get_context("spawn")`,
`TOKENIZERS_PARALLELISM=false`, `OMP_NUM_THREADS=1`.

## How to prevent it
Workers first, libraries later; a fork-free start method by default. Mechanism:
https://github.com/huggingface/tokenizers/issues/187, https://github.com/numpy/numpy/issues/15973,
https://github.com/OpenMathLib/OpenBLAS/issues/294
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.pasted_code import Line, code_in
from ...model.diagnosis import Finding
from ...model.patterns import regex
from ...model.repeated import found_in
from .. import make_rule
from ._findings import finding
from ._lines import events
from ._signs import LIKELY, POSSIBLE, Hit, Sign
from ._wordings import halted

_FAMILIES = tuple(
    (name, regex(pattern))
    for name, pattern in (
        ("BLAS", r"\w\)? @ \w|\.dot\(|\bnp\.(?:linalg|matmul|einsum|inner)|\bnumpy\.linalg|\bmatmul\(|scipy\.linalg|\.svd\(|\.cholesky\(|\.eigh?\("),
        ("numexpr", r"\bne\.evaluate\(|\bnumexpr\.(?:evaluate|NumExpr|re_evaluate)\b"),
        ("tokenizers", r"(?i:tokenizer)\w*(?:\.\w+)?\(|\.encode(?:_batch|_plus)?\("),
        ("JAX", r"\bjnp\.\w|\bjax\.(?!distributed)\w"),
        ("TensorFlow", r"\btf\.\w|\bkeras\.\w|\.predict\("),
        ("Polars", r"\bpl\.\w|\bpolars\.\w"),
        ("Arrow", r"\bpa\.\w|\bpq\.\w|\bpyarrow\.\w|read_parquet\("),
        ("DuckDB", r"\bduckdb\.\w"),
        ("gRPC", r"\bgrpc\.\w|_stub\b|\bstub\."),
        ("an object store", r"\bs3fs\.|\bgcsfs\.|\bfsspec\.|\bzarr\.open|open_zarr\(|\bfs\.(?:open|ls|cat|get)"),
        ("a data-base client", r"\bMongoClient\b|\bcreate_engine\(|\bpsycopg2?\.|\bredis\.|\bcollection\.|\bdb\.\w|\bcursor\."),
        ("Kafka", r"\b(?:Kafka)?(?:Producer|Consumer)\(|\bproducer\.|\bconsumer\."),
        ("OpenCV", r"\bcv2\.\w"),
        ("faiss", r"\bfaiss\.\w|\bindex\.(?:search|add)\("),
        ("gradient boosting", r"\bxgb\.\w|\blgb\.\w|\bXGB\w+\(|\bLGBM\w+\(|\bDMatrix\("),
        ("scikit-learn", r"\bKMeans\(|\bRandomForest\w+\(|\.fit\(|\.fit_predict\("),
        ("PyTorch's autograd", r"\.backward\(|\bautograd\.(?:grad|backward)\("),
        ("PyTorch on the CPU", r"\btorch\.(?!utils|multiprocessing|load|save|no_grad|device|manual_seed|distributed|cuda|Size|dtype|float\w*|long|int\w*|from_numpy|backends|set_num)\w+\(|\bmodel\("),
        ("a Java machine", r"\bjpype\.|\bHanLP\.|\bpyhanlp|\bjnius\."),
    )
)  # fmt: skip
# Libraries that start threads when they are imported, and what a child does that waits for these.
_IMPORTED = (
    ("GLib", regex(r"from gi\.repository import\b.*\b(?:Gtk|Gdk|Gst|WebKit2?|Wnck)\b"), regex(r"\b(?:System|Session)Bus\(|\b(?:Gio|Gtk|Gdk|Gst|GLib)\.\w|\bbus_get(?:_sync)?\(|\bdbus\.\w")),
)  # fmt: skip
_STARTS = regex(
    r"\b(?:ProcessPoolExecutor|(?:mp|multiprocess(?:ing)?|torch\.multiprocessing|ctx|billiard)\.(?:Pool|Process)|Pool|"
    r"Process)\(|\bos\.fork\(\)|\bDataLoader\(.*num_workers ?= ?[1-9]|num_workers ?= ?[1-9]|"
    r"num_proc ?= ?(?:[2-9]|1\d)|\b(?:SubprocVecEnv|SubprocVectorEnv|AsyncVectorEnv|AsyncVecEnv|ProcessPool)\(|"
    r"Parallel\([^)]*(?:multiprocessing|n_jobs)"
)
# What workers are given to run; a function of a library is used by them although no function of the program calls it.
_HANDED = regex(
    r"\b(?:apply|apply_async|map|map_async|imap|imap_unordered|starmap|starmap_async|submit|Process)\(\s*(?:(?:None, ?)?target ?= ?)?(?P<what>\w+(?:\.\w+)+)(?=[,)])"
)
# Somebody waited for it and then did not.
_BROKEN_OFF = r"^\W{0,3}\^C\s*$|^KeyboardInterrupt\b"
# Loader workers do operators of PyTorch all the time; it makes them use one thread itself.
_LOADER = regex(r"num_workers|DataLoader")
# These do nothing at all in a child of a process that has used them.
_NEVER_AFTER_A_FORK = {"JAX", "TensorFlow", "gRPC", "GLib"}
_NOT_FORK = regex(r"^(?!.*(?:works?|fine|prints?|passes|ok|helps?|finish\w*)).*(?:spawn|forkserver)", re.I)
_DEF = regex(r"(?:async )?def (\w+)\(|class (\w+)")
_NO_CALL = regex(r"(?:from|import|def|class|@|#|return$|print\(['\"])")
_STEPS = (
    "multiprocessing.set_start_method('spawn')   # before anything else",
    "take the library's call in the parent away: if the workers go on, this is it",
)


@dataclass(frozen=True)
class Used:
    """A library, the line of the parent that uses it, and the line that forks."""

    library: str
    call: str
    start: str


def check(case: Case) -> Iterator[Finding]:
    found = [] if case.snapshot.live else list(_used(case))
    if found:
        yield finding(RULE, case, found, "a library was in use when the workers that use it were forked", _STEPS)


def _used(case: Case) -> Iterator[Hit]:
    for account in accounts(case):
        lines = code_in([event.text for event in account.events if event.event == "text.line"])
        used = used_before_fork(lines)
        broken_off = used is not None and any(one.find(_BROKEN_OFF) for one in accounts(case))
        if used is not None and (halted(case) or broken_off or used.library in _NEVER_AFTER_A_FORK):
            sure = LIKELY if halted(case) or broken_off else POSSIBLE
            yield Hit(Sign("", f"{used.library} is used before the workers are forked", sure), account, used.call)
            return
        if used is None and (call := _in_the_child(lines)) and (_spins(case) or halted(case)):
            says = "BLAS, whose threads began when the parent imported it, is called in a child of os.fork()"
            yield Hit(Sign("", says, LIKELY if _spins(case) else POSSIBLE), account, call)
            return


_FORKS = regex(r"\bos\.fork\(\)")
_HAS_BLAS = regex(r"(?:import|from) [^#\n]*\b(?:numpy|scipy)\b")
_FULL = 90  # per cent of a CPU


def _in_the_child(lines: Sequence[Line]) -> str | None:
    """The line behind a plain fork that calls BLAS, where the module was imported before it."""
    fork = next((at for at, line in enumerate(lines) if found_in(line.text, _FORKS)), None)
    if fork is None or not any(_HAS_BLAS.match(line.text) for line in lines[:fork]):
        return None
    owners, blas = _owners(lines), dict(_FAMILIES)["BLAS"]
    return next((lines[at].text for at in _calls(lines, blas) if at > fork and owners[at] == owners[fork]), None)


def _spins(case: Case) -> bool:
    """Whether a table of processes shows one of Python that computes all the time."""
    rows = [row.fields for row in events(case, "proc.row")]
    cpu = [row.get("cpu") for row in rows if row.get("state") == "R" and "python" in str(row.get("command"))]
    return any(isinstance(one, (int, float)) and one >= _FULL for one in cpu)


def used_before_fork(lines: Sequence[Line]) -> Used | None:
    """The library that both a parent and its forked workers use, the parent first; None where the code shows none."""
    start = next(iter(_calls(lines, _STARTS)), -1)
    if start < 1 or any(_NOT_FORK.search(line.text) for line in lines):
        return None
    owners = _owners(lines)
    for library, pattern in _FAMILIES:
        if library == "PyTorch on the CPU" and _LOADER.search(lines[start].text):
            continue
        if (used := _used_by_both(lines, owners, start, pattern)) is not None:
            return Used(library, used, lines[start].text)
    for library, imports, uses in _IMPORTED:
        imported = next((at for at in range(start) if not owners[at] and found_in(lines[at].text, imports)), None)
        if imported is not None and {owners[at] for at in _calls(lines, uses)} - {"", owners[start]}:
            return Used(library, lines[imported].text, lines[start].text)
    return None


def _calls(lines: Sequence[Line], pattern: re.Pattern[str]) -> list[int]:
    """The lines that call something."""
    return [at for at, line in enumerate(lines) if found_in(line.text, pattern) and not _NO_CALL.match(line.text)]


def _used_by_both(lines: Sequence[Line], owners: list[str], start: int, library: re.Pattern[str]) -> str | None:
    """The line in which a parent uses a library, before it starts workers that use it as well."""
    calls = _calls(lines, library)
    parent = [at for at in calls if at < start and owners[at] in ("", owners[start])]
    handed = parent and any(_hands_over(line.text, library) for line in lines[start:])
    workers = {owners[at] for at in calls} - {"", owners[start]}
    if workers and not parent:
        parent = [at for at in range(start) if _runs(lines[at].text, workers, owners[at])]
    return lines[parent[0]].text if parent and (handed or workers) else None


def _hands_over(text: str, library: re.Pattern[str]) -> bool:
    """Whether a line gives workers a function of the library itself to run."""
    return any(library.match(f"{found['what']}(") for found in _HANDED.finditer(text))


def _runs(text: str, functions: set[str], owner: str) -> bool:
    """Whether a line of the parent itself calls one of these functions."""
    called = re.match(r"(?:\w+ ?= ?)?(\w+)\(", text)
    return not owner and called is not None and called.group(1) in functions


def _owners(lines: Sequence[Line]) -> list[str]:
    """For each line the outermost function or class it stands in, "" at the level of the module."""
    owners, owner, depth = [], "", -1
    for line in lines:
        if line.depth <= depth:
            owner, depth = "", -1
        owners.append(owner)
        if not owner and (named := _DEF.match(line.text)):
            owner, depth = named.group(1) or named.group(2), line.depth
            owners[-1] = owner
    return owners


RULE = make_rule(__name__, __doc__, "fork-with-threads", 30, check)
