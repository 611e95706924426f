"""Errors injected into ordinary English captions, with the changed words kept.

Three kinds, after TRACED §3.3 and §4.2: `random` (another image's caption), `noun` (another image's
caption that shares a noun) and `fine_grained` (a few words changed, by rules or by a language
model). Nothing here needs a picture: what a rule cannot know (is the swapped caption true by
chance?) stays as label noise, and `backend.lab.scenes.noise` does better where the picture's
contents are known.

    noisy_caption   the result, and how replacements are written into a user's text
    word_lists      the words that rules know, by category
    word_kinds      colour, count, object, …: what kind of word a word is
    nouns           singular, plural, and which words of a caption are nouns
    rules           every fine-grained edit that a caption allows
    fine_grained    draws among them so that the words themselves give nothing away
    language_model  fine-grained errors written by a language model, `consistency` its judge
    swaps           random and noun swaps
    injection       noise of several kinds into a share of a dataset
"""

from backend.engine.noise.fine_grained import FineGrainedNoise, fine_grained
from backend.engine.noise.injection import KINDS, inject
from backend.engine.noise.noisy_caption import NoisyCaption
from backend.engine.noise.swaps import ImageCaption, Swapper, noun_swap, random_swap

__all__ = [
    "KINDS",
    "FineGrainedNoise",
    "ImageCaption",
    "NoisyCaption",
    "Swapper",
    "fine_grained",
    "inject",
    "noun_swap",
    "random_swap",
]
