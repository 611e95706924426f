"""A dataset to judge elsewhere, as one file, and the verdicts brought home."""
