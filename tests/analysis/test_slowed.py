"""A log whose steps take several times as long as before gets on far too slowly."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.analysis.slowed import slowed
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import case_of, judge

SLOWER = [1.4, 1.5, 1.4, 9.1, 8.8]
LOOKS = {
    "py-spy dump -p 4411, 14:08": 'Thread 4411 (active): "MainThread"\n    take (frames.py:9)\n    main (run.py:50)\n',
    "py-spy dump -p 4411, 14:10": 'Thread 4411 (active): "MainThread"\n    factorize (keys.py:7)\n    main (run.py:50)\n',
}


def log(times: list[float], form: str = "step {at} | {took} s/it") -> str:
    return "".join(form.format(at=100 + at, took=took) + "\n" for at, took in enumerate(times))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (SLOWER, True),
        ([1.4, 1.5, 1.4, 1.5, 9.1], False),  # one step saved a checkpoint
        ([9.1, 1.5, 1.4, 9.1, 1.4], False),
        ([30.0, 1.5, 1.4, 1.5, 1.4], False),  # it warmed up
        ([0.01, 0.01, 0.02, 0.09, 0.09], False),
        ([9.1], False),
    ],
)
@pytest.mark.parametrize(
    "form", ["step {at} | {took} s/it", "[14:00:11] batch {at} {took} s", "iter {at} {took}s/it lr 0.1"]
)
def test_the_last_steps_are_measured_by_those_before(
    times: list[float], expected: bool, form: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "train.log").write_text(log(times, form))
    assert (slowed(case_of(gather([tmp_path]))) is not None) is expected


def test_two_looks_that_differ_beside_it_show_a_job_that_is_slow(tmp_path: pathlib.Path) -> None:
    for name, text in LOOKS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "train.log").write_text(log([1.4, 1.5, 1.4, 1.5, 1.4]))
    assert judge(gather([tmp_path])).verdict is None
    (tmp_path / "train.log").write_text(log(SLOWER))
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == ("not-a-hang-slow", Certainty.LIKELY)


def test_weights_read_at_minutes_a_file_need_nobody_who_complains(tmp_path: pathlib.Path) -> None:
    bar = "Loading safetensors checkpoint shards: {at:3d}% Completed | {at}/96 [0{at}:41<5:50:55, {took}s/it]\n"
    for name, text in LOOKS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "serve.log").write_text("".join(bar.format(at=at, took="1.64") for at in range(4)))
    assert judge(gather([tmp_path])).verdict is None
    (tmp_path / "serve.log").write_text("".join(bar.format(at=at, took="221.64") for at in range(4)))
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "not-a-hang-slow"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (" iteration {at}/ 500 | elapsed time per iteration (ms): {took} | loss 2.1 |", False),
        (" iteration {at}/ 500 | elapsed time per iteration (s): {took} | loss 2.1 |", True),
        ("step {at} loss 2.1 step_time={took}s mem=61G", True),
        ("step {at} loss 2.1 step time: {took} ms mem 61G", False),
    ],
)
def test_the_time_of_a_step_by_its_name(form: str, expected: bool, tmp_path: pathlib.Path) -> None:
    """What takes milliseconds is no wait, however many times as long it takes."""
    (tmp_path / "train.log").write_text(log(SLOWER, form))
    assert (slowed(case_of(gather([tmp_path]))) is not None) is expected


@pytest.mark.parametrize(
    ("times", "slow"),
    [([1144.5, 1152.0, 1148.3], True), ([1876.2, 3.9], True), ([44.5, 52.0, 48.3], False), ([476.2, 3.9], False)],
    ids=["every step", "the first step", "large steps", "a short preparation"],
)
def test_steps_of_many_minutes_and_looks_that_differ(times: list[float], slow: bool, tmp_path: pathlib.Path) -> None:
    for name, text in LOOKS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "train.log").write_text(log(times, "14:31:00 INFO step {at} loss 11.92 dt {took}s"))
    verdict = judge(gather([tmp_path])).verdict
    assert (verdict is not None and verdict.cls == "not-a-hang-slow") is slow


CARDS = "index, temperature.gpu, clocks.current.sm [MHz], utilization.gpu [%]\n" + "".join(
    f"{at}, {93 if at == 2 else 64}, {345 if at == 2 else 1755} MHz, 100 %\n" for at in range(6)
)
HOT = "        HW Slowdown                       : Active\n            HW Thermal Slowdown           : Active\n"


def test_a_card_slowed_down_makes_a_job_slow_that_times_its_steps(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nvidia-smi --query-gpu=index,temperature.gpu,clocks.sm,utilization.gpu.txt").write_text(CARDS)
    (tmp_path / "nvidia-smi -q -d PERFORMANCE -i 2.txt").write_text(HOT)
    (tmp_path / "train.log").write_text(log(SLOWER))
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == ("straggler-slow-rank", Certainty.LIKELY)


def test_a_card_slowed_down_where_the_job_stands_has_failed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "nvidia-smi -q -d PERFORMANCE -i 2.txt").write_text(HOT)
    (tmp_path / "notes.txt").write_text("the job hangs since 10:00, all ranks wait for rank 2\n")
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "gpu-hardware-fault"


@pytest.mark.parametrize(
    ("told", "slower"),
    [
        ("first hours: 2.2 s/it\nnow: 18.5 s/it\n", True),
        ("it started at 4.1 it/s, after two days it is 3 s/it\n", True),
        ("in the beginning 40 ms per step\nlater 900 ms per step\n", True),
        ("first epoch: 200 samples/s -> now 12 samples/s\n", True),
        ("before: 2 min per batch; today 20 min per batch\n", True),
        ("first hours: 2.2 s/it\nnow: 2.5 s/it\n", False),
        ("first 18.5 s/it, now 2.2 s/it\n", False),
        ("first rank 2.2 s/it\nrank 3 18.5 s/it\n", False),
        ("before: 2 s\nnow: 20 s\n", False),
    ],
)
def test_a_pace_that_somebody_tells_of_then_and_now(told: str, slower: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "observation.txt").write_text(told)
    found = [one for one in judge(gather([tmp_path])).findings if "fraction of what it was" in one.title]
    assert [one.cls for one in found] == (["not-a-hang-slow"] if slower else [])
