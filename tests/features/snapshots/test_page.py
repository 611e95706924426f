"""The page *Snapshots*: nothing of another person's text becomes markup."""

from datetime import UTC, datetime

from backend.features.snapshots import page
from backend.features.snapshots.comparing import KINDS, Difference, DiffReport, SnapshotReport
from backend.features.snapshots.queries import SnapshotRow
from tests.hostile.markup import check_escaping
from traced_ui.differences import difference

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def listing(text: str) -> str:
    return page.listing_html(SnapshotReport("", (SnapshotRow(1, 3, text, text, NOW, 9),)))


def comparison(text: str) -> str:
    examples = {kind: [Difference(7, text, f"a {text}", f"{text} b")] for kind in KINDS}
    report = DiffReport(text, text, 9, 9, dict.fromkeys(KINDS, 30), examples)
    return page.render_in(
        "snapshots_diff.html", report=report, kinds=KINDS, compared_at=NOW, dataset_id=3,
        difference=difference, word_of=str,
    )  # fmt: skip


def test_hostile_text_is_escaped() -> None:
    check_escaping("snapshots.html", listing)
    check_escaping("snapshots_diff.html", comparison)
