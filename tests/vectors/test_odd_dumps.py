"""Directories of dumps with oddities of all kinds, judged as a user would: through the files alone."""

from __future__ import annotations

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather

from .odd import ODD


@pytest.mark.parametrize("name", ODD)
def test_an_oddity_does_not_mislead(tmp_path, name):
    made = ODD[name]()
    for path, data in made.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    said = pipeline.judge(gather([tmp_path]))
    ranks = tuple(sorted(said.verdict.ranks)) if said.verdict else ()
    kind = said.collectives[0].kind if said.collectives else "no_hang"
    assert ranks in made.ranks
    assert not made.kinds or kind in made.kinds
