"""`distill`: train a small corrector on accepted corrections."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from backend.cli.commands import as_command
from backend.cli.output import emit, open_workspace, progress
from backend.errors import SettingsError
from backend.operations.common_options import Dataset, Quantise
from backend.options import FOLDER_OR_NAME, CommandLine, Options
from backend.settings import load_settings
from research.commands.model_options import CommonWithModel

if TYPE_CHECKING:
    from research.distillation.distill_corrector import CorrectorFigures, DistillationReport


class DistillationOptions(Options):
    """What a small corrector learns from, and how."""

    student: Annotated[str, FOLDER_OR_NAME]
    """Small vision-language model to train, such as OpenGVLab/InternVL3-1B-hf or
    HuggingFaceTB/SmolVLM-256M-Instruct."""
    out: Path
    """Folder for the instructions and the model."""
    teacher: Annotated[str | None, FOLDER_OR_NAME] = None
    """Large model to compare with, and with --taught to learn from (OpenGVLab/InternVL3-14B-hf,
    …)."""
    teacher_url: Annotated[str | None, CommandLine(metavar="URL")] = None
    """OpenAI-compatible server of the teacher."""
    taught: int = Field(0, ge=0)
    """How many undecided pairs the teacher corrects."""
    mode: str = "words"
    """unguided, words or trajectory."""
    epochs: int = Field(3, ge=1)
    rank: int = Field(16, ge=1)
    """Of LoRA."""
    learning_rate: float = 2e-4
    batch: int = Field(8, ge=1)
    train_also: str = ""
    """Modules trained in full, comma-separated: a new model's embeddings and head
    (embed_tokens,lm_head)."""
    held_out: float = Field(0.2, ge=0.01, le=0.9)
    """Share of the pictures held out for the evaluation."""
    seed: int = 0
    dry_run: bool = False
    """Show what requests to the teacher will take: requests, tokens, and money by your prices; send
    and train nothing."""
    quantise: Quantise = None


def _distill(dataset: Dataset, options: DistillationOptions, common: CommonWithModel) -> None:
    """Train a small corrector on corrections that people accepted, or on a teacher's alone; use it
    with --vlm OUT/model."""
    from backend.engine.correction.modes import mode_named
    from backend.engine.language_models.spending import PriceList, parse_prices
    from backend.features.corrections.corrector import Corrector
    from backend.features.vision_language.local import load_local
    from backend.loaded_models import Engine
    from research.distillation.distill_corrector import anticipate, distill
    from research.distillation.fine_tuning import Recipe

    settings = load_settings(common.settings())
    workspace = open_workspace(settings)
    dataset_id = workspace.find(dataset)
    engine = workspace.engines.of_dataset(dataset_id)
    mode = mode_named(options.mode)
    teacher = None
    if options.teacher is not None:
        teacher_settings = {
            "corrector": options.teacher, "corrector_url": options.teacher_url,
            "device": common.device,
        }  # fmt: skip
        teacher = Engine(load_settings(teacher_settings)).chat_model
    if options.dry_run:
        if teacher is None:
            raise SettingsError(
                "A dry run shows requests to a teacher, and none is named.",
                terminal="Name one: --teacher NAME.",
            )
        forecast = anticipate(
            workspace.store, engine, dataset_id, Corrector(teacher, mode),
            options.taught, options.held_out, PriceList(parse_prices(settings.prices)),
        )  # fmt: skip
        emit(forecast, common.as_json, forecast.in_words())
        return
    device, quantise = common.device or "cpu", options.quantise
    small = load_local(options.student, device, quantise)
    modules = tuple(name.strip() for name in options.train_also.split(",") if name.strip())
    recipe = Recipe(
        options.rank, 2 * options.rank, options.epochs, options.learning_rate, options.batch,
        modules, options.seed,
    )  # fmt: skip
    with progress("Distilling a corrector") as update:
        report = distill(
            workspace.store, engine, dataset_id, small, options.out, teacher, mode,
            options.taught, options.held_out, recipe, update,
        )  # fmt: skip
    emit(report, common.as_json, distillation_summary(report))


def distillation_summary(report: "DistillationReport") -> str:
    def line(name: str, figures: "CorrectorFigures") -> str:
        rise = "–" if figures.rise_of_s is None else f"{figures.rise_of_s:+.3f}"
        return (
            f"{name}: {figures.readable:.0%} readable, {figures.corrected:.0%} corrected, "
            f"{figures.same:.0%} identical to the correction, s {rise}"
        )

    rows = [line("before", report.untrained), line("after", report.student)]
    if report.teacher is not None:
        rows.append(line("teacher", report.teacher))
    whose = "the teacher's answers" if report.by_teacher else "people's corrections"
    return "\n".join(
        [f"Trained on {report.examples} examples ({report.from_teacher} of the teacher's), loss "
         f"{report.losses[0]:.3f} to {report.losses[-1]:.3f}. On {report.held_out} of "
         f"{whose}, held out:",
         *rows, f"Use it: --vlm {report.model}"]
    )  # fmt: skip


distill = as_command(_distill)
