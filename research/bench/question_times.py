"""What a vision-language model's trajectories cost over one plain score: tokens counted, and
processor time measured.

    python -m research.bench.question_times MODEL --words 8 20

MODEL: as after `--model`, such as vqa:FOLDER. The cost in tokens depends on how many a picture
takes; `--size` sets the picture's side in pixels.
"""

import argparse
import time
from dataclasses import dataclass, replace

from PIL import Image

from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.vqa.packed_session import PackedSession, PlainSession
from backend.engine.scoring.vqa.vqa_checkpoints import VqaScorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from research.bench.caption_lengths import make_captions


@dataclass(frozen=True)
class QuestionCost:
    """`tokens` through the language model and processor `seconds`, each relative to one plain
    score of the same pair."""

    words: int
    job: str
    tokens: float
    seconds: float


def question_costs(
    scorer: VqaScorer, image: Image.Image, words: int, pairs: int = 8
) -> list[QuestionCost]:
    """Of a first step and of whole elimination, both with all that a new picture needs."""
    captions = make_captions(pairs, (words, words))
    state = scorer.encode_images([image])[0]
    plain = PlainSession(scorer)
    began = time.process_time()
    for caption in captions:
        plain.score([(state, scorer.reader.tokenise([caption]))])
    plain_seconds = time.process_time() - began
    costs = []
    for job, whole in (("first step", False), ("elimination", True)):
        tokens, began = 0, time.process_time()
        for caption in captions:
            session = PackedSession(scorer)
            exploring = replace(Exploring(), whole=whole)
            list(run_trajectories(scorer, [(state, Caption.parse(caption))], exploring,
                                  session=session))  # fmt: skip
            tokens += session.work.tokens
        seconds = time.process_time() - began
        costs.append(QuestionCost(words, job, tokens / plain.work.tokens, seconds / plain_seconds))
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--words", type=int, nargs="+", default=[8, 20])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--size", type=int, default=448)
    parser.add_argument("--device")
    args = parser.parse_args()
    scorer = load_scorer(args.model, None, args.device)
    assert isinstance(scorer, VqaScorer)
    image = Image.effect_noise((args.size, args.size), 64).convert("RGB")
    picture = scorer.encode_images([image])[0].ids.shape[1]
    print(f"{args.model}: {picture} tokens for picture and question, {args.pairs} pairs each")
    for words in args.words:
        for cost in question_costs(scorer, image, words, args.pairs):
            print(
                f"{cost.words:3} words, {cost.job}: {cost.tokens:.2f} times the tokens of a plain "
                f"score, {cost.seconds:.2f} times its processor time",
                flush=True,
            )


if __name__ == "__main__":
    main()
