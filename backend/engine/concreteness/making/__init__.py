"""Making an ICC scorer from foundation models, as the ICC paper does.

    fidelity            how well a caption is reconstructed: BERTScore F1, edit distance
    visual_bottleneck   caption -> picture -> caption (VBA, §2)
    semantic_bottleneck caption -> CLIP's text vector -> caption (SBA, §2)
    standardising       the same distribution of scores for captions of every length (A.1)
    combining           one score from both, fitted on labelled captions (§2, "Optimal Combination")
    distilling          a small text encoder that gives that score from the text alone (§2, A.2)
    pipeline            all of it: `python app.py icc`

Every component is a model by hub name or directory.
"""
