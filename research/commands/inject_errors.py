"""`noise`: make a benchmark by injecting errors into a dataset."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.cli.commands import as_command
from backend.cli.output import emit, progress
from backend.datasets.read_options import ReadOptions
from backend.errors import SettingsError
from backend.operations.common_options import AsJson, Device
from backend.options import ARGUMENT, FOLDER_OR_NAME, CommandLine, Options, switch


class NoiseOptions(Options):
    """Make a benchmark: a copy of a dataset with errors whose truth is recorded."""

    path: Annotated[Path, ARGUMENT]
    """A dataset whose captions are assumed correct."""
    out: Annotated[Path, ARGUMENT]
    """Output folder; it must not exist yet."""
    kind: tuple[str, ...] = ()
    """random, noun or fine-grained; may be given several times. Default: all three in turn."""
    rate: float = 0.5
    """Share of the captions to make wrong."""
    seed: int = 0
    """The same seed makes the same errors."""
    llm: Annotated[str | None, CommandLine(metavar="URL")] = None
    """Fine-grained errors by a language model at this OpenAI-compatible address, such as
    http://localhost:8000/v1 (key: OPENAI_API_KEY). Default: by rules."""
    llm_model: Annotated[str | None, CommandLine(metavar="NAME")] = None
    """Name of the language model on the server."""
    nli: Annotated[str, FOLDER_OR_NAME] = "cross-encoder/nli-deberta-v3-base"
    """Hugging Face NLI model that picks the least consistent of the language model's variants, or
    AlignScore's checkpoint (.ckpt)."""
    answers: Path = Path("data/answers")
    """Where the language model's answers are cached."""
    limit: int | None = Field(None, ge=1)
    """Only the first N pairs."""
    image_root: Annotated[Path | None, ReadOptions.model_fields["image_root"]] = None
    format: str = "jsonl"
    """jsonl, csv, parquet, or imagefolder, which copies the images."""
    dry_run: bool = False
    """Show what requests to the language model will take: requests, tokens, and money by your
    prices; send and write nothing."""
    overwrite: Annotated[bool, switch("overwrite")] = False
    """Replace an earlier one."""
    device: Device = None
    as_json: AsJson = False


def _noise(options: NoiseOptions) -> None:
    from backend.engine.noise.injection import KINDS
    from research.noisy_dataset import add_noise, anticipate

    kinds = [name.replace("-", "_") for name in options.kind or KINDS]
    source = None
    if options.llm is not None:
        from backend.features.vision_language.endpoint import ChatEndpoint

        if not options.llm_model:
            raise SettingsError("Name the language model as its server does: --llm-model NAME.")
        endpoint = ChatEndpoint(options.llm, options.llm_model, cache=options.answers)
        if options.dry_run:
            from backend.engine.language_models.spending import PriceList, parse_prices
            from backend.settings import load_settings

            prices = PriceList(parse_prices(load_settings({}).prices))
            forecast = anticipate(
                options.path, endpoint, prices, kinds=kinds, rate=options.rate, seed=options.seed,
                limit=options.limit, image_root=options.image_root,
            )  # fmt: skip
            emit(forecast, options.as_json, forecast.in_words())
            return
        from research.noise.consistency import load_consistency_model
        from research.noise.language_model import LanguageModelNoise

        consistency = load_consistency_model(options.nli, options.device or "cpu")
        source = LanguageModelNoise(endpoint, consistency)
    elif options.dry_run:
        raise SettingsError(
            "A dry run shows requests to a language model, and none is named.",
            terminal="Name one: --llm URL --llm-model NAME.",
        )
    with progress("Making errors") as update:
        report = add_noise(
            options.path, options.out, kinds=kinds, rate=options.rate, seed=options.seed,
            source=source, limit=options.limit, image_root=options.image_root,
            format=options.format, overwrite=options.overwrite, progress=update,
        )  # fmt: skip
    breakdown = ", ".join(f"{name} {count}" for name, count in report.by_kind.items())
    emit(
        report, options.as_json,
        f"{report.wrong} of {report.pairs} captions corrupted ({breakdown}). "
        f"Written to {report.out}.",
    )  # fmt: skip


noise = as_command(_noise)
