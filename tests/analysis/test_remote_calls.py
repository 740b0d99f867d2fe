"""Whom a rank waits for in torch's RPC: who answers calls, and of two the other, and at its end all who are not there."""

from __future__ import annotations

from rankscope.model.diagnosis import Diagnosis, Kind
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

RPC = "/v/lib/python3.11/site-packages/torch/distributed/rpc"
MAIN = Frame("main", "/job/train.py", 7)
CALLS = Stack([MAIN, Frame("rpc_sync", f"{RPC}/api.py", 842)])
ENDS = Stack([MAIN, Frame("shutdown", f"{RPC}/api.py", 382), Frame("_all_gather", f"{RPC}/api.py", 257)])
SERVES = Stack([MAIN, Frame("serve", "/job/train.py", 35), Frame("wait", "/usr/lib/python3.11/threading.py", 327)])
ANSWERS = Stack([Frame("_run_function", f"{RPC}/internal.py", 209), Frame("update", "/job/train.py", 20)])
ASKS_BACK = Stack([*ANSWERS, Frame("rpc_sync", f"{RPC}/api.py", 842)])


def job(*ranks: tuple[Stack, Stack | None], answers_run: bool = False) -> Snapshot:
    """Ranks with the stack of their main thread and of the one that answers a call; the main threads stand still."""
    refs = tuple(ProcessRef("n1", 70 + 10 * rank, 1) for rank in range(len(ranks)))
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs))
    sweeps = []
    for at in (0, 1):
        items = []
        for ref, (main, answer) in zip(refs, ranks):
            stacks = {ref.pid: main, ref.pid + 1: answer}
            ran = {ref.pid: 3, ref.pid + 1: 3 + at * answers_run}
            tasks = tuple(KernelThread(tid, "python", "S", "futex_wait_queue", voluntary=ran[tid], involuntary=0,
                                       still_s=0.1 if ran[tid] > 3 else 99.0) for tid in stacks)  # fmt: skip
            threads = tuple(PythonThread(tid, stack) for tid, stack in stacks.items() if stack is not None)
            items += [Item(ref, Threads(tasks, uptime_s=120.0 + at)), Item(ref, PythonStacks(threads, engine="test"))]
        sweeps.append(Sweep(at, float(at), refs, tuple(items)))
    return Snapshot(Job("torchrun", world_size=len(ranks)), processes=processes, sweeps=tuple(sweeps))


def waits(snapshot: Snapshot) -> set[tuple[int, int]]:
    return {
        (wait.waiter.pid // 10 - 7, wait.target.pid // 10 - 7) for wait in case_of(snapshot).graph.waits if wait.target
    }


def causes(diagnosis: Diagnosis) -> list[tuple[str, list[int]]]:
    return [(one.cls, list(one.ranks)) for one in diagnosis.findings if one.kind is Kind.CAUSE]


def test_two_that_ask_back_are_a_circle() -> None:
    crosswise = job((CALLS, ASKS_BACK), (CALLS, ASKS_BACK))
    assert waits(crosswise) == {(0, 1), (1, 0)}
    assert causes(judge(crosswise)) == [("p2p-order-deadlock", [])]


def test_callers_wait_for_who_answers_calls() -> None:
    assert waits(job((ENDS, ANSWERS), (CALLS, None), (CALLS, None))) >= {(1, 0), (2, 0)}


def test_whom_a_call_asks_is_not_guessed_among_several() -> None:
    assert waits(job((CALLS, None), (CALLS, None), (SERVES, None))) == set()


def test_at_the_end_of_all_calls_those_are_waited_for_who_are_not_there() -> None:
    left = job((ENDS, None), (ENDS, None), (SERVES, None))
    assert waits(left) == {(0, 2), (1, 2)}
    assert causes(judge(left)) == [("rank-stuck-in-user-code", [2])]


def test_a_server_that_answers_is_not_at_its_end_and_nobody_waits_for_long() -> None:
    healthy = job((ENDS, ANSWERS), (CALLS, None), (CALLS, None), answers_run=True)
    assert waits(healthy) == set()
    assert causes(judge(healthy)) == []
