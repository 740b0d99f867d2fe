"""Samples made by the real tools are read the same for ever: each has its threads (or events) beside it."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats import error_json, pyspy_json, text
from rankscope.formats.records import Dump, Record
from rankscope.model.evidence.events import Event

SAMPLES = pathlib.Path(__file__).parents[1] / "samples"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.suffix in (".txt", ".json", ".log") and path.is_file())


def records(body: str) -> list[Record]:
    for module in (pyspy_json, error_json):
        if module.recognises(body):
            return list(module.read(body))
    return [
        record for record in text.read(body) if not isinstance(record, Event) or not record.event.startswith("text.")
    ]


def line_of(record: Record) -> str:
    """One record as one line of the expected file."""
    if isinstance(record, Dump):
        frames = " > ".join(
            f"{frame.function}@{(frame.library or frame.file).rsplit('/', 1)[-1]}:{frame.line}"
            for frame in record.thread.stack[-4:]
        )
        kind = "native" if record.native else "python"
        ranks = f" ranks={record.ranks}" if record.ranks else ""
        who = f"pid={record.pid} tid={record.thread.tid} name={record.thread.name}"
        return f"{kind} {who}{ranks} depth={len(record.thread.stack)} {frames}"
    if isinstance(record, Event):
        fields = " ".join(f"{name}={value}" for name, value in record.fields.items() if name != "frames")
        return f"event {record.line} {record.event} rank={record.rank} {fields}"
    return str(record)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_sample(path: pathlib.Path) -> None:
    """What is read from a sample is what stands in the file of the same name that ends in .expected."""
    expected = path.with_name(path.name + ".expected")
    found = "\n".join(map(line_of, records(path.read_text(errors="replace")))) + "\n"
    assert found == expected.read_text()


NOISE = {
    "crlf": lambda line: line + "\r",
    "quoted": lambda line: "> " + line,
    "torchrun": lambda line: "[default3]:" + line,
    "rank": lambda line: "[rank3]: " + line,
    "mpirun": lambda line: "[1,3]<stdout>:" + line,
    "cri": lambda line: "2026-02-11T04:10:27.123456789Z stdout F " + line,
    "stamped": lambda line: "2026-02-11 04:10:27,123 " + line,
    "loguru": lambda line: "2026-02-11 04:10:27.123 | INFO     | run:relay:33 - " + line,
    "logging": lambda line: "2026-02-11 04:10:27,123 - run.relay - ERROR - " + line,
    "blanks": lambda line: line + "   ",
    "colour": lambda line: "\x1b[36m" + line + "\x1b[0m",
    "ray": lambda line: "(RayTrainWorker pid=4711, ip=10.0.0.7) " + line,
    "pod": lambda line: "[pod/train-3/main] " + line,
}
PYSPY = SAMPLES / "py-spy" / "0.4.3" / "threads-odd-name.txt"


@pytest.mark.parametrize("noise", sorted(NOISE))
def test_noise_around_lines_changes_nothing(noise: str) -> None:
    """Whatever a collector of logs puts before or behind each line, the stacks are the same."""
    body = PYSPY.read_text()
    around = "\n".join(map(NOISE[noise], body.splitlines()))
    stacks = [record.thread.stack for record in records(body) if isinstance(record, Dump)]
    assert [record.thread.stack for record in records(around) if isinstance(record, Dump)] == stacks
    assert len(stacks) == 3


def test_several_dumps_in_one_fence() -> None:
    """Dumps of several processes that were pasted into one Markdown block stay apart."""
    body = PYSPY.read_text()
    twice = "```\n" + body + body.replace("18050", "99").replace("Process 18050", "Process 99") + "```\n"
    pids = {record.pid for record in records(twice) if isinstance(record, Dump)}
    assert len(pids) == 2


def test_a_partial_last_line_costs_only_itself() -> None:
    """A file that was cut in the middle keeps what came before."""
    body = PYSPY.read_text()
    assert len([record for record in records(body[: len(body) // 2]) if isinstance(record, Dump)]) >= 1
