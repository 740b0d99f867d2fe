"""A patient: a program that is sick on purpose, says when it is, and states the truth about itself."""

from __future__ import annotations

import ast
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from . import reaping

HOME = pathlib.Path(__file__).parent.parent / "patients"


class NotReady(AssertionError):
    """A patient ended, or said nothing, instead of falling sick."""


@dataclass(frozen=True)
class Card:
    """What a patient's file says about it without being run."""

    name: str
    path: pathlib.Path
    about: str
    launchers: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def torch(self) -> bool:
        return "torch" in self.needs


@dataclass
class Patient:
    """A running patient. ``end`` takes it and all it started away."""

    process: subprocess.Popen[bytes]
    mark: bytes
    place: pathlib.Path
    message: dict[str, Any] = field(default_factory=dict)
    ready_at: float = 0.0

    @property
    def truth(self) -> dict[str, Any]:
        return dict(self.message["truth"])

    @property
    def target(self) -> int:
        return int(self.message["target_pid"])

    def age(self) -> float:
        """Seconds since it said that it is sick."""
        return time.monotonic() - self.ready_at

    def end(self) -> set[int]:
        """Undo what it did to the machine, kill everything it started; give the pids that would not go."""
        for command in self.message.get("undo", ()):  # first, since what it did may hold up who looks for its processes
            subprocess.run(command, check=False, capture_output=True, timeout=10)
        known = reaping.marked(self.mark) | {self.process.pid}
        left = reaping.end(self.mark, known)
        self.process.poll()
        shutil.rmtree(self.place, ignore_errors=True)
        return left


def cards() -> list[Card]:
    """All patients there are, by name."""
    return [_card(path) for path in sorted(HOME.glob("[a-z]*.py"))]


def card(name: str) -> Card:
    """One patient's card."""
    return _card(HOME / f"{name}.py")


def _card(path: pathlib.Path) -> Card:
    tree = ast.parse(path.read_text())
    values = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("LAUNCHERS", "NEEDS")
    }
    about = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Card(path.stem, path, about, tuple(values.get("LAUNCHERS", ("alone",))), tuple(values.get("NEEDS", ())))


def start(path: pathlib.Path, launcher: str = "", python: str = sys.executable, within: float = 120.0) -> Patient:
    """Start a patient and wait for its word; raise NotReady, with the end of its log, when it does not come."""
    reaping.adopt_orphans()
    mark = f"PATIENT_MARK={uuid.uuid4()}"
    place = pathlib.Path(tempfile.mkdtemp(prefix="job-"))
    reader, writer = os.pipe()
    env = {**os.environ, "RANKSCOPE_READY_FD": str(writer), "PATIENT_LAUNCHER": launcher, "PATIENT_HOME": str(place)}
    env[mark.partition("=")[0]] = mark.partition("=")[2]
    with (place / "out.log").open("wb") as out:
        process = subprocess.Popen(
            [python, str(path)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, pass_fds=[writer],
            start_new_session=True,
        )  # fmt: skip
    os.close(writer)
    patient = Patient(process, mark.encode(), place)
    try:
        patient.message = _message(reader, within, path.stem)
        patient.ready_at = time.monotonic()
    except NotReady as error:
        tail = (place / "out.log").read_text(errors="replace")[-3000:]
        patient.end()
        raise NotReady(f"{error}\n{tail}") from None
    except BaseException:  # Ctrl-C while it falls sick: nobody else would end it
        patient.end()
        raise
    finally:
        os.close(reader)
    return patient


def _message(reader: int, within: float, name: str) -> dict[str, Any]:
    """The first whole line from the pipe, as JSON."""
    end, text = time.monotonic() + within, b""
    while b"\n" not in text:
        left = end - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            raise NotReady(f"{name} did not fall sick within {within:g} s")
        piece = os.read(reader, 4096)
        if not piece:
            raise NotReady(f"{name} ended instead of falling sick")
        text += piece
    return dict(json.loads(text.partition(b"\n")[0]))
