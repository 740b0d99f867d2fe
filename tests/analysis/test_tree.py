"""The merged tree keeps every stack, and the order of reading does not matter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.tree import Node, build, groups
from rankscope.model.evidence.stacks import Frame
from rankscope.model.ranks import RankSet

FRAMES = st.sampled_from([Frame(name, "train.py", line) for name in "abc" for line in (1, 2)])
Pairs = list[tuple[int, tuple[Frame, ...]]]
PAIRS = st.lists(st.tuples(st.integers(0, 12), st.lists(FRAMES, max_size=4).map(tuple)), max_size=12)
TREES = PAIRS.map(build)


@given(PAIRS.flatmap(lambda pairs: st.tuples(st.just(pairs), st.permutations(pairs))))
def test_the_order_in_which_ranks_are_read_does_not_matter(both: tuple[Pairs, Pairs]) -> None:
    one, other = both
    assert build(one) == build(other)


@given(PAIRS)
def test_who_is_read_twice_counts_once(pairs: Pairs) -> None:
    assert build([*pairs, *pairs]) == build(pairs)


@given(PAIRS)
def test_no_stack_is_lost_and_none_invented(pairs: Pairs) -> None:
    """A tree gives back the stacks it was built from, with their ranks."""
    back = {(rank, stack) for stack, ranks in groups(build(pairs)) for rank in ranks}
    assert back == set(pairs)


@given(TREES)
def test_a_node_holds_the_ranks_of_everything_below_it(tree: Node) -> None:
    """Ranks on an edge are those that end there or further down."""
    todo = [tree]
    while todo:
        node = todo.pop()
        below = node.ends
        for child in node.children:
            below = below | child.ranks
        assert node.ranks == below
        todo.extend(node.children)


def test_a_very_deep_stack_is_no_problem() -> None:
    """A runaway recursion is exactly what somebody wants to look at."""
    deep = tuple(Frame("again", "train.py", line % 7) for line in range(20_000))
    tree = build([(0, deep), (1, deep[:-1])])
    assert {ranks for _, ranks in groups(tree)} == {RankSet([0]), RankSet([1])}
