"""Options shared by several commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backend.engine.detection.types import DETECTORS
from backend.errors import SettingsError

if TYPE_CHECKING:
    from backend.engine.language_models.spending import Budget, Prices

DATABASE = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="Where verdicts and scores live: any SQLAlchemy URL. "
                 "Default: a SQLite file in your user data folder (printed at start)."),
]  # fmt: skip
MODEL = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME_OR_DIR", help="The model that scores image against "
                 "caption: a preset (fast, balanced, large, thorough, multilingual, vlm; see "
                 "models list), a Hugging Face name, a directory, "
                 "open_clip:ARCHITECTURE@PRETRAINED, or vqa:NAME_OR_DIR (a vision-language model, "
                 "which is asked; with your own prompt vqa:NAME_OR_DIR@PROMPT.txt). Default: the "
                 "one that the dataset was scored with; for a new dataset the one set by models "
                 "default, initially the embedded one, which knows only drawn scenes."),
]  # fmt: skip
KIND = Annotated[
    str | None,
    typer.Option("--scorer", metavar="KIND", help="clip, blip-itc, blip-itm, siglip, open-clip, "
                 "vqa, or lemon on top of any of them that embeds. Default: what the model is made "
                 "for (BLIP: blip-itm)."),
]  # fmt: skip
CAPTIONER = Annotated[
    str | None,
    typer.Option(metavar="NAME_OR_DIR", help="Captioner that judges each word and refills suspect "
                                             "ones (BLIP, vision-to-text, trained by the "
                                             "command captioner, or vqa:NAME_OR_DIR), 'auto' "
                                             "(one that fits the scorer) or 'none'. Default: the "
                                             "preset's own."),
]  # fmt: skip
CONCRETENESS = Annotated[
    str | None,
    typer.Option(metavar="NAME_OR_DIR", help="Model for the concreteness of captions (ICC), such "
                 "as moranyanuka/icc. Default: the embedded one."),
]  # fmt: skip
VLM = Annotated[
    str | None,
    typer.Option("--vlm", metavar="NAME_OR_DIR", help="Vision-language model that suggests "
                 "corrections: a directory or hub name (OpenGVLab/InternVL3-1B-hf, "
                 "Qwen/Qwen2.5-VL-3B-Instruct, HuggingFaceTB/SmolVLM-256M-Instruct, …), or with "
                 "--vlm-url its name on the server. Default: none."),
]  # fmt: skip
VLM_URL = Annotated[
    str | None,
    typer.Option("--vlm-url", metavar="URL", help="OpenAI-compatible server (vLLM, Ollama, LM "
                 "Studio, a paid one), such as http://localhost:8000/v1. Its key: OPENAI_API_KEY."),
]  # fmt: skip
VLM_MODE = Annotated[
    str | None,
    typer.Option("--vlm-mode", help="What the prompt contains: unguided (image and caption), words "
                                    "(also the suspect words), reasoning (also step-by-step "
                                    "instructions) or trajectory (also every step). Default: "
                                    "words."),
]  # fmt: skip
QUANTISE = Annotated[
    str | None, typer.Option(help="4bit or 8bit: a local --vlm quantised, on an accelerator.")
]
DEVICE = Annotated[str | None, typer.Option(help="cuda, mps or cpu. Default: the best available.")]
PRECISION = Annotated[
    str | None,
    typer.Option(help="float32 or bfloat16; a vision-language model (vqa:) on an accelerator also "
                 "8bit or 4bit, with bitsandbytes. Default: bfloat16 on CUDA devices of compute "
                 "capability 8.0 or higher, float32 elsewhere."),
]  # fmt: skip
EXPLORER = Annotated[
    str | None,
    typer.Option(help="How captions are edited: elimination, gcd or fast-gcd. Default: "
                 "elimination."),
]  # fmt: skip
DETECTOR = Annotated[
    str | None,
    typer.Option(help="The classifier trained on the trajectories: best (chosen by "
                 "cross-validation), paper (TRACED's own features and grids), or one of "
                 f"{', '.join(DETECTORS[2:])}. Nine signs: a logistic regression on nine "
                 "features of the trajectory; eight signs: on those of its first step. A dataset "
                 "that was ranked by another detector without verdicts is ranked anew, from its "
                 "stored scores. With score SOURCE --out DESTINATION/: also a file that train "
                 "--save wrote, to rank again what is there, without a model, or previous: the one "
                 "before it. Default: best."),
]  # fmt: skip
AS_JSON = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, for programs.")
]
CAPTION_COLUMN = Annotated[
    str | None, typer.Option(help="Column with the captions. Default: detected by name.")
]
IMAGE_COLUMN = Annotated[
    str | None, typer.Option(help="Column with the image paths. Default: detected by name.")
]
ID_COLUMN = Annotated[
    str | None, typer.Option(help="Column with your own ids. Default: detected by name.")
]
NO_ID_COLUMN = Annotated[
    bool,
    typer.Option("--no-id-column", help="No column holds pair ids: they are derived from image and "
                                        "caption."),
]  # fmt: skip
ENCODING = Annotated[
    str | None,
    typer.Option(help="Encoding of CSV, TSV, JSON and JSONL, and of captions in tars or beside "
                      "images, such as cp1252. Default: UTF-8, or another if it is detected beyond "
                      "doubt."),
]  # fmt: skip
DELIMITER = Annotated[
    str | None,
    typer.Option(help="Delimiter of the CSV file. Default: detected from the header."),
]
SUBSET = Annotated[
    str | None,
    typer.Option(help="Which subset (configuration) of a hub dataset whose README.md lists "
                      "several."),
]  # fmt: skip
CAPTION_FROM = Annotated[
    str | None,
    typer.Option(help="metadata: captions are embedded in the images (XMP, IPTC, EXIF, PNG text)."),
]  # fmt: skip
CAPTIONS_PER_LINE = Annotated[
    bool,
    typer.Option("--captions-per-line", help="Each line of a .txt beside an image, or in a tar, is "
                                             "a caption. Default: the whole text is one."),
]  # fmt: skip
UNCAPTIONED = Annotated[
    bool,
    typer.Option("--uncaptioned", help="Also take pictures without a caption. Scoring suggests "
                                       "one for each; it is exported once somebody accepts it."),
]  # fmt: skip
LANGUAGE = Annotated[
    str | None,
    typer.Option(help="Which captions to take where there are several languages, such as en."),
]  # fmt: skip
SPLIT_COLUMN = Annotated[
    str | None, typer.Option(help="Column with train/validation/test. Default: detected by name.")
]
IMAGE_ROOT = Annotated[
    Path | None,
    typer.Option(help="Folder that image paths are relative to. Default: the file's own folder."),
]
TIMEOUT = Annotated[
    float | None,
    typer.Option(min=1, help="Seconds to wait for an answer of the server. Default: 60."),
]
PRICE_IN = Annotated[float, typer.Option(min=0, help="Price per million input tokens.")]
PRICE_OUT = Annotated[float, typer.Option(min=0, help="Price per million output tokens.")]
BUDGET = Annotated[
    float | None, typer.Option(min=0, help="Stop when this much is spent, at those prices.")
]
BUDGET_TOKENS = Annotated[
    int | None, typer.Option(min=0, help="Stop after this many tokens, input and output.")
]
BUDGET_REQUESTS = Annotated[int | None, typer.Option(min=0, help="Stop after this many requests.")]


def one_queue(queue: str, view: str | None) -> None:
    """Raises SettingsError if both --queue and --view are given."""
    if queue and view is not None:
        raise SettingsError("Use either --queue or --view, not both.")


def spending_limits(
    price_in: float,
    price_out: float,
    budget: float | None,
    budget_tokens: int | None,
    budget_requests: int | None,
) -> "tuple[Prices, Budget]":
    """Prices and budget of requests to a model. Raises SettingsError if a budget lacks prices."""
    from backend.engine.language_models.spending import Budget, Prices

    if budget is not None and not (price_in or price_out):
        raise SettingsError("A budget in money needs prices: --price-in and --price-out.")
    return Prices(price_in, price_out), Budget(budget, budget_tokens, budget_requests)
