"""Nothing that looks like a credential leaves the process table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.probe.redact import redact
from rankscope.probe.table import ALLOWED


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        (("train.py", "--token", "abc"), ("train.py", "--token", "***")),
        (("train.py", "--api-key=abc"), ("train.py", "--api-key=***")),
        (("train.py", "WANDB_API_KEY=abc"), ("train.py", "WANDB_API_KEY=***")),
        (("--password", "--verbose"), ("--password", "--verbose")),
        (("s3://user:abc@host/x",), ("s3://user:***@host/x",)),
        (("train.py", "--lr", "0.1"), ("train.py", "--lr", "0.1")),
    ],
)
def test_values_of_suspicious_options_are_hidden(given_: tuple[str, ...], shown: tuple[str, ...]) -> None:
    """The option stays, since it may matter; its value goes."""
    assert redact(given_) == shown


@given(st.lists(st.text(max_size=20), max_size=6).map(tuple))
def test_any_command_line_can_be_redacted(command: tuple[str, ...]) -> None:
    """Arguments come from strangers; their number stays."""
    assert len(redact(command)) == len(command)


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "NCCL_DEBUG", "TORCH_NCCL_TRACE_BUFFER_SIZE"])
def test_variables_that_explain_a_job_are_read(name: str) -> None:
    assert ALLOWED.match(name)


@pytest.mark.parametrize(
    "name",
    ["AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY", "PATH", "NCCL_SECRET", "XRANK", "RANK2", "LD_PRELOAD"],
)
def test_all_other_variables_are_not(name: str) -> None:
    assert not ALLOWED.match(name)
