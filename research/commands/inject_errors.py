"""`noise`: make a benchmark by injecting errors into a dataset."""

from pathlib import Path
from typing import Annotated

import typer

from backend.cli.output import emit, progress, reported
from backend.errors import SettingsError
from backend.operations.common_options import AsJson, Device
from research.commands.image_roots import ImageRoot


def noise(
    path: Annotated[Path, typer.Argument(help="A dataset whose captions are assumed correct.")],
    out: Annotated[Path, typer.Argument(help="Output folder; it must not exist yet.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="random, noun or fine-grained; may be given several times. Default: all "
                     "three in turn."),
    ] = None,
    rate: Annotated[float, typer.Option(help="Share of the captions to make wrong.")] = 0.5,
    seed: Annotated[int, typer.Option(help="The same seed makes the same errors.")] = 0,
    llm: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fine-grained errors by a language model at this "
                     "OpenAI-compatible address, such as http://localhost:8000/v1 (key: "
                     "OPENAI_API_KEY). Default: by rules."),
    ] = None,
    llm_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the language model on the server.")
    ] = None,
    nli: Annotated[
        str,
        typer.Option(metavar="NAME_OR_DIR", help="Hugging Face NLI model that picks the least "
                     "consistent of the language model's variants, or AlignScore's checkpoint "
                     "(.ckpt)."),
    ] = "cross-encoder/nli-deberta-v3-base",
    answers: Annotated[
        Path, typer.Option(help="Where the language model's answers are cached.")
    ] = Path("data/answers"),
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs.")] = None,
    image_root: ImageRoot = None,
    format: Annotated[
        str, typer.Option(help="jsonl, csv, parquet, or imagefolder, which copies the images.")
    ] = "jsonl",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what requests to the language model will take: "
                     "requests, tokens, and money by your prices; send and write nothing."),
    ] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier one.")] = False,
    device: Device = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make a benchmark: a copy of a dataset with errors whose truth is recorded."""
    with reported(as_json):
        from backend.engine.noise.injection import KINDS
        from research.noisy_dataset import add_noise, anticipate

        kinds = [name.replace("-", "_") for name in kind or KINDS]
        source = None
        if llm is not None:
            from backend.engine.language_models.endpoint import ChatEndpoint

            if not llm_model:
                raise SettingsError("Name the language model as its server does: --llm-model NAME.")
            endpoint = ChatEndpoint(llm, llm_model, cache=answers)
            if dry_run:
                from backend.engine.language_models.spending import PriceList, parse_prices
                from backend.settings import load_settings

                prices = PriceList(parse_prices(load_settings({}).prices))
                expected = anticipate(
                    path, endpoint, prices, kinds=kinds, rate=rate, seed=seed, limit=limit,
                    image_root=image_root,
                )  # fmt: skip
                emit(expected, as_json, expected.in_words())
                return
            from research.noise.consistency import load_consistency_model
            from research.noise.language_model import LanguageModelNoise

            source = LanguageModelNoise(endpoint, load_consistency_model(nli, device or "cpu"))
        elif dry_run:
            raise SettingsError(
                "A dry run shows requests to a language model, and none is named.",
                terminal="Name one: --llm URL --llm-model NAME.",
            )
        with progress("Making errors") as update:
            report = add_noise(
                path, out, kinds=kinds, rate=rate, seed=seed, source=source, limit=limit,
                image_root=image_root, format=format, overwrite=overwrite, progress=update,
            )  # fmt: skip
        breakdown = ", ".join(f"{name} {count}" for name, count in report.by_kind.items())
        emit(
            report, as_json,
            f"{report.wrong} of {report.pairs} captions corrupted ({breakdown}). "
            f"Written to {report.out}.",
        )  # fmt: skip
