"""Options that several operations have, and those of the command line that override a setting."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from backend.engine.detection.types import DETECTORS
from backend.options import ARGUMENT, FOLDER_OR_NAME, CommandLine, Options, Setting

if TYPE_CHECKING:
    from backend.engine.language_models.spending import Budget, PriceList

Database = Annotated[
    str | None,
    Field(
        description="Where verdicts and scores live: any SQLAlchemy URL. Default: a SQLite file "
        "in your user data folder (printed at start)."
    ),
    CommandLine(metavar="URL"),
    Setting("database"),
]
Model = Annotated[
    str | None,
    Field(
        description="The model that scores image against caption: a preset (fast, balanced, "
        "large, thorough, multilingual, vlm; see models list), a Hugging Face name, a "
        "directory, open_clip:ARCHITECTURE@PRETRAINED, or vqa:NAME_OR_DIR (a vision-language "
        "model, which is asked; with your own prompt vqa:NAME_OR_DIR@PROMPT.txt). Default: "
        "the one that the dataset was scored with; for a new dataset the one set by models "
        "default, initially the embedded one, which knows only drawn scenes."
    ),
    FOLDER_OR_NAME,
    Setting("model"),
]
Kind = Annotated[
    str | None,
    Field(
        description="clip, blip-itc, blip-itm, siglip, open-clip, vqa, or lemon on top of any of "
        "them that embeds. Default: what the model is made for (BLIP: blip-itm)."
    ),
    CommandLine(metavar="KIND"),
    Setting("kind"),
]
Captioner = Annotated[
    str | None,
    Field(
        description="Captioner that judges each word and refills suspect ones (BLIP, "
        "vision-to-text, trained by the command captioner, or vqa:NAME_OR_DIR), 'auto' (one "
        "that fits the scorer) or 'none'. Default: the preset's own."
    ),
    FOLDER_OR_NAME,
    Setting("captioner"),
]
Claims = Annotated[
    str | None,
    Field(
        description="What is scored of a caption: auto (its sentences, or the tags of a list), "
        "sentences, tags, or whole. Remembered with the dataset. Default: auto; whole for a "
        "dataset that was scored before."
    ),
    CommandLine(metavar="HOW"),
    Setting("claims"),
]
Text = Annotated[
    str | None,
    Field(
        description="How the model reads captions: as-trained (BLIP without full stops, brackets "
        "and quotation marks, CLIP with repaired and unescaped letters) or as-written. "
        "Remembered with the dataset. Default: as-trained."
    ),
    CommandLine(metavar="HOW"),
    Setting("text"),
]
Concreteness = Annotated[
    str | None,
    Field(
        description="Model for the concreteness of captions (ICC), such as moranyanuka/icc. "
        "Default: the embedded one."
    ),
    FOLDER_OR_NAME,
    Setting("concreteness"),
]
Vlm = Annotated[
    str | None,
    Field(
        description="Vision-language model that suggests corrections: a directory or hub name "
        "(OpenGVLab/InternVL3-1B-hf, Qwen/Qwen2.5-VL-3B-Instruct, "
        "HuggingFaceTB/SmolVLM-256M-Instruct, …), or with --vlm-url its name on the server. "
        "Default: none."
    ),
    FOLDER_OR_NAME,
    Setting("corrector"),
]
VlmUrl = Annotated[
    str | None,
    Field(
        description="OpenAI-compatible server (vLLM, Ollama, LM Studio, a paid one), such as "
        "http://localhost:8000/v1. Its key: OPENAI_API_KEY."
    ),
    CommandLine(metavar="URL"),
    Setting("corrector_url"),
]
VlmMode = Annotated[
    str | None,
    Field(
        description="What the prompt contains: unguided (image and caption), words (also the "
        "suspect words), reasoning (also step-by-step instructions) or trajectory (also every "
        "step). Default: words."
    ),
    Setting("corrector_mode"),
]
TrustServer = Annotated[
    bool,
    Field(
        description="With --vlm-url: use the answers even of a server that does not seem to see "
        "the pictures."
    ),
]
Quantise = Annotated[
    str | None,
    Field(description="4bit or 8bit: a local --vlm quantised, on an accelerator."),
    Setting("quantise"),
]
Device = Annotated[
    str | None,
    Field(description="cuda, mps or cpu. Default: the best available."),
    Setting("device"),
]
Precision = Annotated[
    str | None,
    Field(
        description="float32 or bfloat16; a vision-language model (vqa:) on an accelerator also "
        "8bit or 4bit, with bitsandbytes. Default: bfloat16 on CUDA devices of compute "
        "capability 8.0 or higher, float32 elsewhere."
    ),
    Setting("precision"),
]
Explorer = Annotated[
    str | None,
    Field(
        description="How captions are edited: elimination, gcd or fast-gcd. Default: elimination."
    ),
    Setting("explorer"),
]
Detector = Annotated[
    str | None,
    Field(
        description="The classifier trained on the trajectories: best (chosen by "
        "cross-validation), paper (TRACED's own features and grids), or one of "
        f"{', '.join(DETECTORS[2:])}. Nine signs: a logistic regression on nine features of the "
        "trajectory; eight signs: on those of its first step. A dataset that was ranked by another "
        "detector without verdicts is ranked anew, from its stored scores. With score SOURCE --out "
        "DESTINATION/: also a file that train --save wrote, to rank again what is there, without a "
        "model, or previous: the one before it. Default: best."
    ),
    Setting("detector"),
]
AsJson = Annotated[
    bool,
    Field(description="Print one JSON object on standard output, for programs."),
    CommandLine(names=("--json",)),
]
Timeout = Annotated[
    float | None,
    Field(ge=1, description="Seconds to wait for an answer of the server. Default: 60."),
    Setting("corrector_timeout"),
]
Trajectories = Annotated[
    str | None,
    Field(
        description="Which pairs get whole trajectories instead of their first step, which is "
        "enough to rank them: all, first-step (those that get corrections, and any that is "
        "opened), top:20% (of the pairs, the most suspicious) or above:0.7 (a chance of "
        "error). Remembered with the dataset. Default: all, first-step for more than 20,000 pairs."
    ),
    CommandLine(metavar="WHICH"),
    Setting("trajectories"),
]
Author = Annotated[
    str | None, Field(description="Name recorded with what is changed."), Setting("author")
]


Dataset = Annotated[str, Field(description="Name in the database."), ARGUMENT]
Source = Annotated[str, Field(description="Name in the database, or a path to import."), ARGUMENT]


class Common(Options):
    """What every command on the database offers."""

    db: Database = None
    as_json: AsJson = False


class Limits(Options):
    """What requests to a model may cost."""

    price_in: float | None = Field(None, ge=0)
    """Price per million input tokens. Default: as listed in the setting prices."""
    price_out: float | None = Field(None, ge=0)
    """Price per million output tokens. Default: as listed in the setting prices."""
    budget: float | None = Field(None, ge=0)
    """Stop when this much is spent, at those prices."""
    budget_tokens: int | None = Field(None, ge=0)
    """Stop after this many tokens, input and output."""
    budget_requests: int | None = Field(None, ge=0)
    """Stop after this many requests."""

    def read_entries(self, entries: Sequence[str]) -> "tuple[PriceList, Budget]":
        """`entries`: the setting `prices`. Raises SettingsError for a budget in money without any
        price."""
        from backend.engine.language_models.spending import (
            Budget,
            PriceList,
            Prices,
            no_price,
            parse_prices,
        )

        prices = PriceList(parse_prices(entries))
        if self.price_in is not None or self.price_out is not None:
            prices = PriceList(of_others=Prices(self.price_in or 0.0, self.price_out or 0.0))
        if self.budget is not None and not (prices.by_model or prices.of_others):
            raise no_price("there are none")
        return prices, Budget(self.budget, self.budget_tokens, self.budget_requests)
