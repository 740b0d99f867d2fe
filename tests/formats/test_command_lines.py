"""What a process was called with is no word about the job: code, patterns of a search, names of kernel threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.command_lines import without_code
from rankscope.formats.gather import gather
from rankscope.pipeline import judge

HEAD = "  PID  PPID STAT WCHAN                      COMMAND\n"
ROW = " {} 4700 S    do_poll                    {}\n"


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("/usr/bin/python3.11 -B -c from multiprocessing.spawn import spawn_main", "/usr/bin/python3.11 -B -c"),
        ("python -u train.py --spawn", "python -u train.py --spawn"),
        ("bash -c ulimit -n; exec torchrun train.py", "bash -c"),
        ("/usr/bin/grep -aEn -e No space left on device", "/usr/bin/grep"),
        ("[kworker/R-xfs_mru_cache]", "[kernel thread]"),
        ("[python] <defunct>", "[python] <defunct>"),
    ],
)
def test_of_a_command_remains_what_tells_of_the_process(command: str, left: str) -> None:
    assert without_code(ROW.format(4711, command).rstrip("\n"), command) == ROW.format(4711, left).rstrip("\n")


@pytest.mark.parametrize(
    "command",
    [
        "python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5) --multiprocessing-fork",
        "grep -e No space left on device -e Too many open files -e Out of memory: Killed process",
        "python -c try: read() except: raise OSError: [Errno 28] No space left on device",
    ],
)
def test_no_cause_is_read_from_a_command(command: str, tmp_path: Path) -> None:
    (tmp_path / "ps.txt").write_text(HEAD + ROW.format(4711, command) + ROW.format(4712, "sleep 9"))
    assert judge(gather([tmp_path])).verdict is None


@pytest.mark.parametrize(("parent", "said"), [("do_wait", "likely"), ("hrtimer_nanosleep", "possible")])
def test_a_full_pipe_whose_reader_only_pauses_is_possible(parent: str, said: str, tmp_path: Path) -> None:
    """ps(1) catches a writer in the moment before it is read as well."""
    rows = f" 4700 1 S    {parent}   python train.py\n 4711 4700 S    anon_pipe_write   python helper.py\n"
    (tmp_path / "ps.txt").write_text(HEAD + rows)
    found = [one for one in judge(gather([tmp_path])).findings if one.rule == "pipe-full"]
    assert [one.certainty.value for one in found] == [said]
