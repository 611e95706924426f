"""The tokens of a caption's words, put together, are those of the caption without the others."""

import pytest

from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.tokens import HubReader
from backend.engine.trajectories.deletions import Deletions
from tests.checkpoints import random_blip, random_clip_with_byte_pairs, random_siglip
from tests.engine.scoring.contracts.captions import CAPTIONS

ODD = [
    "a dog – and, well: a cat's 3.5 m leash (red)!",
    "Ein grüner Ball\tliegt\nim Gras",
    "a\u00a0red\u2003dog e\u0301 \u0301 here",
    "two  [SEP] dogs <|endoftext|> run",
    "犬が走る 公園で",
    "a b\x1cc d",
    "don't can't it's",
    "Σας ΣΑΣ ﬁne 🐕‍🦺 dog",
]


@pytest.fixture(scope="module", params=[random_blip, random_clip_with_byte_pairs, random_siglip])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> HubReader:
    scorer = load_scorer(str(request.param(tmp_path_factory.mktemp("model"))), device="cpu")
    assert isinstance(scorer.reader, HubReader)
    return scorer.reader


def test_words_in_a_row_have_their_tokens_in_a_row(reader: HubReader) -> None:
    apart = 0
    for text in [*CAPTIONS, *ODD]:
        caption = Caption.parse(text)
        words = reader.words_read(text)
        apart += reader.tokens_of_words(caption) is not None
        deletions = Deletions(caption, reader)
        for left in (range(words), range(0, words, 2)):
            others = set(range(len(caption))).difference(left)
            expected = reader.tokenise([caption.without({*others, word}) for word in left])
            assert deletions.of_each(left, left) == expected, text
    prefers_words = type(reader.tokenizer.backend_tokenizer.model).__name__ in ("WordPiece", "BPE")
    assert (apart > len(ODD)) == prefers_words
