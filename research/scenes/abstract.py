"""Captions about nothing visible: feelings, slogans, remarks.

They are neither true nor false of any picture; in the demo they represent typical alt texts of the
web. Most of their words are not in the models' vocabulary, as would be realistic.
"""

import random

_OPENINGS = (
    "A moment of", "A feeling of", "Nothing but", "A day full of", "In search of", "The meaning of",
    "A touch of", "Thoughts about", "For the love of", "Memories of",
)  # fmt: skip
_IDEAS = (
    "pure joy", "quiet happiness", "freedom", "hope", "nostalgia", "peace and harmony",
    "friendship", "gratitude", "wonder", "calm", "adventure", "belonging", "simplicity", "courage",
)  # fmt: skip
_ENDINGS = (
    "",
    "",
    " that lasts for ever",
    " we will never forget",
    " beyond words",
    " at its best",
)
_REMARKS = (
    "What a wonderful time to be alive!",
    "Sometimes life is better than any dream.",
    "Best day ever, no doubt about it.",
    "Everything happens for a reason.",
    "Simply perfect in every way.",
    "This is what happiness feels like.",
    "You had to be there to understand.",
    "Dreams do come true after all.",
    "Our vision for a better future.",
    "Never stop believing in yourself.",
    "So much beauty in ordinary things.",
    "An unforgettable experience for everyone.",
    "The spirit of the season.",
    "Terms and conditions apply.",
    "All rights reserved.",
    "Inspiration for your next project.",
    "It could not get any better.",
    "The good old times.",
    "Where imagination meets reality.",
    "Quality you can trust.",
)


def abstract_caption(rng: random.Random) -> str:
    """One of several hundred captions at random."""
    if rng.random() < 0.5:
        return rng.choice(_REMARKS)
    return f"{rng.choice(_OPENINGS)} {rng.choice(_IDEAS)}{rng.choice(_ENDINGS)}."
