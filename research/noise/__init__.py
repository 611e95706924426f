"""Errors written by a language model, and the filter that drops those that change nothing.

language_model  fine-grained errors (TRACED, §4.2 and A.3)
changed_words   which words of a rewritten caption are new
consistency     whether a caption still follows from the original: AlignScore
"""
