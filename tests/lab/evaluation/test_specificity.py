"""The evaluation of specificity on drawn scenes, small."""

import numpy as np
import pytest

from backend.errors import SettingsError
from backend.lab.evaluation.specificity import evaluate_scenes, markdown
from backend.lab.scenes.bags import KINDS, scene_bags
from backend.lab.scenes.caption_reading import claims_of
from backend.settings import MODELS


def test_captions_of_all_kinds_are_true_and_say_more_and_more() -> None:
    made = scene_bags(150, 3)
    message = []
    for kind in KINDS:
        assert all(made.is_true(kind, i, i) for i in range(150))
        read = [claims_of(text) for text in made.captions[kind]]
        assert np.mean([a == b for a, b in zip(read, made.claims[kind], strict=True)]) > 0.99
        message.append(np.mean([len(claim) for claim in made.claims[kind]]))
    assert message[0] < message[1] - 2 < message[2] - 4
    assert scene_bags(150, 3).captions == made.captions != scene_bags(150, 4).captions


def test_generic_ordinary_rich_and_the_tables() -> None:
    report = evaluate_scenes(90, 1, 10, [MODELS], sizes=[3])
    result = {(row.captions, row.bags, row.size): row for row in report.rows}
    generic, ordinary, rich = (result[kind, "mined", 3].recall.share for kind in KINDS)
    assert generic < ordinary < rich
    assert result["ordinary", "random", 3].recall.share > ordinary
    assert result["generic", "mined", 3].unique is not None
    assert report.column[0].auc_specificity > 0.6
    message = markdown(report)
    assert "| COCO captions | 51.1 | 41.3 | 39.6 |" in message
    assert "| mark |" in message


def test_bags_larger_than_the_dataset_are_refused() -> None:
    with pytest.raises(SettingsError, match="A bag of 7 needs 7 different pictures; there are 4"):
        evaluate_scenes(4, 1, 0, [MODELS], sizes=[3, 7])
