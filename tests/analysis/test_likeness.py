"""What a case reads like: words, weights, and when nothing is said."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankscope.analysis.case import Case
from rankscope.analysis.likeness import STEM, Likeness, compare, says_something, table, telling, threads, words
from rankscope.analysis.likeness.nearness import recognised
from rankscope.analysis.likeness.words import without_steps
from rankscope.formats.gather import gather
from rankscope.model.classes import CLASSES
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.pipeline import case_of, judge
from rankscope.rules import Rule
from rankscope.rules.told import like_known_cases

CALM = [f"calm{letter}" for letter in "abcdefghijklmnopqrst"]
SPEAK = [f"speak{letter}" for letter in "abcdefghijklmnopqrst"]
OTHERS = [name for name in CLASSES if name not in ("gil-deadlock", "oom-kill")]
TABLE = """# for people
classes gil-deadlock healthy oom-kill
cases 7 5 3
rest -0.9 -0.5 -1.0
{rows}
""".format(
    rows="\n".join(
        [*(f"{word} 20 0:20 1:-10" for word in SPEAK), *(f"calm{letter} 20 1:30" for letter in "abcdefghijklmnopqrst")]
    )
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("begin\nstep 1 loss 2.5\nstep 2 loss 2.4\nValueError: x\n", "begin\nValueError: x"),
        ("begin\nValueError: x\nstep 1 loss 2.5\n", "begin\nValueError: x\nstep 1 loss 2.5\n"),
        ("nothing counts here\n", "nothing counts here\n"),
    ],
    ids=["a trouble behind", "steps to the end", "no steps"],
)
def test_steps_before_the_last_words_say_nothing(text: str, left: str) -> None:
    assert without_steps(text) == left


def test_words_are_those_of_the_nearest_class() -> None:
    found = compare(table.parse(TABLE), SPEAK)
    assert (found.nearest, found.next_to("gil-deadlock")) == ("gil-deadlock", "oom-kill")
    assert set(telling(table.parse(TABLE), found.words, "gil-deadlock")) < set(SPEAK)
    assert telling(table.parse(TABLE), found.words, "healthy") == ()


@pytest.mark.parametrize(
    "said",
    [[], SPEAK[:7], SPEAK[:9], CALM, [*SPEAK, *CALM]],
    ids=["nothing", "few words", "too few words to guess", "a healthy run", "rather a healthy run"],
)
def test_nothing_is_guessed_of(said: list[str]) -> None:
    assert compare(table.parse(TABLE), said).nearest is None


def test_a_text_of_another_world_is_near_to_nothing() -> None:
    many = TABLE.replace("gil-deadlock healthy", f"gil-deadlock healthy {' '.join(OTHERS)}")
    many = many.replace("cases 7 5", f"cases 7 5 {'1 ' * len(OTHERS)}").replace(
        "rest -0.9 -0.5", "rest -0.9 -0.5" + " 0" * len(OTHERS)
    )
    far = table.parse(many.replace("0:20 1:-10", "1:-30"))
    assert compare(far, SPEAK).nearest is None
    assert compare(table.parse(many), SPEAK).nearest == "gil-deadlock"


@pytest.mark.parametrize(("known", "probable", "nearest"), [
    (25, 0.19, None), (25, 0.21, "gil-deadlock"), (26, 0.19, "gil-deadlock"), (26, 0.09, None), (9, 0.9, None),
])  # fmt: skip
def test_what_is_said_in_few_words_must_be_nearer(known: int, probable: float, nearest: str | None) -> None:
    scores = {"gil-deadlock": math.log(probable), "healthy": math.log(0.01), "oom-kill": math.log(0.02)}
    assert Likeness(scores, [str(number) for number in range(known)]).nearest == nearest


def test_how_probable_classes_are_adds_up_to_one() -> None:
    scores = compare(table.parse(TABLE), SPEAK).scores
    assert sum(math.exp(score) for score in scores.values()) == pytest.approx(1)
    assert compare(table.parse(TABLE), []).healthy == 1


def test_classes_are_ranked_by_how_probable_they_are() -> None:
    found = Likeness({"oom-kill": math.log(0.2), "healthy": math.log(0.1), "gil-deadlock": math.log(0.7)})
    names, shares = zip(*found.ranking())
    assert names == ("gil-deadlock", "oom-kill", "healthy")
    assert shares == pytest.approx((0.7, 0.2, 0.1))


@pytest.mark.parametrize(
    ("second", "pages"),
    [(0.4, ["gil-deadlock", "oom-kill"]), (0.1, ["gil-deadlock"])],
    ids=["nearly as probable", "far behind"],
)
def test_a_guess_tells_how_probable_it_is(
    second: float, pages: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"gil-deadlock": math.log(0.5), "oom-kill": math.log(second), "healthy": math.log(0.01)}
    known = [word for word in table.weights().words if says_something(word)]
    said = Likeness(scores, known[:30])
    monkeypatch.setattr(like_known_cases, "likeness", lambda case: said)
    (tmp_path / "log.txt").write_text("RuntimeError: nothing that any rule knows\n")
    (found,) = like_known_cases.check(case_of(gather([tmp_path])))
    assert f"gil-deadlock 50%, oom-kill {second:.0%}, healthy 1%" in " ".join(map(str, found.against))
    assert [step.split()[2] for step in found.next if step.startswith("rankscope explain")] == pages


def test_words_are_taken_whole_and_in_parts(tmp_path: Path) -> None:
    (tmp_path / "rank1.txt").write_text(
        "RuntimeError: TCPStore wait_for_key failed\nit ends: exit code 137, 1.5 s, version 2.3\n"
    )
    said = words(case_of(gather([tmp_path])))
    assert {
        "tcpstore",
        "tcp",
        "store",
        "wait_for_key",
        "wait",
        "key",
        "rank",
        f"runtim{STEM}",
        "it",
        "code=137",
    } <= said
    assert not {"s", "version=2"} & said
    assert says_something("tcp")
    assert not any(map(says_something, ("it", "code=137", f"runtim{STEM}")))


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


SAME = "# for people\n" + "".join(
    f"https://example.org/{line} \n"
    for line in (
        "4 gil-deadlock marka markb markc speaka speakb speakc",
        "5 healthy markd marke calma calmb calmc",
        f"6 oom-kill {' '.join(f'longer{letter}' for letter in 'abcdefghijklmnop')}",
    )
)
OWN = ["marka", "markb", *SPEAK[:3]]


@pytest.mark.parametrize(
    ("said", "link"),
    [
        (OWN, "https://example.org/4"),
        (["markd", "marke", *CALM[:3]], "https://example.org/5"),
        (OWN[1:], None),
        (SPEAK, None),
        (["longera", "longerb", "longerc"], None),
        ([*OWN, *map("".join, itertools.permutations("abcdef"))], None),
    ],
    ids=[
        "its own words",
        "of a healthy run",
        "one word of its own",
        "common words",
        "a small part of it",
        "a long log",
    ],
)
def test_a_thread_is_the_same_by_words_that_no_other_has(said: list[str], link: str | None) -> None:
    found = threads.the_same(SAME, table.parse(TABLE), said)
    assert (found.link if found else None) == link


def test_the_class_of_the_same_thread_is_nearly_sure() -> None:
    alike = compare(table.parse(TABLE), [*SPEAK, *CALM])
    found = recognised(alike, threads.Thread("https://example.org/6", "oom-kill", ()))
    assert (alike.nearest, found.nearest) == (None, "oom-kill")
    assert sum(map(math.exp, found.scores.values())) == pytest.approx(1)
    assert recognised(Likeness(), found.thread) == Likeness()


def test_what_a_thread_tells_of_is_sick_though_all_of_it_reads_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told in other words around its own; the link is the first thing to read."""
    monkeypatch.setattr(table, "weights", lambda: table.parse(TABLE))
    for module in ("health", "nearness"):
        monkeypatch.setattr(f"rankscope.analysis.likeness.{module}.weights", lambda: table.parse(TABLE))
    monkeypatch.setattr(threads, "text", lambda: SAME.replace("speaka", " ".join(CALM)))
    (tmp_path / "log.txt").write_text(" ".join([*CALM, *SPEAK[1:3]]))
    assert judge(gather([tmp_path])).verdict is None
    (tmp_path / "log.txt").write_text(" ".join(["marka markb", *CALM, *SPEAK[1:3]]))
    found = judge(gather([tmp_path]))
    assert found.verdict is not None
    assert (found.verdict.cls, found.verdict.certainty) == ("gil-deadlock", Certainty.POSSIBLE)
    assert str(found.next[0]) == "read how it went where the same was seen: https://example.org/4"


def test_every_thread_of_this_release_is_a_link_and_a_class() -> None:
    assert threads.threads()
    for thread in threads.threads():
        assert thread.link.startswith("https://")
        assert thread.cls in {table.HEALTHY, *CLASSES}


def _rule(name: str, cls: str, certainty: Certainty) -> Rule:
    def check(case: Case) -> Iterator[Finding]:
        yield Finding(name, cls, Kind.CAUSE, certainty, "a mechanism")

    return Rule(name, cls, check)


ALIKE = _rule("gil-waited-for", "gil-deadlock", Certainty.POSSIBLE)
OTHER = _rule("killed-for-memory", "oom-kill", Certainty.POSSIBLE)
LIKELY = _rule("killed-for-memory", "oom-kill", Certainty.LIKELY)
CERTAIN = _rule("killed-for-memory", "oom-kill", Certainty.CERTAIN)


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up table in place of the one of this release."""
    for module in ("health", "nearness", "table"):
        monkeypatch.setattr(f"rankscope.analysis.likeness.{module}.weights", lambda: table.parse(TABLE))


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize(
    ("rules", "order"),
    [
        pytest.param((), ["like-known-cases"], id="a guess"),
        pytest.param((OTHER, ALIKE), ["gil-waited-for", "killed-for-memory"], id="among equals"),
        pytest.param((OTHER,), ["like-known-cases", "killed-for-memory"], id="before what is not alike"),
        pytest.param((ALIKE,), ["gil-waited-for"], id="the same cause"),
        pytest.param((LIKELY, ALIKE), ["gil-waited-for", "killed-for-memory"], id="before what is surer but far"),
        pytest.param((CERTAIN, ALIKE), ["killed-for-memory", "gil-waited-for"], id="never before what is certain"),
    ],
)
def test_likeness_orders_what_is_not_certain(
    rules: tuple[Rule, ...], order: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.txt").write_text(" ".join(SPEAK))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (*rules, like_known_cases.RULE))
    diagnosis = judge(gather([tmp_path]))
    assert [one.rule for one in diagnosis.findings] == order


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize("rule", [ALIKE, LIKELY], ids=["possible", "likely"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param([" ".join(CALM)] * 3, Kind.NOTE, id="all reads well"),
        pytest.param(
            [" ".join(CALM)] * 25 + ["x"] * 50 + [" ".join(SPEAK)], Kind.CAUSE, id="trouble after what reads well"
        ),
        pytest.param([" ".join(CALM[:19])], Kind.CAUSE, id="too short to tell"),
    ],
)
def test_where_all_reads_well_a_cause_is_a_note(
    rule: Rule, text: list[str], kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.log").write_text("\n".join(text))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (rule,))
    assert [one.kind for one in judge(gather([tmp_path])).findings] == [kind]


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        pytest.param(SPEAK, (Kind.CAUSE, Certainty.LIKELY), id="a file of trouble"),
        pytest.param(SPEAK[:12], (Kind.CAUSE, Certainty.POSSIBLE), id="too little to be a text by itself"),
        pytest.param(CALM, (Kind.NOTE, Certainty.LIKELY), id="another good one"),
    ],
)
def test_a_file_that_reads_well_says_nothing_against_the_trouble_of_which_another_one_tells(
    beside: list[str], told: tuple[Kind, Certainty], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = TABLE.replace(" 1:30", " 1:60")
    for module in ("health", "nearness", "table"):
        monkeypatch.setattr(f"rankscope.analysis.likeness.{module}.weights", lambda: table.parse(calm))
    (tmp_path / "good.log").write_text("\n".join(CALM))
    (tmp_path / "other.log").write_text("\n".join(beside))
    rule = _rule("gil-waited-for", "gil-deadlock", Certainty.LIKELY)
    monkeypatch.setattr("rankscope.rules.rules", lambda: (rule,))
    assert [(one.kind, one.certainty) for one in judge(gather([tmp_path])).findings] == [told]


@pytest.mark.usefixtures("learned")
def test_a_bundle_of_very_many_passages_is_not_called_healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(301):
        (tmp_path / f"rank{rank}.log").write_text(" ".join(CALM))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (LIKELY,))
    assert judge(gather([tmp_path])).verdict is not None


@pytest.mark.usefixtures("learned")
def test_what_is_certain_stands_where_all_reads_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.log").write_text(" ".join(CALM))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (CERTAIN,))
    assert judge(gather([tmp_path])).verdict is not None


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize("said", [CALM, SPEAK], ids=["all reads well", "it reads like another class"])
def test_against_a_comparison_words_say_nothing(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(case: Case) -> Iterator[Finding]:
        yield Finding("counted", "oom-kill", Kind.CAUSE, Certainty.POSSIBLE, "counts differ", compared=True)

    (tmp_path / "job.log").write_text(" ".join(said))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (Rule("counted", "oom-kill", check), like_known_cases.RULE))
    assert [(one.rule, one.kind) for one in judge(gather([tmp_path])).findings] == [("counted", Kind.CAUSE)]


@pytest.mark.usefixtures("learned")
def test_a_guess_says_what_would_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "note.txt").write_text(" ".join(SPEAK))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (like_known_cases.RULE,))
    diagnosis = judge(gather([tmp_path]))
    assert diagnosis.findings[0].certainty is Certainty.POSSIBLE
    assert any("rankscope diagnose" in str(step) for step in diagnosis.next)


@pytest.mark.usefixtures("learned")
def test_of_a_run_that_ended_well_nothing_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.log").write_text(" ".join(SPEAK) + "\nTraining finished successfully\n")
    monkeypatch.setattr("rankscope.rules.rules", lambda: (like_known_cases.RULE,))
    assert judge(gather([tmp_path])).findings == ()


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize(("said", "certainty"), [(SPEAK, Certainty.POSSIBLE), (SPEAK[:5], Certainty.LIKELY)])
def test_what_reads_like_another_class_is_less_sure(
    said: list[str], certainty: Certainty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a few words nothing is concluded."""
    far = TABLE.replace("rest -0.9 -0.5 -1.0", "rest -0.9 -0.5 -6.0")
    monkeypatch.setattr("rankscope.analysis.likeness.nearness.weights", lambda: table.parse(far))
    (tmp_path / "job.log").write_text(" ".join(said))
    monkeypatch.setattr("rankscope.rules.rules", lambda: (LIKELY,))
    assert [one.certainty for one in judge(gather([tmp_path])).findings] == [certainty]


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize(
    ("told", "guessed"),
    [
        ("the first call takes 3 s\nlater calls are fast", False),
        ("only the initial gather is slow to set up\nsubsequent ones take 2.5 ms", False),
        ("the first call takes 3 s\nlater calls as well", True),
        ("the first call takes 3 s\nlater calls are fast\nthen it hangs", True),
    ],
)
def test_a_start_behind_which_all_is_fast_is_not_guessed_at(told: str, guessed: bool, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(f"{' '.join(SPEAK)}\n{told}\n")
    assert any(one.rule == "like-known-cases" for one in judge(gather([tmp_path])).findings) is guessed
