"""A text is searched for hundreds of patterns, with the answers of ``re``."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankscope.analysis import needles
from rankscope.analysis.needles import (
    FLAGS,
    Haystack,
    compiled,
    fold,
    found_in_zeros,
    haystack,
    needed,
    spelt,
    stays_in_line,
    zeroed,
    zeros_of,
)
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
    monkeypatch.setattr(needles, "parsed", lambda pattern: asked.append(pattern) or needles.Known(False, False, ()))
    needles._known.cache_clear()
    try:
        assert all(needed(pattern) is not None for pattern in SIGNS)
        assert asked == []
        needed("no sign of any rule")
        assert asked == ["no sign of any rule"]
    finally:
        needles._known.cache_clear()


# ---- texts that differ in nothing but their digits


def test_texts_that_differ_in_digits_alone_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """GIVEN what a hundred ranks say, WHEN a pattern is looked for that none of them has, THEN one text is searched for it."""
    needles._alike.cache_clear()
    said = [haystack(f"rank {rank:03d} waits\nThread {7000 + rank} (idle)") for rank in range(100)]
    assert not any(one.search(r"waits for\b|rank \d+ stands") for one in said)
    searched: list[str] = []
    each = Haystack.each
    monkeypatch.setattr(Haystack, "each", lambda self, pattern: searched.append(self.text) or each(self, pattern))
    assert not any(one.search(r"rank \d+ (?:sleeps|waits\b.)") for one in said)
    assert searched == [zeroed(said[0].text)]


def test_of_texts_that_are_alike_one_is_asked_what_any_of_them_may_have() -> None:
    """GIVEN three that differ in digits and one that says something else, THEN only the three are of one kind, and what may be
    found in one of them may be found in each."""
    needles._alike.cache_clear()
    *alike, other = [haystack(text) for text in ("rank 1 waits", "rank 2 waits", "rank 7 waits", "rank 1 computes")]
    assert len({id(one.kind) for one in alike}) == 1
    assert other.kind is not alike[0].kind
    for pattern, may in ((r"rank 7", True), (r"waits", True), (r"rank (?!7)\d", True), (r"computes", False)):
        assert {one.may_have(pattern) for one in alike} == {may}
    assert haystack("x" * (needles._SHARED + 1)).may_have("y")  # a long log is searched itself


def test_a_digit_that_is_meant_is_found_where_it_stands() -> None:
    said = [haystack(f"rank {rank} waits") for rank in range(10)]
    assert [one.search("rank 7") is not None for one in said] == [rank == 7 for rank in range(10)]
    assert [one.search("rank (?!7)") is not None for one in said] == [rank != 7 for rank in range(10)]
    assert [one.search("rank [2-4]") is not None for one in said] == [rank in (2, 3, 4) for rank in range(10)]


@pytest.mark.parametrize(
    ("pattern", "zeros"),
    [
        (r"cc1plus \d{2,7}", r"cc0plus \d{2,7}"),
        (r"[1-9]\d* of [^0-9]", r"[0-0]\d* of [^0-0]"),
        (r"(\d+) of (?!\1\b)\d+", r"(\d+) of \d+"),
        (r"a(?!b(?!5)c)d", "ad"),
        (r"a(?!b{1,2}(?!c))d", r"a(?!b{1,2}(?!c))d"),
        (r"\(?!5 [(?!5)] (?<!no )x", r"\(?!0 [(?!0)] (?<!no )x"),
    ],
)
def test_a_pattern_with_zeros_is_looser_than_the_pattern(pattern: str, zeros: str) -> None:
    """What must not be there is left out where it looks at digits; how often something comes stays."""
    assert zeros_of(pattern) == zeros


@pytest.mark.parametrize("pattern", [r"(a|b)\1", r"a[^5]", r"(?:(?!a)[^1-8])b", r"\x41", r"[{5}]"])
def test_patterns_that_zeros_could_hide_are_searched_for_as_they_are(pattern: str) -> None:
    assert not found_in_zeros(pattern)


def test_nearly_all_patterns_of_rules_are_found_in_zeros() -> None:
    """Otherwise the texts of thousands of ranks are each searched for them."""
    assert sum(map(found_in_zeros, SIGNS)) > 0.97 * len(SIGNS)


_DIGITAL = st.text(alphabet="ab1205 \n", max_size=12)
_PARTS = st.sampled_from(
    r"a b 1 \d [0-9] [1-4] [^2] [^0-9] (?!1) (?!\d) (?=2) (?<!5) (?<=a) \b 0{1,2} (?:a|12) (?!a(?!5)b) ^ $ . \s".split()
)


@settings(max_examples=300)
@given(st.lists(_PARTS, min_size=1, max_size=5).map("".join), _DIGITAL)
@example(r"a(?!b(?!5)c)1", "a1")
def test_what_is_found_in_a_text_is_found_in_its_zeros(pattern: str, text: str) -> None:
    if found_in_zeros(pattern) and compiled(pattern).search(text):
        assert compiled(zeros_of(pattern)).search(zeroed(text))


@settings(max_examples=200)
@given(st.lists(_PARTS, min_size=1, max_size=4).map("".join), _DIGITAL, _DIGITAL)
def test_what_is_found_in_one_of_many_is_what_re_finds(pattern: str, text: str, other: str) -> None:
    for said in (text, other, zeroed(text), text.replace("2", "5")):
        found = [one.span() for one in haystack(said).each(pattern)]
        assert found == [one.span() for one in compiled(pattern).finditer(said)]
