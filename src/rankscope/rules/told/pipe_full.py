"""A writer is blocked in a full pipe or queue whose reader waits for the writer.

## What it means
A pipe holds 64 KB. A child that has put more on a queue does not exit before its feeder thread has written it all; a parent that joins the
child before it reads waits for ever. The same happens with `subprocess` and a pipe that nobody reads, and with bounded queues used both ways.

## How it is recognised
The child is in `_feed → _send_bytes → write` (kernel: `pipe_write`) or waits for its feeder (`_finalize_join`); the parent is in `join` or `wait`. Small
results work, those above some 64 KB do not.
The kernel names where a writer sleeps: `pipe_write`, `unix_wait_for_peer`, `sock_alloc_send_pskb` (Unix sockets), `n_tty_write` (terminals);
`timer:(persist` in `ss` is a window that is closed. A ZeroMQ send that waits at its high-water mark; a rank in the flush of its log.
A wake-up pipe that nobody empties. Two processes that do different work, each in a write to the other.

## What to do
Read the queue before `join` (`queue.get()` until all results are there), or hand large results over by file or shared memory; `communicate()`
instead of `wait()` with pipes.

## How to prevent it
`concurrent.futures` instead of a bare Process and Queue. The documentation: https://docs.python.org/3/library/multiprocessing.html
("Joining processes that use queues"); case: https://github.com/n8n-io/n8n/pull/19084
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import finding
from ._signs import POSSIBLE, Hit, Sign, hits

_JOIN = (
    r"(?:Process\.join|join \((?:[^\n]*/)?multiprocessing/(?:process|pool)|\bjoin\b|"
    r"wait \((?:[^\n]*/)?(?:subprocess|popen_\w+)|waitpid|wait4|\.wait\(\))"
)
_SIZE = r"(?<!\d)\d{1,9}(?:\.\d{1,9})? ?(?:k|m|g)i?b\b"
_SAME = r"(?:(?!\d ?[kmg]i?b\b)[^\n])*"  # what is still said of that size
_STOPS = r"\b(?:hangs?|hung|never|stuck|stays?|blocks?|freezes|does not (?:return|end|finish)|for ?ever)\b"
# A pool hands out its tasks in a thread of its own, and waits for room as long as its workers work.
_NO_POOL = r"(?!(?:[^\n]*\n){1,5}?[^\n]*\b_handle_tasks \()"
_WRITES = rf"_(?:Billiard_)?conn_sendall|conn_send_string|^(?:write|__write|_send|_send_bytes|sendall|send) \((?:[^\n]*/)?(?:multiprocessing/connection|libc|libpthread){_NO_POOL}"
# A queue of processes whose lock is not let go: it waits for no room.
_PUT_LOCK = r"^__enter__ \((?:[^\n]*/)?multiprocessing/synchronize\.py[^\n]*\nput \("
_UNREAD = r"(?:does not|do not|doesn't|never|nobody|no one|nothing|not) (?:\w+ ){0,2}?(?:empt(?:y|ies)|drain(?:s|ed)?|reads?|consumes?)\b"
_SIGNS = (
    Sign(rf"\b(?:(?:wake-?up )?pipe|socket ?pair|self-pipe)\b[^\n]{{0,80}}\b(?:{_UNREAD}|full\b|no room|fills? up)|\b{_UNREAD}[^\n]{{0,30}}\b(?:(?:wake-?up )?pipe|socket ?pair|self-pipe)\b", "what is written to a pipe is not read", anywhere=(rf"{_STOPS}|Timeout \(\d", r"submit|wait_result_broken_or_wakeup|_feed\b|wake-?up|\bput\b|send_bytes"), prose=True),
    Sign(r"\bjoin\(\)[^\n]{0,30}(?:first|then|,)[^\n]{0,30}\b(?:q\w*\.)?(?:get|read|recv)|\b(?:get|read|recv|drain)\w*\(?\)?[^\n]{0,20}before[^\n]{0,10}join[^\n]{0,30}(?:work|fix|help|solv)", "the process is joined before its queue is read", prose=True),
    Sign(r"^[^\n#]*\.put\([^\n]*(?:\n[^\n]*){1,40}?\n[^\n#]*\.join\(\)", "items are put on a queue whose process is joined", anywhere=(r"\bQueue\(|\bq(?:ueue)?\.get\(|multiprocessing|Process\(", r"\b(?:stays?|hangs?|never|stuck|blocks?|does not (?:end|exit|return))\b"), unless=(r"\b(?:spawn|forkserver)\b[^\n]{0,30}(?:works?|helps?)",)),
    Sign(r"^[^\n#]*\b\w*p\w*\.join\(\)[^\n]*\n(?:[^\n]*\n){0,6}?[^\n#]*\b\w+\.(?:get|get_nowait|recv)\(", "the process is joined before its queue is read", anywhere=(r"Queue\(|Pipe\(", r"Process\(", rf"{_STOPS}|popen_fork|multiprocessing/process\.py"), unless=(r"\bspawn\b[^\n]{0,30}(?:works?|helps?)",)),
    Sign(r"\b(?:nobody|no one|nothing|not|never)\b[^\n]{0,12}\breads?\b[^\n]{0,60}\b(?:until|before|while|as long as)\b|\b(?:answers|replies|output|results)\b[^\n]{0,30}\bwhile it (?:still )?reads\b", "what is written is not read before all is written", anywhere=(r"subprocess|Popen|\bpipe\b|\bPIPE\b|stdin|Queue",), prose=True),
    Sign(r"\bfor \w+ in \w+:\s*\w+\.join\(\)[\s\S]{0,200}?\.(?:get|get_nowait|empty)\(", "the processes are joined before their queue is read", anywhere=(r"Queue\(|multiprocess|Process\(|procs?\b",)),
    Sign(r"\b(?:anon_)?pipe_w(?:r|ri|rit|rite)?\b", "the kernel says that a write to a pipe waits for a reader"),
    # Where the kernel lets a writer sleep until somebody reads: Unix sockets (net/unix/af_unix.c), terminals (n_tty.c), TCP (net/core/stream.c).
    Sign(r"\bunix_wait_for_peer\b|\bsock_alloc_send_pskb\b|\bsock_wait_for_wmem\b", "the kernel says that a write to a Unix socket waits for its reader"),
    Sign(r"\bn_tty_write\b", "the kernel says that a write to a terminal waits for who holds it"),
    Sign(r"\bsk_stream_wait_memory\b", "the kernel says that a write to a connection waits for room", POSSIBLE),
    Sign(r"\btimer:\(persist,", "a connection has data to send, and its other end has no room: it does not read", POSSIBLE),
    Sign(r"\btimer:\(persist,", "a connection has data to send, and its other end has no room: it does not read", anywhere=(r"^(?:send\w*|_send\w*|write\w*|push\w*|put\w*) \(|\bsend(?:all|msg|to)?\b",), unless=(r"all_?reduce|NCCL|gloo",)),
    Sign(r"^zmq::(?:mailbox(?:_safe)?_t::recv|signaler_t::wait)[^\n]*\n(?:[^\n]+\n){0,3}?zmq::socket_base_t::send\b", "a send waits for room in a ZeroMQ queue (its high-water mark)"),
    Sign(r"^(?:send|send_multipart|_send_copy|_send_frame) \((?:[^\n]*/)?zmq/", "a send waits for room in a ZeroMQ queue (its high-water mark)", POSSIBLE),
    # Who writes its log and does not come back has nobody who reads it.
    Sign(r"^flush \((?:[^\n]*/)?logging/__init__\.py:\d+\)\nemit ", "a rank stands in the writing of its log", POSSIBLE),
    Sign(r"^flush \((?:[^\n]*/)?logging/__init__\.py:\d+\)\nemit ", "a rank stands in the writing of its log, which goes to a pipe", anywhere=(r"(?:stdout|stderr)=(?:subprocess\.|sp\.)?PIPE|^communicate \((?:[^\n]*/)?subprocess\.py",)),
    Sign(r"^[^\n#]*\.stdin\.write(?:lines)?\(", "a parent writes to a child that waits until its own output is read", anywhere=(r"^(?:__GI_+|__libc_|__)?write(?:64)?(?:@\S+)?(?: \([^\n]*\))?\n(?:__GI_+)?(?:_IO_|new_do_write|_Py_write)",)),
    Sign(rf"(?:_send|_send_bytes|send_bytes) \((?:[^\n]*/)?multiprocessing/connection{_NO_POOL}|pipe_write|anon_pipe_write|\b_feed\b[^\n]*(?:send|write|pipe)", "a feeder is blocked writing to a pipe", anywhere=(_JOIN,)),
    Sign(r"\b_feed\b[^\n]*(?:\n[^\n]*)?\bsend_bytes\b|\bsend_bytes\b[^\n]*(?:\n[^\n]*)?\b_feed\b", "a feeder is blocked writing to workers that are gone, and the pool that broke waits for it", anywhere=(r"\bterminate_broken\b", r"\bjoin_executor_internals\b|\bjoin_thread\b"), prose=True),
    Sign(rf"\b(?:over|above|more than|larger than|bigger than|beyond|exceeds?|exceeding|past|from about)\b[^\n]{{0,16}}\b(?:6[45] ?k(?:i?b)?|65,?5\d\d)\b[^\n]{{0,60}}|\b(?:6[45] ?k(?:i?b)?|65,?5\d\d)\b[^\n]{{0,40}}{_STOPS}", "what is larger than a pipe never arrives", anywhere=(r"\bjoin\b|queue|\bpipe\b|\bPIPE\b|subprocess|multiprocess|stdout", _STOPS), unless=(r"shared memory|/dev/shm|ulimit|nofile|port",), prose=True),
    Sign(rf"\b(?:workers?|process(?:es)?|child(?:ren)?|sub-?process(?:es)?|samplers?|producers?|actors?)\b[^\n]{{0,24}}\b(?:finish\w*|done|complete\w*|(?:at|reached) (?:the|their) end|returned)\b[^\n]{{0,60}}(?:\bjoin\w*\b[^\n]{{0,24}}{_STOPS}|\b(?:not|never|cannot be|can't be)\b (?:\w+ ){{0,2}}?join(?:ed|s|able)?\b)|\bjoin(?:\(\)|ing|s)?[^\n]{{0,24}}{_STOPS}[^\n]{{0,40}}\b(?:although|even though|though|while|but|after)\b[^\n]{{0,30}}\b(?:workers?|process(?:es)?|child(?:ren)?|targets?|functions?)\b[^\n]{{0,24}}\b(?:finish\w*|done|complete\w*|(?:at|reached) (?:the|their) end|returned)\b", "processes that put on a queue are done with their work and cannot be joined", anywhere=(r"(?:\b|_)(?:queues?|SimpleQueue|JoinableQueue)\b",), unless=(r"\bthreads?\b[^\n]{0,20}\b(?:not|never)\b|\bdefunct\b|\bzombies?\b|all_?reduce|killed|cancel_join_thread\(\)[^\n]{0,30}(?:no|does not) (?:help|change)",), prose=True),
    Sign(r"\bjoin_thread\(\)|\bfeeder(?: thread)?\b[^\n]{0,40}\b(?:alive|blocked|stuck|never|does not|still|in a write|writing)", "a process waits for the feeder of its queue", anywhere=(_STOPS + r"|does not come (?:out|back)|no children left",), unless=(r"cancel_join_thread\(\)[^\n]{0,30}(?:no|does not) (?:help|change)",), prose=True),
    Sign(r"_finalize_join|join_thread \((?:[^\n]*/)?multiprocessing/queues|_finalize_join", "a process waits at its end for its feeder to write all"),
    Sign(rf"{_SIZE}{_SAME}(?:finish|work|\bok\b|fine|pass|complet|succe\w|return)(?:[^\n]*\n){{0,12}}?[^\n]*{_SIZE}{_SAME}(?:hang\w*|never|stuck|minutes|hours|block\w*|timeout|0% ?cpu|forever|does not)",
         "small results work, large ones do not", anywhere=(_JOIN,)),
    Sign(r"(?<!send )(?<!receive )(?<!recv )\b(?:(?:std\w+|sub\w*)?pipes?|queues?)\b[^\n]{0,60}(?:is |was )?(?:(?<!-)full|fills? up|64 ?k|65536|capacity|buffer limit)|(?:64 ?k|65536)[^\n]{0,60}(?:pipe|buffer|bytes?)", "a pipe or queue is full", POSSIBLE, unless=(r"\bRLIMIT_\w+ is \d+ bytes",), prose=True),
    Sign(r"join(?:s|ed|ing)?\b[^\n]{0,60}before[^\n]{0,40}(?:get|read|drain|consum|empty)|(?:before|without)[^\n]{0,30}(?:draining|reading|emptying|consuming)[^\n]{0,40}(?:queue|pipe)", "the process is joined before its queue is read", prose=True),
    Sign(r"\bwrite\(\d+, (?![^\n]*\) += )[^\n]*(?:unfinished[^\n]*|\"\.{0,3}(?:, \d+)?|[^)\s])$", "a write does not return, and its parent waits for the end of the writer", anywhere=(r"\b(?:wait4|waitid|waitpid)\([^\n]*(?:unfinished[^\n]*|, ?)$",), unless=(r"write\([^\n]*(?:socket|TCP|UNIX)",)),
    Sign(r"\b(?:stdout|stderr)=(?:subprocess\.|sp\.)?PIPE", "a child's output goes to a pipe and its parent only waits", anywhere=(r"\.(?:wait|poll)\(\)|wait \((?:[^\n]*/)?subprocess\.py|waitpid", r"hang|never|stuck|stay|block|does not (?:return|end|finish)|forever|for ever"), unless=(r"communicate\(", )),
    Sign(rf"\b(?:big|large|huge|long|lots? of|much|verbose|many|a lot|more|bigger|larger)\b[^\n]{{0,40}}\b(?:output|results?|messages?|lines?|log\w*|arrays?|items?|print\w*|records?)\b[^\n]{{0,60}}{_STOPS}|\bprints? (?:a lot|much|many)\b[^\n]{{0,30}}{_STOPS}", "much output hangs, little does not",
         anywhere=(r"subprocess|Popen|\bPIPE\b|Queue|\bjoin\b|waitpid|wait4|\bpipe\b",), unless=(r"out of memory|/dev/shm|No space left|\bfork(?:ed|ing)\b",), prose=True),
    Sign(r"\b(?:stdout|stderr|output)\b[^\n]{0,30}\bPIPE\b[^\n]{0,60}\b(?:wait|poll|join)\b|\b(?:wait|poll|join)\(\)[^\n]{0,60}\bPIPE\b", "a child's output goes to a pipe and its parent only waits", anywhere=(rf"{_STOPS}|does not terminate|no control|never gets",), unless=(r"communicate\(\) (?:too|also|hangs)",), prose=True),
    Sign(r"\b(?:less|little|fewer|short|without|no|suppress\w*|quiet\w*|redirect\w*)\b[^\n]{0,30}\b(?:stdout|stderr|output|prints?|lines)\b[^\n]{0,60}\b(?<!\bnot )(?<!n't )(?<!\bnever )(?<!\bcannot )(?:well|fine|works?|returns?|ends?|finish\w*|ok)\b", "with less output it works", anywhere=(r"subprocess|Popen|\bPIPE\b|\bpipe\b", rf"{_STOPS}|does not terminate|does not end|never gets"), prose=True),
    Sign(rf"\b(?:short|small|few|little|tiny)\b[^\n]{{0,60}}\b(?:returns?|works?|fine|ok|ends?|finish\w*|comes? back)\b[^\n]{{0,80}}\b(?:long|large|big|many|huge|thousands?|\d[\d,]{{3,}}|\d+k)\b[^\n]{{0,40}}(?:{_STOPS}|does not|doesn't|not\b)", "little comes through, much does not",
         anywhere=(r"subprocess|Popen|\bPIPE\b|Queue\(|\bjoin\(|waitpid|wait4|subprocess\.py",), unless=(r"out of memory|/dev/shm|No space left|\bfork(?:ed|ing)\b|all_?reduce|NCCL|nodes?\b|GPUs?\b",), prose=True),
    Sign(r"write\(1?\d,(?![^\n]*\) += )[^\n]*", "a write to a pipe does not return", POSSIBLE, also=(r"pipe:\[|wait4|strace",)),
    Sign(r"put \((?:[^\n]*/)?(?:queue|multiprocessing/queues)\.py", "a thread waits for room in a queue", POSSIBLE, anywhere=(r"get \((?:[^\n]*/)?(?:queue|multiprocessing/queues)\.py|join|put \(",), unless=(_PUT_LOCK,)),
    # A library's own room for messages: who is to take them has left, and waits for the thread that puts them there.
    Sign(r"^wait \(threading\.py:\d+\)\n(?:wait(?:_for)? \(threading\.py:\d+\)\n)?_?(?:put|push|enqueue)\w* \((?!queue\.py|multiprocessing/)", "a thread waits for room for what it has, and who should take it waits for the end of that thread", anywhere=(r"^[^\n]*thread\w*\.join\(\)|^join \(threading\.py",)),
    Sign(r"\bstderr ?= ?(?:subprocess\.|sp\.)?PIPE\b[^\n]*\breads? (?:its )?stdout\b|\bstdout ?= ?(?:subprocess\.|sp\.)?PIPE\b[^\n]*\breads? (?:its )?stderr\b", "one of two pipes of a child is read, and the other fills", anywhere=(rf"{_STOPS}|\bstops?\b",), prose=True),
    Sign(r"\b(?:stdout|stderr)=(?:subprocess\.)?PIPE", "a child's output goes to a pipe", POSSIBLE, anywhere=(r"wait|hang|stuck",), unless=(r"communicate\(",)),
    Sign(r"BlockingIOError: \[Errno 11\] write could not complete without blocking", "a pipe is full, and its reader does not empty it", POSSIBLE),
)  # fmt: skip

_TITLE = "a writer is blocked in a full pipe or queue whose reader waits for the writer"
_STEPS = ("read the queue before join()", "cat /proc/CHILD/wchan   # pipe_write")


def check(case: Case) -> Iterator[Finding]:
    found = [*(_of_row(case, hit) for hit in hits(case, _SIGNS)), *_both_write(case)]
    if found:
        yield replace(finding(RULE, case, found, _TITLE, _STEPS), compared=len(_ways_to_write(case)) > 1)


def _of_row(case: Case, hit: Hit) -> Hit:
    """A sign; only possible where it is a row of ps(1) whose parent runs or sleeps for a while: it may read next."""
    rows = {row.pid: row for account in accounts(case) for row in account.named("proc.row")}
    writer = next((row for row in rows.values() if row.text.strip()[: len(hit.line)] == hit.line), None)
    parent = rows.get(writer.fields.get("ppid")) if writer is not None else None  # type: ignore[arg-type]
    if parent is not None and (
        parent.fields.get("wchan") in _FOR_A_WHILE or str(parent.fields.get("state"))[:1] == "R"
    ):
        return replace(hit, sign=replace(hit.sign, certainty=POSSIBLE))
    return hit


_FOR_A_WHILE = {"hrtimer_nanosleep", "do_nanosleep", "hrtimer_nanosle"}  # nanosleep(2); old ps(1) cuts the name


def _both_write(case: Case) -> Iterator[Hit]:
    """Processes that stand in a write to a connection: nobody reads what they send."""
    if case.snapshot.live:
        return  # there the pipes themselves are known
    writing = [one for one in accounts(case) if one.find(_WRITES)]
    if len(writing) > 1 and len(_ways_to_write(case)) != 1:
        yield Hit(Sign("", "two processes stand in a write to a connection that nobody reads"), writing[0], "")
    elif writing:
        yield Hit(Sign("", "a process stands in a write to a connection that nobody reads", POSSIBLE), writing[0], "")


def _ways_to_write(case: Case) -> set[frozenset[str]]:
    """The functions of those that stand in a write, each kind once: equals among them may have one reader, who is at work."""
    writing = [] if case.snapshot.live else [one for one in accounts(case) if one.find(_WRITES)]
    return {frozenset(frame.function for frame in seen.stack) for one in writing for seen in one.seen}


RULE = make_rule(__name__, __doc__, "queue-pipe-full", 29, check)
