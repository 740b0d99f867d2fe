"""Forked workers hang as long as their parent calls a library with threads before it forks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

CONSOLE = "parent done\nworker 0 start\nworker 1 start\n"
CODE = """\
import torch.multiprocessing as mp

def work(rank):
    loss = net(data[rank]).sum()
    loss.backward()
    print("done", rank)

{before}
for rank in range(4):
    mp.Process(target=work, args=(rank,)).start()
"""


def told(folder: Path, **texts: str) -> set[str]:
    """The rules that find something in these files."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return {one.rule for one in judge(gather([folder])).findings}


@pytest.mark.parametrize(
    "remark",
    [
        "warm_up()  # the workers hang unless this line is commented out",
        "run_workers hangs until the call of warm_up() above is removed",
        "stuck unless model.fit(x) before it is skipped",
    ],
)
@pytest.mark.parametrize("stands", ["loss.backward()  # stands here", "numpy.linalg.svd(a)  # never comes back"])
def test_it_hangs_until_the_call_is_taken_away(remark: str, stands: str, tmp_path: Path) -> None:
    found = told(tmp_path, console_multiprocessing_Process_fork=CONSOLE, child=stands, script=remark)
    assert "threads-left-in-parent" in found


def test_without_processes_it_is_no_fork(tmp_path: Path) -> None:
    remark = "warm_up()  # hangs unless this line is commented out"
    assert "threads-left-in-parent" not in told(tmp_path, console="start\n", script=remark)


@pytest.mark.parametrize(
    ("before", "forked"),
    [
        ("net(data[0]).sum().backward()", True),
        ("torch.autograd.grad(net(data[0]).sum(), w)", True),
        ("print('go')", False),
    ],
)
def test_gradients_in_a_parent_and_in_its_forked_children(before: str, forked: bool, tmp_path: Path) -> None:
    """The engine's threads are started by the first backward pass, and no fork copies them."""
    found = told(tmp_path, script=CODE.format(before=before), seen="it hangs, the workers print nothing\n")
    assert ("library-used-before-fork" in found) is forked


def test_gradients_of_children_that_are_spawned(tmp_path: Path) -> None:
    code = CODE.format(before='net(data[0]).sum().backward()\nmp.set_start_method("spawn")')
    assert "library-used-before-fork" not in told(tmp_path, script=code, seen="it hangs, the workers print nothing\n")
