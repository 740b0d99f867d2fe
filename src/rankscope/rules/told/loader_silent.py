"""A rank waits for its own input and no deeper reason is visible, while the others wait for that rank.

## What it means
The rank's loader does not deliver: a worker is stuck or gone. The other ranks are in the next collective.

## How it is recognised
One rank stands in `_try_get_data`, `_next_data` or an iterator's `queue.get`, the others in a collective; or the loader itself reports that a worker exited
unexpectedly or that it timed out (also of Keras, MXNet, Paddle, DALI, Grain, tensorpack, Chainer, DGL); or it goes away with `num_workers=0`. If a worker's stack shows a lock, a dead mount or a kill, the
finding is called after that.

## What to do
Look into the workers: `rankscope stacks pid:RANK --children`. `DataLoader(timeout=120)`, `num_workers=0` to confirm, `multiprocessing_context="spawn"`,
`torch.multiprocessing.set_sharing_strategy("file_system")`.

## How to prevent it
Time-outs on remote reads in the data set; no threads before the workers start. Case: https://github.com/facebookresearch/fairseq/issues/4816
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...analysis.doings import doings, in_kind, of_ranks
from ...analysis.frame_tables import WaitKind
from ...analysis.looked_twice import gets_on
from ...model.diagnosis import Finding
from ...model.process import Role
from ...model.ranks import RankSet
from .. import make_rule
from ._findings import finding
from ._outcomes import cured_by
from ._roll_call import WAITING
from ._signs import POSSIBLE, Sign, hits

_COLLECTIVE = (
    r"all_?reduce|all_?gather|reduce_?scatter|broadcast|barrier|all_?to_?all|backward|watchdog|NCCL|collective"
)
_DATA_WAIT = (
    r"(?:_try_get_data|_get_data|_next_data) \((?:[^\n]*/)?dataloader\.py|(?:_try_get_data|_next_data)\b|"
    r"get \((?:[^\n]*/)?(?:queue|multiprocessing/queues)\.py[^\n]*\n(?:[^\n]+\n){0,3}?[^\n]*(?:__next__|__iter__|next\w*|\w*fetch\w*|\w*prefetch\w*|get_batch\w*) \((?:[^\n]*/)?\w*(?:iterator|loader|data|sampler|prefetch|fetch|stream|batch|pipe)\w*"
)
# Loaders of other frameworks: where their main process waits for its workers.
_OTHER_LOADERS = (
    r"^(?:get|recv|__next__|next|_get_data|_next_data|_get_next_batch|_try_get_next_batch|_try_put_indices|_thread_loop|wait|_wait_queue|__iter__) \((?:[^\n]*/)?(?:keras/(?:src/)?(?:\w+/)*(?:data_utils|data_adapter|py_dataset_adapter|data_adapter_utils)|"
    r"gluon/data/dataloader|paddle/\S*dataloader\w*|fluid/\S*dataloader\w*|mmengine/\S*loader\w*|torchdata/\S+|webdataset/\S+|streaming/base/\S+|litdata/\S+|ffcv/\S+|nvidia/dali/\S+|petastorm/\S+|grain/\S+|fairseq/data/\S+|torchtext/\S+|chainer/\S*iterator\w*|tensorpack/dataflow/\S+|dgl/dataloading/\S+)\.py|^_next_internal \((?:[^\n]*/)?tensorflow/python/data/ops/iterator_ops\.py"
)
# A worker that waits for a thread which its parent kept, or for a pool of threads that a fork left empty: the reason is named elsewhere.
_THREAD_OF_PARENT = (
    r"^(?:sync|wrapper|_sync) \((?:[^\n]*/)?(?:fsspec/asyn|zarr/core/sync)\.py[^\n]*\n(?:[^\n]+\n){1,40}?_worker_loop \("
    r"|\A(?:[^\n]*\n)*?(?:collect|read_\w+|scan_\w+) \((?:[^\n]*/)?(?:polars|lance|pyarrow)/[^\n]*\n(?:[^\n]+\n){1,40}?_worker_loop \("
)
# Python calls a finalizer from no frame of its own only where it takes itself down.
_AT_THE_END = r"^__del__ \([^\n]*\)\n\n"
# The work is done: what stays then are the workers of a program that ends.
_OVER = (
    r"\ball (?:epochs|steps|iterations|batches) (?:(?:are|were|have|been) ){0,2}(?:done|finished|over|complete[d]?)\b|"
    r"\bdoes(?:n't| not) quit\b"
)

# An error that came through the loader, or an end of its workers that is told: the wait is over, and its reason stands there.
_TOLD_WHY = (
    r"Caught \w+ in DataLoader worker|[Bb]us error|BUS error|workers? \(?pid[^\n]*is killed by signal|"
    r"workers? exit(?:ed)? unexpectedly|received \S+ items of ancdata|Too many open files|"
    r"re-?initiali[sz]e CUDA|CUDA error: initialization error|cuda runtime error \(3\)"
)
# What is refused to the tensors of workers names its own reason; that nothing is refused without workers says no more.
_REFUSED = r"\bunable to (?:mmap|open|write to|resize|allocate)\b[^\n]{0,80}(?:file </?torch|shared memory)|Too many open files|received \S+ items of ancdata|can't start new thread"

_SIGNS = (
    Sign(cured_by(r"\b(?:num_workers|dataloader_num_workers|n_workers|workers)\b\W{0,4}(?:\d+\W{1,8})?(?:to )?0\b"), "it goes away without workers", unless=(r"oom|Killed|No space left|/dev/shm|setNumThreads", _OVER, _REFUSED, r"re-?initiali[sz]e CUDA|CUDA error: initialization error"), prose=True),
    Sign(_OTHER_LOADERS, "a process waits for its next batch", unless=(_TOLD_WHY,)),
    Sign(rf"{_OTHER_LOADERS}|{_DATA_WAIT}", "a process was in its loader when the loader failed", POSSIBLE, anywhere=(_TOLD_WHY,), unless=(_THREAD_OF_PARENT,)),
    Sign(r"use_multiprocessing ?= ?False[^\n]{0,40}(?:go|work|run|fine|ok|help|fix)|(?:go|work|run|fine|fix)\w{0,20}[^\n]{0,40}use_multiprocessing ?= ?False|persistent_workers ?= ?\w{1,20}[^\n]{0,40}(?:run|work|fix|help|solv|go)", "it goes away with other workers", prose=True),
    Sign(r"_shutdown_workers \((?:[^\n]*/)?dataloader\.py", "a rank waits for the workers of a loader to end", unless=(_AT_THE_END, r"Too many open files", r"Py_Finalize|atexit|_run_exitfuncs|_exit_function|threading\.py[^\n]*_shutdown|_shutdown \((?:[^\n]*/)?threading",)),
    Sign(r"Pin memory thread exited unexpectedly", "the loader's own thread is gone"),
    # What its own lines cannot do with what came; what it meets when its peers have left is a consequence.
    Sign(r"^(?:\S+ )?Exception in thread [^\n]*\n(?:[^\n]*\n){1,14}?[^\n]*\bin _pin_memory_loop\b[^\n]*\n(?:[^\n]*\n){1,12}?(?:Value|Type|Attribute|Key|Index|Assertion|Unbound\w*|Name|NotImplemented)Error\b", "the loader's own thread is gone: it failed over what it was given", unless=(r"KeyboardInterrupt|interpreter shutdown",)),
    Sign(r"tensorflow::data::\S*(?:Prefetch|ParallelMap|Iterator)|IteratorGetNext|PrefetchDatasetOp", "a process waits for its next batch", unless=(r"End of sequence",)),
    Sign(_DATA_WAIT, "a rank waits for its next batch", anywhere=(_COLLECTIVE,), unless=(_THREAD_OF_PARENT, _TOLD_WHY)),
    Sign(_DATA_WAIT, "a process waits for its next batch", unless=(_THREAD_OF_PARENT, _TOLD_WHY)),
    Sign(r"DataLoader timed out after|DataLoader worker \(pid\(?s?\)? ?[\d, ]+\) exited unexpectedly|worker_result_queue|Caught (?:Runtime|OS|IO|Memory)Error in DataLoader worker", "the loader itself reports its workers", POSSIBLE),
    Sign(r"num_workers ?[=:>]+ ?0[^\n]{0,60}(?:work|fix|fine|ok|help|solv|no hang|not hang|disappear|resolv|go)|(?:work|fine|ok|fix|disappear|no hang|not hang|resolv|never happens?)\w{0,20}[^\n]{0,60}(?:with|when|if|by|using|setting)[^\n]{0,12}num_workers ?[=:]+ ?0", "it goes away without workers", unless=(_REFUSED,), prose=True),
    Sign(r"\b(?:data ?loader|loader worker|data worker|prefetch\w*|data iterator|dataset worker)\b[^\n;]{0,80}\b(?:hang|hung|stuck|stall|deadlock|freez|frozen|block|never (?!call|us|clos|stopp?)|not deliver|stopped delivering|dead)", "somebody says that the loader does not deliver", POSSIBLE, prose=True),
)  # fmt: skip

_STEPS = (
    "rankscope stacks pid:RANK --children",
    "DataLoader(…, num_workers=0)   # to confirm",
    "DataLoader(…, timeout=120)",
)


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    # Every loop waits for its next batch now and then: who stands elsewhere at the next look has got it.
    if found and (case.snapshot.live or gets_on(case) is None):
        told = finding(RULE, case, found, "a loader does not deliver, and its rank waits for the next batch", _STEPS)
        yield _kept_back(case, told)


def _kept_back(case: Case, told: Finding) -> Finding:
    """Where stacks show each rank either in its loader or in a collective: those in the loader are waited for."""
    seen = [one for one in doings(case) if one.account is not None and one.account.seen and of_ranks(one)]
    placed = [one for one in seen if one.account is None or one.account.role is not Role.DATALOADER_WORKER]
    there, waiting = in_kind(placed, WaitKind.DATA.value), in_kind(placed, *WAITING)
    if not there or not waiting or len(there) + len(waiting) < len(placed):
        return told
    ranks = RankSet(rank for one in there for rank in one.ranks)
    against = (*told.against, "it may only be slower: look again")
    return replace(told, compared=True, ranks=ranks or told.ranks, against=against)


# Its class is for workers of which nobody knows why they stand.
RULE = make_rule(
    __name__,
    __doc__,
    "dataloader-worker-deadlock",
    40,
    check,
    yields_to=("fork-took-a-lock", "child-in-threaded-library"),
)
