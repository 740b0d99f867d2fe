"""A worker of a pre-forking server stands in a library that its master had loaded and used.

## What it means
gunicorn with `--preload`, uWSGI without `lazy-apps`, celery's prefork pool, Passenger and mod_wsgi load the program once
and fork their workers from it. What the program started at import time (thread pools of a model, a Java machine, clients,
loggers) exists in the master alone; a worker that uses it waits, and the server kills it when its time is over.

## How it is recognised
`WORKER TIMEOUT`, `HARAKIRI` or `Hard time limit` in the first call of a model that was loaded before the fork; a worker
that sleeps on a private futex without a time limit (`strace -p`); the same call returns in a plain script, with
`--pool=solo` or threads, without `--preload`.

## What to do
Load models and open clients in the worker: gunicorn `post_fork`, uWSGI `lazy-apps = true` or `@postfork`, celery
`worker_process_init`, Django `AppConfig` without clients. Or one thread in the library: `OMP_NUM_THREADS=1`,
`torch.set_num_threads(1)`, `nthread=1`.

## How to prevent it
No `--preload` with models; celery `--pool=solo` or `threads` for work that computes with threads of its own. Mechanism:
https://github.com/benoitc/gunicorn/issues/2478, https://github.com/dmlc/xgboost/issues/8040,
https://github.com/OpenNMT/CTranslate2/issues/539
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from ._findings import text_rule
from ._outcomes import BAD, cured_by
from ._signs import POSSIBLE, Sign
from ._wordings import HALTS

_SERVER = (
    r"\b(?:gunicorn|uwsgi|uWSGI|celery|ForkPoolWorker|billiard|prefork|mod_wsgi|passenger|hypercorn|rq worker|"
    r"dramatiq|unicorn|php-fpm)\b"
)
_PRELOADED = (
    r"--preload\b|\bpreload_app\b\W{0,6}(?:True|=)|\bpreload(?:ing)?\b|lazy-?apps\W{0,4}(?:false|0)|"
    r"loaded (?:by|in) the master|before (?:the )?(?:workers? (?:are|is|were) )?fork"
)
_TIME_OVER = (
    r"WORKER TIMEOUT|HARAKIRI|Hard time limit|TimeLimitExceeded|stops? (?:inside|in)\b|no (?:answer|response)|"
    r"never (?:answers?|responds?)|does(?:n't| not) answer|504 Gateway|upstream timed out"
)
# Its main thread turns: a server's loop asks for requests again and again, and its other threads rest meanwhile.
_TURNS = r"(?:^[^\n]*\b(?:epoll_p?wait|ppoll|poll|select|pselect6)\([^\n]*\) += \d[^\n]*\n(?:[^\n]*\n){0,5}?){3}"
_OTHER = (
    r"Out of memory: Kill|oom-kill:|No space left|initialization error|CUDA_ERROR|ModuleNotFoundError|SyntaxError|"
    r"Address already in use"
)
_SIGNS = (
    Sign(_PRELOADED, "a server forks its workers from a program that is loaded and in use", anywhere=(_SERVER, rf"{_TIME_OVER}|{BAD}"), unless=(_OTHER,), prose=False),
    Sign(cured_by(r"lazy-?apps|without (?:--)?preload|no (?:--)?preload|preload_app ?= ?False|post_?fork|worker_process_init|workers? (?:load|open|create|import)s? (?:the |their )?(?:own )?(?:\w+ )?(?:themselves|itself|own)"),
         "it works when each worker loads for itself", anywhere=(_SERVER,), unless=(_OTHER,), prose=True),
    Sign(cured_by(r"--pool[ =](?:solo|threads?|gevent|eventlet)|-P (?:solo|threads?|gevent|eventlet)\b|\bsolo pool\b|worker_pool\W{1,4}(?:solo|threads)"), "it works in a pool that does not fork", anywhere=(rf"{HALTS}|{_TIME_OVER}",), unless=(_OTHER,), prose=True),
    Sign(r"\b(?:by itself|on its own|alone|standalone|in a (?:plain |normal )?(?:script|shell|REPL|notebook)|directly|outside (?:of )?(?:celery|the worker|gunicorn))\b[^\n]{0,40}\b(?:fine|works?|returns?|ok|runs?)\b[^\n]{0,80}\b(?:celery|worker|gunicorn|uwsgi|task)\b[^\n]{0,60}",
         "it works by itself, and not in a worker that was forked", anywhere=(_SERVER, rf"{HALTS}|{BAD}|\bstops\b"), unless=(_OTHER,), prose=True),
    # A semaphore that processes share is waited for without PRIVATE: that is where idle workers of a pool stand.
    Sign(r"futex\(0x\w+, FUTEX_WAIT(?:_BITSET)?_PRIVATE(?:\|FUTEX_CLOCK_REALTIME)?, \d+, NULL[^\n)]*$", "a forked worker waits without a time limit for a lock or thread of its own process", anywhere=(_SERVER + r"|\bfork(?:ed)?[ _](?:child|worker|process)|loader worker|pool worker",), unless=(_OTHER, _TURNS)),
    Sign(r"(?:^[^\n]*\bsched_yield\(\) += 0[^\n]*\n){3}", "a forked worker spins for threads that do not come", POSSIBLE, anywhere=(_SERVER + r"|\bfork(?:ed)?[ _](?:child|worker|process)|loader worker|pool worker",), unless=(_OTHER,)),
)  # fmt: skip

RULE = text_rule(
    __name__, __doc__, "fork-with-threads", 30, "a worker that a server forked stands in a library which its master had used", _SIGNS,
    ("gunicorn app:app            # without --preload; or load in post_fork", "celery -A app worker --pool=solo   # to confirm"), live_stacks=True,
)  # fmt: skip
