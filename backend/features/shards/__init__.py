"""Scores in files: shards of a folder or an address, without a database."""
