"""A process waits for the answer of a service outside the job, without a limit.

## What it means
The program asked a server (storage, a model hub, a database, a tracker, a reward model, an API) and reads the answer. The connection stands, nothing
comes, and nobody set a limit for the wait: it lasts as long as the connection seems alive, and the ranks that meet this one wait too.

## How it is recognised
The main thread ends in a read or connect of a socket (`recv_into`, `readinto`, `do_handshake`, `getaddrinfo`) below a client library: requests, urllib3, httpx,
aiohttp, boto, azure, google, grpc, a database's or a tracker's client; or a worker thread does, for which the main thread waits. From outside: a
connection in `CLOSE_WAIT`, or one that stands and brings nothing. A step of an event loop that reads so without `await` keeps the loop: where probes of the server time out, it is likely. A thread beside the main one that polls message sockets, or takes requests
or commands, waits for orders, not for an answer.

## What to do
See whom it talks to: `ss -tnp | grep pid=PID`; look at that service. End the connection (`ss -K dst HOST dport = PORT`), and most clients raise or retry.
Give every call a limit: `requests.get(url, timeout=(5, 60))`, `socket.setdefaulttimeout(60)`, `botocore.config.Config(read_timeout=60)`.

## How to prevent it
Limits on everything outside the job; fetch before the first collective; trackers in a mode without network (`WANDB_MODE=offline`).
Case: https://github.com/microsoft/planetary-computer-tasks/pull/183
"""

# ruff: noqa: E501  (a pattern is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import Account, written
from ...analysis.case import Case
from ...analysis.doings import doings
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import has, wait_of
from ...analysis.identity import name_of
from ...analysis.looked_twice import gets_on
from ...analysis.origin import module_path
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Stack
from ...model.patterns import regex
from ...model.process import Role
from ...model.ranks import ranks_phrase
from ...model.repeated import of_stacks
from .. import make_rule
from ._findings import finding, members, simple
from ._signs import LIKELY, POSSIBLE, Sign, hits
from ._threaded_libraries import began_in

_STEPS = (
    "ss -tnp | grep pid=PID   # whom it talks to",
    "socket.setdefaulttimeout(60)   # and timeout=… on each request",
)
# How deep a client goes when it waits for its server.
_READS = regex(
    r"^(?:read|readinto|recv|recv_into|recvfrom|do_handshake|connect|create_connection|getaddrinfo|_read_status|"
    r"readline|begin|_next|_blocking|result|urlopen|send|sendall|poll|epoll|select|SSL_read|SSL_do_handshake|__recv|"
    r"__libc_recv|recvmsg|wait)\b"
)
_CLIENT = regex(
    r"\((?:[\w.+-]+/)*(?:requests|urllib3|urllib/request|http/client|httpx|httpcore|aiohttp|botocore|boto3|s3transfer|"
    r"s3fs|gcsfs|fsspec|smart_open|azure|azure/storage|core/pipeline/transport|"
    r"google/(?:api_core|cloud|auth|resumable_media)|grpc|tritonclient|"
    r"psycopg2?|pymysql|MySQLdb|mysql/connector|asyncpg|redis|pymongo|sqlalchemy|pika|kombu|kafka|confluent_kafka|"
    r"elasticsearch|cassandra|clickhouse\w*|snowflake|"
    r"wandb/sdk/(?:lib|interface|internal)|mlflow|comet_ml|neptune|clearml|huggingface_hub|datasets/(?:download|utils/file_utils)|openai|anthropic|smtplib|ftplib|telnetlib|xmlrpc|paramiko|webdataset|streaming/base|zmq)[/.\w]*:\d+"
)
# Who takes messages from a queue or a log of them waits for work, not for an answer.
_LISTENS = regex(
    r"^(?:wait_for_termination|\w+\.wait_for_termination|__next__|_next) \((?:[\w.+-]+/)*grpc/|"
    r"\((?:[\w.+-]+/)*(?:grpc/_server|grpc/_cython/[\w.]*aio\.pyx|rq/worker|rq/queue|huey/consumer|dramatiq/worker|"
    r"kafka/consumer/|aiokafka/consumer/|confluent_kafka/\S*consumer|pika/adapters/|"
    r"kombu/(?:connection|mixins|transport/)|nats/|stomp/|paho/mqtt/)[/.\w]*:\d+",
    re.MULTILINE,
)
# Sockets of the job's own: its store, its servers, its pools.
_OWN = regex(
    r"torch/distributed|multiprocessing/|concurrent/futures|socketserver|http/server|uvicorn|gunicorn|tornado|"
    r"ipykernel|selectors\.py[^\n]*\n[^\n]*(?:base_events|serve_forever)|werkzeug|ray/_private|dask|"
    r"distributed/(?:comm|core|worker)"
)


# Somebody looked at the process from outside, or reads its log.
_REMOTE = (
    r"\b(?:https?|:443|CDN|S3|bucket|hub|hugging ?face|cloudfront|download\w*|upload\w*|remote|endpoint|proxy|"
    r"database|redis|server|API)\b"
)
_SIGNS = (
    Sign(r"\bTCP\b[^\n]*\(CLOSE_WAIT\)|^[^\w\n]*CLOSE[_-]WAIT\b[^\n]*:\d+|\btcp\w*\b(?=[^\n]*\bCLOSE_WAIT\b)[^\n]*:\d+[^\n]*\bCLOSE_WAIT\b", "the other end has closed the connection, and the program still reads", POSSIBLE),
    Sign(r"\b(?:no (?:more )?(?:bytes|data|packets|traffic)|zero bytes|nothing (?:arrives|comes|is received)|0 bytes|do(?:es)? not grow|stops? growing)\b", "connections stand, and nothing comes through them", POSSIBLE, anywhere=(_REMOTE, r"\bESTAB\w*|connections?\b|socket"), unless=(r"all_?reduce|NCCL|gloo",), prose=True),
    Sign(r"\b(?:download|upload|fetch|snapshot_download|hf_hub_download|from_pretrained|load_dataset|s3|api call)\w*\b[^\n]{0,60}\b(?:hangs?|hung|stuck|stalls?|stalled|never (?:finish\w*|returns?|ends?|completes?)|freezes?|blocks?|for ?ever)\b|\b(?:hangs?|hung|stuck|stalls?|stalled|freezes?|blocks?)\b[^\n]{0,40}\b(?:download|upload|fetch|snapshot_download|hf_hub_download|from_pretrained)\w*\b", "a transfer from outside does not end", POSSIBLE, unless=(r"all_?reduce|Watchdog|num_workers",), prose=True),
)  # fmt: skip
# Somebody took many stacks, and all of them read from a connection.
_SAME = (
    Sign(r"\b(?:all|each|every|always)\b[^\n]{0,40}\b(?:ends?|stands?|stops?|is|are)\b[^\n]{0,12}\b(?:same|one)\b[^\n]{0,24}\b(?:read|recv|socket|SSL|TLS|connection)\w*|\b(?:reads?|reading|recv\w*) (?:on|from|of|in) an? (?:SSL|TLS|TCP|HTTPS?)[- ]?(?:socket|connection)\b", "all looks end in the read of a connection", prose=True),
)  # fmt: skip
# A loop that waits in one of its steps answers nobody: who asks a server whether it lives sees that.
_UNANSWERED = (
    Sign(r"\b(?:Readiness|Liveness|Startup) probe failed: [^\n]{0,300}(?:context deadline exceeded|Client\.Timeout|timed? ?out)|\[CRITICAL\] WORKER TIMEOUT \(pid:", "the server does not answer who asks whether it lives"),
)  # fmt: skip


def _signs_that_it_stands(stack: Stack) -> tuple[Sign, ...]:
    return (*_SAME, *_UNANSWERED) if _on_a_loop(stack) else _SAME


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or gets_on(case) is not None:
        return  # of who moves between two looks, one shows a read that goes on
    for doing in doings(case):
        account = doing.account
        if account is None or account.role is Role.DATALOADER_WORKER or not account.seen:
            continue
        stack = _asking(account, doing.kind)
        if stack is None:
            continue
        who = ranks_phrase(account.ranks) if account.ranks else "a process"
        client = _CLIENT.search(written(stack))
        place = client.group().strip("(").rsplit(":", 1)[0] if client else doing.op
        title = f"{who} waits for the answer of a service outside the job (in {place})"
        yield simple(
            RULE,
            title,
            LIKELY if any(True for _ in hits(case, _signs_that_it_stands(stack))) else POSSIBLE,
            [written(stack).split("\n")[0]],
            _STEPS,
            account.ranks,
            processes=members(case, account),
        )
        return
    found = list(hits(case, _SIGNS))
    if found:
        yield finding(RULE, case, found, "the program waits for the answer of a service outside the job", _STEPS)


_JOINS = (
    WaitKind.CHILD.value,
    WaitKind.CONDITION.value,
    WaitKind.QUEUE.value,
    WaitKind.LOCK.value,
    WaitKind.IDLE.value,
)
_ITSELF = (
    WaitKind.SOCKET.value,
    WaitKind.LIBRARY.value,
    WaitKind.UNKNOWN.value,
    WaitKind.CONDITION.value,
    WaitKind.FILE_LOCK.value,
)


def _asking(account: Account, kind: str) -> Stack | None:
    """The stack that waits for a service: of the main thread, or of a worker for which the main thread waits."""
    named = [seen for seen in account.seen if seen.thread.name and "main" in seen.thread.name.lower()]
    main = (named or list(account.seen))[-1]
    if kind in _ITSELF and _asks(main.stack):
        return main.stack
    others = [
        seen.stack for seen in account.seen
        if seen is not main and not _TRACKER.search(written(seen.stack)) and not _takes_orders(seen.stack)
        and not _bides_its_time(seen.stack)
    ]  # fmt: skip
    joined = kind in _JOINS or wait_of(main.stack).kind.value in _JOINS
    return next((stack for stack in others if _asks(stack)), None) if joined else None


@of_stacks
def _takes_orders(stack: Stack) -> bool:
    """Whether a thread beside the main one waits for what is sent to the process: it does so for as long as this runs."""
    lines = written(stack).split("\n")
    clients = [at for at, line in enumerate(lines) if _CLIENT.search(line)]
    inner = lines[: clients[-1] + 2] if clients else []
    return _POLLS.match(lines[0]) is not None or any(map(_ORDERS.match, inner))


@of_stacks
def _bides_its_time(stack: Stack) -> bool:
    """Whether a client's own thread waits for its clock, or for others of the process: it renews a lock or a lease, or sends what
    it is given."""
    return bool(stack) and module_path(stack[-1].file) in ("threading.py", "queue.py") and began_in(stack, _CLIENT)


# A client asks before it reads; who polls message sockets, or whose code is named for it, takes what comes.
_POLLS = regex(r"(?:\w+\.)?(?:poll|select) \((?:[\w.+-]+/)*zmq/")
_ORDERS = regex(
    r"\w*?(?:(?:recv|receive|read|poll|get|wait_for|pull|process)_(?:inputs?|commands?|orders?|requests?|incoming)|"
    r"listen|serve_forever|get_message|input_(?:loop|thread))[a-z_]* \("
)
# Threads that read from a service for as long as a program runs.
_TRACKER = regex(
    r"wandb|mlflow|comet_ml|neptune|clearml|sentry|posthog|opentelemetry|tensorboard|prometheus|datadog|ddtrace|pika|"
    r"kafka|asyncio/"
)


def _asks(stack: Stack) -> bool:
    """Whether a stack ends in the reading or opening of a connection below a client."""
    text = written(stack)
    ends = (
        any(_READS.match(frame.function.rsplit(".", 1)[-1]) for frame in stack[-2:])
        or has(stack, WaitKind.SOCKET) is not None
        or _CLIENT.search(text.split("\n", 1)[0]) is not None
    )
    around = _inside(text) if _on_a_loop(stack) else text
    return ends and _CLIENT.search(text) is not None and not (_OWN.search(around) or _LISTENS.search(text))


def _inside(text: str) -> str:
    """A stack as far as its client reaches: a server that answers by asking another one stands further out."""
    lines = text.split("\n")
    return "\n".join(lines[: max((at for at, line in enumerate(lines) if _CLIENT.search(line)), default=-1) + 1])


_STEP_OF_LOOP = ("asyncio/base_events.py", "_run_once")


def _on_a_loop(stack: Stack) -> bool:
    """Whether a thread that runs an event loop is inside a step of it, and not where the loop itself waits."""
    names = [name_of(frame) for frame in stack]
    return _STEP_OF_LOOP in names and ("asyncio/events.py", "_run") in names[names.index(_STEP_OF_LOOP) + 1 :]


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 59, check)
