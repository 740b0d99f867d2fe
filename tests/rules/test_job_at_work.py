"""What was saved of a job that gets on, and about which nobody complains, is no trouble."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

import pytest

from rankscope.analysis import endings
from rankscope.analysis.at_work import Well, clear, well
from rankscope.analysis.build import build
from rankscope.analysis.papers import is_paper
from rankscope.formats.gather import gather
from rankscope.formats.live_log import with_events
from rankscope.model.evidence.events import Event
from rankscope.pipeline import judge

STEPS = "".join(f"step {100 + 10 * n} loss {3 - n / 10:.2f}\n" for n in range(5))
WATCHDOG = 'if err == 28:\n    log.error("No space left on device")\nwhile True:\n    poll()\n'


def health(folder: pathlib.Path, **texts: str) -> Well:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return well(build(with_events(gather([folder])), 30.0))


def test_a_source_tells_of_what_may_happen(tmp_path: pathlib.Path) -> None:
    (tmp_path / "watchdog.py").write_text(WATCHDOG)
    assert judge(gather([tmp_path])).verdict is None


def test_a_comment_in_settings_tells_of_other_days(tmp_path: pathlib.Path) -> None:
    line = "overlap: false   # deadlock in all_gather on 2.4, fixed in 2.5\n"
    (tmp_path / "check.log").write_text("5 keys are known\n")
    (tmp_path / "job.yaml").write_text(line)
    assert judge(gather([tmp_path])).verdict is None
    (tmp_path / "notes.log").write_text(line)
    assert judge(gather([tmp_path])).verdict is not None


def test_the_same_words_in_a_log_have_happened(tmp_path: pathlib.Path) -> None:
    (tmp_path / "rank 0.log").write_text("OSError: [Errno 28] No space left on device\n")
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "storage-full"


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("job.yaml", True),
        ("train.py", True),
        ("README.md", True),
        ("requirements-dev.txt", True),
        ("rank 0.log", False),
        ("mpirun -np 2 python train.py", False),
        ("00_torchrun_--nproc-per-node_2_train.py", False),
    ],
)
def test_papers_are_known_by_their_names(name: str, paper: bool) -> None:
    assert is_paper(name, ["text"]) is paper


@pytest.mark.parametrize(
    ("lines", "paper"),
    [
        (["RuntimeError: the cluster was started with:", "    Ray: 2.12.0"], False),
        (["Traceback (most recent call last):", '  File "main.py", line 3, in <module>'], False),
        (["set -e", "RuntimeError: is what grep looks for below", "grep RuntimeError log"], True),
        (["import torch", "# RuntimeError: CUDA error"], True),
    ],
)
def test_what_a_script_printed_is_no_paper(lines: list[str], paper: bool) -> None:
    """A text that is named after the command may be its output: an error's line stands in it, and no code."""
    assert is_paper("bash train.sh", lines) is paper


def test_a_heading_that_ends_in_a_script_is_no_paper() -> None:
    """``the prints, in train.py`` tells of a script, ``02_train.py`` is one."""
    assert not is_paper("00_notes,_prints_in_train.py", ["it stops here"])
    assert is_paper("00_notes,_train.py", ["import torch"])
    assert is_paper("02_train.py", ["loss = 0"])


@pytest.mark.parametrize(
    "name",
    [
        "00_console_python_tools_train.py_--config-file_configs_rpn.yaml",
        "01_torchrun_--nproc-per-node_4_-m_train.main_conf_base.toml",
        "log of bash run.sh base.cfg",
    ],
)
def test_a_command_that_was_given_settings_is_no_paper(name: str) -> None:
    assert not is_paper(name, ["INFO: start", "RuntimeError: unable to write to file </torch_7_7>"])
    assert is_paper(name, ["model: base", "lr: 0.1"])
    assert is_paper("00_as_given_to_train.py_rpn.yaml", ["lr: 0.1  # 0.2 hangs", "text"])


def test_a_log_whose_steps_grow_is_well(tmp_path: pathlib.Path) -> None:
    assert health(tmp_path, console=STEPS) is Well.IS


@pytest.mark.parametrize(
    "more",
    [
        "since then it hangs, nothing more is printed\n",
        "RuntimeError: NCCL communicator was aborted\n",
        "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n",
    ],
)
def test_a_complaint_or_an_error_after_the_steps_counts(tmp_path: pathlib.Path, more: str) -> None:
    assert health(tmp_path, console=STEPS + more) is Well.UNKNOWN


def test_a_complaint_in_another_file_counts(tmp_path: pathlib.Path) -> None:
    assert health(tmp_path, console=STEPS, note="rank 3 is stuck since noon\n") is Well.UNKNOWN


ENGINE = (
    "INFO 10:00:{:02} Avg prompt throughput: {} tokens/s, Avg generation throughput: {} tokens/s, "
    "Running: {} reqs, Waiting: 0 reqs\n"
)
DECODES = "Decode batch. #running-req: {}, gen throughput (token/s): {}, #queue-req: 0\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (ENGINE.format(0, 8191.7, 0.0, 3) + ENGINE.format(10, 0.0, 88.2, 3), Well.IS),
        (ENGINE.format(0, 8191.7, 0.0, 3) + ENGINE.format(10, 0.0, 0.0, 3), Well.UNKNOWN),  # it took them, and stands
        (ENGINE.format(0, 8191.7, 12.5, 3) + ENGINE.format(10, 0.0, 0.0, 0), Well.IS),  # all are answered
        (ENGINE.format(0, 8191.7, 0.0, 3) + ENGINE.format(10, 0.0, 0.0, 3) + ENGINE.format(20, 0.0, 9.5, 3), Well.IS),
        (ENGINE.format(0, 0.0, 0.0, 3) + '10.0.0.9 - "GET /health HTTP/1.1" 200 OK\n' * 9, Well.UNKNOWN),
        (DECODES.format(2, 120.4) + DECODES.format(2, 118.9), Well.IS),
        (DECODES.format(2, 120.4) + DECODES.format(2, "0.00"), Well.UNKNOWN),
    ],
)
def test_the_last_throughput_of_a_server_counts(log: str, expected: Well, tmp_path: pathlib.Path) -> None:
    assert health(tmp_path, server=log) is expected


def test_a_warning_is_over_where_steps_go_on_elsewhere(tmp_path: pathlib.Path) -> None:
    told = "W0415 07:00:11.0 140 client.cc:88] RPC failed: connection refused\nI0415 07:00:31.1 140 agent.cc:9] connected\n"
    assert health(tmp_path, host0=STEPS, host1=told) is Well.IS


def test_an_error_elsewhere_is_not(tmp_path: pathlib.Path) -> None:
    assert (
        health(tmp_path, host0=STEPS, host1="E0415 07:00:11.0 140 client.cc:88] ERROR: connection lost\n")
        is Well.UNKNOWN
    )


IN_GDB = """0x00007eff7ad26ef3 in epoll_wait (epfd=5, events=0x7eff7a10, timeout=timeout@entry=395) at epoll_wait.c:30

Thread 2 (Thread 0x7eff60dff6c0 (LWP 902) "gunicorn"):
#0  __futex_abstimed_wait_common64 (private=0, abstime=0x0, op=393, expected=0) at ./nptl/futex-internal.c:57
#1  0x00007eff7aca65d8 in __pthread_cond_wait_common (abstime=0x0, clockid=0) at ./nptl/pthread_cond_wait.c:503
#2  0x00007eff6b9a2e66 in worker (arg=0x0) at src/threadpool.c:77
"""


def test_a_thread_of_a_library_rests_under_gdb(tmp_path: pathlib.Path) -> None:
    """Its function is called as that of a pool of processes is."""
    (tmp_path / "gdb.txt").write_text(IN_GDB)
    assert "fork-took-a-lock" not in {one.rule for one in judge(gather([tmp_path])).findings}


PUT_ASIDE = "  PID  PPID  PGID STAT COMMAND\n 7110  7100  7110 T    tput cols\n 7100  7098  7100 S    sh launcher.sh\n"


@pytest.mark.parametrize(
    ("said", "found"), [("the launcher hangs when it is started with &", True), ("what ps shows", False)]
)
def test_any_stopped_program_counts_where_something_halts(said: str, found: bool, tmp_path: pathlib.Path) -> None:
    """Somebody may have put it aside."""
    (tmp_path / "00_ps.txt").write_text(PUT_ASIDE)
    (tmp_path / "01_note.txt").write_text(said + "\n")
    assert ("stopped-from-outside" in {one.rule for one in judge(gather([tmp_path])).findings}) is found


def test_a_log_is_gone_through_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tries failed in it: each asks whether the program went on."""
    asked: list[object] = []
    real = endings._ordinary_lines

    def counted(events: Iterable[Event]) -> endings._Ordinary:
        asked.append(events)
        return real(events)

    monkeypatch.setattr(endings, "_ordinary_lines", counted)
    tried = "".join(
        f"could not fetch shard {n}, trying the next\nINFO fetched {n}\nINFO sorted {n}\n" for n in range(9)
    )
    assert health(tmp_path, console=tried, host0=STEPS) is Well.IS
    assert len(asked) == 1


@pytest.mark.parametrize(
    "last",
    [
        "INFO: Shutting down",
        "INFO shm_broadcast.py:681 No available shared memory broadcast block found in 60 seconds.",
    ],
)
def test_a_server_that_goes_down_or_waits_for_its_processes_does_not_answer(last: str, tmp_path: pathlib.Path) -> None:
    answers = 'INFO: Application startup complete.\nINFO: "POST /v1/completions HTTP/1.1" 200 OK\n'
    assert health(tmp_path, server=answers) is Well.IS
    assert health(tmp_path, server=f"{answers}{last}\n") is Well.UNKNOWN


def test_the_number_of_a_task_is_no_counter_at_nought(tmp_path: pathlib.Path) -> None:
    """GIVEN lines that end in ``:0``, WHEN that is a part of a name, THEN nothing is known to be clear."""
    names = "CreateSession still waiting for response from worker: /job:ps/replica:0/task:0\n" * 3
    for text, nought in ((names, False), ("errors: 0\ndrops: 0\nretries: 0\n", True), ("errors: 0\n", False)):
        (tmp_path / "counters.txt").write_text(text)
        assert clear(build(with_events(gather([tmp_path])), 30.0)) is nought


def test_what_changes_is_no_list_of_changes(tmp_path: pathlib.Path) -> None:
    stacks = (
        "thread A: in get_changes, waits in version for the cache\nthread B: holds it, waits in version for the pool\n"
    )
    assert health(tmp_path, gdb_while_it_gets_storage_changes=stacks) is Well.UNKNOWN
    assert health(tmp_path / "papers", CHANGES=stacks) is Well.IS


FAILED_ONCE = """\
step 4000 loss 2.110
step 4010 loss 2.101
[rank3]: Traceback (most recent call last):
[rank3]:   File "/app/train.py", line 88, in <module>
[rank3]:     main()
[rank3]:   File "/app/train.py", line 61, in main
[rank3]:     loss.backward()
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.
slurmstepd: error: *** STEP 8812.0 ON node3 CANCELLED AT 2026-11-02T08:01:10 ***
srun: error: node3: task 3: Exited with exit code 1
"""


@pytest.mark.parametrize("resumed", [True, False])
def test_of_an_attempt_behind_which_another_one_gets_on_nothing_is_guessed(
    resumed: bool, tmp_path: pathlib.Path
) -> None:
    steps = "".join(f"step {4000 + 10 * n} loss {2 - n / 100:.2f}\n" for n in range(1, 30))
    (tmp_path / "train.log").write_text(FAILED_ONCE + ("requeued, resumed from step 4000\n" + steps if resumed else ""))
    assert (judge(gather([tmp_path])).verdict is None) is resumed


@pytest.mark.parametrize(
    ("command", "found"),
    [("vim pretrain.py", False), ("less train.log", False), ("/usr/bin/python3 -u pretrain.py", True), ("bash train.sh", True)],
)  # fmt: skip
def test_an_editor_put_aside_is_no_program_of_the_job(command: str, found: bool, tmp_path: pathlib.Path) -> None:
    """Whatever file it shows; who runs that file does nothing while it is stopped."""
    rows = f"   PID   PPID STAT COMMAND\n  4411   4400 Rl   python3 -u serve.py\n  5120   5100 T    {command}\n"
    (tmp_path / "ps -u me.txt").write_text(rows)
    verdict = judge(gather([tmp_path])).verdict
    assert (verdict is not None and verdict.cls == "process-stopped") is found


def test_a_child_not_collected_holds_up_nobody_whose_log_gets_on(tmp_path: pathlib.Path) -> None:
    zombie = "   PID   PPID STAT COMMAND\n  4411   4400 Rl   python3 -u a.py\n  5120   4411 Z    [sh] <defunct>\n"
    assert health(tmp_path / "gets_on", ps=zombie, log=STEPS) is Well.IS
    assert health(tmp_path / "stands", ps=zombie, log=STEPS + "nothing more for an hour, it hangs\n") is Well.UNKNOWN
