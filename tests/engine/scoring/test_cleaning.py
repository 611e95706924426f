"""Models read captions as their training did; what they mark stands in the user's text."""

import gzip
import json
from pathlib import Path

import pytest

import backend.engine.torchvision_compat  # noqa: F401  (before open_clip)
from backend.engine.captions import Caption
from backend.engine.scoring.cleaning import BLIP_CAPTION, CLIP_TEXT, clean_for_blip
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.tokens import HubReader
from backend.engine.trajectories.deletions import Deletions
from backend.errors import SettingsError
from tests.checkpoints import random_blip, random_clip
from tests.engine.scoring.contracts.captions import CAPTIONS

ODD = (
    "“A dog’s ball” – he said",
    "Fish &amp; chips &amp;amp; peas &lt;3",
    "an oﬃce ﬁre in the ﬂat",
    "ＡＢＣ ｓｔｙｌｅ ｄｏｇ",
    "the cafÃ© is â€œopenâ€\x9d",
    "two  dogs\nrun\tby\u00a0here",
    "a naïve café, 犬が走る",
    "AT&T sign, R&D; &eacute;t&eacute;",
)
PUNCTUATED = ("A dog.", 'A (red) dog: it "runs"!', "Two cats... ~ #1 * 8:30; done.", ". . .", "")


@pytest.fixture(scope="module")
def published_clip() -> HubReader:
    """The published vocabulary of CLIP, which open_clip ships, as transformers' tokenizer."""
    import open_clip
    from transformers import CLIPTokenizerFast

    file = Path(open_clip.__file__).with_name("bpe_simple_vocab_16e6.txt.gz")
    lines = gzip.decompress(file.read_bytes()).decode().split("\n")[1 : 49152 - 256 - 2 + 1]
    ids = open_clip.tokenizer.SimpleTokenizer().encoder
    merges = [tuple(line.split()) for line in lines]
    names = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": "<|endoftext|>"}
    vocabulary = {names.get(token, token): number for token, number in ids.items()}
    tokenizer = CLIPTokenizerFast(vocab=vocabulary, merges=merges)
    return HubReader(tokenizer, 77, len(ids), clean=CLIP_TEXT)


def test_clip_reads_as_its_library_did(published_clip: HubReader) -> None:
    import open_clip

    library = open_clip.tokenizer.SimpleTokenizer()
    as_written = HubReader(published_clip.tokenizer, 77, published_clip.vocabulary)
    differing = 0
    for text in (*ODD, *CAPTIONS, *PUNCTUATED):
        expected = tuple(library.encode(text)[:75])
        assert published_clip.tokenise([text]) == [expected], text
        differing += as_written.tokenise([text]) != [expected]
    assert differing >= 4


@pytest.mark.parametrize(
    ("caption", "marked"),
    [
        ("a “red” dog", ["a", "“", "red", "”", "dog"]),
        ("fish &amp; chips", ["fish", "&amp;", "chips"]),
        ("an oﬃce fire", ["an", "oﬃce", "fire"]),
        ("ｄｏｇ runs", ["ｄｏｇ", "runs"]),
    ],
)
def test_spans_are_those_of_the_users_text(
    published_clip: HubReader, caption: str, marked: list[str]
) -> None:
    assert [caption[start:end] for start, end in published_clip.spans(caption)] == marked


def test_blip_reads_no_full_stops(tmp_path: Path) -> None:
    folder = random_blip(tmp_path)
    stated = json.loads((folder / "traced.json").read_text())
    as_stated = load_scorer(str(folder), None, "cpu")
    (folder / "traced.json").write_text(json.dumps({"limits": stated["limits"]}))
    trained = load_scorer(str(folder), None, "cpu")
    written = load_scorer(str(folder), None, "cpu", reading="as-written")
    with_stop, without = "A red boat. The boat is red.", "a red boat the boat is red"
    assert trained.reader.tokenise([with_stop]) == written.reader.tokenise([without])
    assert written.reader.tokenise([with_stop]) == as_stated.reader.tokenise([with_stop])
    assert written.reader.tokenise([with_stop]) != written.reader.tokenise([without])
    spans = trained.reader.spans("A red (boat).")
    assert "A red (boat)."[slice(*spans[-1])] == "boat"
    assert dict(trained.info.parameters) == {"text": "blip_caption", "pictures": "torchvision"}
    assert not written.info.parameters
    assert not as_stated.info.parameters


def test_a_caption_is_cut_at_fifty_words() -> None:
    words = [f"w{number}" for number in range(60)]
    assert clean_for_blip(" ".join(words)) == " ".join(words[:50])


def test_deletions_are_read_like_whole_captions(published_clip: HubReader, tmp_path: Path) -> None:
    blip = load_scorer(str(random_blip(tmp_path)), None, "cpu").reader
    assert isinstance(blip, HubReader)
    blip.clean = BLIP_CAPTION
    for reader in (published_clip, blip):
        apart = 0
        for text in (*ODD, *CAPTIONS, *PUNCTUATED):
            caption = Caption.parse(text)
            words = reader.words_read(text)
            apart += reader.tokens_of_words(caption) is not None
            left = range(words)
            expected = reader.tokenise(
                [caption.without({*range(words, len(caption)), word}) for word in left]
            )
            assert Deletions(caption, reader).of_each(left, left) == expected, text
        assert apart > 5


def test_a_kind_on_top_keeps_the_reading(tmp_path: Path) -> None:
    folder = random_clip(tmp_path)
    (folder / "traced.json").unlink()
    lemon = load_scorer(str(folder), "lemon", "cpu")
    assert lemon.info.parameters["text"] == "clip"
    assert lemon.reader.tokenise(["red &amp; blue"]) == lemon.reader.tokenise(["red & blue"])


def test_an_unknown_reading_is_refused(tmp_path: Path) -> None:
    folder = random_clip(tmp_path)
    (folder / "traced.json").write_text('{"text": "backwards"}')
    with pytest.raises(SettingsError):
        load_scorer(str(folder), None, "cpu")
