"""Workers on Spark have to meet: what the cluster has no place for at one time never comes, and the others wait."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

SHORT = "WARN DAGScheduler: Barrier stage in job 4 requires 8 slots, but only 3 are available. Will retry up to 11 more times\n"
STARTS = (
    "INFO TaskSetManager: Starting task 0.0 in stage 1.0 (TID 1, 10.0.0.7, executor 1, partition 0, PROCESS_LOCAL)\n"
)


def classes(folder: pathlib.Path, text: str) -> set[str]:
    (folder / "driver.txt").write_text(text)
    found = judge(gather([folder])).findings
    return {one.cls for one in found if one.kind is Kind.CAUSE and one.rule != "like-known-cases"}


@pytest.mark.parametrize(
    "text",
    [
        SHORT,
        'SparkSession.builder.master("local[2]")\nnew XGBoostClassifier(Map("num_workers" -> 4))\nfit hangs\n',
        "--master local[1,4]\nXGBoostRegressor().setNumWorkers(3)\nit does not return\n",
        "master = local[2]\nTorchDistributor(num_processes=4, local_mode=False)\nstuck in the barrier\n",
        "driver expecting 12 connections...\nspark.executor.instances 8\nexecutor-cores 1\nthen nothing more\n",
        "rendezvous times out on both nodes\n",
    ],
)
def test_more_workers_than_places_do_not_all_come(tmp_path: pathlib.Path, text: str) -> None:
    assert "rank-never-joined" in classes(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "INFO DAGScheduler: Barrier stage in job 4 requires 8 slots, but only 8 are available\n",
        SHORT + STARTS,
        'SparkSession.builder.master("local[4]")\nnew XGBoostClassifier(Map("num_workers" -> 4))\nfit hangs\n',
        'SparkSession.builder.master("local[1]")\nDataLoader(ds, num_workers=4)\nfit hangs\n',
        'SparkSession.builder.master("local[2]")\nnum_workers = 4\nstep 1\nstep 2\nstep 3\nstep 4\n',
        "driver expecting 12 connections...\nspark.executor.instances 3\nexecutor-cores 4\nthen nothing more\n",
    ],
)
def test_as_many_places_as_workers_are_enough(tmp_path: pathlib.Path, text: str) -> None:
    assert "rank-never-joined" not in classes(tmp_path, text)


@pytest.mark.parametrize("where", ["MonitoredTrainingSession", "Supervisor.managed_session", "wait_for_session"])
def test_a_session_that_nobody_makes_ready_is_a_meeting(tmp_path: pathlib.Path, where: str) -> None:
    assert "rank-never-joined" in classes(tmp_path, f"the worker hangs in {where}, the chief is not started\n")
