"""`distill`: train a small corrector on accepted corrections."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backend.cli.output import emit, open_workspace, progress, reported
from backend.errors import SettingsError
from backend.operations.common_options import AsJson, Database, Device, Kind, Model, Quantise
from backend.settings import load_settings

if TYPE_CHECKING:
    from research.distillation.distill_corrector import CorrectorFigures, DistillationReport


def distill(
    dataset: Annotated[str, typer.Argument(help="Name in the database, with corrections.")],
    student: Annotated[
        str, typer.Option(metavar="NAME_OR_DIR", help="Small vision-language model to train, such "
                          "as OpenGVLab/InternVL3-1B-hf or HuggingFaceTB/SmolVLM-256M-Instruct."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the instructions and the model.")],
    teacher: Annotated[
        str | None, typer.Option(metavar="NAME_OR_DIR", help="Large model to compare with, and "
                                 "with --taught to learn from (OpenGVLab/InternVL3-14B-hf, …)."),
    ] = None,
    teacher_url: Annotated[
        str | None, typer.Option(metavar="URL", help="OpenAI-compatible server of the teacher.")
    ] = None,
    taught: Annotated[
        int, typer.Option(min=0, help="How many undecided pairs the teacher corrects.")
    ] = 0,
    mode: Annotated[str, typer.Option(help="unguided, words or trajectory.")] = "words",
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    rank: Annotated[int, typer.Option(min=1, help="Of LoRA.")] = 16,
    learning_rate: Annotated[float, typer.Option()] = 2e-4,
    batch: Annotated[int, typer.Option(min=1)] = 8,
    train_also: Annotated[
        str, typer.Option(help="Modules trained in full, comma-separated: a new model's embeddings "
                          "and head (embed_tokens,lm_head).")
    ] = "",
    held_out: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the pictures held out for the "
                                                    "evaluation.")
    ] = 0.2,
    seed: Annotated[int, typer.Option()] = 0,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what requests to the teacher will take: requests, "
                     "tokens, and money by your prices; send and train nothing."),
    ] = False,
    db: Database = None,
    model: Model = None,
    scorer: Kind = None,
    device: Device = None,
    quantise: Quantise = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Train a small corrector on corrections that people accepted, or on a teacher's alone; use it
    with --vlm OUT/model."""
    with reported(as_json):
        from backend.engine.correction.language_model_suggestions import Corrector
        from backend.engine.correction.modes import mode_named
        from backend.engine.language_models.spending import PriceList, parse_prices
        from backend.loaded_models import Engine
        from backend.wings.vision_language.local import load_local
        from research.distillation.distill_corrector import anticipate, distill
        from research.distillation.fine_tuning import Recipe

        settings = load_settings({"database": db, "model": model, "kind": scorer, "device": device})
        workspace = open_workspace(settings)
        dataset_id = workspace.find(dataset)
        engine = workspace.engines.of_dataset(dataset_id)
        teacher_model = None
        if teacher is not None:
            named = {"corrector": teacher, "corrector_url": teacher_url, "device": device}
            corrector = Engine(load_settings(named)).corrector
            teacher_model = corrector.model if corrector else None
        if dry_run:
            if teacher_model is None:
                raise SettingsError(
                    "A dry run shows requests to a teacher, and none is named.",
                    terminal="Name one: --teacher NAME.",
                )
            expected = anticipate(
                workspace.store, engine, dataset_id, Corrector(teacher_model, mode_named(mode)),
                taught, held_out, PriceList(parse_prices(settings.prices)),
            )  # fmt: skip
            emit(expected, as_json, expected.in_words())
            return
        small = load_local(student, device or "cpu", quantise)  # pyrefly: ignore[bad-argument-type]
        modules = tuple(name.strip() for name in train_also.split(",") if name.strip())
        recipe = Recipe(rank, 2 * rank, epochs, learning_rate, batch, modules, seed)
        with progress("Distilling a corrector") as update:
            report = distill(
                workspace.store, engine, dataset_id, small, out, teacher_model, mode_named(mode),
                taught, held_out, recipe, update,
            )  # fmt: skip
        emit(report, as_json, distillation_summary(report))


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
