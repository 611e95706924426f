"""The models timed for a preset have the size of the published ones."""

from typing import Any

import pytest
import torch

from backend.engine.presets import BY_NAME, PRESETS
from backend.errors import SettingsError
from research.bench import preset_times


def parameters(model: Any) -> int:
    return sum(weight.numel() for weight in model.parameters())


def test_models_with_random_weights_have_the_published_sizes() -> None:
    with torch.device("meta"):  # no memory is used
        for name in ("balanced", "large"):
            preset = BY_NAME[name]
            assert parameters(preset_times.siglip(preset)) == preset.scorer.parameters
        published = BY_NAME["thorough"].captioner
        assert published is not None
        made = preset_times.captioner()
        text = made.config.text_config
        head = text.vocab_size * text.hidden_size  # shared with the embeddings, and stored twice
        assert parameters(made) + head == pytest.approx(published.parameters, rel=0.01)


def test_presets_have_a_time_but_the_embedded_one() -> None:
    without = {preset.name for preset in PRESETS if preset.core_seconds is None}
    assert without == {"embedded"}
    with pytest.raises(SettingsError, match="models probe"):
        preset_times.core_seconds(BY_NAME["embedded"])
