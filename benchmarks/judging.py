"""What it costs to judge a large hung job: jobs made here, of 1,024 ranks on 128 hosts unless told otherwise.

    python benchmarks/judging.py [--hosts 128] [--ranks 8] [--only NAME ...] [--slowest 5]

All but the last stand still, seen twice. ``one-out`` has one rank asleep in code of its own while all others stand in a
collective; in ``halves`` they stand in calls of two groups, in ``half-out`` one half is in no call; in ``gone`` one half has no
process; ``workers`` has 16 loader workers for each rank, one of which does not deliver; in ``recorders`` every rank tells of
its last 2,000 calls, as saved files do.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator

from rankscope.analysis.build import build
from rankscope.analysis.verdict import conclude
from rankscope.model.diagnosis import Diagnosis, Finding
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.recorder import GroupConfig, Recorder
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ring import Call, Ring, ints
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.rules import rules

TORCH = "/usr/lib/python3/site-packages/torch"
MAIN = (Frame("<module>", "/job/train.py", 30), Frame("train", "/job/train.py", 12))
REDUCES = Stack((*MAIN, Frame("all_reduce", f"{TORCH}/distributed/distributed_c10d.py", 2500)))
NAPS = Stack((*MAIN, Frame("wait_for_flag", "/job/train.py", 7)))
LOADER = tuple(
    Frame(name, f"{TORCH}/utils/data/dataloader.py", line)
    for line, name in enumerate(("_BaseDataLoaderIter.__next__", "_get_data", "_try_get_data"), 700)
)
LOADS = Stack((*MAIN, *LOADER, Frame("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 113)))
WORKS = (Frame("_worker_loop", f"{TORCH}/utils/data/_utils/worker.py", 300),)
IDLES = Stack((*WORKS, Frame("Queue.get", "/usr/lib/python3.11/multiprocessing/queues.py", 113)))
FETCHES = Stack((*WORKS, Frame("_MapDatasetFetcher.fetch", f"{TORCH}/utils/data/_utils/fetch.py", 54),
                 Frame("__getitem__", "/job/data.py", 4)))  # fmt: skip
PER_RANK = 16
ENTRIES = 2000
STILL_S = 90.0

Records = tuple[object, ...]


class Made:
    """A job under construction."""

    def __init__(self, hosts: int, ranks: int) -> None:
        self.hosts, self.per_host, self.world = hosts, ranks, hosts * ranks
        self.processes: list[Process] = []
        self.items: list[Item] = []

    def add(self, process: Process, *records: object) -> None:
        self.processes.append(process)
        self.items += [Item(process.ref, record) for record in records]

    def refs(self) -> Iterator[tuple[int, ProcessRef]]:
        """The ranks with their processes; pids are the same on all hosts, as those of containers are."""
        for rank in range(self.world):
            yield rank, ProcessRef(f"node{rank // self.per_host + 1}", 1000 + 100 * (rank % self.per_host), 5)

    def rank(self, rank: int, ref: ProcessRef, *records: object) -> None:
        process = Process(
            ref, Role.RANK, 1, "python", rank=rank, local_rank=rank % self.per_host, world_size=self.world
        )
        self.add(process, *records)

    def snapshot(self, expected: bool = True, live: bool = True) -> Snapshot:
        hosts = tuple(Host(f"node{number + 1}", "6.1", f"boot-{number}", 64) for number in range(self.hosts))
        job = Job("torchrun", None, self.world, "train.py", f"0-{self.world - 1}" if expected else "")
        refs = tuple(process.ref for process in self.processes)
        sweeps = tuple(Sweep(at, 1000.0 + at, refs, tuple(self.items)) for at in range(2 if live else 1))
        return Snapshot(job, hosts, tuple(self.processes), sweeps, live=live)


def standing(ref: ProcessRef, stack: Stack, group: str = "", call: BlockedCall | None = None) -> Records:
    """What is seen of a process whose one thread stands still in this stack."""
    known = (Local(len(stack) - 1, "group ranks", group, "ranks"),) if group else ()
    thread = PythonThread(ref.pid, stack, "MainThread", locals=known)
    channel = "pipe_read" if call else "hrtimer_nanosleep" if stack is NAPS else "futex_wait_queue"
    task = KernelThread(ref.pid, "python", "S", channel, voluntary=9, involuntary=1, still_s=STILL_S)
    files = OpenFiles(tuple(OpenFile(fd, f"pipe:[{ref.pid * 100 + fd}]", "r") for fd in range(3, 9)))
    seen = (Threads((task,), uptime_s=500.0), PythonStacks((thread,), "memory"), files)
    return (*seen, Blocked((call,))) if call else seen


def one_out(made: Made) -> Snapshot:
    for rank, ref in made.refs():
        made.rank(rank, ref, *standing(ref, NAPS if rank == made.world // 3 else REDUCES))
    return made.snapshot()


def halves(made: Made) -> Snapshot:
    everybody = f"0-{made.world - 1}"
    for rank, ref in made.refs():
        made.rank(rank, ref, *standing(ref, REDUCES, f"{'dp' if rank % 2 else 'tp'}: {everybody}"))
    return made.snapshot()


def half_out(made: Made) -> Snapshot:
    for rank, ref in made.refs():
        made.rank(rank, ref, *standing(ref, NAPS if rank % 2 else REDUCES))
    return made.snapshot()


def gone(made: Made) -> Snapshot:
    for rank, ref in made.refs():
        if rank % 2:
            made.rank(rank, ref, *standing(ref, REDUCES))
    return made.snapshot()


def workers(made: Made) -> Snapshot:
    for rank, ref in made.refs():
        slow = rank == made.world // 3
        made.rank(rank, ref, *standing(ref, LOADS if slow else REDUCES))
        for number in range(PER_RANK):
            worker = ProcessRef(ref.host, ref.pid + 1 + number, 6)
            process = Process(
                worker, Role.DATALOADER_WORKER, ref.pid, "python", rank=rank, owner=ref.pid, worker=number
            )
            stack = FETCHES if slow and number == PER_RANK // 2 else IDLES
            call = BlockedCall(worker.pid, "read", (3,)) if stack is IDLES else None
            made.add(process, *standing(worker, stack, "", call))
    return made.snapshot()


def recorders(made: Made) -> Snapshot:
    call = Call("0", "default_pg", "all_reduce", 0, "nccl", output_sizes=((1024,),))
    group = GroupConfig("0", "default_pg", tuple(range(made.world)))
    late = made.world // 3
    for rank, ref in made.refs():
        count = ENTRIES - (16 if rank == late else 0)
        done = bytes(number < ENTRIES - 16 for number in range(count))
        numbers, zeros = ints(range(count)), ints(bytes(8 * count))
        created = ints(10**18 + number * 10**6 + rank for number in range(count))
        states = bytes(2 * one for one in done)
        ring = Ring((call,) * count, numbers, numbers, zeros, numbers, created, zeros, zeros, states, done)
        made.rank(rank, ref, Recorder(ring, groups=(group,), rank=rank))  # type: ignore[arg-type]
    return made.snapshot(expected=False, live=False)


JOBS: dict[str, Callable[[Made], Snapshot]] = {
    "one-out": one_out, "halves": halves, "half-out": half_out, "gone": gone, "workers": workers, "recorders": recorders,
}  # fmt: skip


def judged(snapshot: Snapshot, slowest: int) -> tuple[dict[str, float], Diagnosis, list[str]]:
    """The diagnosis, with the seconds of CPU of each step and the rules that took longest."""
    at = time.process_time()
    case = build(snapshot)
    spent = {"case": time.process_time() - at}
    findings: list[Finding] = []
    took: dict[str, float] = {}
    for rule in rules():
        at = time.process_time()
        findings.extend(rule.check(case))
        took[rule.id] = time.process_time() - at
    spent["rules"] = sum(took.values())
    at = time.process_time()
    diagnosis = conclude(case, findings)
    spent["verdict"] = time.process_time() - at
    top = sorted(took, key=lambda rule: -took[rule])[:slowest]
    return spent, diagnosis, [f"{rule} {took[rule]:.2f}" for rule in top if took[rule] > 0.01]


def main() -> None:
    """Judge each of the jobs, and print a line for it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--hosts", type=int, default=128)
    options.add_argument("--ranks", type=int, default=8)
    options.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    options.add_argument("--slowest", type=int, default=0, help="name so many rules that took longest")
    chosen = options.parse_args()
    judged(one_out(Made(1, 4)), 0)  # what is loaded and compiled once is not what a large job costs
    print(
        f"{'job':10} {'processes':>9} {'waits':>8} {'case s':>7} {'rules s':>7} {'verdict s':>9} {'peak MB':>7}  answer"
    )
    for name in chosen.only:
        snapshot = JOBS[name](Made(chosen.hosts, chosen.ranks))
        spent, diagnosis, top = judged(snapshot, chosen.slowest)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answer = diagnosis.verdict.title[:70] if diagnosis.verdict else diagnosis.state.value
        times = f"{spent['case']:7.2f} {spent['rules']:7.2f} {spent['verdict']:9.2f}"
        print(
            f"{name:10} {len(snapshot.processes):9} {len(diagnosis.waits):8} {times} {peak:7.0f}  {answer}", flush=True
        )
        if top:
            print(f"{'':20} {', '.join(top)}", flush=True)


if __name__ == "__main__":
    main()
