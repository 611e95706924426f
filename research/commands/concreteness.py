"""`icc`: train your own concreteness scorer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.cli.commands import as_command
from backend.cli.output import emit, progress
from backend.errors import SettingsError
from backend.operations.common_options import AsJson, Device
from backend.options import ARGUMENT, FOLDER_OR_NAME, CommandLine, Options
from backend.settings import DEMO, EMBEDDED_CAPTIONER, MODELS


@dataclass(frozen=True)
class RatingFile:
    """The file of captions to rate."""

    to_rate: Path


class ConcretenessOptions(Options):
    """Make a concreteness scorer with the ICC paper's method; use it with --concreteness OUT/model.

    Stop it at any time: the same command resumes where it stopped.
    """

    captions: Annotated[Path, ARGUMENT]
    """Captions to learn from: a text file, one per line."""
    out: Path
    """Output folder."""
    language_model: Annotated[str, FOLDER_OR_NAME]
    """Causal language model that reconstructs captions from CLIP's embedding, such as
    meta-llama/Llama-2-7b-hf."""
    labelled: Path | None = None
    """CSV file of captions and human ratings (ICC: 244 of them)."""
    to_rate: int | None = Field(None, ge=1)
    """Only score the captions and write this many, spread uniformly over both scores, to
    OUT/to-rate.csv for people to rate."""
    ave_clip: bool = False
    """Also aveCLIP as a control: four pictures for each labelled caption."""
    text_to_image: Annotated[str, FOLDER_OR_NAME] = f"gallery:{DEMO}"
    """Text-to-image model for diffusers, such as stabilityai/stable-diffusion-2; or gallery:FOLDER,
    which takes the nearest picture of a folder."""
    captioner: Annotated[str, FOLDER_OR_NAME] = str(EMBEDDED_CAPTIONER)
    """Such as Salesforce/blip2-opt-2.7b. Default: the embedded one."""
    clip: Annotated[str, FOLDER_OR_NAME] = str(MODELS / "scenes-clip")
    """Such as openai/clip-vit-large-patch14. Default: the embedded one."""
    encoder: Annotated[str | None, FOLDER_OR_NAME] = None
    """Text encoder for BERTScore. Default: the embedded MiniLM."""
    distill_into: Annotated[
        str | None,
        CommandLine(names=("--distill-into", "--distil-into"), metavar="NAME_OR_DIR"),
    ] = None
    """Small text encoder that becomes the scorer, such as distilroberta-base. Default: the embedded
    MiniLM."""
    epochs: int = Field(2, ge=1)
    """Epochs for the linear layer."""
    distillation_epochs: int = Field(3, ge=1)
    """Epochs for the text encoder."""
    prefix: int = Field(1, ge=1)
    """How many input tokens of the language model the embedding becomes."""
    seed: int = 0
    device: Device = None
    as_json: AsJson = False


def _icc(options: ConcretenessOptions) -> None:
    from research.concreteness.pipeline import choose_to_rate, load_parts, make, read_ratings

    ratings_file, to_rate, out = options.labelled, options.to_rate, options.out
    if (ratings_file is None) == (to_rate is None):
        raise SettingsError(
            "Give rated captions with --labelled FILE, or request captions to rate with "
            "--to-rate N."
        )
    ratings = read_ratings(ratings_file) if ratings_file is not None else []
    lines = read_lines(options.captions)
    parts = load_parts(
        options.text_to_image, options.captioner, options.clip, options.language_model,
        options.encoder, options.distill_into, options.prefix, options.device or "cpu",
        options.seed, options.ave_clip,
    )  # fmt: skip
    if to_rate is not None:
        with progress("Choosing captions to rate") as update:
            path = choose_to_rate(lines, parts, out, to_rate, options.epochs, options.seed, update)
        advice = f"Rate the captions in {path}, then give it as --labelled."
        emit(RatingFile(path), options.as_json, advice)
        return
    with progress("Making a concreteness scorer") as update:
        report = make(
            lines, ratings, parts, out, options.epochs, options.distillation_epochs, options.seed,
            progress=update,
        )  # fmt: skip
    correlations = [
        f"{name}: Pearson {correlation.pearson:.3f}, Spearman {correlation.spearman:.3f}, "
        f"Kendall {correlation.kendall:.3f}"
        for name, correlation in (
            ("by pictures", report.vba), ("distilled", report.distilled_vba),
            ("by vectors", report.sba), ("distilled", report.distilled_sba),
            ("both", report.combined), ("distilled", report.distilled),
            *report.by_measure.items(),
            *([("aveCLIP", report.ave_clip)] if report.ave_clip is not None else []),
        )
    ]  # fmt: skip
    emit(
        report, options.as_json,
        "\n".join([*correlations, f"on the {report.labelled} labelled captions. "
                   f"Use it: --concreteness {report.model}"]),
    )  # fmt: skip


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} cannot be read as text: {problem}.") from problem


icc = as_command(_icc)
