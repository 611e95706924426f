"""Where the words of a caption are in drawn pictures, whose things have boxes."""

import random

import numpy as np
import pytest
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.engine.captions import Caption
from backend.engine.regions.part_maps import PartMap, part_maps, windows
from backend.engine.regions.region import LEAST, Region, region_of, regions_of
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.picture_views import field_of_view
from backend.engine.scoring.protocol import Scorer
from backend.settings import MODELS
from research.evaluation.pointing import is_hit, questions_of
from research.scenes.renderer import PICTURE_SIZE, render_with_regions
from research.scenes.world import make_scene

_MODELS = {"blip-itm": "scenes-blip-itm", "blip-itc": "scenes-blip-itm", "clip": "scenes-clip"}


@pytest.fixture(scope="module", params=_MODELS)
def scorer(request: pytest.FixtureRequest) -> Scorer:
    return load_scorer(str(MODELS / _MODELS[request.param]), request.param, "cpu")


def test_maps_point_at_the_things_that_nouns_name(scorer: Scorer) -> None:
    rng, hits = random.Random(59), list[bool]()
    while len(hits) < 12:
        scene = make_scene(rng)
        image, regions = render_with_regions(scene, PICTURE_SIZE)
        nouns = [q for q in questions_of(scene, regions, rng) if q.kind == "noun"]
        if nouns:
            maps = part_maps(scorer, image, nouns[0].caption, [[q.word] for q in nouns])
            hits += [is_hit(q, of_word) for q, of_word in zip(nouns, maps, strict=True)]
    assert sum(hits) >= len(hits) / 2  # things cover a tenth of a picture


def test_spans_of_a_caption_do_not_depend_on_each_other(scorer: Scorer) -> None:
    image = Image.effect_noise((90, 60), 80).convert("RGB")
    caption = Caption.parse("A red dog, next to a tree.")
    together = part_maps(scorer, image, caption, [[2], [6], [1, 2]])
    for span, of_span in zip(([2], [6], [1, 2]), together, strict=True):
        (alone,) = part_maps(scorer, image, caption, [span])
        np.testing.assert_allclose(alone.weights, of_span.weights, atol=1e-3)
        assert of_span.size == (90, 60)
    assert part_maps(scorer, image, caption, []) == []


def test_windows_go_over_the_whole_grid() -> None:
    views = windows((4, 6), 1 / 2)
    assert views.shape == (25, 4, 6)
    assert views[0].all()
    assert all(
        not view[row, column]
        for view, (row, column) in zip(views[1:], np.ndindex(4, 6), strict=True)
    )
    assert views.any((1, 2)).all(), "something is left to see"


def _map(weights: list[list[float]], field: tuple[float, float, float, float]) -> PartMap:
    return PartMap(np.array(weights, np.float32), 1.0, field, (400, 300))


def test_a_region_is_the_largest_connected_part_in_pixels_of_the_picture() -> None:
    top = LEAST + 1
    weights = [[top, 0, 0, 0], [0, 0, top, top], [0, 0, top, 0], [top, 0, 0, 0]]
    assert region_of(_map(weights, (0, 0, 400, 300))) == Region((200, 75, 400, 225), top)
    assert region_of(_map(weights, (50, 0, 350, 300))) == Region((200, 75, 350, 225), top)
    padded = region_of(_map([[top, top], [0, 0]], (-100, -50, 500, 350)))
    assert padded == Region((0, 0, 400, 150), top)


def test_nothing_speaks_for_a_word_whose_map_is_flat() -> None:
    flat = region_of(_map([[LEAST / 2, 0], [0, -9]], (0, 0, 400, 300)))
    assert flat == Region(None, LEAST / 2)


def test_words_that_the_model_does_not_read_have_no_region(scorer: Scorer) -> None:
    caption = "A dog and a cat. " + "It is a dog. " * 20
    found = regions_of(
        scorer, Image.new("RGB", (96, 96)), caption, [(2, 5), (len(caption) - 5, len(caption) - 2)]
    )
    assert list(found) == [(2, 5)]


def test_what_the_image_processor_crops_is_out_of_view() -> None:
    class Processor:
        do_center_crop = do_resize = True
        size = {"height": 100, "width": 200}
        crop_size = {"height": 50, "width": 100}

    assert field_of_view(Processor(), (400, 100)) == (100, 25, 300, 75)
    Processor.do_center_crop = False
    assert field_of_view(Processor(), (400, 100)) == (0, 0, 400, 100)
