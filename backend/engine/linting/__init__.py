"""Faults of captions that no model is needed for.

faults      of one caption: what finds it, and where that is safe what mends it
comparison  of captions compared with the rest of their dataset
"""
