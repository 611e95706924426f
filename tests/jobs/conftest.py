"""Tests of jobs: many small datasets are scored."""
