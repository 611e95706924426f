"""Issues of pictures, independent of captions, by CleanVision's measures and thresholds.

Each picture is opened once and its signals are stored batch by batch: the same command resumes
after the last batch. Issues are derived from all signals at the end, because an odd size is
relative to the other pictures, and duplicates need each other.

CleanVision opens images itself, from folders of files; ours may be in tars and tables, and are
opened under this program's limits. Therefore its properties are called one by one.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from backend.datasets.safe_files.containers import Member, file_of, locate
from backend.datasets.safe_files.images import image_size, opened_image
from backend.datasets.safe_files.regular_files import read_regular
from backend.engine import memory
from backend.errors import ImageError, missing_extra
from backend.features.quality import queries
from backend.features.quality.queries import SignalsRow
from backend.features.quality.report import PictureQualityReport
from backend.jobs.scoring.image_batches import open_ahead
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries

#: Pairs whose pictures are measured and committed together.
BATCH = 64
#: Brightness and entropy of larger pictures are computed on a copy of this size: CleanVision
#: needs some fifty bytes per pixel.
_SIDE = 1500
#: Perceptual hashes of a picture of one colour, whichever it is: bright or dark.
_HASHES_OF_PLAIN = ("8000000000000000", "0000000000000000")
#: CleanVision's names for issues that we name differently.
_NAMES = {
    "dark": "dark", "light": "bright", "blurry": "blurry", "odd_size": "odd_size",
    "odd_aspect_ratio": "odd_aspect", "low_information": "low_information",
}  # fmt: skip


def measure_pictures(
    store: Store, dataset_id: int, progress: Progress = no_progress
) -> PictureQualityReport:
    """Compute the signals of all pictures that have none yet, then the issues of all. Unreadable
    pictures are counted, and tried again next time."""
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        total = pair_queries.totals(session, dataset_id)[0]
        done = queries.count_measured(session, dataset_id)
    measured_count = unreadable_count = 0
    waiting = store.batches(
        lambda session, after: queries.unmeasured_pairs(session, dataset_id, after, BATCH)
    )
    for batch, pictures in open_ahead(root, waiting):
        signals = {
            name: signals_of(picture)
            for name, picture in pictures.items()
            if not isinstance(picture, str)
        }
        rows = [
            SignalsRow(pair.id, **signals[pair.image_path])
            for pair in batch
            if pair.image_path in signals
        ]
        store.write(queries.save_signals, rows)
        measured_count += len(rows)
        unreadable_count += len(batch) - len(rows)
        memory.release()
        progress(done + measured_count + unreadable_count, total, "Looking at pictures")
    signals_and_names = store.read(queries.signals_of, dataset_id)
    issues = find_issues(signals_and_names, root)
    with store.writing(large=True) as session:
        queries.replace_issues(session, dataset_id, issues)
    counts = {issue: len(ids) for issue, ids in issues.items()}
    return PictureQualityReport(dataset_id, total, measured_count, unreadable_count, counts)


def signals_of(picture: Image.Image) -> dict[str, Any]:
    """CleanVision's raw values of an RGB picture, by the names of their columns."""
    manager = _manager()
    from cleanvision.issue_managers.duplicate_issue_manager import get_hash

    small = picture
    if max(picture.size) > _SIDE:
        small = picture.copy()
        small.thumbnail((_SIDE, _SIDE))
    values: dict[str, Any] = {}
    for issue, measure in manager.image_properties.items():
        if issue in _NAMES and issue != "light":  # measured together with "dark"
            is_of_shape = issue in ("odd_size", "odd_aspect_ratio")
            values |= measure.calculate(picture if is_of_shape else small)
    numbers = {
        name: float(values[name])
        for name in SignalsRow.__dataclass_fields__
        if name not in ("pair_id", "pixels", "phash")
    }
    return {
        **numbers,
        "pixels": get_hash(picture, {"hash_type": "md5"}),
        "phash": get_hash(small, {"hash_type": "phash", "hash_size": 8}),
    }


def find_issues(signals: Sequence[tuple[SignalsRow, str]], root: Path) -> dict[str, list[int]]:
    """Pairs by issue, from the signals of a whole dataset and the names of its pictures below
    `root`. Pairs of one picture are not duplicates of each other."""
    import pandas as pd

    issues: dict[str, list[int]] = {ours: [] for ours in _NAMES.values()}
    if not signals:
        return {**issues, "exact_duplicate": [], "near_duplicate": []}
    # An odd size is judged among pictures, not among captions: each picture once.
    rows = pd.DataFrame([row for row, _ in signals], index=[name for _, name in signals])
    once = rows[~rows.index.duplicated()]
    manager = _manager()
    pairs: dict[str, list[int]] = defaultdict(list)
    for row, name in signals:
        pairs[name].append(row.pair_id)
    for theirs, ours in _NAMES.items():
        measure, parameters = manager.image_properties[theirs], dict(manager.params[theirs])
        threshold = parameters.pop("threshold", None)
        scores = measure.get_scores(once, theirs, **parameters)
        marks = measure.mark_issue(scores, theirs, threshold)
        wrong = marks.index[marks.iloc[:, 0].to_numpy(bool)]
        issues[ours] = sorted(pair for name in wrong for pair in pairs[name])
    same = once.groupby("pixels").filter(lambda group: len(group) > 1)
    for name in same.index:
        once.loc[name, "pixels"] += _beyond_pixels(root, name)
    same = once.groupby("pixels").filter(lambda group: len(group) > 1)
    # The hash of a plain picture does not say which colour it has; ramps have such hashes too.
    is_plain = once["phash"].isin(_HASHES_OF_PLAIN)
    is_plain &= once["brightness_perc_5"] == once["brightness_perc_99"]
    alike = once[~is_plain].groupby("phash").filter(lambda group: group["pixels"].nunique() > 1)
    for ours, duplicates in (("exact_duplicate", same), ("near_duplicate", alike)):
        issues[ours] = sorted(pair for name in duplicates.index for pair in pairs[name])
    return issues


def _beyond_pixels(root: Path, name: str) -> str:
    """What tells pictures apart of which the bytes of the 8-bit pixels are equal: their size, and
    the digest of a file that holds more, further frames or more bits. "" for those that are gone.
    """
    try:
        file = locate(root, name)
        width, height = image_size(file)
        with opened_image(file) as image:
            is_more = getattr(image, "n_frames", 1) > 1 or image.mode.startswith(("I", "F"))
        if not is_more:
            return f" {width}x{height}"
        content = file.read() if isinstance(file, Member) else read_regular(file_of(file))
    except (ImageError, OSError):
        return ""
    return f" {width}x{height} {hashlib.sha256(content).hexdigest()}"


def _manager() -> Any:
    """CleanVision's properties with its default thresholds; imported late, because it is slow."""
    try:
        from cleanvision.issue_managers.image_property_issue_manager import (
            ImagePropertyIssueManager,
        )
    except ImportError as problem:
        raise missing_extra("The quality of pictures", "quality") from problem
    return ImagePropertyIssueManager()
