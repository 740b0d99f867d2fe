"""A forked child uses a library whose threads stayed in its parent.

## What it means
JAX, TensorFlow, Polars, BLAS and OpenMP kernels, tokenizers, gRPC, fsspec's and other clients' event loops, log and profiler threads hand their
work to threads. `fork` does not copy threads: in the child the work is queued and nobody takes it. Small work that is done inline succeeds,
large work hangs; and all goes well as long as the parent has not used the library before the fork.

## How it is recognised
The hang is in the child and depends on what its parent did before: it vanishes without the call in the parent, with `spawn`, with one thread
(`OMP_NUM_THREADS=1`), with a thread backend, or when the library is opened in the worker (`worker_init_fn`, `post_fork`); with
PyTorch it begins with 32769 elements. macOS says
`may have been in progress in another thread when fork() was called`.

## What to do
`multiprocessing.set_start_method("spawn")` or `"forkserver"`; `ProcessPoolExecutor(mp_context=…)`; joblib with `loky` or `threading`; gunicorn
without `--preload`, clients opened in `post_fork`, celery clients in `worker_process_init`; `TOKENIZERS_PARALLELISM=false`;
`cv2.setNumThreads(0)`.

## How to prevent it
Nothing that keeps threads before the workers are started, or no plain fork (`forkserver` is the default since Python 3.14).
Mechanism: https://github.com/OpenMathLib/OpenBLAS/issues/240, https://github.com/grpc/grpc/issues/38020, https://github.com/jruere/multiprocessing-logging/issues/49
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._signs import POSSIBLE, Sign

_PARENT = r"(?:parent|main process|launcher|master|driver|notebook|server process|caller)"
_FORKS = (
    r"(?<![A-Za-z])fork|multiprocess|ProcessPool|\bPool\(|(?<!thread )\bpool (?:workers?|process)|\bProcess\(|"
    r"start[ _]method|preload|DataLoader|num_workers|num_proc|n_jobs|joblib|loky|celery|"
    r"gunicorn|uwsgi|billiard|concurrent\.futures|\bxdist\b|child process"
)
_HANG = (
    r"\b(?:hangs?|hung|stuck|never|block(?:s|ed)|freezes|frozen|stands? still|stalls?|"
    r"does not (?:return|finish|end|come back)|no progress|no \w+ (?:completes|finishes|returns|arrives)|"
    r"[01]0{0,2} ?% (?:of )?(?:one |a |its )?CPU|burns?|spins?|deadlock\w*)\b"
)
_RUNS = (
    r"\b(?:runs?|works?|fine|finish(?:es)?|pass(?:es)?|returns?|ok|completes?|succeeds?|goes (?:away|through|on)|"
    r"no hang|disappears?|vanishes|helps?|fixe[sd])\b"
)
_THREADED = (
    r"\b(?:jax|jnp|jaxlib|xla|tensorflow|tf\.|keras|torch|nn\.\w|polars|pl\.|pyarrow|duckdb|tokenizers?|numpy|np\.|"
    r"scipy|sklearn|xgboost|lightgbm|catboost|faiss|"
    r"numba|numexpr|cv2|opencv|openblas|mkl|blas|lapack|openmp|omp|libgomp|libiomp|grpc|pymongo|kafka|boto3?|s3fs|"
    r"gcsfs|fsspec|aiohttp|sentry|autograd|\.?backward\(|"
    r"opentelemetry|prometheus|ddtrace|newrelic|h5py|zarr|decord|vips|rayon|tbb|ffmpeg|av\.open)"
)
# Another reason is told: then it is not the threads.
_OTHER = (
    r"killed|exit ?code|signal \d|SIGKILL|segfault|defunct|out of memory|No space left|Too many open|before join|"
    r"pipe_w|\d+ ?[kKM]i?B\b|TracerPid:\s*[1-9]|"
    r"CUDA|cuda|No module|all_?reduce|nccl"
)
_SIGNS = (
    Sign(r"may have been in progress in another thread when fork\(\) was called|OBJC_DISABLE_INITIALIZE_FORK_SAFETY|__THE_PROCESS_HAS_FORKED|crashed on child side of fork|multi-threaded process forked|OS_ACTIVITY_MODE ?= ?disable|objc_initializeAfterForkError", "the system library complains of a fork with threads"),
    Sign(rf"(?:with(?:out)?|if|when|unless|as long as|commenting|remov\w+|mov\w+|once)\b[^\n]{{0,80}}\b(?:in|from|by) the {_PARENT}\b[^\n]{{0,60}}\b(?:commented|removed|left out|skipped|deleted|gone|moved|not (?:called|made|used|run))[^\n]{{0,60}}{_RUNS}",
         "it works when its parent has not used the library", anywhere=(_FORKS,), unless=(r"\b(?:cuInit|CUDA_ERROR|initialization error)",), prose=True),
    Sign(rf"{_RUNS}[^\n]{{0,40}}\b(?:if|when|as long as|unless|once)\b[^\n]{{0,20}}\bthe {_PARENT}\b[^\n]{{0,30}}\b(?:does not|has not|never|did not|is not|avoids|first)\b", "it works when its parent has not used the library", anywhere=(_FORKS, _HANG), prose=True),
    Sign(rf"\b(?:starts?|started|runs?|keeps?|owns?|spawns?|opens?)\b[^\n]{{0,50}}\bthreads?\b[^\n]{{0,30}}\b(?:in|of|by) the {_PARENT}\b|\bthe {_PARENT}\b[^\n]{{0,30}}\b(?:has|runs?|starts?|started|keeps?|owns?|uses|spawns?|created)\b[^\n]{{0,40}}\bthreads?\b",
         "the parent runs threads when it forks", anywhere=(_FORKS, _HANG), unless=(r"\bjoin\b[^\n]{0,20}before",), prose=True),
    Sign(rf"\b(?:post_?fork|worker_init_fn|register_at_fork|after_in_child|worker_process_init|postfork|lazy-apps|(?:opened?|created?|imported|made|initiali[sz]ed|moved?|moving|opening|creating|importing)\b[^\n]{{0,40}}\b(?:in|inside|into) (?:the|each|every) (?:workers?|child(?:ren)?))\b[^\n]{{0,60}}{_RUNS}",
         "it works when the library is opened in the worker", anywhere=(_FORKS, _HANG), prose=True),
    Sign(rf"\b(?:backend|prefer)\b ?=?[^\n]{{0,4}}(?:threads?|threading|loky|multithreading)\b[^\n]{{0,40}}{_RUNS}|{_RUNS}[^\n]{{0,40}}\b(?:backend|prefer)\b ?=?[^\n]{{0,4}}(?:threads?|threading|loky)\b", "it works with threads in place of forked processes", anywhere=(_HANG,), prose=True),
    Sign(r"\b(?:made|created|opened|started|initiali[sz]ed|connected|constructed|built|instantiated|used|loaded|imported|global)\b[^\n]{0,50}\bbefore\b[^\n]{0,40}(?:ProcessPool\w*|\bPool\b|\bProcess\b|\bfork\w*|\bworkers?\b|\bDataLoader\b|multiprocess\w*|\bchild(?:ren)?\b|\bpool\b)",
         "something of the parent was in use before its workers were made", anywhere=(_HANG + r"|_process_worker \(|_worker_loop \(|popen_fork",), unless=(_OTHER + r"|GPU|device|cupy|jax\.|\bspawn\b[^\n]{0,20}(?:too|as well|also)",), prose=True),
    Sign(rf"\b(?:when|if|without|once|unless|as soon as)\b[^\n]{{0,80}}\b(?:removed|commented(?: out)?|left out|deleted|skipped|not called|not imported|is gone|taken (?:out|away))\b[^\n]{{0,40}}(?:{_RUNS}|\b(?:all|every)\b[^\n]{{0,20}}\b(?:come|pass|run|work|return|finish))", "it works when a call before the workers is taken away", anywhere=(_FORKS, _THREADED), unless=(_OTHER, r"\bimport\b[^\n]{{0,20}}removed"), prose=True),
    Sign(rf"{_RUNS}[^\n]{{0,40}}\b(?:when|if|without|once|unless)\b[^\n]{{0,80}}\b(?:removed|commented(?: out)?|left out|deleted|skipped|not called|is gone|taken (?:out|away))\b", "it works when a call before the workers is taken away", anywhere=(_FORKS, _THREADED, _HANG), unless=(_OTHER,), prose=True),
    Sign(rf"\b(?:start|run|keep|launch|create|open)\w*\b[^\n]{{0,50}}\bthreads?\b[^\n]{{0,60}}\b(?:then|before|prior to|and only then|and afterwards)\b[^\n]{{0,60}}(?:{_FORKS})", "a thread is started before the processes are made", anywhere=(_HANG,), unless=(_OTHER + r"|\bspawn\b",), prose=True),
    Sign(rf"\b(?:without|no|omitting|(?:not|n't|never) (?:to )?call(?:ed|ing)?)\b[^\n]{{0,50}}\b(?:in|from|inside) the (?:{_PARENT}|main block|main module)\b[^\n]{{0,40}}(?<!no ){_RUNS}|(?:{_RUNS}|\b(?:not|n't) reproduc\w+)[^\n]{{0,40}}\b(?:without|(?:not|n't|never) (?:to )?call(?:ed|ing|s)?)\b[^\n]{{0,50}}\b(?:in|from|inside) the (?:{_PARENT}|main block|main module)\b", "it works when its parent has not used the library", anywhere=(_FORKS, _THREADED), unless=(_OTHER,), prose=True),
    Sign(rf"\bwithout (?:the|that|this)\b[^\n]{{0,30}}\b(?:line|call|statement)\b[^\n]{{0,30}}(?:{_RUNS}|\b(?:it|they|the \w+) (?:does|do)\b(?! not|n't))|\b(?:does not|doesn't|did not|never) (?:hang|freeze|block|dead-?lock)\w*[^\n]{{0,12}}\bwithout (?:the|that|this)\b[^\n]{{0,30}}\b(?:line|call|statement)\b", "it works when a call before the workers is taken away", anywhere=(_FORKS, _THREADED, _HANG), unless=(_OTHER,), prose=True),
    Sign(rf"{_HANG}[^\n]{{0,40}}\b(?:unless|until)\b[^\n]{{0,80}}\b(?:removed|commented(?: out)?|left out|deleted|skipped|not called|disabled|taken (?:out|away))", "it hangs until a call before the workers is taken away", anywhere=(_FORKS, _THREADED), unless=(_OTHER,), prose=True),
    Sign(rf"{_HANG}[^\n]{{0,60}}\bonly (?:if|when|after|once)\b[^\n]{{0,60}}\b(?:called|run|used|executed|done|made)\b[^\n]{{0,20}}\b(?:in|by|from|inside) the (?:{_PARENT}|main block|main module)\b", "it hangs only when its parent has used the library", anywhere=(_FORKS, _THREADED), unless=(_OTHER,), prose=True),
    Sign(rf"\bonly (?:if|when|after|once)\b[^\n]{{0,100}}\b(?:called|run|used|executed|done|made)\b[^\n]{{0,20}}\b(?:in|by|from|inside) the (?:{_PARENT}|main block|main module)\b[^\n]{{0,12}}\b(?:before|first|earlier)\b", "it hangs only when its parent has used the library", anywhere=(_FORKS, _THREADED, _HANG), unless=(_OTHER,), prose=True),
    Sign(r"\b(?:\w*(?:[Ww]riter|[Ll]ogger|[Cc]lient|[Tt]racker|[Rr]ecorder|[Rr]eporter|[Ee]xporter|[Hh]andler|[Ss]ession|[Pp]roducer|[Ee]xecutor|[Cc]hannel))\b[^\n]{0,40}\b(?:built|made|created|opened|constructed|instantiated|started|initiali[sz]ed)\b[^\n]{0,24}\b(?:in|by) (?:the )?(?:root|main|parent|master|launching)\b[^\n]{0,40}\bused\b[^\n]{0,24}\b(?:in|by|from|inside) (?:the |each |every |its |all )?(?:\w+ )?(?:actors?|workers?|child(?:ren)?|sub-?process(?:es)?|forked)\b", "what keeps a thread was made in the parent and is used in its children, which have no such thread", unless=(_OTHER, r"\bspawn\b"), prose=True),
    # pthread_join(3) of a thread that the child of a fork does not have (std::thread::join).
    Sign(r"\bthread::join failed: No such process", "a child joins a thread that only its parent has", anywhere=(r"\b(?:child|fork\w*|workers?|multiprocess\w*|subprocess\w*|gunicorn|uwsgi|celery)\b",)),
    # at::internal::GRAIN_SIZE: from 32768 elements on PyTorch's operators use its threads.
    Sign(r"(?<![\w.,])32769(?![\w.,]\d|\w)|\b2 ?(?:\*\*|\^) ?15 ?\+ ?1\b|\b(?:more|larger|longer|greater|bigger|above|over|beyond|exceed\w*) (?:than )?(?:2 ?(?:\*\*|\^) ?15|3276[78])\b", "what hangs in a child is larger than what PyTorch does without threads (32768 elements)", anywhere=(r"\btorch\b|\btensors?\b|randperm", r"\b(?:child|forked|sub-?process\w*|worker process\w*|mp\.Process|multiprocessing|DataLoader workers?)\b", _HANG), unless=(_OTHER, r"\btokens?\b|context length|max_model_len|\bspawn\b[^\n]{0,20}(?:too|as well|also)")),
    Sign(r"\b(?:handler|logger|client|tracker|monitor|agent|profiler|tracer|exporter|reporter|hook|listener|recorder|sdk|watchdog|sampler)\b[^\n]{0,40}\b(?:with|has|starts|uses|runs|keeps|owns|and its)\b[^\n]{0,12}\bthreads?\b", "something that keeps a thread is in use where processes are made", anywhere=(r"process(?:es)?\b|" + _FORKS, _HANG + r"|\bstops?\b"), unless=(_OTHER + r"|\bGIL\b|\bspawn\b",), prose=True),
    Sign(rf"^[^\w\n]*(?:the |a |each |every |all |one )?(?:fork\w* )?(?:child(?:ren)?|worker|sub-?process)\w*\b[^\n]{{0,60}}{_HANG}", "a child that was forked hangs where a library with threads is used", anywhere=(_FORKS, _THREADED), unless=(_OTHER,), prose=True),
    Sign(rf"^[^\w\n]*(?:the |a |each |every |all |one )?(?:fork\w* )?(?:child(?:ren)?|sub-?process)\w*\b[^\n]{{0,60}}{_HANG}", "a child hangs", POSSIBLE, anywhere=(_FORKS,), unless=(_OTHER,), prose=True),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "fork-with-threads", 30, "a forked child uses a library whose threads stayed in its parent", _SIGNS,
    ("multiprocessing.set_start_method('spawn')   # or 'forkserver'", "python -X dev -W always::DeprecationWarning …   # 3.12+: says which fork has threads"),
)  # fmt: skip
