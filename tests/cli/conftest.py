"""Makes the helpers of this folder importable and its fixtures known."""

from conftest_cli import job as job
