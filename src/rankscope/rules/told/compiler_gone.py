"""A compiler or its helper process is stuck or gone, and its parent waits.

## What it means
Kernels are compiled in helper processes (Inductor's subprocess pool, Triton, ninja). When a helper dies without closing its pipe, or hangs, the
futures of the parent never resolve; the other ranks wait in the next collective.

## How it is recognised
The rank stands in `async_compile.wait`, `SubprocPool._read_thread → _recv_msg`, a future of the compile pool or of Triton, and the helper
is gone, defunct or does not use the CPU; also the helpers that measure kernels (Inductor's autotuning, TVM), and compilers that have ended and
were not collected (`[cicc] <defunct>`); a build that fails while others wait for it. If the compiler works (stacks move), the job is only slow. The reader of such a pool alone is *possible*: it also rests so.

## What to do
`ps -ef | grep compile_worker`; `dmesg | grep -i kill`. `TORCHINDUCTOR_COMPILE_THREADS=1`, `TORCHINDUCTOR_WORKER_START=spawn`, clear the cache directory,
update PyTorch.

## How to prevent it
Compile once on one rank with a shared cache, or warm up before the first collective. Mechanism: https://github.com/pytorch/pytorch/pull/189290
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...analysis.compilers import COMPILERS, RUNS
from ...analysis.looked_twice import stands_elsewhere
from ...model.diagnosis import Finding
from ...model.ranks import ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._findings import finding
from ._signs import POSSIBLE, Sign, hits

_SIGNS = (
    Sign(r"\bAsyncCompile\b|\basync_compile\.wait\b|(?:wait|result|future|get)\w* \((?:[^\n]*/)?_inductor/async_compile|compile_worker(?![/.]subproc_pool|/__main__\.py)|compile (?:worker|helper|sidecar|subprocess|pool)|(?:wait|result|_wait_futures|load_by_key_path|future) \((?:[^\n]*/)?_inductor/codecache|parallel compile",
         "a rank waits for compiled kernels", also=(r"(?:wait|never|hang|stuck|result|blocked|futures?|read|recv|dead|died|gone|idle|select|poll|broken)",),
         unless=(r"llvm::|mlir::|ptxas info|compil\w+ (?:is )?(?:slow|progress|still)|second sample|moving", RUNS)),
    # Each process that compiled once has this thread; it rests in its read for as long as nothing is asked.
    Sign(r"SubprocPool|(?<!compile_worker\.)subproc_pool|\b_recv_msg|async_compile", "the reader of a pool of compilers rests, or waits", POSSIBLE, also=(r"(?:wait|never|hang|stuck|result|blocked|futures?|read|recv|dead|died|gone|idle|select|poll|broken)",), unless=(r"llvm::|mlir::|ptxas info|compil\w+ (?:is )?(?:slow|progress|still)|second sample|moving",)),
    # ps(1) counts minutes of CPU time: this one has used up a thousand and more.
    Sign(rf"^(?=[^\n]*\s(?-i:R)[lsN<+]*\s+\d{{4,}}:\d\d\s)[^\n]*[\s/]{COMPILERS}\s", "a compiler has computed for many hours and does not end"),
    Sign(rf"(?<![\w/-]){COMPILERS}(?![\w+-])[^\n]{{0,60}}<defunct>", "a compiler has ended, and its parent waits", anywhere=(r"compil|inductor|neuron|triton|ninja|\bbuild",)),
    Sign(r"\(?\btorch/_inductor/autotune_process\.py|_inductor\.autotune_process\b|tvm/contrib/popen_pool\.py|\btvm\.exec\.popen_worker\b|te_fusion/\w+\.py|tbe/common/repository_manager", "a rank waits for a helper that compiles and measures kernels",
         also=(r"(?:wait|hang|stuck|result|blocked|futures?|read|recv|dead|died|gone|idle|select|poll|broken|get|<defunct>)",), unless=(r"main process disappeared[^\n]*\n[^\n]*(?:out of memory|OutOfMemory)",)),
    Sign(r"A compilation subprocess exited unexpectedly|'(?:cicc|ptxas|cudafe\+\+|fatbinary|nvlink)' died due to signal|\bneuronx-cc was forcibly killed", "a compiler died"),
    Sign(rf"Segmentation fault(?: \(core dumped\))?[ \t]+(?:\S*/)?{COMPILERS}\b(?!/)|\b\d+ errors? detected in the compilation of|^ninja: build stopped: subcommand failed", "a compiler failed, and the others wait for what it builds", anywhere=(r"No available shared memory broadcast block|[Ww]atchdog caught|\b(?:barrier|all_?reduce|broadcast\w*|file_baton|acquire|wait) \([^()\s]+\.pyx?:\d+\)",)),
    Sign(r"\b(?:ptxas|nvcc|ninja|cicc|triton|inductor)\b[^\n]{0,60}(?:<defunct>|zombie|killed|crash\w*|hang\w*|hung|stuck|died|segfault)", "a compiler died or hangs", POSSIBLE, prose=True),
    Sign(r"Attempting to use a closed pool|compile-worker future for|shutdown_compile_workers|SubprocPool\w* (?:is )?(?:closed|unclean exit|died)|subproc_pool[^\n]*(?:EOFError|BrokenPipe|closed)|compile_worker[^\n]*timed out|SubprocException|InductorError[^\n]*(?:subprocess|worker)", "the pool of compilers is gone or does not answer"),
    Sign(r"TORCHINDUCTOR_WORKER_START|worker_start_method", "it depends on how the compile helpers are started", prose=True),
    Sign(r"TORCHINDUCTOR_COMPILE_THREADS ?[=:] ?1\b[^\n]{0,40}(?:work|pass|fix|help|fine|ok|no hang|runs?)|(?:work|pass|fix|help|fine|runs?)\w{0,20}[^\n]{0,40}(?:COMPILE_THREADS|compile_threads) ?[=:] ?1\b", "it works when nothing is compiled in helpers", prose=True),
    Sign(r"BrokenProcessPool", "a pool of compilers broke", anywhere=(r"compil|inductor|triton|LLVM ERROR|ptxas",)),
    Sign(r"\b(?:result|wait|_wait) \((?:[^\n]*/)?concurrent/futures/_base\.py[^\n]*\n(?:[^\n]+\n){0,6}?[^\n]*(?:inductor|triton|dynamo|codecache|compile)", "a rank waits for a future of the compiler", unless=(RUNS,)),
    Sign(r"^(?:wait|_wait|_?communicate|_try_wait|poll|run) \(subprocess\.py[^\n]*\n(?:[^\n]+\n){0,6}?[^\n]*(?:triton|cpp_extension|ninja|nvcc|compile|build)", "a rank waits for a compiler process", POSSIBLE, unless=(RUNS,)),
)  # fmt: skip

_TITLE = "a compiler helper is stuck or gone, and its parent waits"
_STEPS = ("ps -ef | grep -e compile_worker -e ptxas -e ninja", "TORCHINDUCTOR_COMPILE_THREADS=1 torchrun …")


def check(case: Case) -> Iterator[Finding]:
    # Who stands elsewhere at a second look compiles on.
    found = [hit for hit in hits(case, _SIGNS, True) if case.snapshot.live or not stands_elsewhere(hit.account)]
    if found:
        made = finding(RULE, case, found, _TITLE, _STEPS)
        wait = f"{ranks_phrase(made.ranks)} {verb('wait', len(made.ranks))} for a compiler helper that is stuck or gone"
        yield replace(made, title=wait) if made.ranks else made


RULE = make_rule(__name__, __doc__, "compile-worker", 34, check)
