"""Evaluation: how well the program finds known errors.

The only part of the program that may read `assets/demo/truth.jsonl`.
"""
