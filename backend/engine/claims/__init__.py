"""Captions of any length: their claims, and one chance of error from those of the claims.

    claim      what a claim is
    division   whether captions are divided, and how
    finding    the claims of a caption, by its form
    sentences  … of prose: sentences, and clauses where a model cannot read a whole sentence
    tags       … of a list of tags
    scored_caption  the claims with their trajectories

A *claim* is a piece of the user's own text that says one thing: a sentence, a tag, a sentence of an
assistant's answer. Models read 35 to 77 tokens and judge short sentences best, so that a caption is
scored claim by claim; one with a single claim is scored as it stands.
"""
