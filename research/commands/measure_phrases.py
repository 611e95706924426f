"""`evaluate support`, `evaluate selection`, `evaluate composition`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.cli.output import progress
from backend.errors import SettingsError
from research.commands.tables_output import emit_tables


def run(
    what: str,
    pairs: int,
    seeds: int,
    first_seed: int,
    embedded: Sequence[Path],
    scorers: Sequence[str] | None,
    model: str | None,
    sugarcrepe: Path | None,
    image_root: Path | None,
    device: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Evaluate and print the tables, also to the Markdown file `out`. Raises SettingsError."""
    if pairs < 40 or seeds < 1:
        raise SettingsError("An evaluation needs at least 1 seed and 40 pairs.")
    report: Any
    with progress("Evaluating") as update:
        if what == "support":
            from research.evaluation import support

            report = support.evaluate_support(
                pairs, seeds, first_seed, embedded, scorers or ("clip", "blip-itm"), update
            )
            text = support.markdown(report)
        elif what == "selection":
            from research.evaluation import selection

            name = (scorers or ("clip",))[0]
            report = selection.evaluate_selection(pairs, seeds, first_seed, embedded, name, update)
            text = selection.markdown(report)
        else:
            from backend.engine.scoring.loading import load_scorer
            from research.evaluation import composition
            from research.scenes.labelled_scenes import DIRECTORIES

            kind = scorers[0] if scorers else None
            if sugarcrepe is not None:
                if image_root is None:
                    raise SettingsError("Give the folder of COCO's images: --image-root val2017")
                comparisons = composition.sugarcrepe(sugarcrepe, image_root)
            else:
                comparisons = composition.drawn_comparisons(pairs, first_seed)
            name = model or str(embedded[0] / DIRECTORIES[kind or "clip"])
            report = composition.evaluate_composition(
                load_scorer(name, kind, device), comparisons, update
            )
            text = composition.markdown(report)
    emit_tables(report, text, out, as_json)
