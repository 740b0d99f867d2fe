"""Prefixes of launchers and collectors tell who spoke, and fall away."""

from __future__ import annotations

import pytest

from rankscope.formats.collected import lines
from rankscope.formats.lines import seconds
from rankscope.model.labels import of_each, who

LINES = [
    ("[rank3]: boom", {"text": "boom", "rank": 3}),
    ("[default2]:[rank10]: boom", {"text": "boom", "rank": 10, "local_rank": 2}),
    ("[1,12]<stderr>: boom", {"text": "boom", "rank": 12}),
    ("[12]<stderr>:boom", {"text": "boom", "rank": 12}),
    ("[12] <stderr> boom", {"text": "[12] <stderr> boom", "rank": None}),
    ("Tue Nov 24 14:11:24 2026[1,2]<stderr>:boom", {"text": "boom", "rank": 2, "at_s": 1795529484.0}),
    ("Tue Nov  4 14:11:24 2026<stdout>:boom", {"text": "boom", "rank": None, "at_s": 1793801484.0}),
    ("[prterun-node1-77@1,3]<stdout>: boom", {"text": "boom", "rank": 3}),
    ('<stderr rank="2">f.&lt;locals&gt;.g (a.py:83)&#010;</stderr>', {"text": "f.<locals>.g (a.py:83)", "rank": 2}),
    ("&gt; f.&lt;locals&gt;.g &amp;&amp; can&#x27;t", {"text": "f.<locals>.g && can't"}),
    ("&amp;lt; a && b &rank;", {"text": "&lt; a && b &rank;"}),
    ("2026-02-11T04:10:27.000000+00:00 job/default/abc boom", {"text": "boom", "host": None, "at_s": 1770783027.0}),
    ("2026-02-11T04:10:27.000000+00:00 job: boom", {"text": "job: boom"}),
    ("(RayTrainWorker pid=81, ip=10.0.0.4) boom", {"text": "boom", "pid": 81, "host": "10.0.0.4"}),
    ("(VllmWorkerProcess pid=77) boom", {"text": "boom", "pid": 77}),
    ("2026-02-11T04:10:27.5Z stderr F boom", {"text": "boom", "at_s": 1770783027.5}),
    ("[2026-02-11 04:10:27] boom", {"text": "boom", "at_s": 1770783027.0}),
    ('{"log":"[rank1]: boom\\n","stream":"stderr"}', {"text": "boom", "rank": 1}),
    ("Nov 21 09:00:01 node7 kernel: boom", {"text": "boom", "host": "node7", "source": "node7 kernel:"}),
    (
        "2026-02-11T04:10:27+0000 node7 python3.11[81]: boom",
        {"text": "boom", "host": "node7", "pid": 81, "at_s": 1770783027.0, "source": "node7 python3.11[81]:"},
    ),
    ("2026-02-11T04:10:27Z ERROR worker[3]: boom", {"text": "ERROR worker[3]: boom", "host": None}),
    ("\x1b[31mboom\x1b[0m\r\n", {"text": "boom"}),
    ("10%|#\r20%|## boom", {"text": "10%|# 20%|## boom"}),
    ("[rank1] INFO boom", {"text": "INFO boom", "rank": 1}),
    ("[rank1]", {"text": "[rank1]"}),  # a heading, see subjects
    ("[Rank 3] boom", {"text": "[Rank 3] boom", "rank": 3}),
    ("train\tRun training\t2026-02-11T04:10:27.5Z boom", {"text": "boom", "at_s": 1770783027.5}),
    ("##[group]boom", {"text": "boom"}),
    ("##[error]boom", {"text": "##[error]boom"}),
    ("[2026-02-11 04:10:27,500] {subprocess.py:93} INFO - boom", {"text": "boom", "at_s": 1770783027.5}),
    ("[2026-02-11, 04:10:27 UTC] {pod_manager.py:490} INFO - [base] boom", {"text": "boom", "at_s": 1770783027.0}),
    ("2026-02-11 04:10:27.500 | INFO     | run:relay:33 - boom", {"text": "boom", "at_s": 1770783027.5}),
    ("2026-02-11 04:10:27,500 | ERROR | boom", {"text": "boom", "at_s": 1770783027.5}),
    ("2026-02-11 04:10:27,500 - run.relay - WARNING - boom", {"text": "boom", "at_s": 1770783027.5}),
    ("[2026-02-11 04:10:27,500][run.relay][INFO] - boom", {"text": "boom", "at_s": 1770783027.5}),
    ("WARNING: boom", {"text": "WARNING: boom"}),
    ("ERROR | boom", {"text": "ERROR | boom"}),  # a program's own, without a time
    ("- run.relay - WARNING - boom", {"text": "- run.relay - WARNING - boom"}),
    ("    boom   \t", {"text": "    boom"}),
    ("│ boom                 │", {"text": "boom"}),
    ("    boom               │", {"text": "    boom"}),
    ("│ boom", {"text": "│ boom"}),
    ("[12/40] Building x", {"text": "[12/40] Building x", "rank": None}),
    ("12:30:01 boom", {"text": "12:30:01 boom", "rank": None}),
]


LABELLED = [
    ("17: boom", 1, {"text": "boom", "rank": 17}),
    ("17: boom", 0, {"text": "17: boom", "rank": None}),
    ("3: 404: Not Found", 1, {"text": "404: Not Found", "rank": 3}),
    ("1: 1848: boom", 2, {"text": "boom", "rank": 1848}),
    ("2026-02-11T04:10:27.5Z stdout F 3: [rank3]: boom", 1, {"text": "boom", "rank": 3, "at_s": 1770783027.5}),
    ('{"log":"3: boom\\n","stream":"stderr"}', 1, {"text": "boom", "rank": 3}),
    ("[3] boom", 1, {"text": "boom", "rank": 3}),
    ("[3] boom", 0, {"text": "[3] boom", "rank": None}),
    ("12:30:01 boom", 1, {"text": "12:30:01 boom", "rank": None}),
]


@pytest.mark.parametrize(("raw", "labels", "expected"), LABELLED)
def test_a_line_without_the_labels_of_tasks(raw: str, labels: int, expected: dict[str, object]) -> None:
    """As many are taken off as the text has, and no number more."""
    (line,) = lines(1, raw, labels)
    assert {name: getattr(line, name) for name in expected} == expected


@pytest.mark.parametrize(("raw", "expected"), LINES)
def test_a_line_without_its_prefixes(raw: str, expected: dict[str, object]) -> None:
    """What a prefix says is kept beside the text."""
    (line,) = lines(1, raw)
    assert {name: getattr(line, name) for name in expected} == expected


def test_times_with_zones() -> None:
    """A zone is honoured; without one a time is UTC."""
    assert seconds("2026-02-11T06:10:27+02:00") == seconds("2026-02-11 04:10:27") == 1770783027.0
    assert seconds("2026-99-99 04:10:27") is None


LABELS = [
    ("ranks_0-3,7", "0-3,7"),
    ("rank_12", "12"),
    ("rank_8_of_16,_earlier_in_the_log", "8"),
    ("ranks_0,_2_and_3_on_two_hosts", "0,2-3"),
    ("rank_0_1_console", "0-1"),
    ("rank_0_11_20_", "0"),
    ("rank_0_11_20", "0,11,20"),
    ("rank_9,_30_minutes_later", "9"),
    ("TP1,_TP2,_TP3", "1-3"),
    ("worker_TP0_EP3", ""),
    ("62_ranks", ""),
    ("frank_3", ""),
    ("rank7_stack", "7"),
    ("ranks_0-99999", "0-99999"),
    ("ranks_0-999999", ""),
]


@pytest.mark.parametrize(("label", "ranks"), LABELS)
def test_ranks_of_a_label(label: str, ranks: str) -> None:
    """A label names ranks the way people write them."""
    assert str(who(label).ranks) == ranks


def test_what_else_a_label_says() -> None:
    """A pid, a role, a count, and whether it is a later look."""
    assert who("DataLoader_worker_pid_26346_").pid == 26346
    assert who("rank_0,_DataLoader_worker").role.value == "dataloader-worker"  # type: ignore[union-attr]
    assert who("62_ranks").count == 62
    assert who("rank_0,_about_3_minutes_later").later


@pytest.mark.parametrize(
    ("label", "count", "each"),
    [
        ("stacks,_16_of_16", 16, True),
        ("8_of_8_ranks", 8, True),
        ("all_4_ranks", 4, True),
        ("stacks,_15_of_16", None, False),
        ("log_of_step_16_of_16", None, False),
    ],
)
def test_as_many_as_there_are_is_all(label: str, count: int | None, each: bool) -> None:
    assert (who(label).count, of_each(label)) == (count, each)


@pytest.mark.parametrize("label", ["ranks 0-131072", "ranks 0-9999999", "ranks 0-99999999"])
def test_a_label_of_more_ranks_than_any_job_has_says_so(label: str) -> None:
    """It is not taken for a label of nobody."""
    assert (who(label).beyond, str(who(label).ranks)) == (True, "")
    assert not who("ranks 0-131071").beyond
