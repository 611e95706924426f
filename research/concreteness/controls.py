"""Controls: other similarity measures (ICC, Table 4) and aveCLIP (Table 3).

Table 4's other models are other runs: name them on the command line.
"""

from collections.abc import Sequence

import numpy as np

from backend.engine.scoring.protocol import Scorer
from backend.errors import ModelMismatch
from research.concreteness.correlations import Agreement, agreement
from research.concreteness.fidelity import edit_similarity, meaning_similarity
from research.concreteness.visual_bottleneck import TextToImage

EDIT, MEANING = "edit distance", "BERTScore"


def by_measure(
    captions: Sequence[str],
    by_picture: Sequence[str],
    by_vector: Sequence[str],
    ratings: Sequence[float],
    encoder: str | None = None,
) -> dict[str, Agreement]:
    """Agreement of both pipelines with the ratings, by each similarity measure.

    `by_picture`, `by_vector`: the reconstructions of each caption, chosen among the beams by the
    pipeline's usual measure. Scores are not standardised by length.
    """
    return {
        f"{pipeline}, {name}": agreement(measured, ratings)
        for pipeline, returned in (("VBA", by_picture), ("SBA", by_vector))
        for name, measured in (
            (EDIT, edit_similarity(captions, returned)),
            (MEANING, meaning_similarity(captions, returned, encoder)),
        )
    }


def average_clip(
    captions: Sequence[str],
    text_to_image: TextToImage,
    scorer: Scorer,
    pictures: int,
    seed: int = 0,
) -> list[float]:
    """aveCLIP (Wu and Smith 2023): mean cosine of a caption and several pictures drawn from it.

    `scorer` must embed pictures and texts: raises ModelMismatch otherwise.
    """
    averages = []
    for caption in captions:
        drawn = [text_to_image.draw([caption], seed + number)[0] for number in range(pictures)]
        seen = scorer.image_embeddings(scorer.encode_images(drawn))
        if seen is None:
            raise ModelMismatch("aveCLIP needs a model that embeds pictures, such as CLIP.")
        averages.append(float(np.mean(seen @ scorer.text_embeddings([caption])[0])))
    return averages
