"""Commands that score small datasets."""
