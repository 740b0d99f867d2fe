"""What a host lets us see, and what to do about the rest."""

from __future__ import annotations

import importlib.util
import shlex

import pytest

from rankscope.analysis.commands import typed
from rankscope.probe import access


def test_an_optional_extra_that_is_not_there_limits_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain installation has no pystack: a health check that fails for that fails for ever."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (pystack,) = [check for check in access.host() if check.name == "pystack"]
    assert pystack.fine
    assert pystack.do.startswith("pip install 'rankscope[native]'")


@pytest.mark.parametrize("yama", [0, 1, 2, 3])
def test_what_to_do_about_yama_can_be_pasted(yama: int) -> None:
    do = access._yama(access.Rights(1000, 0, yama)).do
    assert bool(do) == (yama > 0)
    assert not do or (typed(do) and "(" not in shlex.join(shlex.split(do, comments=True)))
