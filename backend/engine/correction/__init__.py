"""Suggested corrections: from the trajectory itself, and from a captioner guided by it.

Proposers only *propose captions*; `judge` scores them and decides what is shown, so that nothing
reaches a curator without its score before and after. A new proposer (for example a
language model that sees the image) is another function from a `CorrectionContext` to captions.
"""
