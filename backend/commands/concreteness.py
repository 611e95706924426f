"""`icc`: a concreteness scorer of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from backend.commands.parameters import AS_JSON, DEVICE
from backend.commands.telling import emit, progress, reported
from backend.errors import SettingsError
from backend.settings import DEMO, EMBEDDED_CAPTIONER, MODELS


def icc(
    captions: Annotated[
        Path, typer.Argument(help="Captions to learn from: a text file, one a line.")
    ],
    labelled: Annotated[
        Path, typer.Option(help="CSV file of captions and people's ratings (ICC: 244 of them).")
    ],
    out: Annotated[Path, typer.Option(help="Folder for everything that is made.")],
    language_model: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Causal language model that writes captions "
                          "back from CLIP's vector, such as meta-llama/Llama-2-7b-hf."),
    ],
    text_to_image: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Text-to-image model of diffusers, such as "
                          "stabilityai/stable-diffusion-2; or gallery:FOLDER, the nearest of its "
                          "pictures."),
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
    distil_into: Annotated[
        str | None, typer.Option(metavar="NAME_OR_DIR", help="Small text encoder that becomes the "
                                 "scorer, such as distilroberta-base. Default: the embedded "
                                 "MiniLM."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Of the linear layer.")] = 2,
    distillation_epochs: Annotated[int, typer.Option(min=1, help="Of the text encoder.")] = 3,
    prefix: Annotated[
        int, typer.Option(min=1, help="Inputs of the language model that the vector becomes.")
    ] = 1,
    seed: Annotated[int, typer.Option()] = 0,
    device: DEVICE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Make a concreteness scorer as the ICC paper does; use it by --concreteness OUT/model.

    Stop it whenever you like: the same command goes on where it was.
    """
    with reported(as_json):
        from backend.concreteness.making.loading import load_parts
        from backend.concreteness.making.pipeline import make, read_ratings

        rated = read_ratings(labelled)
        lines = read_lines(captions)
        parts = load_parts(
            text_to_image, captioner, clip, language_model, encoder, distil_into, prefix,
            device or "cpu", seed,
        )  # fmt: skip
        with progress("Making a concreteness scorer") as update:
            report = make(
                lines, rated, parts, out, epochs, distillation_epochs, seed, progress=update
            )
        told = [
            f"{name}: Pearson {one.pearson:.3f}, Spearman {one.spearman:.3f}, "
            f"Kendall {one.kendall:.3f}"
            for name, one in (("by pictures", report.vba), ("by vectors", report.sba),
                              ("both", report.combined), ("distilled", report.distilled))
        ]  # fmt: skip
        emit(
            report, as_json,
            "\n".join([*told, f"on the {report.labelled} labelled captions. "
                       f"Use it: --concreteness {report.model}"]),
        )  # fmt: skip


def read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} cannot be read as text: {problem}.") from problem
