"""`bags`: groups of similar pictures whose captions must tell them apart."""

from pathlib import Path
from typing import TYPE_CHECKING

from backend.datasets.safe_files.regular_files import typed_path
from backend.features.specificity.reports import BagsReport
from backend.operations.common_options import Device, Kind, Model
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context

#: Sizes of bags, as published.
SIZES = (3, 5, 7)


class BagsOptions(Options):
    """Group similar pictures into bags whose captions must tell them apart, as TrueMatch does, for
    any dataset.

    Writes bags-SIZE.json in the published format, bags.csv with alpha (the similarity of the
    pictures in each bag), and bags.html for viewing. The dataset must be scored; images are opened
    for bags.html only.
    """

    out: Path
    """Output folder; created if it does not exist."""
    size: tuple[int, ...] = SIZES
    """Pictures per bag; may be given several times. Default: 3, 5, 7."""
    strike: Path | None = None
    """File of bags to leave out, one per line, each by the id of its first picture; bags.html
    creates it."""
    model: Model = None
    scorer: Kind = None
    device: Device = None


def run(
    context: "Context", dataset_id: int, options: BagsOptions, progress: Progress
) -> BagsReport:
    from backend.features.specificity.bags import make_bags

    engine, out = context.engines.of_dataset(dataset_id), typed_path(options.out)
    return make_bags(
        context.store, engine, dataset_id, options.size, out, options.strike,
        context.review.thumbnail, progress,
    )  # fmt: skip


BAGS = Operation("bags", "Making bags", BagsOptions, run, is_started_by_kind=False)
