"""Making an ICC scorer from foundation models, as the ICC paper does.

    fidelity            how well a caption is reconstructed: BERTScore F1, edit distance
    visual_bottleneck   caption -> picture -> caption (VBA, §2)
    semantic_bottleneck caption -> CLIP text embedding -> caption (SBA, §2)
    standardising       the same distribution of scores for captions of every length (A.1)
    choosing            which captions people should rate: uniformly over both scores (A.2)
    distilling          a small text encoder that predicts a score from the text (§2, A.2)
    combining           one score from both, fitted on labelled captions (§2, "Optimal Combination")
    controls            other similarity measures and aveCLIP, for comparison (Tables 3 and 4)
    pipeline            the whole pipeline: `python app.py icc`
    correlations        agreement with human ratings
    fit_embedded        fits the product's embedded scorer on captions written for this purpose

Every component is a model by hub name or directory.
"""
