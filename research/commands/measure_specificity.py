"""`evaluate specificity`, `evaluate boosting`: do captions single out their pictures?"""

from collections.abc import Sequence
from pathlib import Path

from backend.cli.output import progress
from backend.cli.specificity import SIZES
from backend.errors import SettingsError
from backend.settings import MODELS, load_settings
from research.commands.tables_output import emit_tables


def evaluate_specificity(
    dataset: str,
    image_root: Path | None,
    scorer: list[str] | None,
    model: str | None,
    embedded: list[Path] | None,
    pairs: int,
    seeds: int,
    first_seed: int,
    sizes: list[int] | None,
    bags: Path | None,
    captioners: Sequence[str],
    captions: Path | None,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """`evaluate specificity`; see `evaluate` for the options."""
    from research.evaluation.specificity import evaluate_dataset, evaluate_scenes
    from research.evaluation.specificity import markdown as tables
    from research.scenes.labelled_scenes import DIRECTORIES

    kind = (scorer or ["clip"])[0]
    with progress("Evaluating") as update:
        if dataset == "scenes":
            if bags or captions or captioners or model:
                raise SettingsError(
                    "--bags, --captions, --captioner and --model need a dataset: --dataset PATH."
                )
            if kind not in DIRECTORIES:
                raise SettingsError(f"Scenes are judged by {', '.join(DIRECTORIES)}, not {kind}.")
            report = evaluate_scenes(
                pairs, seeds, first_seed, embedded or [MODELS], kind, sizes or SIZES, device, update
            )
        else:
            default = str(MODELS / DIRECTORIES["clip"]) if scorer is None else None
            settings = load_settings(
                {"model": model or default, "kind": scorer[0] if scorer else None}
            )
            report = evaluate_dataset(
                Path(dataset).expanduser(), image_root, settings.model, settings.kind,
                sizes or SIZES, bags, captioners, captions, pairs, first_seed, device, update,
            )  # fmt: skip
    emit_tables(report, tables(report), out, as_json)


def evaluate_boosting(
    pairs: int,
    seeds: int,
    first_seed: int,
    embedded: list[Path] | None,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """`evaluate boosting`; see `evaluate` for the options."""
    from research.evaluation import boosting

    if pairs < boosting.LEAST or seeds < 1:
        raise SettingsError(
            f"An evaluation of boosting needs at least 1 seed and {boosting.LEAST} pictures."
        )
    with progress("Evaluating") as update:
        report = boosting.evaluate_boosting(
            pairs, seeds, first_seed, embedded or [MODELS], device=device, progress=update
        )
    emit_tables(report, boosting.markdown(report), out, as_json)
