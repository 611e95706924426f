"""Tests of jobs: many small datasets are scored."""

from tests.fixtures.small_cold_start import small_cold_start as small_cold_start
