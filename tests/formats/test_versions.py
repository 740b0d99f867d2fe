"""Versions are read from lists of packages, reports of an environment, sentences and names of libraries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.lines import Line
from rankscope.formats.versions import versions_of


def named(text: str) -> dict[str, str]:
    return {str(event.fields["name"]): str(event.fields["version"]) for event in versions_of(Line(1, text))}


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("PyTorch version: 2.1.0+cu118", {"torch": "2.1.0+cu118"}),
        ("torch                     2.0.1", {"torch": "2.0.1"}),
        ("[conda] nvidia-nccl-cu12          2.26.2    pypi_0    pypi", {"nccl": "2.26.2"}),
        ('{"python": "3.9", "pytorch": "1.13.1"}', {"python": "3.9", "torch": "1.13.1"}),
        ("CUDA used to build PyTorch: 12.4", {"cuda": "12.4"}),
        ("- `Accelerate` version: 0.20.3", {"accelerate": "0.20.3"}),
        ("- PyTorch version (GPU?): 2.0.1+cu117 (True)", {"torch": "2.0.1+cu117"}),
        ("torch version .................... 1.9.1", {"torch": "1.9.1"}),
        ("vLLM API server version 0.5.3.post1", {"vllm": "0.5.3.post1"}),
        ("Platform: Linux-5.15.0-1058-x86_64-with-glibc2.31", {"kernel": "5.15.0", "glibc": "2.31"}),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun", {"driver": "535.54.03"}),
        ("#3 ncclX () from /usr/lib/libnccl.so.2.18.3", {"nccl": "2.18.3"}),
        ("#2 exec_blas () from .libs/libopenblasp-r0-39a31c03.2.18.so", {"openblas": "0.2.18"}),
        ("#1 f (w=0x2) at /b/ucx-1.5.2/src/ucp/core/ucp_worker.c:14", {"ucx": "1.5.2"}),
        ("#1 z (libcuda.so.535.54.03)", {"driver": "535.54.03"}),
    ],
)
def test_a_version_is_read(text: str, versions: dict[str, str]) -> None:
    assert named(text) == versions


def test_both_versions_of_a_change_are_read() -> None:
    found = [event.fields["version"] for event in versions_of(Line(1, "upgraded torch from 2.0.1 to 2.1"))]
    assert found == ["2.0.1", "2.1"]


@pytest.mark.parametrize(
    "text",
    [
        "python took 3.5 s",
        "ray 1.5 GB",
        "loss 0.5 at step 3",
        "cuda graphs: 2.5x",
        "python uses 99.9%",
        "ray 12.5 % CPU",
    ],
)
def test_an_amount_is_no_version(text: str) -> None:
    assert not named(text)


@given(st.text(max_size=300))
def test_any_line_can_be_read(text: str) -> None:
    assert all(event.event == "text.version" for event in versions_of(Line(1, text)))
