"""Names of hosts, and sets of them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankscope.errors import RankscopeError
from rankscope.reach import hostnames


@pytest.mark.parametrize("name", ["node1", "n-1.example.org", "10.1.2.3", "fe80::1", "u@node1", "Node_2"])
def test_names_that_may_be_handed_on(name: str) -> None:
    assert hostnames.valid(name)


@pytest.mark.parametrize(
    "name", ["-oProxyCommand=x", "u@-oX", "a b", "a;b", "$(x)", "", "a\nb", "@x", "a'b", "-u@node"]
)
def test_names_that_could_become_options_or_commands_are_refused(name: str) -> None:
    assert not hostnames.valid(name)
    with pytest.raises(RankscopeError):
        hostnames.check([name])


@given(st.text(max_size=40))
def test_no_allowed_name_holds_what_a_shell_reads(name: str) -> None:
    if hostnames.valid(name):
        assert not set(name) & set(" \t\n;&|$`\\'\"<>(){}[]*?!#~=")
        assert not name.startswith("-")


@given(st.text(alphabet="nod[]0123456789-,/@^!&*", max_size=20))
@example("@0:0")
def test_any_set_gives_hosts_or_a_reason(text: str) -> None:
    with contextlib.suppress(RankscopeError):
        assert all(map(hostnames.valid, hostnames.expand(text)))


def test_sets_are_written_the_way_clusters_write_them() -> None:
    assert hostnames.expand("node[1-3,7],login") == ("login", "node1", "node2", "node3", "node7")
    assert hostnames.fold(["node3", "node1", "node2"]) == "node[1-3]"
