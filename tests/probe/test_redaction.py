"""Nothing that looks like a credential leaves the process table."""

from __future__ import annotations

import time

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
        (("curl", "-H", "Authorization: Bearer abc.def"), ("curl", "-H", "Authorization: Bearer ***")),
        (("curl", "--header", "X-Api-Key: abc"), ("curl", "--header", "X-Api-Key: ***")),
        (("x", "--config", '{"hf_token": "a b=", "lr": 1}'), ("x", "--config", '{"hf_token": "***", "lr": 1}')),
        (("x", "--config", "{'password': 'a', 'lr': 1}"), ("x", "--config", "{'password': '***', 'lr': 1}")),
        (("sh", "-c", r"x '{\"token\": \"a\"}'"), ("sh", "-c", r"x '{\"token\": \"***\"}'")),
        (("sh", "-c", "export API_KEY=abc; python x.py"), ("sh", "-c", "export API_KEY=***; python x.py")),
        (("x", "hub.token=abc"), ("x", "hub.token=***")),
        (("x", "+hub.token=abc"), ("x", "+hub.token=***")),
        (("x", "https://h/f?lr=1&token=abc&v=2"), ("x", "https://h/f?lr=1&token=***&v=2")),
        (("login", "hf_abcdefgh12345"), ("login", "***")),
        (("git", "clone", "https://ghp_0123456789abcdef0123@host/x"), ("git", "clone", "https://***@host/x")),
        (("x", "--tokenizer", "gpt2"), ("x", "--tokenizer", "gpt2")),
        (("x", "--author=me"), ("x", "--author=me")),
        (("x", "--data", "/data/sk-learn/a"), ("x", "--data", "/data/sk-learn/a")),
        (("x", "hf_hub.py"), ("x", "hf_hub.py")),
    ],
)
def test_values_of_suspicious_options_are_hidden(given_: tuple[str, ...], shown: tuple[str, ...]) -> None:
    """The option stays, since it may matter; its value goes."""
    assert redact(given_) == shown


@given(st.lists(st.text(max_size=20), max_size=6).map(tuple))
def test_any_command_line_can_be_redacted(command: tuple[str, ...]) -> None:
    """Arguments come from strangers; their number stays."""
    assert len(redact(command)) == len(command)


@pytest.mark.parametrize("text", ["token", "a" * 200_000, "token" * 40_000, "x:/" * 60_000, "w" * 99_999 + "://a:b@"])
def test_a_long_argument_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    redact((text,) * 8)
    assert time.process_time() - began < 2


def test_a_value_that_the_cut_left_open_is_hidden_all_the_same() -> None:
    (shown,) = redact(('{"token": "' + "abcd" * 2000,))
    assert "abcd" not in shown


@pytest.mark.parametrize(
    "name",
    ["RANK", "WORLD_SIZE", "MASTER_ADDR", "NCCL_DEBUG", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TOKENIZERS_PARALLELISM"],
)
def test_variables_that_explain_a_job_are_read(name: str) -> None:
    assert ALLOWED.match(name)


@pytest.mark.parametrize(
    "name",
    ["AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY", "PATH", "NCCL_SECRET", "XRANK", "RANK2", "LD_PRELOAD"],
)
def test_all_other_variables_are_not(name: str) -> None:
    assert not ALLOWED.match(name)


@pytest.mark.parametrize("family", ["NCCL", "GLOO", "TORCH", "ACCELERATE"])
@pytest.mark.parametrize("secret", ["TOKEN", "API_TOKEN", "CLIENT_SECRET", "API_KEY", "STORE_PASSWORD", "CREDENTIALS"])
def test_no_family_of_names_takes_a_secret_along(family: str, secret: str) -> None:
    """A snapshot is mailed to others."""
    assert ALLOWED.match(f"{family}_DEBUG")
    assert not ALLOWED.match(f"{family}_{secret}")
