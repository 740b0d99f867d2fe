"""What is found out of a text once, however often it is said."""

from __future__ import annotations

from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.patterns import regex
from rankscope.model.repeated import found_in, of_texts, one_stack


def test_a_function_of_a_text_is_asked_once_for_what_thousands_say() -> None:
    asked: list[str] = []
    length = of_texts(lambda text: asked.append(text) or len(text))
    assert [length("the same"), length("the same"), length("another")] == [8, 8, 7]
    assert asked == ["the same", "another"]


def test_a_long_line_is_not_kept() -> None:
    """It is data, and comes once."""
    asked: list[str] = []
    length = of_texts(lambda text: asked.append(text) or len(text))
    assert [length("x" * 9999), length("x" * 9999)] == [9999, 9999]
    assert len(asked) == 2


def test_what_is_found_in_a_line_is_found_in_its_repetition() -> None:
    pattern = regex(r"\bb+\b")
    assert [found_in("a bb", pattern), found_in("a bb", pattern), found_in("abb", pattern)] == [True, True, False]
    assert found_in("y" * 9999 + " b", pattern)


def test_stacks_that_are_equal_become_one() -> None:
    first, second = (Stack([Frame("main", "train.py", 7), Frame("wait", "threading.py", 320)]) for _ in range(2))
    assert first is not second
    assert hash(first) == hash(second) == hash(tuple(first))
    assert one_stack(first) is one_stack(second)
