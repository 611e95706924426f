# ruff: noqa: SIM905  (a list of words reads better as a line of text)
"""Words without content of their own."""

#: Words without content of their own: they are wrong only together with another word.
FUNCTION_WORDS = frozenset(
    (
        "a an the this that there it its is are was were be and or but as of in on at by with for "
        "from to"
    ).split()
)

#: Closed-class words: they neither are nor describe the subject of a phrase.
CLOSED_CLASS = FUNCTION_WORDS | frozenset(
    (
        "these those his her their our my your some any no each every without onto into over under "
        "above below behind beside near next between through across around along during while "
        "where who which he she they we i you him them here being been has have had do does did "
        "not n't up down out off so than then too also just about against inside outside front top"
    ).split()
)
