"""Words that a pattern finds count in the sense that their sentence gives them."""

from __future__ import annotations

import pytest

from rankscope.analysis.account import Account
from rankscope.analysis.meant import Meant, asks, meant
from rankscope.analysis.needles import compiled
from rankscope.model.evidence.events import Event
from rankscope.model.labels import Who

HANGS = r"\bnvidia-smi\b[^\n]{0,30}\b(?:hangs?|never returns?|does not return)\b"
FULL = r"/home\b[^\n]{0,24}\bfull\b"
KILLED = r"\bOOM[- ]?kill\w*"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (HANGS, "nvidia-smi hangs on node 3"),
        (HANGS, "nvidia-smi never returns"),
        (HANGS, "nvidia-smi does not return"),
        (HANGS, "nvidia-smi does not answer and hangs"),
        (HANGS, "not only nvidia-smi hangs"),
        (HANGS, "it does not train, nvidia-smi hangs"),
        (HANGS, "why does it stop? nvidia-smi hangs"),
        (HANGS, "how do I find out why nvidia-smi hangs?"),
        (HANGS, "nvidia-smi never hangs on node 1; on node 2 nvidia-smi hangs"),
        (FULL, "the job does not go on since /home is full"),
        (FULL, "if I start it again it stops, /home is full"),
        (r"\btwo communicators\b[^\n]{0,60}\border\b", "two communicators, no order between them"),
        (r"\bpreload\w*", "it returns without preload"),
    ],
)
def test_what_is_told_as_a_fact(pattern: str, text: str) -> None:
    assert Meant.SAID in {meant(one.re, text, one) for one in compiled(pattern).finditer(text)}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (HANGS, "nvidia-smi never hangs"),
        (HANGS, "nvidia-smi doesn't ever hang"),
        (HANGS, "no nvidia-smi hangs there"),
        (FULL, "/home is not full"),
        (FULL, "/home isn't really full"),
        (FULL, "it is not because /home is full"),
        (KILLED, "no sign of the OOM killer"),
        (KILLED, "dmesg shows no OOM kill"),
        (KILLED, "the log rules out an OOM kill"),
        (KILLED, "an OOM kill is ruled out"),
        (KILLED, "OOM kills: none"),
        (KILLED, "OOM kills were never seen"),
        (r"\b(?:read\w*|write\w*) (?:from|to) NFS\b", "writing, reading from NFS works fine"),
        (r"\b(?:read\w*|write\w*) (?:from|to) NFS\b", "reading from NFS never blocks"),
        (r"\btwo (?:different )?versions\b", "two versions of it are not loaded"),
    ],
)
def test_what_is_denied(pattern: str, text: str) -> None:
    assert {meant(one.re, text, one) for one in compiled(pattern).finditer(text)} == {Meant.DENIED}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (HANGS, "is it because nvidia-smi hangs?"),
        (HANGS, "check whether nvidia-smi hangs"),
        (HANGS, "if nvidia-smi hangs, reboot the node"),
        (HANGS, "reboot the node if nvidia-smi hangs"),
        (HANGS, "on the other cluster nvidia-smi hangs"),
        (FULL, "/home may be full"),
        (FULL, "maybe /home is full"),
        (FULL, "last month /home was full, too"),
        (FULL, "make sure that /home is full of space"),
    ],
)
def test_what_is_only_possible(pattern: str, text: str) -> None:
    assert {meant(one.re, text, one) for one in compiled(pattern).finditer(text)} == {Meant.DOUBTED}


def test_a_question_for_the_reason_is_asked_of_a_fact() -> None:
    assert asks("is the disk full?")
    assert not asks("why is the disk full?")
    assert not asks("the disk is full.")


@pytest.mark.parametrize(
    "line",
    [
        "n5:201:330 [5] misc/ibvwrap.cc:160 NCCL WARN no OOM kill",
        "RuntimeError: not an OOM kill",
        "2026-01-01 00:00:00 no OOM kill",
    ],
)
def test_messages_of_programs_are_taken_as_they_are(line: str) -> None:
    account = Account("log", Who(), events=(Event("text.line", "log", 1, text=line),))
    assert account.find(KILLED) == line
