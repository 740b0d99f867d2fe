"""Ranks that see fewer devices than there are of them on a node: by the shell of their launcher, or by the program itself."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import judge

COMMAND = "torchrun --nproc_per_node=4 finetune.py --fp16\n"
STANDS = "all four ranks hang in the first all_reduce\n"


def said(folder: pathlib.Path, text: str) -> Certainty | None:
    (folder / "notes.txt").write_text(text)
    found = [one for one in judge(gather([folder])).findings if one.rule == "fewer-devices-visible"]
    assert all(one.cls == "device-mapping" for one in found)
    return found[0].certainty if found else None


@pytest.mark.parametrize(
    "text",
    [
        COMMAND + 'finetune.py, line 3: os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n' + STANDS,
        COMMAND + "os.environ.setdefault('CUDA_VISIBLE_DEVICES', '0,1')\n" + STANDS,
        COMMAND
        + "os.environ['HIP_VISIBLE_DEVICES']='2'  # the free one\nRuntimeError: CUDA error: invalid device ordinal\n",
        "CUDA_VISIBLE_DEVICES=3 python -m torch.distributed.launch --nproc_per_node=2 finetune.py\n" + STANDS,
        "$ CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 4 run.py\nit hangs at the start\n",
    ],
)
def test_fewer_devices_than_ranks_are_told(tmp_path: pathlib.Path, text: str) -> None:
    assert said(tmp_path, text) is Certainty.LIKELY


def test_a_value_that_nobody_shows_is_only_possible(tmp_path: pathlib.Path) -> None:
    told = 'the script sets os.environ["CUDA_VISIBLE_DEVICES"] before it imports torch\n'
    assert said(tmp_path, COMMAND + told + STANDS) is Certainty.POSSIBLE


@pytest.mark.parametrize(
    "text",
    [
        COMMAND + 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1,2,3"\n' + STANDS,
        COMMAND + 'os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)\n' + STANDS,
        COMMAND + 'os.environ["CUDA_VISIBLE_DEVICES"] = gpus\n' + STANDS,
        COMMAND + '# os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n' + STANDS,
        "python finetune.py\n" + 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n' + "it hangs in the first step\n",
        "CUDA_VISIBLE_DEVICES=0,1,2,3 " + COMMAND + STANDS,
        "CUDA_VISIBLE_DEVICES=0 python finetune.py works\n" + COMMAND + STANDS,
        COMMAND + 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"\nstep 1 loss 2.1\nstep 2 loss 2.0\nstep 3 loss 1.9\n',
    ],
)
def test_enough_devices_or_one_for_each_rank_is_no_sign(tmp_path: pathlib.Path, text: str) -> None:
    assert said(tmp_path, text) is None
