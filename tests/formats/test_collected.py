"""Log lines that collectors keep as JSON: one object a line, or an export in one piece."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.formats import collected, error_json, reading
from rankscope.formats.gather import events, gather
from rankscope.model.diagnosis import Certainty
from rankscope.model.evidence.events import Event
from rankscope.pipeline import judge

TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 10, in <module>',
    "    main()",
    '  File "/app/train.py", line 7, in main',
    "    x.cuda()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
]
FRAMES = ("/app/train.py:10 <module>", "/app/train.py:7 main")
AT = "2026-11-01T10:00:00.500Z"
# A line of a program as each collector keeps it.
FORMS: dict[str, dict[str, Any]] = {
    "docker json-file": {"log": "{}\n", "stream": "stderr", "time": AT},
    "fluent-bit on kubernetes": {
        "log": "{}", "stream": "stderr", "time": AT, "kubernetes": {"pod_name": "train-1", "labels": {"app": "x"}},
    },
    "journalctl -o json": {
        "__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1793527200500000", "_HOSTNAME": "train-1", "_PID": "77", "PRIORITY": "3",
        "MESSAGE": "{}",
    },
    "cloud logging": {
        "insertId": "1", "textPayload": "{}", "timestamp": AT,
        "resource": {"type": "k8s_container", "labels": {"pod_name": "train-1"}},
    },
    "cloud logging, fields": {
        "jsonPayload": {"message": "{}"}, "timestamp": AT, "resource": {"labels": {"pod_name": "train-1"}},
    },
    "cloudwatch": {"message": "{}", "timestamp": 1793527200500, "logStreamName": "train-1"},
    "loki": {"labels": {"pod": "train-1"}, "line": "{}", "timestamp": AT},
    "splunk": {"_raw": "{}", "_time": "1793527200.5", "host": "train-1"},
}  # fmt: skip


def written(form: dict[str, Any], line: str) -> dict[str, Any]:
    """A form with a line in it."""
    return {
        key: written(value, line)
        if isinstance(value, dict)
        else value.replace("{}", line)
        if isinstance(value, str)
        else value
        for key, value in form.items()
    }


def exceptions(folder: Path) -> list[Event]:
    """The Python errors that were read."""
    return [event for event in events([folder]) if event.event == "python.exception"]


@pytest.mark.parametrize("name", FORMS)
def test_a_traceback_of_many_objects(name: str, tmp_path: Path) -> None:
    """It is the program's own, with its frames, its time and its place."""
    lines = [json.dumps(written(FORMS[name], line)) for line in TRACEBACK]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    (found,) = exceptions(tmp_path)
    assert found.fields["frames"] == FRAMES
    assert found.at_s == 1793527200.5
    assert found.host in (None, "train-1")


@pytest.mark.parametrize("name", FORMS)
def test_an_export_in_one_piece_newest_first(name: str, tmp_path: Path) -> None:
    """An export is read in the order of time, whatever its own."""
    times = [f"2026-11-01T10:00:0{second}Z" for second in range(len(TRACEBACK))]
    items = [
        written(FORMS[name], line)
        | {key: when for key in ("time", "timestamp", "_time", "__REALTIME_TIMESTAMP") if key in FORMS[name]}
        for line, when in zip(TRACEBACK, times)
    ]
    (tmp_path / "export.json").write_text(json.dumps({"events": items[::-1]}, indent=1))
    (found,) = exceptions(tmp_path)
    assert found.fields["frames"] == FRAMES


def test_a_program_that_logs_json_with_its_traceback_in_a_field(tmp_path: Path) -> None:
    """The traceback is read, though it is one line of the file."""
    said = {"level": "ERROR", "message": "training failed", "exc_info": "\n".join(TRACEBACK), "rank": 3}
    (tmp_path / "log").write_text(json.dumps(said) + "\n")
    assert exceptions(tmp_path)[0].fields["frames"] == FRAMES


def test_two_pods_in_one_stream_are_told_apart(tmp_path: Path) -> None:
    """Lines of one pod do not close the stack of the other."""
    lines = []
    for line in TRACEBACK:
        for pod in ("train-0", "train-1"):
            text = line.replace("line 7", "line 9") if pod == "train-1" else line
            lines.append(json.dumps({"log": text, "time": AT, "kubernetes": {"pod_name": pod}}))
    (tmp_path / "log").write_text("\n".join(lines))
    found = {event.host: event.fields["frames"] for event in exceptions(tmp_path)}
    assert found == {
        "train-0": FRAMES,
        "train-1": ("/app/train.py:10 <module>", "/app/train.py:9 main"),
    }


def test_other_json_stays_what_it_is() -> None:
    """Settings, results and notes are no lines of a log."""
    for text in ('{"message": "x"}', '{"log": 3, "time": "y"}', "{broken", '["a"]', '{"loss": 2.5, "step": 1}', "{}"):
        assert collected.opened(text) is None


@pytest.mark.parametrize("time", ["1e999", "-1e999", "NaN", '"inf"', '"nan"', "1" + "0" * 400, "true", "[]", '"soon"'])
def test_a_time_that_is_none_is_left_out(time: str) -> None:
    """Numbers without end come from strangers too."""
    held = collected.opened(f'{{"log": "step 1", "time": {time}}}')
    assert held is not None
    assert (held.texts, held.at_s) == (("step 1",), None)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["log", "message", "time", "labels", "host", "pid", "events", "x"]), inner
            )
        ),
    )
)
def test_any_json_is_survived(body: Any) -> None:
    """Nothing of what somebody sends raises."""
    text = json.dumps(body)
    collected.opened(text)
    collected.exported(text.encode())
    collected.recognises(text.encode())
    list(collected.lines(1, text))


def test_of_an_export_that_was_cut_off_the_whole_lines_are_read(tmp_path: Path) -> None:
    """It is no JSON any more, and what it says is there none the less."""
    said = [{"timestamp": AT, "textPayload": line} for line in ("loads shards", "Disk quota exceeded", "goes on")]
    whole = json.dumps(said, indent=1)
    (tmp_path / "export.json").write_text(whole[: whole.index("goes on")])
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "storage-full"


@pytest.mark.parametrize("entries", ["buf entries:256", 'settings {"entries": 256}'])
def test_a_kernel_log_that_speaks_of_entries_is_no_recorder(entries: str, tmp_path: Path) -> None:
    """It begins with a bracket, as JSON may; its lines are read."""
    (tmp_path / "dmesg.txt").write_text(
        f"[   53.241629] pblk init: luns:4, lines:159, secs:2605056, {entries}\n"
        "[  242.765580] INFO: task python:1140 blocked for more than 120 seconds.\n"
        "[  242.766014]  nfs_wait_bit_killable+0x25e/0x1710\n"
        "[  242.766020]  nfs4_proc_lock+0xd2/0x270\n"
    )
    verdict = judge(gather([str(tmp_path)])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == ("filesystem-stall", Certainty.LIKELY)


@pytest.mark.parametrize("many", [reading.SMALL_BYTES, reading.EXPORT_LIMIT])
def test_a_long_export_is_read_as_long_logs_are(many: int, tmp_path: Path) -> None:
    """To its end, or it is said how much of it."""
    item = {"timestamp": AT, "textPayload": "read shard 000001.tar, 1024 samples in 3 parts"}
    last = {"timestamp": AT, "textPayload": "the local disk's utilization is over capacity"}  # only rules know it
    (tmp_path / "export.json").write_text(json.dumps([item] * (many // 60) + [last]))
    snapshot = gather([tmp_path])
    verdict = judge(snapshot).verdict
    whole = many < reading.EXPORT_LIMIT
    assert (verdict.cls if verdict else None) == ("storage-full" if whole else None)
    assert ["jq -c" in gap.detail for gap in snapshot.gaps] == ([] if whole else [True])


def test_an_error_file_that_was_cut_off_is_read_as_lines(tmp_path: Path) -> None:
    """The disk was full, and the file ends in the middle."""
    said = {
        "message": {"message": "OSError: [Errno 28] No space left on device", "extraInfo": {"timestamp": "1793527200"}}
    }
    (tmp_path / "error.json").write_text(json.dumps(said)[:-9])
    assert [event.event for event in events([tmp_path])] != []


def test_lines_that_begin_like_an_error_file_are_read_as_lines(tmp_path: Path) -> None:
    """A log whose objects have a message and a timestamp is not the one object of torchrun's error file."""
    lines = [json.dumps({"message": line, "timestamp": AT}) for line in TRACEBACK]
    (tmp_path / "error.json").write_text("\n".join(lines))
    assert exceptions(tmp_path)[0].fields["type"] == "torch.OutOfMemoryError"
    assert not error_json.recognises("\n".join(lines))


def test_one_line_of_a_log_is_no_error_file(tmp_path: Path) -> None:
    line = json.dumps({"timestamp": "2026-03-04T05:06:00Z", "level": "ERROR", "message": "RuntimeError: step 7 failed"})
    assert not error_json.recognises(line)
    assert error_json.recognises(json.dumps({"message": {"message": "x", "extraInfo": {"timestamp": "1767225600"}}}))
    (tmp_path / "a.log").write_text(line)
    assert [one.event for one in events([tmp_path / "a.log"])] == ["python.exception"]
    two = "Rank 4 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE)"
    (tmp_path / "a.log").write_text(line.replace("RuntimeError: step 7 failed", two))
    assert "torch.detail_mismatch" in {one.event for one in events([tmp_path / "a.log"])}


def test_an_error_file_says_what_its_message_says() -> None:
    """Not only that something was raised: both sides of a mismatch, when it happened."""
    prints = [f"ank {rank} is running collective: CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[{size}])"
              for rank, size in ((4, 96), (7, 24))]  # fmt: skip
    raised = f"RuntimeError: Detected mismatch between collectives on ranks. R{prints[0]}, but R{prints[1]}."
    stack = f'Traceback (most recent call last):\n  File "/job/run.py", line 30, in main\n{raised}\n'
    body = {"message": {"message": raised, "extraInfo": {"py_callstack": stack, "timestamp": "1767225600"}}}
    events = [one for one in error_json.read(json.dumps(body)) if isinstance(one, Event)]
    assert {one.at_s for one in events} == {1767225600.0}
    told = next(one for one in events if one.event == "torch.detail_mismatch")
    assert (told.rank, told.fields["other"], told.fields["shape"], told.fields["other_shape"]) == (4, 7, (96,), (24,))


def test_lokis_answer_is_a_log() -> None:
    """query_range lists streams with their labels, each the newest first; nanoseconds put them in order."""
    streams = [
        {"stream": {"pod": "w1"}, "values": [["1770783029000000000", "third"], ["1770783027000000000", "first"]]},
        {"stream": {"pod": "w0"}, "values": [["1770783028000000000", "second"], ["x", "none"], 7]},
        {"stream": 1, "values": []},
        {"stream": {}, "values": 3},
    ]
    body = json.dumps({"status": "success", "data": {"resultType": "streams", "result": [*streams, None]}}).encode()
    assert collected.recognises(body)
    assert [(one.texts[0], one.host, one.at_s) for one in collected.exported(body)] == [
        ("first", "w1", 1770783027.0),
        ("second", "w0", 1770783028.0),
        ("third", "w1", 1770783029.0),
    ]


def test_a_log_as_one_string() -> None:
    """A whole text in one JSON string, as jq without -r prints it, has its lines back."""
    body = json.dumps('Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: "x"\n').encode()
    assert collected.recognises(body)
    assert [one.texts for one in collected.exported(body)][1:] == [
        ('  File "a.py", line 1, in f',),
        ('ValueError: "x"',),
    ]
    assert not collected.recognises(b'"a word" of somebody\nand more\n')
    assert not collected.recognises(b'"quoted"\n')


def test_what_begins_like_one_string_is_read_in_no_time() -> None:
    """A quotation, a line end in it, and nothing but blanks: looked at once, not once a blank."""
    body = b'"a\\n' + b" " * 60_000 + b"\nmore"
    assert not collected.recognises(body)


@pytest.mark.parametrize("data", [{"result": 3}, {"result": None}, {}, {"result": [[], 1]}])
def test_other_answers_of_loki(data: dict[str, Any]) -> None:
    """What is no list of streams has no lines."""
    assert (
        collected.exported(json.dumps({"status": "success", "data": {"resultType": "streams", **data}}).encode()) == []
    )


@pytest.mark.parametrize(
    ("between", "header"),
    [
        (",", "\ufeff@timestamp,kubernetes.pod_name,host,message"), (";", "Time;Pod;Host;Message"),
        ("\t", '"timestamp"\t"logStream"\t"x"\t"message"'),
    ],
)  # fmt: skip
def test_a_table_of_log_lines(tmp_path: Path, between: str, header: str) -> None:
    """What Kibana, CloudWatch or a spreadsheet exports: quotes and what stands before a line are not the program's."""
    said = ["[rank2]: Traceback (most recent call last):", '[rank2]:   File "/a.py", line 5, in f', "[rank2]:     g(1, 2)",
            "[rank2]: ValueError: bad, worse"]  # fmt: skip
    rows = [
        between.join(("2025-03-14T02:51:00.000Z", "worker-2", "gpu-02", '"' + one.replace('"', '""') + '"'))
        for one in said
    ]
    (tmp_path / "export.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    found = [one for one in events([tmp_path]) if isinstance(one, Event) and one.event == "python.exception"]
    assert [(one.rank, one.fields["type"], one.fields["message"]) for one in found] == [(2, "ValueError", "bad, worse")]


def test_of_a_damaged_table_the_rows_before_are_kept() -> None:
    """The csv module takes no field of more than 128 KiB."""
    table = "time,message\n1,one\n2,two\n3," + "x" * (1 << 18) + "\n4,four\n"
    assert [one.texts for one in collected.exported(table.encode())] == [("one",), ("two",)]
