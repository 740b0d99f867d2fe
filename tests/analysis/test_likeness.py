"""What a case reads like: words, weights, and when nothing is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rankscope.analysis.case import Case
from rankscope.analysis.likeness import table, threads, words
from rankscope.analysis.likeness.compare import nearest
from rankscope.formats.gather import gather
from rankscope.model.classes import CLASSES
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.pipeline import case_of, judge
from rankscope.rules import Rule, like_known_cases

SPEAK = [f"speak{letter}" for letter in "abcdefgh"]
TABLE = """# for people
classes gil-deadlock healthy oom-kill
cases 7 5 3
rest -0.9 -0.5 -1.0
{rows}
""".format(
    rows="\n".join([*(f"{word} 20 0:9 1:-3" for word in SPEAK), *(f"calm{letter} 20 1:30" for letter in "abcdefgh")])
)


def test_words_are_those_of_the_nearest_class() -> None:
    found = nearest(table.parse(TABLE), SPEAK)
    assert found is not None
    assert (found.cls, found.next, found.cases) == ("gil-deadlock", "healthy", 7)
    assert set(found.words) < set(SPEAK)


@pytest.mark.parametrize(
    "said",
    [[], SPEAK[:7], [f"calm{letter}" for letter in "abcdefgh"], [*SPEAK, *(f"calm{letter}" for letter in "abcdefgh")]],
    ids=["nothing", "few words", "a healthy run", "rather a healthy run"],
)
def test_nothing_is_guessed_of(said: list[str]) -> None:
    assert nearest(table.parse(TABLE), said) is None


def test_a_text_of_another_world_is_near_to_nothing() -> None:
    far = table.parse(TABLE.replace("0:9 1:-3", "0:1 1:-30"))
    assert nearest(far, SPEAK) is None


def test_words_are_taken_whole_and_in_parts(tmp_path: Path) -> None:
    (tmp_path / "rank1.txt").write_text("RuntimeError: TCPStore wait_for_key failed\n")
    said = words(case_of(gather([tmp_path])))
    assert {"tcpstore", "tcp", "store", "wait_for_key", "wait", "key", "rank"} <= said


def test_the_table_of_this_release_knows_classes_and_healthy_runs() -> None:
    weights = table.weights()
    assert set(weights.classes) <= {table.HEALTHY, *CLASSES}
    assert len(weights.classes) == len(weights.cases) == len(weights.rest)
    assert len(weights.words) > 1000


THREADS = """# for people
https://example.org/1 gil-deadlock speaka speakb speakc
https://example.org/2 gil-deadlock speakd speake calma
https://example.org/3 oom-kill speaka speakb speakc
"""


@pytest.mark.parametrize(
    ("said", "link"),
    [(SPEAK[:3], "https://example.org/1"), (SPEAK[3:6], "https://example.org/2"), (SPEAK[6:], None), ([], None)],
)
def test_the_thread_of_the_class_with_the_same_rare_words_is_most_alike(said: list[str], link: str | None) -> None:
    found = threads.most_alike(threads.parse(THREADS), table.parse(TABLE), "gil-deadlock", set(said))
    assert (found.link if found else None) == link


def test_every_thread_of_this_release_is_a_link_and_a_class() -> None:
    for thread in threads.threads():
        assert thread.link.startswith("https://")
        assert thread.cls in CLASSES


ODD = """the other three are in the barrier behind the evaluation
one process went into the logging callback of rank 0 and waits in its all_gather
"""


def _mechanism(case: Case) -> Iterator[Finding]:
    yield Finding("queue-full", "queue-pipe-full", Kind.CAUSE, Certainty.POSSIBLE, "a queue is full")


RECOGNISED = Rule("queue-full", "queue-pipe-full", _mechanism)


@pytest.mark.parametrize("recognised", [(), (RECOGNISED,)], ids=["nothing else", "a mechanism"])
def test_a_guess_stands_only_where_no_mechanism_was_recognised(
    recognised: tuple[Rule, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.txt").write_text(ODD)
    monkeypatch.setattr("rankscope.rules.rules", lambda: (*recognised, like_known_cases.RULE))
    diagnosis = judge(gather([tmp_path]))
    assert [one.rule for one in diagnosis.findings] == [recognised[0].id if recognised else "like-known-cases"]
    assert diagnosis.findings[0].certainty is Certainty.POSSIBLE
    assert any("diagnose" in step for step in diagnosis.next) is not bool(recognised)


def test_of_a_run_that_ended_well_nothing_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.log").write_text(ODD.replace("waits in", "left") + "Training finished successfully\n")
    monkeypatch.setattr("rankscope.rules.rules", lambda: (like_known_cases.RULE,))
    assert judge(gather([tmp_path])).findings == ()
