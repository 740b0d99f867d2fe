"""The merged tree keeps every stack, and the order of merging does not matter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.tree import EMPTY, Node, build, groups, merge, outliers
from rankscope.model.evidence.stacks import Frame
from rankscope.model.ranks import RankSet

FRAMES = st.sampled_from([Frame(name, "train.py", line) for name in "abc" for line in (1, 2)])
PAIRS = st.lists(st.tuples(st.integers(0, 12), st.lists(FRAMES, max_size=4).map(tuple)), max_size=12)
TREES = PAIRS.map(build)


@given(TREES, TREES)
def test_merging_is_commutative(one: Node, other: Node) -> None:
    assert merge(one, other) == merge(other, one)


@given(TREES, TREES, TREES)
def test_merging_is_associative(one: Node, other: Node, third: Node) -> None:
    assert merge(merge(one, other), third) == merge(one, merge(other, third))


@given(TREES)
def test_the_empty_tree_changes_nothing(tree: Node) -> None:
    assert merge(tree, EMPTY) == tree


@given(TREES)
def test_merging_with_itself_changes_nothing(tree: Node) -> None:
    assert merge(tree, tree) == tree


@given(PAIRS, PAIRS)
def test_hosts_may_merge_early(
    one: list[tuple[int, tuple[Frame, ...]]], other: list[tuple[int, tuple[Frame, ...]]]
) -> None:
    """Two hosts' trees joined are the tree of all their stacks."""
    assert merge(build(one), build(other)) == build(one + other)


@given(PAIRS)
def test_no_stack_is_lost_and_none_invented(pairs: list[tuple[int, tuple[Frame, ...]]]) -> None:
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


def test_outliers_are_those_outside_the_majority() -> None:
    """Without a majority nobody is an outlier."""
    one, other = (Frame("a", "t.py", 1),), (Frame("b", "t.py", 2),)
    assert outliers({one: RankSet([0, 1, 3]), other: RankSet([2])}) == RankSet([2])
    assert not outliers({one: RankSet([0, 1]), other: RankSet([2, 3])})
