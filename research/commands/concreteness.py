"""`icc`: train your own concreteness scorer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from backend.cli.output import emit, progress, reported
from backend.errors import SettingsError
from backend.operations.common_options import AsJson, Device
from backend.settings import DEMO, EMBEDDED_CAPTIONER, MODELS


@dataclass(frozen=True)
class Chosen:
    """The file of captions to rate."""

    to_rate: Path


def icc(
    captions: Annotated[
        Path, typer.Argument(help="Captions to learn from: a text file, one per line.")
    ],
    out: Annotated[Path, typer.Option(help="Output folder.")],
    language_model: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Causal language model that reconstructs "
                                                      "captions from CLIP's embedding, such as "
                                                      "meta-llama/Llama-2-7b-hf."),
    ],
    labelled: Annotated[
        Path | None,
        typer.Option(help="CSV file of captions and human ratings (ICC: 244 of them).")
    ] = None,
    to_rate: Annotated[
        int | None,
        typer.Option(min=1, help="Only score the captions and write this many, spread uniformly "
                                 "over both scores, to OUT/to-rate.csv for people to rate."),
    ] = None,
    ave_clip: Annotated[
        bool, typer.Option("--ave-clip", help="Also aveCLIP as a control: four pictures for each "
                                              "labelled caption.")
    ] = False,
    text_to_image: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Text-to-image model for diffusers, such as "
                          "stabilityai/stable-diffusion-2; or gallery:FOLDER, which takes the "
                          "nearest picture of a folder."),
    ] = f"gallery:{DEMO}",
    captioner: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Such as Salesforce/blip2-opt-2.7b. "
                          "Default: the embedded one."),
    ] = str(EMBEDDED_CAPTIONER),
    clip: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Such as openai/clip-vit-large-patch14. "
                          "Default: the embedded one."),
    ] = str(MODELS / "scenes-clip"),
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME_OR_DIR", help="Text encoder for BERTScore. Default: "
                                 "the embedded MiniLM."),
    ] = None,
    distill_into: Annotated[
        str | None, typer.Option("--distill-into", "--distil-into", metavar="NAME_OR_DIR",
                                 help="Small text encoder that becomes the scorer, such as "
                                 "distilroberta-base. Default: the embedded MiniLM."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs for the linear layer.")] = 2,
    distillation_epochs: Annotated[
        int, typer.Option(min=1, help="Epochs for the text encoder.")
    ] = 3,
    prefix: Annotated[
        int, typer.Option(min=1, help="How many input tokens of the language model the embedding "
                                      "becomes.")
    ] = 1,
    seed: Annotated[int, typer.Option()] = 0,
    device: Device = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make a concreteness scorer with the ICC paper's method; use it with --concreteness OUT/model.

    Stop it at any time: the same command resumes where it stopped.
    """
    with reported(as_json):
        from research.concreteness.pipeline import choose_to_rate, load_parts, make, read_ratings

        if (labelled is None) == (to_rate is None):
            raise SettingsError(
                "Give rated captions with --labelled FILE, or request captions to rate with "
                "--to-rate N."
            )
        rated = read_ratings(labelled) if labelled is not None else []
        lines = read_lines(captions)
        parts = load_parts(
            text_to_image, captioner, clip, language_model, encoder, distill_into, prefix,
            device or "cpu", seed, ave_clip,
        )  # fmt: skip
        if to_rate is not None:
            with progress("Choosing captions to rate") as update:
                path = choose_to_rate(lines, parts, out, to_rate, epochs, seed, update)
            emit(Chosen(path), as_json, f"Rate the captions in {path}, then give it as --labelled.")
            return
        with progress("Making a concreteness scorer") as update:
            report = make(
                lines, rated, parts, out, epochs, distillation_epochs, seed, progress=update
            )
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
            report, as_json,
            "\n".join([*correlations, f"on the {report.labelled} labelled captions. "
                       f"Use it: --concreteness {report.model}"]),
        )  # fmt: skip


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} cannot be read as text: {problem}.") from problem
