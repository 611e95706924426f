"""ICC, image caption concreteness: does this caption describe anything visible?

    scoring    any Hugging Face sequence-classification model, or the embedded regression
    embedded   regression on sentence embeddings: the default, without a download
    contributions  which words make a caption abstract

The measure is defined in "ICC: Quantifying Image Caption Concreteness" (§1, §2); the published
model is `moranyanuka/icc`. `research/concreteness` fits `embedded`, and has the paper's pipeline.
"""
