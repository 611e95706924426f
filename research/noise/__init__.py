"""Errors written by a language model, and the filter that drops those that change nothing."""
