"""Options that several commands have, said once."""

from pathlib import Path
from typing import Annotated

import typer

DATABASE = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="Where verdicts and scores live: any SQLAlchemy URL. "
                 "Default: a SQLite file in your user data folder (printed at start)."),
]  # fmt: skip
MODEL = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME_OR_DIR", help="The model that scores image against "
                 "caption: a Hugging Face name (openai/clip-vit-base-patch32, "
                 "Salesforce/blip-itm-base-coco, google/siglip-base-patch16-224, …), a directory, "
                 "or open_clip:ARCHITECTURE@PRETRAINED. Default: the embedded one, which knows "
                 "drawn scenes only."),
]  # fmt: skip
KIND = Annotated[
    str | None,
    typer.Option("--scorer", metavar="KIND", help="clip, blip-itc, blip-itm, siglip, open-clip, or "
                 "lemon on top of any of them that embeds. Default: what the model is made for "
                 "(BLIP: blip-itm)."),
]  # fmt: skip
CAPTIONER = Annotated[
    str | None,
    typer.Option(metavar="NAME_OR_DIR", help="BLIP captioner that refills suspect words, or "
                 "'none'. Default: the embedded one beside the embedded scorer."),
]  # fmt: skip
CONCRETENESS = Annotated[
    str | None,
    typer.Option(metavar="NAME_OR_DIR", help="Model for the concreteness of captions (ICC), such "
                 "as moranyanuka/icc. Default: the embedded one."),
]  # fmt: skip
VLM = Annotated[
    str | None,
    typer.Option("--vlm", metavar="NAME_OR_DIR", help="Vision-language model that corrects: a "
                 "directory or hub name (OpenGVLab/InternVL3-1B-hf, Qwen/Qwen2.5-VL-3B-Instruct, "
                 "HuggingFaceTB/SmolVLM-256M-Instruct, …), or with --vlm-url the server's name of "
                 "it. Default: none is asked."),
]  # fmt: skip
VLM_URL = Annotated[
    str | None,
    typer.Option("--vlm-url", metavar="URL", help="OpenAI-compatible server (vLLM, Ollama, LM "
                 "Studio, a paid one), such as http://localhost:8000/v1. Its key: OPENAI_API_KEY."),
]  # fmt: skip
VLM_MODE = Annotated[
    str | None,
    typer.Option("--vlm-mode", help="What it is told: unguided (image and caption), words (and the "
                 "suspect words), reasoning (and to go step by step) or trajectory (and every "
                 "step). Default: words."),
]  # fmt: skip
QUANTISE = Annotated[
    str | None, typer.Option(help="4bit or 8bit: a local --vlm quantised, on an accelerator.")
]
DEVICE = Annotated[str | None, typer.Option(help="cuda, mps or cpu. Default: the best there is.")]
PRECISION = Annotated[
    str | None,
    typer.Option(help="float32 or bfloat16. Default: bfloat16 on CUDA, float32 elsewhere."),
]
EXPLORER = Annotated[
    str | None,
    typer.Option(help="How captions are edited: elimination, gcd or fast-gcd. Default: "
                 "elimination."),
]  # fmt: skip
DETECTOR = Annotated[
    str | None,
    typer.Option(help="What is trained on the trajectories: best (chosen by cross-validation), "
                 "paper (TRACED's own features and grids), s_0 alone, logistic, cart, xgboost, "
                 "xgboost on s_0 or ensemble. Default: best."),
]  # fmt: skip
AS_JSON = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, for programs.")
]
CAPTION_COLUMN = Annotated[
    str | None, typer.Option(help="Column with the captions. Default: found by its name.")
]
IMAGE_COLUMN = Annotated[
    str | None, typer.Option(help="Column with the image paths. Default: found by its name.")
]
ID_COLUMN = Annotated[
    str | None, typer.Option(help="Column with your own ids. Default: found by its name.")
]
SPLIT_COLUMN = Annotated[
    str | None, typer.Option(help="Column with train/validation/test. Default: found by its name.")
]
IMAGE_ROOT = Annotated[
    Path | None,
    typer.Option(help="Folder that image paths are relative to. Default: the file's own folder."),
]
