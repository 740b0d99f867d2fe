"""Two threads that wait in each other's code."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from harness.counting import grows_evenly
from rankscope.analysis.account import Seen
from rankscope.analysis.crossed import Crossing, crossing
from rankscope.model.evidence.stacks import Frame, PythonThread, Stack

LOCK = Frame("pthread_mutex_lock", "", 0, "libc.so.6")


def native(tid: int, *scopes: str) -> Seen:
    """A thread in a mutex, below methods of some classes, the innermost first."""
    frames = [Frame(f"{scope}::call()", "", 0, "_ext.so") for scope in reversed(scopes)]
    return Seen(PythonThread(tid, Stack([*frames, LOCK])), native=True)


def python(tid: int, *files: str, active: bool = False) -> Seen:
    """A thread in Python code that shows no wait, the innermost file first."""
    frames = [Frame("call", f"/srv/app/{file}", 1) for file in reversed(files)]
    return Seen(PythonThread(tid, Stack(frames), active=active))


def test_threads_that_came_from_each_others_classes_wait_for_each_other() -> None:
    seen = [native(1, "kv::Index", "kv::Cache"), native(2, "kv::Cache", "kv::Index")]
    assert crossing(seen) == Crossing("kv::Index", "kv::Cache")


def test_threads_that_go_the_same_way_wait_for_somebody_else() -> None:
    assert crossing([native(1, "kv::Index", "kv::Cache"), native(2, "kv::Index", "kv::Cache")]) is None
    assert crossing([native(1, "kv::Index", "kv::Cache"), native(2, "kv::Index", "kv::Store")]) is None


def test_idle_threads_cross_in_files_of_the_job() -> None:
    seen = [python(1, "cache.py", "feed.py"), python(2, "feed.py", "cache.py")]
    assert crossing(seen) == Crossing("/srv/app/cache.py", "/srv/app/feed.py")


def test_a_thread_that_runs_waits_for_nobody() -> None:
    assert crossing([python(1, "cache.py", "feed.py"), python(2, "feed.py", "cache.py", active=True)]) is None


def test_what_everything_goes_through_is_nobodys_part() -> None:
    seen = [native(1, "std::map", "kv::Cache"), native(2, "kv::Cache", "std::map")]
    assert crossing(seen) is None


SEEN = st.builds(
    lambda tid, moment, scopes: Seen(native(tid, *scopes).thread, native=True, moment=moment),
    st.none() | st.integers(1, 3), st.integers(0, 1),
    st.lists(st.sampled_from(["kv::Index", "kv::Cache", "kv::Store"]), min_size=1, max_size=3),
)  # fmt: skip


@given(st.lists(SEEN, max_size=8))
def test_it_is_the_first_pair_of_all(seen: list[Seen]) -> None:
    """As if every thread were held against every other."""
    pairs = (crossing(pair) for pair in itertools.combinations(seen, 2))
    assert crossing(seen) == next(filter(None, pairs), None)


def test_many_threads_are_not_held_against_each_other() -> None:
    """A process may have ten thousand that wait in one pool."""

    def many(size: int) -> Callable[[], object]:
        seen = [native(tid, f"kv::Index{tid}", "kv::Pool") for tid in range(1, size)]
        return lambda: crossing(seen)

    assert grows_evenly(many, 200)
