"""A loop that has to come round does not: one of its steps takes too long, or waits for somebody who says nothing.

## What it means
One thread takes what comes, and does it before it takes the next: a consumer of a message log that has to ask for more within a limit, or a server that accepts
one connection after the other, or an event loop. While it sleeps, computes or waits in one of them, nobody else is served; a consumer is put out of its group and gets the same message again.

## How it is recognised
The client of Kafka says that its limit between two polls has passed, and somebody tells that it goes on like this, or shows a handler that sleeps. A TLS handshake below the
`accept` of a server's loop (`do_handshake` under `get_request` under `serve_forever`), where requests are said to get no answer. What watches an event loop
says that it was blocked for half a minute or longer (discord.py, Tornado). A pasted program of gevent, eventlet or asyncio of which a task reads the
terminal or a pipe by an ordinary call, and whose other tasks do nothing meanwhile.

## What to do
Hand the work to a thread or a pool and go on polling; a longer `max.poll.interval.ms`, or fewer messages a poll (`max.poll.records`). Shake hands in the thread that serves
the connection (`do_handshake_on_connect=False`), with a limit (`settimeout`).

## How to prevent it
A limit on every step of a loop that others wait for. Mechanism: https://github.com/hashview/hashview/pull/528, https://github.com/dpkp/kafka-python/issues/2070
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding
from ._signs import Sign, hits
from ._wordings import HALTS

_AGAIN = (
    r"\b(?:again and again|over and over|for ?ever|re-?joins?|re-?joined|(?:gets?|reads?|receives?|processes) the same \w+ again|every \d+ s)|"
    r"\b(?:time\.|asyncio\.)?sleep\(\d"
)
# A read that blocks the whole thread, in a greenlet of a program of gevent or eventlet or in a coroutine: whatever is patched, files
# are not, since the kernel calls them ready at all times (https://www.gevent.org/api/gevent.fileobject.html).
_BLOCKING_READ = r"(?:open\(['\"]/dev/(?:stdin|tty)\b|\bsys\.stdin\.(?:buffer\.)?read\w*\(|\bfor \w+ in sys\.stdin\b|\bfdopen\(0\b|(?<![\w.])(?:raw_)?input\()"
_READS_IN_LOOP = (
    rf"^[^\n#]*\b(?:import gevent|from gevent|import eventlet|from eventlet|monkey\.patch_all|monkey_patch\()[^\n]*\n(?:[^\n]*\n){{0,60}}?[^\S\n]*def (?P<task>\w{{1,60}})\([^\n]*\n(?:(?!def )[^\n]*\n){{0,12}}?[^\n#]*{_BLOCKING_READ}(?:[^\n]*\n){{0,60}}?[^\n#]*\bspawn\w*\((?P=task)\b|"
    rf"^[^\S\n]*async def \w{{1,60}}\([^\n]*\n(?:(?![^\S\n]*(?:async )?def )[^\n]*\n){{0,12}}?[^\n#]*{_BLOCKING_READ}"
)
_SIGNS = (
    # kafka-python (also with the Java client's words), librdkafka, aiokafka.
    Sign(r"\bHeartbeat poll expired, leaving group|\b[Cc]onsumer poll timeout has expired|\bApplication maximum poll interval \(\d{1,9}ms\) exceeded|\btime between subsequent calls to poll\(\) was longer than|\bmax[._]poll[._]interval(?:[._]ms)?\b[^\n]{0,40}\b(?:exceeded|expired|passed)\b",
         "what a consumer does between two polls takes longer than its group allows", anywhere=(rf"{HALTS}|{_AGAIN}",), passing=True),
    # discord.py's own thread says it every ten seconds, with the stack of the loop; Tornado says it by a signal (blocking_log_threshold).
    Sign(r"\bheartbeat blocked for more than (?:[3-9]\d|\d{3,9}) seconds|\bIOLoop blocked for (?:[3-9]\d|\d{3,9})(?:\.\d+)? seconds",
         "the thread of an event loop says nothing to its own watcher", passing=True, until=r"\bRESUMED\b|\b[Rr]esumed session\b"),
    Sign(r"\bdo_handshake\b[^\n]*(?:\n[^\n]*){0,6}?\b(?:get_request|accept)\b[^\n]*(?:\n[^\n]*){0,6}?\b(?:serve_forever|_handle_request_noblock|handle_request|run_forever|accept_loop)\b",
         "the loop that accepts connections waits for the handshake of one of them", anywhere=(HALTS + r"|\b(?:no|without) (?:answer|response)|\b(?:refused|unanswered)\b",), unless=(r"\b(?:Watchdog caught|all_?reduce|NCCL)\b",), prose=True),
    Sign(_READS_IN_LOOP, "one of the loop's tasks reads from a terminal or pipe by an ordinary call, and meanwhile none of the others gets its turn",
         anywhere=(rf"{HALTS}|\b(?:prints?|logs?|writes?|does|receives?|gets?|serves?|sends?) nothing\b|\bnothing (?:is|was) (?:received|served|sent)\b|\b(?:only|until|unless)\b[^\n]{{0,40}}\b(?:line|enter|key|typed|input)\b",),
         unless=(r"\brun_in_executor\b|\bto_thread\b|\bconnect_read_pipe\b|\bFileObject(?:Posix|Thread)?\b|\bthreadpool\b|\btpool\b|\baioconsole\b|\bset_blocking\b|\badd_reader\b",)),
)  # fmt: skip

_STEPS = (
    "rankscope diagnose pid:PID   # shows the step in which the loop is",
    "ss -tnp | grep pid=PID   # a connection that says nothing",
)


def check(case: Case) -> Iterator[Finding]:
    if found := list(hits(case, _SIGNS)):
        made = finding(RULE, case, found, "one step of a loop takes too long, and what the loop serves waits", _STEPS)
        yield replace(made, compared=True)  # the step is told by one, that nobody is served by another


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 36, check)
