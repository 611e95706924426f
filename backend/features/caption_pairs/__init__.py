"""Pairs of captions to learn from: a better and a worse text about the same picture.

comparisons  which verdicts give such a pair
writing      the export formats `preference` and `hard-negatives`
"""
