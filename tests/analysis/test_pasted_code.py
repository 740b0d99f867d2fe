"""Pasted code is read by its indentation: who runs a block, what it holds, and what comes after it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.pasted_code import Section, code_in, sections


def read(text: str) -> list[Section]:
    return list(sections(code_in(text.splitlines())))


@pytest.mark.parametrize(
    ("condition", "who"),
    [
        ("rank == 0", "one"),
        ("self.local_rank == 0", "one"),
        ("args.local_rank in [-1, 0]", "one"),
        ("RANK in {-1, 0}", "one"),
        ("accelerator.is_main_process", "one"),
        ("trainer.is_global_zero and epoch > 3", "one"),
        ("torch.distributed.get_rank() == 0", "one"),
        ("int(os.environ['RANK']) == 0", "one"),
        ("not rank", "one"),
        ("hvd.rank() == 0", "one"),
        ("jax.process_index() == 0", "one"),
        ("rank == world_size - 1", "one"),
        ("rank != 0", "rest"),
        ("rank > 0", "rest"),
        ("rank % 2 == 0", "rest"),
        ("not is_main_process()", "rest"),
        ("not dist.is_initialized()", ""),
        ("local_rank != -1", ""),
        ("rank == -1", ""),
        ("world_size > 1", ""),
        ("step >= max_steps", ""),
        ("torch.isnan(loss)", "some"),
        ("batch is None", "some"),
    ],
)
def test_who_runs_a_block_is_told_by_its_condition(condition: str, who: str) -> None:
    assert [section.who for section in read(f"if {condition}:\n    work()")] == ([who] if who else [])


def test_a_block_has_its_surroundings() -> None:
    """The body, the other branch, what stood before in the same loop and what follows in the function."""
    lines = [
        "def step():",
        "    first()",
        "    if rank == 0:",
        "        a()",
        "",
        "        b()",
        "    else:",
        "        c()",
    ]
    (section,) = read("\n".join([*lines, "    last()", "def other():", "    d()"]))
    assert section.body == ("a()", "b()")
    assert section.otherwise == ("c()",)
    assert section.before == ("first()",)
    assert "last()" in section.after
    assert "d()" not in section.after


def test_a_line_may_hold_the_whole_block() -> None:
    (section,) = read("if rank == 0: return  # only one\ndist.barrier()")
    assert section.body == ("return",)
    assert section.leaves == "return"


def test_a_decorator_makes_a_section_of_its_function() -> None:
    (section,) = read("@rank_zero_only\ndef log(self):\n    self.all_gather(x)\nother()")
    assert (section.who, section.body) == ("one", ("self.all_gather(x)",))


def test_marks_of_a_diff_and_of_a_listing_stay_off() -> None:
    assert [section.body for section in read("+ if rank == 0:\n+     save()")] == [("save()",)]
    assert [section.body for section in read("12:  if rank == 0:\n13:      save()")] == [("save()",)]


@given(st.lists(st.text(max_size=60), max_size=40))
def test_any_text_is_read_without_an_error(lines: list[str]) -> None:
    for section in sections(code_in(lines)):
        assert section.who in ("one", "rest", "some")


def test_a_condition_over_several_lines_is_one() -> None:
    (section,) = read("if (\n    time.time() - last > limit\n    and step > 0\n):\n    save()")
    assert (section.who, section.body) == ("some", ("save()",))


@given(st.lists(st.sampled_from(["if (", "a", ")", "):", "b = (", "    c", "for x in (", ""]), max_size=30))
def test_brackets_that_never_close_lose_no_line(lines: list[str]) -> None:
    text = " ".join(line.text for line in code_in(lines))
    assert text.split() == " ".join(lines).split()


def test_where_grep_found_a_line_is_no_part_of_it() -> None:
    lines = code_in(
        ["src/heads/base.py:88:    for name in losses.keys():", "src/heads/base.py:89:        dist.all_reduce(x)"]
    )
    assert [(line.depth, line.text[:3]) for line in lines] == [(4, "for"), (8, "dis")]


def test_a_head_and_its_block_on_one_line_are_two() -> None:
    """What somebody left out stands between them as three dots."""
    (section,) = read("for name in losses.keys(): ... dist.all_reduce(x)")
    assert (section.who, section.body) == ("own", ("dist.all_reduce(x)",))
