"""What the rules find in a few texts that a test has written."""

from __future__ import annotations

import pathlib

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding, Kind
from rankscope.pipeline import judge
from rankscope.rules.told import like_known_cases


def causes(folder: pathlib.Path, **texts: str) -> dict[str, Finding]:
    """The causes for which a mechanism was recognised, by their classes: what words guess changes as more are learned."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    found = judge(gather([folder]), 30.0).findings
    return {one.cls: one for one in found if one.kind is Kind.CAUSE and one.rule != like_known_cases.RULE.id}
