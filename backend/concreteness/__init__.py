"""ICC, image caption concreteness: does this caption describe anything that could be seen?

    scoring    any Hugging Face sequence-classification model, or the embedded regression
    embedded   regression on sentence embeddings: the default, without a download
    agreement   correlation with people's ratings
    making/     the paper's pipeline, from foundation models to a scorer
    contributions  which words make a caption abstract
    train      `python -m backend.concreteness.train` fits it on captions written for it

The measure is that of "ICC: Quantifying Image Caption Concreteness" (§1, §2); the published model
is `moranyanuka/icc`.
"""

from backend.concreteness.contributions import Contribution, contributions
from backend.concreteness.scoring import ABSTRACT_THRESHOLD, score_captions

__all__ = ["ABSTRACT_THRESHOLD", "Contribution", "contributions", "score_captions"]
