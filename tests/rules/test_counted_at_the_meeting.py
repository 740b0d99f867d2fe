"""Who has counted itself at the barrier of the store, and whether all came later: by torch's own lines (distributed_c10d.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import rank_not_at_meeting

KEY = "store_based_barrier_key:{}"
WAITS = (
    "INFO Waiting in store based barrier to initialize process group for rank: 2, "
    f"key: {KEY} (world_size=4, worker_count=3, timeout=0:30:00)\n"
)
MET = f"INFO Rank 2: Completed store-based barrier for key:{KEY} with 4 nodes.\n"
FIRST, SECOND = 1, 2


@pytest.mark.parametrize(
    ("logs", "titles"),
    [
        pytest.param([WAITS.format(FIRST)], ["only 3 of 4 arrived"], id="sick"),
        pytest.param([WAITS.format(FIRST) + MET.format(FIRST)], [], id="then all came"),
        pytest.param([WAITS.format(FIRST), MET.format(FIRST)], [], id="another rank tells that all came"),
        pytest.param([WAITS.format(FIRST) + MET.format(SECOND)], ["only 3 of 4 arrived"], id="another barrier was met"),
        pytest.param([MET.format(FIRST) + WAITS.format(FIRST)], ["only 3 of 4 arrived"], id="it waits anew after one"),
    ],
)
def test_a_barrier_that_was_met_is_no_wait(logs: list[str], titles: list[str], tmp_path: Path) -> None:
    for rank, text in enumerate(logs):
        (tmp_path / f"rank{rank}.log").write_text(text)
    assert [one.title for one in rank_not_at_meeting.check(case_of(gather([tmp_path])))] == titles


NAMED = """\
jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: {barrier}. Timed out task names:
/job:jax_worker/replica:0/task:3
/job:jax_worker/replica:0/task:6
"""


@pytest.mark.parametrize(("barrier", "named"), [("PjRT_Client_Connect", True), ("checkpoint_sync_40", False)])
def test_tasks_that_did_not_come_to_the_first_barrier_are_named(barrier: str, named: bool, tmp_path: Path) -> None:
    """At a later barrier of the program they were there once."""
    (tmp_path / "worker 0.log").write_text(NAMED.format(barrier=barrier))
    found = judge(gather([tmp_path])).findings
    said = {one.title for one in found if one.cls == "rank-never-joined"}
    assert ("ranks 3,6 did not come to the first barrier of the coordination service" in said) is named


FOUND_LATE = """\
[W1104 14:02:11.331 socket.cpp:697] [c10d] The IPv6 network addresses of (job-master-0, 23456) cannot be retrieved \
(gai error: -2 - Name or service not known).
"""
PENDING = """\
NAME           READY   STATUS    RESTARTS   AGE
job-master-0   1/1     Running   0          22m
job-worker-0   0/1     Pending   0          22m
  Warning  FailedScheduling  2m   default-scheduler  0/19 nodes are available: 16 Insufficient nvidia.com/gpu.
"""


@pytest.mark.parametrize(
    ("then", "cls"),
    [("connected to store\n", "rank-never-joined"),
     ("not connected to the store\n", "rendezvous-port"), ("", "rendezvous-port")],
)  # fmt: skip
def test_a_name_that_came_up_late_is_no_reason(then: str, cls: str, tmp_path: Path) -> None:
    (tmp_path / "kubectl logs job-worker-1.txt").write_text(FOUND_LATE + then)
    (tmp_path / "kubectl get pods.txt").write_text(PENDING)
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == cls


STARTS = "$ python train.py -accum_count 4 -world_size {world} -gpu_ranks {ranks}\n"
LOOP = "[2024-05-02 14:41:07,665 INFO] Start training loop\n"


@pytest.mark.parametrize(
    ("commands", "missing"),
    [
        ([(2, "0")], "1"),
        ([(4, "0 1 3")], "2"),
        ([(4, "0,1"), (4, "3")], "2"),
        ([(4, "0,1"), (4, "2,3")], None),
        ([(1, "0")], None),
    ],
    ids=["one of two", "a gap", "two nodes, one short", "two nodes", "a world of one"],
)
def test_who_is_not_among_the_ranks_that_commands_start(
    commands: list[tuple[int, str]], missing: str | None, tmp_path: Path
) -> None:
    text = "".join(STARTS.format(world=world, ranks=ranks) for world, ranks in commands)
    (tmp_path / "console.log").write_text(text + LOOP)
    found = list(rank_not_at_meeting.check(case_of(gather([tmp_path]))))
    assert [str(one.ranks) for one in found] == ([missing] if missing else [])


@pytest.mark.parametrize("end", ["", "; {} sec"])
def test_another_node_that_nobody_shows_does_its_part_of_a_job_that_gets_on(end: str, tmp_path: Path) -> None:
    step = "[2024-05-02 14:4{at}:07,665 INFO] Step {at}50/200000; ppl: 9.2"
    steps = "".join(step.format(at=at) + end.format(at * 60) + "\n" for at in range(1, 7))
    (tmp_path / "console.log").write_text(STARTS.format(world=4, ranks="0 1") + LOOP + steps)
    assert judge(gather([tmp_path])).verdict is None


ALIKE = [
    "NNODES=2 RANK={node} MASTER_ADDR=10.0.0.4 MASTER_PORT=29400 llamafactory-cli train sft.yaml",
    "torchrun --nnodes=3 --nproc-per-node=8 --master-addr 10.0.0.4 train.py --seed {node}",
    "accelerate launch --num_machines 2 --num_processes 16 --main_process_ip 10.0.0.4 train.py --seed {node}",
]
NUMBERED = [
    "NNODES=2 NODE_RANK={node} MASTER_ADDR=10.0.0.4 llamafactory-cli train sft.yaml",
    "torchrun --nnodes=3 --node-rank={node} --nproc-per-node=8 --master-addr 10.0.0.4 train.py",
    "torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint 10.0.0.4:29400 train.py",
    "accelerate launch --num_machines 2 --machine_rank {node} --main_process_ip 10.0.0.4 train.py",
    "torchrun --nnodes=1 --nproc-per-node=8 train.py",
    "NNODES=2 bash run.sh {node}",
]


@pytest.mark.parametrize(("command", "alike"), [(one, True) for one in ALIKE] + [(one, False) for one in NUMBERED])
def test_nodes_that_are_not_told_which_they_are(command: str, alike: bool, tmp_path: Path) -> None:
    for node, place in enumerate(("first machine", "second machine")):
        (tmp_path / f"{place}.txt").write_text(command.format(node=node) + "\n")
    (tmp_path / "seen.txt").write_text("no step on either machine, then a socket timeout after 15 minutes\n")
    rules = {one.rule for one in judge(gather([tmp_path])).findings if "which of the nodes" in one.title}
    assert rules == ({"rank-not-at-meeting"} if alike else set())
