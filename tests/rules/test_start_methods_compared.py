"""One command with forked workers and with others, and code whose library has threads before its workers are forked."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.pipeline import judge


def forked(folder: pathlib.Path, **texts: str) -> list[Finding]:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    found = judge(gather([folder]), 30.0).findings
    return [one for one in found if one.cls == "fork-with-threads" and one.rule != "like-known-cases"]


PLAIN = "$ python plot.py --all\n^C\n"


@pytest.mark.parametrize(
    "setting", ["JOBLIB_START_METHOD=forkserver", "APP_MP_CONTEXT='spawn'", "A=1 MY_START_METHOD=spawn"]
)
def test_a_command_that_ends_without_a_fork_tells_of_it(tmp_path: pathlib.Path, setting: str) -> None:
    """Nothing but the start method is another."""
    found = forked(tmp_path, first=PLAIN, second=f"$ {setting} python plot.py --all\n$\n")
    assert any(one.compared for one in found)


@pytest.mark.parametrize(
    "second",
    [
        "$ JOBLIB_START_METHOD=forkserver python plot.py --all\n^C\n",
        "$ JOBLIB_START_METHOD=forkserver python other.py\n$\n",
    ],
)
def test_another_command_or_one_that_stands_as_well_does_not(tmp_path: pathlib.Path, second: str) -> None:
    """The start method is not what makes the difference."""
    assert not any(one.compared for one in forked(tmp_path, first=PLAIN, second=second))


SCRIPT = """import multiprocessing as mp
import numexpr as ne

def work(out=None):
    rows = ne.evaluate('a > 0')
    if out is not None:
        out.put(rows)

if __name__ == "__main__":
    {first}
    out = mp.Queue()
    child = mp.Process(target=work, args=(out,))
    child.start()
    out.get()
"""


@pytest.mark.parametrize(("first", "sick"), [("work()", True), ("print('begin')", False)])
def test_who_used_the_threads_of_numexpr_before_its_child(tmp_path: pathlib.Path, first: str, sick: bool) -> None:
    """Somebody broke it off."""
    texts = {"script": SCRIPT.format(first=first), "console": "$ python work.py\nbegin\n^C\n"}
    assert bool(forked(tmp_path, **texts)) is sick


FORKS = """import os, numpy

def main():
    pid = os.fork()
    if not pid:
        print(numpy.linalg.inv(numpy.eye(2)))
    print('done')

main()
"""
TOP = "  PID USER      S  %CPU COMMAND\n 4127 user      {} {} python fork.py\n"


@pytest.mark.parametrize(("state", "cpu", "sick"), [("R", "100.0", True), ("S", "0.3", False)])
def test_a_child_that_spins_in_blas_misses_its_threads(
    tmp_path: pathlib.Path, state: str, cpu: str, sick: bool
) -> None:
    """The import in the parent has started them."""
    assert bool(forked(tmp_path, script=FORKS, top=TOP.format(state, cpu))) is sick
