"""Which versions the evidence names is told on the screen and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge
from rankscope.report import json_lines, screen


def _judged(folder: Path, text: str) -> Diagnosis:
    (folder / "environment.txt").write_text(text)
    return judge(gather([folder]))


def test_what_people_ask_for_first_comes_first(tmp_path: Path) -> None:
    """A release that is named twice, once with what it was built for, is one."""
    said = "numpy==1.26.4\nNCCL version 2.21.5\nnccl 2.21.5+cuda12.4\nDriver Version: 550.54.15\nPyTorch version: 2.5.1+cu124\n"
    found = _judged(tmp_path, said)
    assert "versions torch 2.5.1+cu124, nccl 2.21.5+cuda12.4, driver 550.54.15, numpy 1.26.4\n" in screen.render(found)
    told = json.loads(json_lines.render(found))["job"]["versions"]
    assert list(told.items())[:2] == [("torch", ["2.5.1+cu124"]), ("nccl", ["2.21.5+cuda12.4"])]


def test_of_a_long_list_the_first_ones_are_shown(tmp_path: Path) -> None:
    libraries = ["torch", "vllm", "ray", "transformers", "accelerate", "datasets", "triton", "numpy", "polars", "wandb"]
    found = _judged(tmp_path, "".join(f"{name}==1.2.3\n" for name in libraries))
    assert "and 2 more" in screen.render(found, width=200)
    assert len(json.loads(json_lines.render(found))["job"]["versions"]) == len(libraries)


def test_the_version_that_every_dump_bears_is_no_line_of_its_own(tmp_path: Path) -> None:
    dump = 'Process 4: python a.py\nPython v3.11.7 (/usr/bin/python)\n\nThread 4 (idle): "MainThread"\n    f (a.py:3)\n'
    assert "versions" not in screen.render(_judged(tmp_path, dump))
