"""Names of groups tell what they are for."""

from __future__ import annotations

import pytest

from rankscope.analysis.collectives.parallel import coordinates, role
from rankscope.model.evidence.recorder import GroupConfig, Recorder


@pytest.mark.parametrize(("desc", "short"), [
    ("TENSOR_MODEL_PARALLEL_GROUP", "TP"), ("tp", "TP"), ("mesh_tp", "TP"), ("PIPELINE_MODEL_PARALLEL_GROUP", "PP"),
    ("PIPELINE_PARALLEL", "PP"), ("DATA_PARALLEL_GROUP_WITH_CP", "DP"), ("DATA_PARALLEL", "DP"), ("mesh_dp_shard", "DP"),
    ("EXPERT_MODEL_PARALLEL_GROUP", "EP"), ("CONTEXT_PARALLEL_GROUP", "CP"), ("default_pg", ""), ("undefined", ""),
    ("EXPERT_DATA_PARALLEL_GROUP", ""), ("EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", ""), ("EMBEDDING_GROUP", ""), ("", ""),
])  # fmt: skip
def test_a_description_has_a_short_name(desc, short):
    assert role(desc) == short


def test_a_rank_has_a_place_in_each_group():
    groups = (
        GroupConfig("0", "default_pg", (0, 1, 2, 3)),
        GroupConfig("1", "tp", (2, 3)),
        GroupConfig("4", "dp", (1, 3)),
    )
    assert coordinates(Recorder((), groups=groups), 3) == "TP 1, DP 1"
    assert coordinates(Recorder((), groups=groups), 0) == ""
