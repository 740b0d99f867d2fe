"""Jobs that are only slow, by what their group of processes or their loader tells; and programs that are over and do not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize(
    ("periods", "throttled", "slow"),
    [(912233, 911870, True), (912233, 1870, False), (40, 40, False)],
    ids=["nearly always", "seldom", "for a moment"],
)
def test_a_group_that_is_kept_from_the_cpu(periods: int, throttled: int, slow: bool, tmp_path: Path) -> None:
    stat = f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec 551092883120\n"
    found = judged(tmp_path, **{"cpu.stat": stat})
    assert ("only-slow" in {one.rule for one in found.findings}) is slow


@pytest.mark.parametrize(
    "line",
    [
        "nr_throttled=911870",
        "nr_throttled: 911870 (of all)",
        "nr_throttled 911870 periods",
        "nr_throttled " + "9" * 5000,
    ],
    ids=["equals", "remark", "unit", "no number of anything"],
)
def test_counters_as_people_write_them(line: str, tmp_path: Path) -> None:
    stat = f"nr_periods: 912233 since the start\n{line}\n"
    found = judged(tmp_path, **{"cpu.stat": stat})
    assert ("only-slow" in {one.rule for one in found.findings}) is (len(line) < 99)


@pytest.mark.parametrize(("throttled", "slow"), [(911870, True), (1870, False)])
def test_one_of_several_groups_is_kept_from_the_cpu(throttled: int, slow: bool, tmp_path: Path) -> None:
    """Whoever prints the counters of all pods prints those of the well ones first as often as not."""
    free = "max 100000\nusage_usec 91102881120\nnr_periods 0\nnr_throttled 0\n"
    stat = f"200000 100000\nusage_usec 8011288119\nnr_periods 912233\nnr_throttled {throttled}\n"
    found = judged(tmp_path, **{"cpu.stat": free + stat})
    assert ("only-slow" in {one.rule for one in found.findings}) is slow


@pytest.mark.parametrize(("pace", "slow"), [("74.38s/it", True), ("1.02it/s", False), ("2.31s/it", False)])
def test_weights_that_are_read_slowly(pace: str, slow: bool, tmp_path: Path) -> None:
    log = f"Loading safetensors checkpoint shards:  14% Completed | 5/37 [06:11<39:40, {pace}]\n"
    assert ("only-slow" in {one.rule for one in judged(tmp_path, log=log).findings}) is slow


OVER = (
    'Thread 330 (idle): "MainThread"\n    _wait_for_tstate_lock (threading.py:1116)\n    _shutdown (threading.py:1567)\n'
    'Thread 399 (idle): "Prefetcher"\n    wait (threading.py:320)\n    {call} (queue.py:140)\n    run (prefetch.py:22)\n'
)
LOG = "2024-08-02 18:44:00 | INFO | epoch 90/90 done\n2024-08-02 18:44:07 | INFO | saved /ckpt/final.pt\n"


@pytest.mark.parametrize(("call", "compared"), [("put", True), ("get", False)], ids=["wants room", "rests"])
def test_a_thread_that_wants_room_in_a_queue_when_the_program_is_over(
    call: str, compared: bool, tmp_path: Path
) -> None:
    """However well its log reads: nobody is left who takes anything. Threads that rest may serve on."""
    found = judged(tmp_path, stacks=OVER.format(call=call), log=LOG)
    assert [one.compared for one in found.findings if one.rule == "joins-with-nothing-below"] == [compared]


def test_the_name_of_a_function_says_nothing_of_a_halt(tmp_path: Path) -> None:
    """A pool at work, as it is told in one line for each process."""
    told = (
        "Process 1: wait (threading.py:320) <- next (multiprocessing/pool.py:861) <- main (dock.py:77)\n"
        "Process 2 (active+gil): minimize (score.py:50)\nProcess 3 (active+gil): load (score.py:20)\n"
    )
    assert "ranks-stand-apart" not in {one.rule for one in judged(tmp_path, stacks=told).findings}


LOOK = """\
Process {pid}: python -u finetune.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (active): "MainThread"
    {stack}
    main (finetune.py:188)

"""
MEETS = "barrier (torch/distributed/distributed_c10d.py:3703)\n    after_write (finetune.py:131)"
WRITES = "_save (torch/serialization.py:1092)\n    after_write (finetune.py:127)"
COPIES = "cpu (torch/storage.py:267)\n    _save (torch/serialization.py:1086)\n    after_write (finetune.py:127)"
POLLS = "recv_pyobj (zmq/sugar/socket.py:989)\n    recv_requests (serve.py:127)"


@pytest.mark.parametrize(
    ("mine", "its", "late"),
    [
        ((WRITES, COPIES), (MEETS,), True),
        ((POLLS, COPIES), (MEETS,), False),
        ((WRITES, COPIES), (COPIES, MEETS), False),
    ],
    ids=["writes on", "polled for requests", "the other one just came"],
)
def test_one_rank_that_works_on_while_another_waits(
    mine: tuple[str, ...], its: tuple[str, ...], late: bool, tmp_path: Path
) -> None:
    """Nobody complains, and yet one is waited for: two looks at it differ."""
    looks = {f"rank_{rank}": "".join(LOOK.format(pid=150 + rank, stack=one) for one in stacks)
             for rank, stacks in enumerate((mine, its))}  # fmt: skip
    verdict = judged(tmp_path, **looks).verdict
    assert (verdict is not None and (verdict.cls, verdict.certainty.value) == ("straggler-slow-rank", "likely")) is late


LOWERS = "make_llir (triton/backends/nvidia/compiler.py:331)\n    compile (triton/compiler/compiler.py:284)"
MEASURES = (
    "benchmark (torch/_inductor/autotune_process.py:640)\n    compile_fx_inner (torch/_inductor/compile_fx.py:650)"
)


@pytest.mark.parametrize(("second", "cls"), [(LOWERS, "not-a-hang-slow"), (MEASURES, "compile-worker")])
def test_who_is_elsewhere_in_the_compiler_at_a_second_look_only_compiles(second: str, cls: str, tmp_path: Path) -> None:
    """Who waits for a helper at both looks may wait for one that is gone."""
    looks = "".join(LOOK.format(pid=640, stack=one) for one in (MEASURES, second))
    verdict = judged(tmp_path, rank_0=looks).verdict
    assert verdict is not None
    assert verdict.cls == cls


READS = "get_tensor (safetensors/torch.py:489)\n    load_weights (loader.py:215)"
FITS = "_load_w13 (fused_moe/layer.py:931)\n    load_weights (loader.py:215)"


@pytest.mark.parametrize(
    ("event", "slow"),
    [('Warning  Unhealthy  3m  kubelet  Startup probe failed: Get "http://10.2.3.4:8000/health"', True),
     ("Normal   Started    38m  kubelet  Started container vllm", False)],
)  # fmt: skip
def test_a_probe_that_fails_asks_what_two_looks_answer(event: str, slow: bool, tmp_path: Path) -> None:
    looks = "".join(LOOK.format(pid=171, stack=one) for one in (READS, FITS))
    verdict = judged(tmp_path, worker=looks, events=f"  {event}\n").verdict
    assert (verdict is not None and verdict.cls == "not-a-hang-slow") is slow


JOINS = """\
Process 3312: python align.py
Python v3.10.12 (python)

Thread 3312 (idle): "MainThread"
    _shutdown (threading.py:1567)
Thread 3390 (idle): "lease"
    wait (threading.py:324)
    renew (lease.py:44)
    run (threading.py:953)
    _bootstrap (threading.py:973)
"""
ROWS = "  3301 pts/2  Sl+    0:11 torchrun align.py\n  3312 pts/2  Sl+   58:40 python align.py\n"
SAID = "".join(f"[rank{rank}] part {rank} written, bye\n" for rank in range(4))


@pytest.mark.parametrize(
    ("rows", "said", "alone"),
    [(ROWS, SAID, True), (ROWS + "  3311 pts/2  Sl+   58:41 python align.py\n", SAID, False),
     (ROWS, SAID.replace("[rank0] part 0 written, bye", "[rank2] starts") + "[rank2] closes\n", False)],
    ids=["the others have ended", "another one is there", "it said something else"],
)  # fmt: skip
def test_the_last_rank_of_those_that_said_they_are_done(rows: str, said: str, alone: bool, tmp_path: Path) -> None:
    """Rows of ``ps ax`` without their head count as well."""
    diagnosis = judged(tmp_path, rank_2=JOINS, ps=rows, output=said)
    assert any(one.rule == "does-not-end" and one.compared for one in diagnosis.findings) is alone


@pytest.mark.parametrize(
    ("row", "stalls"),
    [
        (" 3428 ?        D      0:00  \\_ mount -o remount,rw /data", True),
        (" 3428 ?        S      0:00  \\_ mount -o remount,rw /data", False),
        (" 3428 ?        D      0:00  \\_ du -s /data", False),
    ],
    ids=["in state D", "asleep", "another program"],
)
def test_a_mount_that_its_storage_keeps_waiting(row: str, stalls: bool, tmp_path: Path) -> None:
    """Of other programs a look may catch a read that ends in the next moment."""
    rows = f"32713 ?        Sl     0:35 kubelet --port=10250\n{row}\n"
    assert ("storage-silent" in {one.rule for one in judged(tmp_path, ps=rows).findings}) is stalls


PS = """\
    406 Rl      0{minute}:01 serve::Worker
  {pid} S       00:0{age}  \\_ /usr/local/cuda/bin/nvcc /tmp/{pid}.cu -cubin -o kernel.cubin
"""


@pytest.mark.parametrize(("later", "slow"), [(24077, True), (20911, False)], ids=["another one", "the same one"])
def test_one_compiler_after_the_other(later: int, slow: bool, tmp_path: Path) -> None:
    looks = PS.format(minute=3, pid=20911, age=2) + "--\n" + PS.format(minute=7, pid=later, age=1)
    found = judged(tmp_path, **{"ps -o pid,stat,etime,cmd, twice": looks})
    assert any("one compiler after the other" in one.title for one in found.findings) is slow


ROWS = """\\
{job}         COMPLETED      0:0   11:20:07
{job}.batch   COMPLETED      0:0   11:20:07
{job}.0       {step}   11:19:58
"""
SAVES = """\\
Thread 9101 (active+gil): "MainThread"
    _save (torch/serialization.py:857)
    save_last (ckpt.py:31)
    main (fit.py:150)

Thread 9102 (active): "MainThread"
    barrier (torch/distributed/distributed_c10d.py:3696)
    save_last (ckpt.py:34)
    main (fit.py:150)
"""


@pytest.mark.parametrize(
    ("job", "step", "head", "over"),
    [
        ("801", "COMPLETED      0:0", "", True),
        ("801", "FAILED         1:0", "", False),
        ("801", "RUNNING        0:0", "", False),
        ("802", "COMPLETED      0:0", "", False),
        ("801", "COMPLETED      0:0", "it hangs at the end of every run\\n", False),
        ("801", "COMPLETED      0:0", "srun: error: n1: tasks 0-5: Terminated\n", False),
    ],
    ids=["over", "a step failed", "a step runs", "another job", "hangs", "a task ended"],
)
def test_stacks_of_a_job_that_slurm_shows_completed(job: str, step: str, head: str, over: bool, tmp_path: Path) -> None:
    """Whoever looked did so before; what the accounts of another job tell is nothing."""
    (tmp_path / "slurm-801.out").write_text("0: epoch 29 val 0.26\\n0: saving last.pt ... 41 s\\n")
    (tmp_path / "dump, rank 0 and rank 1.txt").write_text(SAVES)
    (tmp_path / "sacct.txt").write_text(head + ROWS.format(job=job, step=step))
    assert (not judge(gather([tmp_path])).findings) is over


def test_one_heading_over_the_stacks_of_two_ranks(tmp_path: Path) -> None:
    """The ranks of both are those of either: half of them against the other half is nowhere seen."""
    (tmp_path / "dump, rank 0 and rank 1.txt").write_text(SAVES)
    assert "ranks-stand-apart" not in {one.rule for one in judge(gather([tmp_path])).findings}


@pytest.mark.parametrize(
    "line",
    [
        "Compiling in progress. Please wait...",
        "Optimizing the engine for this card, please be patient",
        "Please wait while the kernels are tuned for the first image",
        "the kernels are built on one node after the other, 30 mins in all",
        "loading of the shards goes rank after rank and takes 2 hours",
    ],
)
def test_a_program_that_asks_for_patience_or_a_build_that_goes_round(line: str, tmp_path: Path) -> None:
    found = judged(tmp_path, console=f"{line}\nno image yet, it seems to hang\n")
    assert "only-slow" in {one.rule for one in found.findings}


@pytest.mark.parametrize(
    "line", ["Please wait for your turn in the queue", "the ranks print one after the other: 0, 1, 2"]
)
def test_other_patience_and_other_turns(line: str, tmp_path: Path) -> None:
    found = judged(tmp_path, console=f"{line}\nno image yet, it seems to hang\n")
    assert "only-slow" not in {one.rule for one in found.findings}


BATON = "[aiter] waiting for baton release at /root/.aiter/jit/build/lock_module_attention\n"


@pytest.mark.parametrize(
    ("behind", "waits"),
    [
        ("", True),
        ("nothing more is printed, it hangs\n", True),
        ("[aiter] finish build [module_attention], cost 61.2s\n", False),
    ],
)
def test_who_waits_for_the_baton_of_a_builder(behind: str, waits: bool, tmp_path: Path) -> None:
    found = judged(tmp_path, console=BATON + behind)
    assert ("lock-file-left-behind" in {one.rule for one in found.findings}) is waits


WALL = "4 threads: pass 1 250.3s, pass 2 168.9s, all 420.4s\n1 thread: pass 1 246.5s, pass 2 169.9s, all 417.6s\n"


@pytest.mark.parametrize(
    ("beside", "slow"),
    [
        ("the same versions on another machine: 44 times faster\n", True),
        ("on a Mac it is 12x faster\n", True),
        ("with the old release several times slower\n", True),
        ("one rank is 44 times slower than the other ranks\n", False),
        ("the other machine is a Windows one\n", False),
    ],
)
def test_wall_times_beside_a_comparison(beside: str, slow: bool, tmp_path: Path) -> None:
    """It ends each time; that one rank is slower than others is another class."""
    found = judged(tmp_path, py_spy_record="7 idle workers in get, the main thread in wait\n", times=WALL, other=beside)
    assert ("only-slow" in {one.rule for one in found.findings}) is slow
