"""ICC, image caption concreteness: does this caption describe anything visible?

    scoring    any Hugging Face sequence-classification model, or the embedded regression
    embedded   regression on sentence embeddings: the default, without a download
    agreement   correlation with people's ratings
    making/     the paper's pipeline, from foundation models to a scorer
    contributions  which words make a caption abstract
    train      `python -m backend.engine.concreteness.train` fits it on purpose-written captions

The measure is that of "ICC: Quantifying Image Caption Concreteness" (§1, §2); the published model
is `moranyanuka/icc`.
"""

#: Captions below this look abstract. In `captions.tsv`, cross-validated, nine of ten rated 0 lie
#: below it and nine of ten rated 3 above. It is kept here because pages need it without torch.
ABSTRACT_THRESHOLD = 0.35
