"""What an export says of the selection: which undecided pairs it leaves out or tags, and a line of
its card. (The help of `export` reads this module: it imports nothing heavy.)"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from backend.features.selection.options import SelectionOfExport, TwoStage
from backend.jobs.export_steps import ExportStep, PairMark, Screening

if TYPE_CHECKING:
    from backend.store import Store


def screening(choice: SelectionOfExport) -> Screening | None:
    two_stage = choice.two_stage
    if two_stage is None:
        return None

    def marks_of(store: "Store", dataset_id: int) -> Callable[[int], PairMark]:
        from backend.features.selection.selecting import choose

        selection = choose(store, dataset_id, two_stage)

        def mark_of(pair_id: int) -> PairMark:
            reason = selection.reason_of(pair_id)
            if two_stage.tag:
                return PairMark(tags=("left" if reason else "selected",))
            return PairMark(reason)

        return mark_of

    return Screening(_in_words(two_stage), not two_stage.tag, marks_of)


def _in_words(choice: TwoStage) -> dict[str, str]:
    words = (
        f"the {choice.align:.0%} with the highest match, then {choice.keep:.0%} by "
        f"{choice.criterion}"
    )
    if choice.splits:
        split_names = ", ".join(f"'{split}'" for split in choice.splits)
        words += f", of the split{'s' * (len(choice.splits) > 1)} {split_names}"
    if choice.least_phrases:
        words += f", captions with fewer than {choice.least_phrases} phrases last"
    words += "; marked by tags" if choice.tag else ""
    return {"Undecided pairs selected in two stages (our reading of CPI)": words}


STEP = ExportStep("selection", choice=SelectionOfExport, screening=screening)
