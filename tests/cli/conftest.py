"""Commands that score small datasets."""

from tests.fixtures.small_cold_start import small_cold_start

__all__ = ["small_cold_start"]  # used by every test
