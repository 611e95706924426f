"""Figures: how well the program finds what is known to be wrong.

The only part of the engine that may read `assets/demo/truth.jsonl`.
"""
