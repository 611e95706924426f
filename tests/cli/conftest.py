"""Commands that score small datasets."""

from tests.fixtures.small_cold_start import small_cold_start as small_cold_start
