"""Tests of features score small datasets, as those of jobs do."""

from tests.jobs.conftest import open_workspace, small_cold_start, workspace

__all__ = ["open_workspace", "small_cold_start", "workspace"]
