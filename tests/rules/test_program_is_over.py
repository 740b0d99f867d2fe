"""A program that is over and does not end, by what its shell shows, by its threads and by how far main() came."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis, Kind
from rankscope.pipeline import judge

JOINED = """\
#0  0x01 in __futex_abstimed_wait_common64 ()
#1  0x02 in __pthread_clockjoin_ex ()
#2  0x03 in std::thread::join() ()
#3  0x04 in store::Registry::~Registry() ()
"""
STARTED = "[2024-01-09 10:22:31 +0000] [71] [INFO] Booting worker with pid: 72\n"


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files, whose names are as people head what they paste."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


def ends_never(found: Diagnosis) -> bool:
    """Whether that is the cause, by the rule and not by resemblance."""
    return "ends-never" in {one.rule for one in found.findings if one.kind is Kind.CAUSE and one.cls == "exit-hang"}


@pytest.mark.parametrize(
    "head", ["main_thread_after_main_has_returned", "stack_since_main_ended", "thread_1_main_had_already_returned"]
)
def test_a_thread_that_is_joined_after_main(head: str, tmp_path: Path) -> None:
    assert ends_never(judged(tmp_path, **{head: JOINED}))


def test_a_thread_that_is_joined_while_main_runs(tmp_path: Path) -> None:
    assert not ends_never(judged(tmp_path, main_thread=JOINED + "#4  0x05 in main ()\n"))


@pytest.mark.parametrize("last", ["Done", "all done.", "Finished!", "bye"])
@pytest.mark.parametrize("shell", ["no prompt after it; Ctrl+C ends it", "the prompt never comes back"])
def test_a_script_whose_last_line_is_there_and_whose_prompt_is_not(last: str, shell: str, tmp_path: Path) -> None:
    assert ends_never(judged(tmp_path, console=f"Env initialized\n{last}\n", shell=shell + "\n"))


def test_a_script_that_is_in_its_midst(tmp_path: Path) -> None:
    found = judged(tmp_path, console="Env initialized\nDone loading, 3 of 9\n", shell="no prompt yet\n")
    assert not ends_never(found)


@pytest.mark.parametrize(
    "threads",
    [
        "MainThread\nbk_loop (daemon=False), running a server's loop\n",
        "MainThread and a non-daemon thread that runs the io loop\n",
        "self.thread = Thread(target=self.poll, daemon=False)\n",
    ],
)
def test_a_thread_that_is_no_daemon_keeps_what_is_told_to_end(threads: str, tmp_path: Path) -> None:
    found = judged(tmp_path, console=STARTED + "^C\n(the prompt does not come back)\n", threads=threads)
    assert ends_never(found)


def test_such_a_thread_of_a_program_that_ends(tmp_path: Path) -> None:
    ends = "^C\n[2024-01-09 10:31:02 +0000] [71] [INFO] Shutting down: Master\n$\n"
    found = judged(tmp_path, console=STARTED + ends, threads="MainThread\nbk_loop (daemon=False)\n")
    assert not ends_never(found)
