"""The text of e-mails is read, however its parts are encoded; what is no text is named."""

from __future__ import annotations

import pathlib
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import letters
from rankscope.formats.gather import gather
from rankscope.model.gap import Why
from rankscope.pipeline import judge

FULL = "OSError: [Errno 28] No space left on device: 'checkpoint.pt'\n"


def letter(text: str, encoding: str, attached: bytes = b"", name: str = "") -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "a@example.org", "b@example.org", "our job"
    made.set_content(text, cte=encoding)
    if attached:
        made.add_attachment(attached, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


LETTERS = {
    "base64": letter(FULL, "base64"),
    "quoted": letter("é" + FULL, "quoted-printable"),
    "attached": letter("The log is attached.\n", "7bit", FULL.encode(), "train.log"),
    "mbox": b"From a@example.org Mon Jan  1 00:00:00 2026\n" + letter("Hello.\n", "base64")
    + b"\nFrom b@example.org Mon Jan  1 00:00:00 2026\n" + letter(FULL, "base64"),
}  # fmt: skip


@pytest.mark.parametrize("said", LETTERS.values(), ids=LETTERS)
def test_what_a_letter_says_is_read(said: bytes, tmp_path: pathlib.Path) -> None:
    (tmp_path / "thread").write_bytes(said)
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "storage-full"


def test_parts_that_are_no_text_are_named(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mail.eml").write_bytes(letter(FULL, "base64", bytes(range(256)) * 9, "screen.png"))
    (gap,) = gather([tmp_path]).gaps
    assert (gap.why, "screen.png" in gap.detail) == (Why.SKIPPED, True)


@pytest.mark.parametrize("text", [FULL, "From: somebody\n" + FULL, "Content-Transfer-Encoding: base64\n"])
def test_a_log_is_no_letter(text: str) -> None:
    assert not letters.recognises(text.encode())


@given(st.binary(max_size=400), st.sampled_from(["base64", "quoted-printable", "x-none"]))
def test_any_bytes_are_survived(body: bytes, encoding: str) -> None:
    letters.written(
        f"From: a\nContent-Type: text/plain; charset=x\nContent-Transfer-Encoding: {encoding}\n\n".encode() + body
    )
    letters.written(body)
