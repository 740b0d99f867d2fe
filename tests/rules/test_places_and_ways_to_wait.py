"""Where ranks stand is told by stacks and recorders; what a tool lists stands nowhere, and some ways to wait are everybody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.known_cases import read
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.model.labels import who
from rankscope.pipeline import judge


def judged(folder: Path, text: str) -> Diagnosis:
    """A case whose items begin with ``=== label``, judged as its files would be."""
    (folder / "case").write_text(text)
    items = folder / "items"
    items.mkdir()
    read(folder / "case").lay_out(items)
    return judge(gather([items]))


def said(diagnosis: Diagnosis, rule: str) -> Finding | None:
    return next((one for one in diagnosis.findings if one.rule == rule), None)


REDUCES = """\
#0  0x00007f5ee0b19bbf in __GI___poll (fds=0x55c3a8, nfds=9, timeout=0) at ../sysdeps/unix/sysv/linux/poll.c:29
#1  0x00007f5ede44b0d3 in opal_progress () from libopen-pal.so.40
#2  0x00007f5edf0a65d8 in ompi_request_default_wait () from libmpi.so.40
#3  0x00007f5edf0bb1f0 in PMPI_Allreduce ()
"""
SOCKETS = 'ESTAB    0 0 10.20.4.11:40022 10.20.4.10:35111   users:(("orted",pid=9930,fd=22))\n'


@pytest.mark.parametrize("tool", ["ss -tnp, node2", "sudo lsof -nP -i | grep python (worker 3)", "netstat -tn (node2)"])
def test_what_a_tool_lists_stands_nowhere(tool: str, tmp_path: Path) -> None:
    found = judged(tmp_path, f"=== gdb rank 2\n{REDUCES}=== {tool}\n{SOCKETS}")
    assert said(found, "ranks-stand-apart") is None


def test_of_whom_is_told_where_he_is_stands_there(tmp_path: Path) -> None:
    found = judged(tmp_path, f"=== gdb rank 2\n{REDUCES}=== rank 1\nfinished its last batch, idle\n")
    assert said(found, "ranks-stand-apart") is not None


# Ranks 0-3 of a mesh two by two: 0 and 3 have the call of their rows in flight, 1 and 2 that of their columns.
IN_FLIGHT = """\
rank 0: reduce_scatter on pg rows [0, 2], work 88, launched; of columns nothing
rank 1: all_reduce on pg columns [0, 1], work 412, launched; of rows nothing
rank 2: all_reduce on pg columns [2, 3], work 412, launched; of rows nothing
rank 3: reduce_scatter on pg rows [1, 3], work 88, launched; of columns nothing
"""
BY_NAME = "    synchronize (torch/cuda/streams.py:101)\n"
COPIES = "    at::native::_local_scalar_dense_cuda (libtorch_cuda.so)\n    item (torch/_tensor.py:40)\n"
NO_CIRCLE = IN_FLIGHT.replace("columns [2, 3]", "rows [0, 2]").replace("columns [0, 1]", "rows [1, 3]")


def of_a_mesh(waits: str, calls: str) -> str:
    return (
        f"=== py-spy rank 0, rank 3\n{waits}    finish (overlap/bucket.py:164)\n"
        f"=== py-spy rank 1, rank 2\n{waits}    flush_norms (overlap/bucket.py:201)\n=== flight recorder, in flight\n{calls}"
    )


@pytest.mark.parametrize(
    ("waits", "calls", "cls"),
    [
        (BY_NAME, IN_FLIGHT, "collective-cycle"),
        (COPIES, IN_FLIGHT, "implicit-sync-deadlock"),
        (BY_NAME, "rank 0: reduce_scatter enqueued\nrank 1: all_reduce enqueued\n", "implicit-sync-deadlock"),
    ],
    ids=["calls in a circle", "a copy waits unasked", "only two calls are told"],
)
def test_a_circle_of_calls_in_flight_is_the_cause_and_their_waits_follow(
    waits: str, calls: str, cls: str, tmp_path: Path
) -> None:
    found = judged(tmp_path, of_a_mesh(waits, calls))
    assert found.verdict is not None
    assert found.verdict.cls == cls


def test_calls_of_one_group_stand_in_no_circle(tmp_path: Path) -> None:
    found = judged(tmp_path, of_a_mesh(BY_NAME, NO_CIRCLE))
    assert said(found, "groups-in-cycle") is None


DISPATCHES = """\
Thread 2211 (active): "MainThread"
    all_gather_into_tensor (torch/distributed/distributed_c10d.py:3830)
    dispatch (vllm/distributed/device_communicators/all2all.py:60)
    execute_dummy_batch (vllm/v1/worker/gpu_worker.py:297)
    run_busy_loop (vllm/v1/engine/core.py:861)
"""
RESTS = """\
Thread 2214 (idle): "MainThread"
    wait (threading.py:355)
    get (queue.py:171)
    _process_input_queue (vllm/v1/engine/core.py:527)
    run_busy_loop (vllm/v1/engine/core.py:852)
Thread 2391 (idle): "Thread-2"
"""
TAKES = {
    "polls": "    poll (zmq/sugar/poll.py:106)\n    process_input_sockets (vllm/v1/engine/core.py:603)\n",
    "takes requests": "    recv_multipart (zmq/sugar/socket.py:810)\n    recv_requests (serve/inbox.py:60)\n",
    "listens": "    recv_into (socket.py:720)\n    read_response (redis/connection.py:512)\n    listen (redis/client.py:1006)\n",
}
ASKS = "    recv_into (ssl.py:1102)\n    read (http/client.py:466)\n    get_object (boto3/s3.py:40)\n    fetch (shards.py:3)\n"


@pytest.mark.parametrize("thread", TAKES)
def test_who_waits_for_orders_is_not_in_the_call_of_the_others(thread: str, tmp_path: Path) -> None:
    others = f"=== py-spy dump, EngineCore_0 / EngineCore_1 / EngineCore_2 (same)\n{DISPATCHES}"
    found = judged(tmp_path, f"{others}=== py-spy dump, EngineCore_3\n{RESTS}{TAKES[thread]}")
    apart = said(found, "ranks-stand-apart")
    assert said(found, "answer-waited-for") is None
    assert apart is not None
    assert list(apart.ranks) == [3]


def test_a_thread_that_asked_waits_for_its_answer(tmp_path: Path) -> None:
    text = f"=== py-spy dump, EngineCore_3\n{RESTS}{ASKS}=== remarks\nthe job hangs, nothing more is printed\n"
    assert said(judged(tmp_path, text), "answer-waited-for") is not None


@pytest.mark.parametrize(
    ("label", "ranks"),
    [
        ("EngineCore_0 / EngineCore_1 (same)", "0-1"),
        ("EngineCore_3", "3"),
        ("EngineCore_0-2", "0-2"),
        ("EngineCore_0", ""),
    ],
)
def test_engines_are_ranks_where_there_are_several(label: str, ranks: str) -> None:
    """The only engine of a job drives ranks of its own."""
    assert str(who(label).ranks) == ranks


# Two threads of a service for which ranks wait, and the part of its source that takes locks.
STORE = """\
Thread 41 (idle): "MainThread"
    put (cache/store.py:31)
    under_index (cache/store.py:21)
    add (cache/store.py:40)
Thread 57 ({}): "evict"
    index (cache/store.py:12)
    evict_once (cache/store.py:52)
    run (threading.py:953)
"""
LOCKS = """\
12:     with self.index_lock:
13:         return dict(self._index)
20:     with self.index_lock:
21:         return then(*args)
31:     with self.data_lock:
32:         self._data.append(item)
51:     with self.data_lock:
52:         self.index()
"""
# The same with all its lines, from 11 on.
WHOLE = """\
    def index(self):
        with self.index_lock:
            return dict(self._index)



    def under_index(self, then, *args):


        with self.index_lock:
            return then(*args)








    def put(self, item):
        with self.data_lock:
            self._data.append(item)






    def add(self, item):
        return self.under_index(self.put, item)









    def evict_once(self):
        with self.data_lock:
            self.index()
"""
LEARNER = "=== rank 1\n    all_reduce (torch/distributed/distributed_c10d.py:2050)\n    step (learner.py:90)\n"


def of_a_store(state: str = "idle", locks: str = LOCKS, name: str = "cache/store.py") -> str:
    dump = f"=== py-spy dump --pid 41\n{STORE.format(state)}"
    return f"{dump}=== {name}\n{locks}{LEARNER}=== remarks\nit hangs, nothing more is printed\n"


def test_a_listing_and_two_stacks_show_locks_taken_crosswise(tmp_path: Path) -> None:
    found = judged(tmp_path, of_a_store())
    assert found.verdict is not None
    assert (found.verdict.cls, found.verdict.certainty) == ("lock-order-deadlock", Certainty.LIKELY)
    assert said(found, "person-asked") is None or said(found, "person-asked").kind is not Kind.CAUSE  # type: ignore[union-attr]


@pytest.mark.parametrize("by", ["{:>6}\t{}", "{}:{}"], ids=["cat -n", "grep -n"])
def test_a_listing_that_a_tool_numbers_is_read_by_its_numbers(by: str, tmp_path: Path) -> None:
    source = "\n".join(by.format(number, line) for number, line in enumerate(WHOLE.splitlines(), 11))
    found = said(judged(tmp_path, of_a_store(locks=f"{source}\n")), "lock-lines-in-stacks")
    assert found is not None
    assert found.certainty is Certainty.LIKELY


@pytest.mark.parametrize(
    "text",
    [
        of_a_store(state="active"),
        of_a_store(locks=LOCKS.replace("31:     with self.data_lock:", "31:     with self.disk_lock:")),
        of_a_store(locks=LOCKS.replace("20:     with self.index_lock:", "20:     if self._index:")),
        of_a_store(name="other/shelf.py"),
    ],
    ids=["one runs", "the other holds another lock", "only one is inside a lock", "a listing of another file"],
)
def test_locks_that_are_not_crosswise_are_no_such_deadlock(text: str, tmp_path: Path) -> None:
    assert said(judged(tmp_path, text), "lock-lines-in-stacks") is None


@pytest.mark.parametrize(
    ("threads", "sure"), [(STORE, Certainty.POSSIBLE), (STORE.split("Thread 57")[0], Certainty.LIKELY)]
)
def test_several_threads_idle_in_own_code_may_wait_for_locks(threads: str, sure: Certainty, tmp_path: Path) -> None:
    """At `with lock:` a stack shows no wait."""
    dump = f"=== py-spy dump --pid 41\n{threads.format('idle')}"
    alone = said(judged(tmp_path, f"{dump}{LEARNER}=== remarks\nit hangs, nothing more is printed\n"), "person-asked")
    assert alone is not None
    assert alone.certainty is sure


EQUAL = """\
{0:7d}     synchronize (torch/cuda/streams.py:224)
{0:7d}     wait_for_unshard (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:318)
{0:7d}     pre_forward (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:354)
{1:7d}     forward (models/block.py:441)
"""
GAVE_UP = (
    "[rank{0}]:[E311 04:27:31 ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={1}, OpType=_ALLGATHER_BASE, NumelIn=13, NumelOut=208, Timeout(ms)=600000) ran for 600029 milliseconds\n"
)
OF_ALL = (
    "=== recorders\nnewest entry on every rank: _all_gather_base, number 88, collective state: started on all 8 ranks\n"
)


def of_eight(stacks: str = "", calls: tuple[int, int] = (88, 88), more: str = "") -> str:
    dumps = f"=== py-spy of all 8 ranks, sort | uniq -c\n{stacks}" if stacks else ""
    return f"{dumps}{more}=== log\n{GAVE_UP.format(3, calls[0])}{GAVE_UP.format(5, calls[1])}"


@pytest.mark.parametrize(
    "text", [of_eight(EQUAL.format(8, 8)), of_eight(EQUAL.format(8, 8), more=OF_ALL), of_eight(more=OF_ALL)],
    ids=["stacks that are counted", "and recorders", "recorders alone"],
)  # fmt: skip
def test_where_all_are_in_the_call_nobody_misses_it(text: str, tmp_path: Path) -> None:
    found = judged(tmp_path, text)
    assert found.verdict is not None
    assert (found.verdict.cls, found.verdict.certainty) == ("stuck-below-program", Certainty.LIKELY)


@pytest.mark.parametrize(
    "text",
    [
        of_eight(EQUAL.format(7, 8) + "      1     step (train.py:20)\n"),
        of_eight(EQUAL.format(8, 8), calls=(88, 87)),
        of_eight(
            EQUAL.format(8, 8),
            more="=== rank 6\n    all_reduce (torch/distributed/distributed_c10d.py:2050)\n    log (a.py:1)\n",
        ),
        of_eight(more=OF_ALL.replace("all 8 ranks", "all ranks but rank 2").replace("every rank", "the ranks")),
    ],
    ids=["one stands elsewhere", "they gave up in two calls", "one is in another call", "one has no such entry"],
)
def test_where_one_may_be_elsewhere_it_is_not_below_the_program(text: str, tmp_path: Path) -> None:
    found = said(judged(tmp_path, text), "below-the-program")
    assert found is None or found.certainty is Certainty.POSSIBLE


def test_equal_stacks_of_a_job_that_gets_on_accuse_nobody(tmp_path: Path) -> None:
    steps = "".join(
        f"2025-03-11 04:17:{second:02d} step: {second}  loss: 3.9  tps: 5,912\n" for second in range(10, 50, 2)
    )
    stacks = f"=== py-spy of all 8 ranks, sort | uniq -c\n{EQUAL.format(8, 8)}"
    assert judged(tmp_path, f"{stacks}=== train log\n{steps}").verdict is None
