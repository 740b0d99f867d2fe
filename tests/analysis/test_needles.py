"""A text is searched for hundreds of patterns, with the answers of ``re``."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.analysis import needles
from rankscope.analysis.needles import FLAGS, Haystack, compiled, fold, needed, spelt, stays_in_line
from rankscope.rules import rules
from rankscope.rules.told._signs import Sign


def signs() -> tuple[str, ...]:
    """Every pattern of the tables of signs."""
    found: dict[str, None] = {}

    def take(value: object) -> None:
        if isinstance(value, Sign):
            found.update(dict.fromkeys((value.pattern, *value.also, *value.anywhere, *value.unless)))
        elif isinstance(value, (tuple, list)):
            for item in value:
                take(item)

    rules()
    for name, module in list(sys.modules.items()):
        if name.startswith("rankscope.rules."):
            take(list(vars(module).values()))
    return tuple(found)


SIGNS = signs()


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Connection refused", (("connection refused",),)),
        (r"\bhangs?\b", (("hang",),)),
        ("(?:shm|/dev/shm) is full", (("shm", "/dev/shm"), (" is full",))),
        (r"rank \d+ (?!is)waits", (("rank ",), (" waits",))),
        ("(?:maybe )?stuck", (("stuck",),)),
        (r"(?:a+b)*", ()),
        (r"one|\d+", ()),
        ("broken.*pipe", (("broken",), ("pipe",))),
        ("store|socket", (("tore", "ocket"),)),
    ],
)
def test_what_a_pattern_cannot_do_without(pattern, words):
    """A part that may be missing is not needed; of branches each brings its word."""
    assert set(needed(pattern)) >= set(words)


@pytest.mark.parametrize("pattern", [r"a.*b", r"^a[^\n]*b$", r"(?=a b)a", r"(?:ab|cd)\b", r"[a-z]{3} +\d", r"(?<!x)a"])
def test_a_pattern_that_stays_in_its_line(pattern):
    assert stays_in_line(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"a\s+b", r"a\nb", r"a[^x]b", r"\W*a", r"a\Z", r"\Aa", r"(?s:a.b)", r"(?!\s)a", r"(?<=\D)a", r"[\t-\r]a"],
)
def test_a_pattern_that_may_leave_its_line(pattern):
    assert not stays_in_line(pattern)


def test_every_letter_that_re_takes_for_one_of_ascii_is_folded_to_it():
    """Small letters beyond ASCII that equal an ASCII one where case does not matter, such as the long s."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    folded = fold(everything)
    assert len(folded) == len(everything)
    for letter in map(chr, range(128)):
        same = re.compile(re.escape(letter), FLAGS).findall(everything)
        assert {folded[ord(one)] for one in same} == {letter.lower()}


words = st.sampled_from(["hang", "rank", "all_reduce", "İs", "ſtuck", "KILL", "\n", " ", "0", "-"])
parts = st.sampled_from(
    ["hang", "rank", r"\d", r"\s", ".", "[^r]", "(?:rank|hang)", "(?:stuck|)", r"\b", "^", "$", "s?", "k+", "(?!h)", "(?<=k)",
     "is", "kill", r"\W*", "(?:k|hang)+", "all_?reduce", "(?s:.)", r"\Z", r"[^\n]*", "(?-i:rank)", "|", r"(h)?(?(1)a|r)"]
)  # fmt: skip
texts = st.lists(words | st.text(max_size=3), max_size=30).map("".join)


def same(pattern: str, text: str) -> None:
    """The answer is that of ``re``."""
    found, expected = Haystack(text).search(pattern), re.compile(spelt(pattern), FLAGS).search(text)
    assert (found and found.span()) == (expected and expected.span())


@given(st.lists(parts, min_size=1, max_size=6).map("".join), texts)
@example("hang$", "hang\nhang up")
@example("kill", "0\n\u212aill")
def test_any_pattern_is_answered_as_re_does(pattern, text):
    try:
        re.compile(pattern, FLAGS)
    except re.error:
        return
    same(pattern, text)


@pytest.mark.parametrize("between", [" ", "\n", ""])
def test_every_sign_of_rules_is_answered_as_re_does(between):
    """On texts that are made of the words that it looks for."""
    for pattern in SIGNS:
        said = [word for words in needed(pattern) for word in words]
        same(pattern, between.join(said))
        same(pattern, between.join(reversed(said)).upper())


@settings(max_examples=40)
@given(st.data())
def test_a_sign_of_rules_is_found_where_re_finds_it(data):
    """Wherever the words stand that match it."""
    pattern = data.draw(st.sampled_from([pattern for pattern in SIGNS if len(pattern) < 120]))
    said = data.draw(st.from_regex(compiled(pattern)))
    same(pattern, data.draw(texts) + said + data.draw(texts))


def test_most_signs_need_words():
    """Otherwise a long log is searched for each of them."""
    assert sum(bool(needed(pattern)) for pattern in SIGNS) > 0.95 * len(SIGNS)
    assert sum(stays_in_line(pattern) for pattern in SIGNS) > 0.7 * len(SIGNS)


def test_a_pattern_whose_words_are_missing_is_not_even_compiled():
    compiled.cache_clear()
    assert Haystack("step 1\nstep 2").search("a word that is nowhere") is None
    assert compiled.cache_info().currsize == 0


def test_what_rules_look_for_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN the table of this release, WHEN the words of all signs are asked for, THEN the parser is asked for none."""
    asked: list[str] = []
    monkeypatch.setattr(needles, "parsed", lambda pattern: asked.append(pattern) or (False, ()))
    needles._known.cache_clear()
    try:
        assert all(needed(pattern) is not None for pattern in SIGNS)
        assert asked == []
        needed("no sign of any rule")
        assert asked == ["no sign of any rule"]
    finally:
        needles._known.cache_clear()
