"""Names that a job, a node or a file made up reach no terminal as commands, and begin no line of ours."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator

import pytest

from rankscope.analysis.build import build
from rankscope.analysis.merged import sections
from rankscope.cli import _dumps, _exit, doctor
from rankscope.errors import RankscopeError
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.probe.access import Check
from rankscope.report import entries, plain, tree

# A title for the window, a colour in one character, a line that looks like ours, a byte that is no text, a reversed word.
HOSTILE = "x\x1b]0;owned\x07\x9b31m\ncause    all is well\r\udcff\u202eko"


def seen() -> Snapshot:
    """Every name in it is chosen by somebody else."""
    refs = tuple(ProcessRef(f"{HOSTILE}{number}", 10 + number, 1) for number in range(2))
    stacks = PythonStacks((PythonThread(10, Stack((Frame(HOSTILE, f"/{HOSTILE}.py", 3),)), HOSTILE),), HOSTILE)
    recorder = Recorder((RecorderEntry(1, HOSTILE, HOSTILE, 3, HOSTILE, state=HOSTILE),), source=HOSTILE)
    items = tuple(item for ref in refs for item in (Item(ref, stacks), Item(ref, recorder)))
    processes = (Process(refs[0], Role.RANK, rank=0), Process(refs[1], Role.OTHER))
    return Snapshot(
        Job(HOSTILE, None, 1, HOSTILE), tuple(Host(ref.host) for ref in refs), processes, (Sweep(0, 0.0, refs, items),),
        (Gap(HOSTILE, Why.DENIED, HOSTILE, HOSTILE),),
    )  # fmt: skip


def trees() -> Iterator[str]:
    yield from (tree.render(one, tree.Style()) for one in sections(build(seen()), lambda _: True))


def dumps() -> Iterator[str]:
    yield from _dumps.show(seen(), _dumps.Choice(raw=True, children=True))


def timeline() -> Iterator[str]:
    yield from entries.lines(seen(), RankSet([0]))


def checks() -> Iterator[str]:
    yield from doctor._lines([Check("ptrace", False, HOSTILE, HOSTILE)])


def errors() -> Iterator[str]:
    yield _exit.told(RankscopeError(HOSTILE, HOSTILE, HOSTILE, HOSTILE))
    yield _exit.told(ValueError(HOSTILE)).replace("\n", " ")


@pytest.mark.parametrize("shown", [trees, dumps, timeline, checks, errors])
def test_what_strangers_named_stays_text(shown: object) -> None:
    text = "\n".join(shown())  # type: ignore[operator]
    assert "all is well" in text
    assert not [line for line in text.splitlines() if line.startswith("cause")]
    assert not set(text) & set("\x1b\x07\x9b\r\udcff\u202e")
    text.encode()


def test_json_says_the_same_in_escapes() -> None:
    """Programs read back what was there, terminals see nothing to act on."""
    line = plain.escaped(json.dumps({"name": HOSTILE}, ensure_ascii=False))
    assert not set(line) & set("\x1b\x07\x9b\r\n\udcff\u202e")
    assert json.loads(line)["name"] == HOSTILE.replace("\udcff", "?")


def test_a_name_that_is_no_text_does_not_end_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the terminal's encoding is."""
    from rankscope.cli import main

    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    monkeypatch.setattr(main, "_run", lambda _: print("\udcff ü →") or 0)  # type: ignore[func-returns-value]
    with pytest.raises(SystemExit) as left:
        main.main()
    assert (left.value.code, out.getvalue()) == (0, b"\\udcff \\xfc \\u2192\n")
