"""Corrections of a whole queue, with a language model or without one."""
