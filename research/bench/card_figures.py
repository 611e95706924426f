"""What `make bench-gpu` measures besides the engine: models and training as a card runs them.

The embedded models on the demo against the processor, a vision-language model as scorer in each
precision, and training a ClipCap, each with its peak of memory. One JSON line per measurement, as
soon as it is done; what fails (a package, memory) says why, and the next one starts.

    python -m research.bench.card_figures --device cuda --pairs 1000
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from backend.datasets.safe_files.images import load_image
from backend.engine.captions import Caption
from backend.engine.scoring.batch_memory import start_measuring, taken_since
from backend.engine.scoring.checkpoints import Request
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.trajectory import Trajectory
from backend.features.vision_language.vqa_checkpoints import load_vqa
from backend.settings import DEMO, EMBEDDED_SCORER, MODELS
from research.captioning.clipcap_policy import ClipCapPolicy
from research.captioning.likelihood import Likelihood, LikelihoodRecipe
from research.captioning.new_clipcap import assemble, load_vision
from research.scenes.vision_language import make_tokenizer, make_vision_language_model

_CLIP = MODELS / "scenes-clip"
Figures = dict[str, Any]
Pairs = Sequence[tuple[Any, Caption]]
#: Of the vision-language model: width and layers, about a billion parameters on a card.
_LARGE, _SMALL = (2048, 24), (64, 2)
#: Pairs that it scores, of those of the demo: its captions cost as much as many of BLIP's.
_FEW = 64
_STEPS = 20


def measure(device: str, work: Callable[[], Figures]) -> Figures:
    """The figures of `work`, its seconds and the peak of its memory; or why it failed."""
    before, start = start_measuring(device), time.perf_counter()
    try:
        figures = work()
    except Exception as problem:  # a missing package, too little memory: the others go on
        return {"problem": f"{type(problem).__name__}: {problem}"}
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 2), "peak_bytes": taken_since(device, before), **figures}


def demo(pairs: int) -> list[tuple[Any, Caption]]:
    lines = (DEMO / "metadata.jsonl").read_text("utf-8").splitlines()[:pairs]
    rows = [json.loads(line) for line in lines]
    return [(load_image(DEMO / r["file_name"]), Caption.parse(r["caption"])) for r in rows]


def trajectories(scorer: Scorer, pairs: Pairs) -> list[Trajectory]:
    states = scorer.encode_images([image for image, _ in pairs])
    captions = [caption for _, caption in pairs]
    run = dict(run_trajectories(scorer, zip(states, captions, strict=True)))
    return [run[index] for index in range(len(pairs))]


def score_against(scorer: Scorer, pairs: Pairs, reference: list[Trajectory]) -> Figures:
    """Seconds without loading, and equality with `reference`, which the first to score fills."""
    start = time.perf_counter()
    results = trajectories(scorer, pairs)
    seconds = round(time.perf_counter() - start, 2)
    reference[:] = reference or results
    both = list(zip(reference, results, strict=True))
    return {
        "scoring_seconds": seconds,
        "pairs": len(both),
        "equal_trajectories": sum(a.removed == b.removed for a, b in both),
        "equal_first_words": sum(a.removed[:1] == b.removed[:1] for a, b in both),
        "largest_difference": max(float(abs(a.scores[0] - b.scores[0])) for a, b in both),
    }


def embedded_figures(kind: str, folder: Path, device: str, pairs: Pairs) -> list[Figures]:
    """On the processor, then on the device in both precisions."""
    reference: list[Trajectory] = []
    lines = []
    for where, precision in (("cpu", "float32"), (device, "float32"), (device, "bfloat16")):

        def score(where: str = where, precision: str = precision) -> Figures:
            return score_against(load_scorer(str(folder), kind, where, precision), pairs, reference)

        what = {"what": "demo", "model": kind, "device": where, "precision": precision}
        lines.append({**what, **measure(where, score)})
        print(json.dumps(lines[-1]), flush=True)
    return lines


def vision_language(device: str, pairs: Pairs) -> list[Figures]:
    """Random weights of the real class, scored in each precision against the first."""
    is_card = not device.startswith("cpu")
    width, layers = _LARGE if is_card else _SMALL
    precisions = ("bfloat16", "float32", "8bit", "4bit") if is_card else ("float32", "bfloat16")
    reference: list[Trajectory] = []
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        make_vision_language_model(Path(folder), width=width, layers=layers)
        for precision in precisions:

            def score(precision: str = precision) -> Figures:
                scorer = load_vqa(Request(f"vqa:{folder}", None, device, precision))
                # Tried out before the clock runs.
                flags = {"packed": scorer.shares_prefixes, "together": scorer.pace.pads}
                return {**flags, **score_against(scorer, pairs, reference)}

            what = {"what": "vision-language", "device": device, "precision": precision}
            lines.append({**what, **measure(device, score)})
            print(json.dumps(lines[-1]), flush=True)
    return lines


def clipcap_training(device: str, steps: int) -> Figures:
    """GPT-2's size on a card, over the embedded CLIP."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = make_tokenizer()
    width, layers = (64, 2) if device.startswith("cpu") else (768, 12)
    configuration = GPT2Config(
        vocab_size=len(tokenizer), n_embd=width, n_layer=layers, n_head=width // 64,
        bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    vision, image_processor = load_vision(str(_CLIP))
    clipcap = assemble(vision, image_processor, GPT2LMHeadModel(configuration), tokenizer)
    clipcap.model.to(device)
    captions = [(row, f"a caption of picture {row}, with some more words") for row in range(64)]
    vectors = torch.nn.functional.normalize(torch.randn(64, clipcap.model.vector_width), dim=-1)
    training = Likelihood(
        ClipCapPolicy(clipcap), lambda rows: vectors[list(rows)].to(device), captions,
        LikelihoodRecipe(steps=steps, warm_up=0),
    )  # fmt: skip

    def train() -> Figures:
        return {"steps": steps, "loss": [round(f.loss, 3) for f in training.steps()][-1]}

    line = {"what": "ClipCap", "device": device, **measure(device, train)}
    print(json.dumps(line), flush=True)
    return line


def main(arguments: Sequence[str] | None = None) -> list[Figures]:
    """All figures; each is printed as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pairs", type=int, default=1000, help="at most the demo's 600")
    options = parser.parse_args(arguments)
    device, pairs = options.device, demo(options.pairs)
    return [
        *embedded_figures("blip-itm", EMBEDDED_SCORER, device, pairs),
        *embedded_figures("clip", _CLIP, device, pairs),
        *vision_language(device, pairs[:_FEW]),
        clipcap_training(device, min(_STEPS, max(2, len(pairs)))),
    ]


if __name__ == "__main__":
    main()
