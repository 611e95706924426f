"""Where the words of a caption are in drawn pictures, whose things have boxes."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.engine.captions import Caption
from backend.engine.english.phrases import whole_phrases
from backend.engine.scoring.function_scorer import FunctionScorer
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.picture_views import field_of_view
from backend.engine.scoring.protocol import BoolArray, FloatArray, Scorer, ScorerInfo, Viewer
from backend.errors import ModelMismatch
from backend.features.regions.part_maps import (
    PartMap,
    check_sees_parts,
    part_maps,
    phrase_around,
    views_of,
)
from backend.features.regions.region import (
    LEAST,
    SHARE,
    Region,
    Search,
    Span,
    least_of,
    region_of,
    regions_of,
)
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
    assert sum(hits) >= 0.6 * len(hits)  # things cover a tenth of a picture


def test_spans_of_a_caption_do_not_depend_on_each_other(scorer: Scorer) -> None:
    image = Image.effect_noise((90, 60), 80).convert("RGB")
    caption = Caption.parse("A red dog, next to a tree.")
    together = part_maps(scorer, image, caption, [[2], [6], [1, 2]])
    for span, of_span in zip(([2], [6], [1, 2]), together, strict=True):
        (alone,) = part_maps(scorer, image, caption, [span])
        assert alone.weights is not None
        assert of_span.weights is not None
        np.testing.assert_allclose(alone.weights, of_span.weights, atol=1e-3)
        assert of_span.size == (90, 60)
    assert part_maps(scorer, image, caption, []) == []


def test_parts_cover_the_whole_grid_once() -> None:
    for grid, wanted in (((8, 8), (8, 8)), ((24, 24), (8, 8)), ((7, 14), (7, 8))):
        views, shape = views_of(grid)
        assert shape == wanted
        assert views.shape == (1 + shape[0] * shape[1], *grid)
        assert views[0].all()
        assert ((~views[1:]).sum(0) == 1).all(), "each patch is left out once"
        assert (~views[1:]).any((1, 2)).all()


def test_words_are_asked_about_in_their_phrase() -> None:
    caption = Caption.parse("Two small dogs, next to a red fire hydrant.")
    phrases = whole_phrases(caption.text)
    assert phrase_around(caption, [2], phrases) == ("Two small dogs", "Two small")
    assert phrase_around(caption, [6], phrases) == ("red fire hydrant", "fire hydrant")
    assert phrase_around(caption, [5], phrases) == ("a", "")
    assert phrase_around(caption, [1, 2, 3, 4], phrases) == ("Two small dogs, next to", "Two")
    assert phrase_around(Caption.parse("犬が走る"), [0], ()) == ("犬", "")


def _regions(
    scorer: Scorer, image: Image.Image, caption: str, spans: Sequence[Span]
) -> dict[Span, Region]:
    """Of a caption of one claim."""
    (regions,) = regions_of(scorer, [Search(image, caption, [(0, len(caption))], spans)])
    return regions


def _map(
    weights: Sequence[Sequence[float]],
    field: tuple[float, float, float, float] = (0, 0, 400, 300),
    support: float = 1.0,
) -> PartMap:
    return PartMap(np.array(weights, np.float32), support, field, (400, 300))


def test_a_region_is_the_largest_connected_part_in_pixels_of_the_picture() -> None:
    weights = [[2, 0, 0, 0], [0, 0, 2, 2 * SHARE], [0, 0, 1, 0], [2, 0, 0, 0]]
    assert region_of(_map(weights)) == Region((200, 75, 400, 225), 1.0)
    assert region_of(_map(weights, (50, 0, 350, 300))) == Region((200, 75, 350, 225), 1.0)
    padded = region_of(_map([[2, 2], [0, 0]], (-100, -50, 500, 350)))
    assert padded == Region((0, 0, 400, 150), 1.0)


def test_nothing_speaks_for_words_that_add_nothing() -> None:
    assert region_of(_map([[2, 0], [0, -9]], support=LEAST - 0.1)) == Region(None, LEAST - 0.1)
    assert region_of(_map([[0, 0], [0, -9]])).box is None


def test_the_region_of_words_about_everything_is_the_whole_picture() -> None:
    of_words = PartMap(None, 1.0, (50, 0, 350, 300), (400, 300))
    assert region_of(of_words) == Region((0, 0, 400, 300), 1.0)
    assert region_of(replace(of_words, support=LEAST - 0.1)).box is None


def test_only_what_is_read_is_computed(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view without a part is scored for the phrases of local words alone that something in the
    picture speaks for, and the numbers are those of all views with all texts."""
    parts = check_sees_parts(scorer)
    viewers, questions = parts.viewers, list[int]()

    def counted(images: Sequence[Image.Image]) -> Iterator[Viewer]:
        (view,) = viewers(images)

        def score(views: BoolArray, captions: Sequence[str]) -> FloatArray:
            questions.append(len(views) * len(captions))
            return view(views, captions)

        yield score

    image, _ = render_with_regions(make_scene(random.Random(3)), PICTURE_SIZE)
    caption = Caption.parse("A dog under a tree in the snowy park")
    local, everywhere = [[1], [4]], [[7], [8], [7, 8]]
    spans = [*local, *everywhere]
    views, shape = views_of(parts.grid)
    phrases = whole_phrases(caption.text)
    texts = [text for span in spans for text in phrase_around(caption, span, phrases)]
    odds = next(viewers([image]))(views, texts)
    monkeypatch.setattr(scorer, "viewers", counted)
    maps = part_maps(scorer, image, caption, spans, lambda number, _: number < 2)
    assert questions == [2 * len(spans), (len(views) - 1) * len(local)]
    for number, of_span in enumerate(maps):
        phrase, without = odds[:, 2 * number], odds[0, 2 * number + 1]
        assert of_span.support == pytest.approx(phrase[0] - without, abs=1e-3)
        if number in (0, 1):
            assert of_span.weights is not None
            falls = (phrase[0] - phrase[1:]).reshape(shape)
            np.testing.assert_allclose(of_span.weights, falls, atol=1e-3)
        else:
            assert of_span.weights is None

    questions.clear()
    spans_of = dict(zip(caption.words, caption.spans, strict=True))
    _regions(scorer, image, caption.text, [spans_of["park"]])
    assert _regions(scorer, image, caption.text, [spans_of["the"]]) == {}
    assert questions == [2], "no view of a part for a place, nothing for a function word"

    questions.clear()
    absent = Caption.parse("A dog, a cat, a bird, a horse, a car, a boat, a kite and a train")
    nouns = [span for word, span in zip(absent.words, absent.spans, strict=True) if len(word) > 2]
    regions = _regions(scorer, image, absent.text, nouns)
    missing = sum(region.weight < LEAST for region in regions.values())
    assert missing
    assert sum(questions) == 2 * len(regions) + (len(views) - 1) * (len(regions) - missing)


def test_pictures_that_are_read_together_have_the_regions_of_each_alone(scorer: Scorer) -> None:
    """Words of several claims are looked for in the claim that each begins in."""
    text, rng = "A dog under a tree. A cat and a boat.", random.Random(3)
    images = [render_with_regions(make_scene(rng), side)[0] for side in (96, 130)]
    caption = Caption.parse(text)
    claims = [(0, 19), (20, len(text))]
    together = regions_of(scorer, [Search(image, text, claims, caption.spans) for image in images])
    for image, regions in zip(images, together, strict=True):
        apart = {
            (start + first, end + first): region
            for first, last in claims
            for (start, end), region in _regions(
                scorer, image, text[first:last], Caption.parse(text[first:last]).spans
            ).items()
        }
        assert list(regions) == list(apart)
        for span, region in regions.items():
            assert region.weight == pytest.approx(apart[span].weight, abs=1e-3)
            assert (region.box is None) == (apart[span].box is None)


def test_an_accelerators_attention_gives_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = load_scorer(str(MODELS / _MODELS["blip-itm"]), "blip-itm", "cpu")
    image = Image.effect_noise((90, 60), 80).convert("RGB")
    parts, texts = check_sees_parts(scorer), ["a red dog", "a", "two dogs next to a tree"]
    views, _ = views_of(parts.grid)
    separate = next(parts.viewers([image]))(views, texts)
    monkeypatch.setattr(scorer.tower, "pads", True)  # pyrefly: ignore[missing-attribute]
    np.testing.assert_allclose(next(parts.viewers([image]))(views, texts), separate, atol=1e-4)


def test_words_that_are_often_called_absent_in_error_need_more() -> None:
    of_words = _map([[2, 0], [0, -9]], support=LEAST - 0.1)
    assert region_of(of_words, least_of(["dog"])).box is None
    for words in (["two", "dogs"], ["running"], ["snowy"]):
        assert region_of(of_words, least_of(words)).box is not None


def test_function_words_are_nowhere_and_places_and_weathers_everywhere(scorer: Scorer) -> None:
    caption = "A dog under a tree in the snowy park, with no cat"
    image, _ = render_with_regions(make_scene(random.Random(3)), PICTURE_SIZE)
    parsed = Caption.parse(caption)
    spans = dict(zip(parsed.words, parsed.spans, strict=True))
    regions = _regions(scorer, image, caption, list(spans.values()))
    assert {word for word, span in spans.items() if span in regions} == {
        "dog", "under", "tree", "snowy", "park", "cat",
    }  # fmt: skip
    for word in ("snowy", "park"):
        assert regions[spans[word]].box in (None, (0, 0, PICTURE_SIZE, PICTURE_SIZE))


def test_words_that_the_model_does_not_read_have_no_region(scorer: Scorer) -> None:
    caption = "A dog and a cat. " + "It is a dog. " * 20
    regions = _regions(
        scorer, Image.new("RGB", (96, 96)), caption, [(2, 5), (len(caption) - 5, len(caption) - 2)]
    )
    assert list(regions) == [(2, 5)]


def test_what_the_image_processor_crops_is_out_of_view() -> None:
    class Processor:
        do_center_crop = do_resize = True
        size = {"height": 100, "width": 200}
        crop_size = {"height": 50, "width": 100}

    assert field_of_view(Processor(), (400, 100)) == (100, 25, 300, 75)
    Processor.do_center_crop = False
    assert field_of_view(Processor(), (400, 100)) == (0, 0, 400, 100)


def test_a_scorer_that_sees_no_parts_is_refused() -> None:
    blind = FunctionScorer(
        ScorerInfo("plain", "plain", "1", "cpu"), lambda _, texts: [0.5] * len(texts)
    )
    with pytest.raises(ModelMismatch):
        check_sees_parts(blind)
