"""Write an export: open the pictures, write the rows atomically, say on the card what they are."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from backend.datasets.caption_writers import without_writer, writer_of
from backend.datasets.cells import split_proof
from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.export_row import ExportRow, new_name
from backend.datasets.reading.caption_fields import name_caption
from backend.datasets.safe_files.containers import ImageFile, locate
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.images import check_imported
from backend.datasets.writing import export_folder
from backend.datasets.writing.card import dataset_card
from backend.datasets.writing.dataset_writer import write_dataset
from backend.datasets.writing.json_writing import correct_json
from backend.errors import ExportError, ImageError, SettingsError, UnsafePath
from backend.jobs import export_steps
from backend.jobs.export_choice import ExportChoice, ExportDecision
from backend.jobs.export_counts import Tally, checked_counts, errors_left_in, splits_of
from backend.jobs.export_decisions import decided_pairs
from backend.jobs.export_facts import (
    CALLED_WRONG,
    ERRORS_LEFT,
    TO_KNOW,
    caveat_in_words,
    choice_in_words,
    splits_in_words,
)
from backend.jobs.export_reports import ExportReport
from backend.jobs.notices import notices_of, texts_of
from backend.jobs.provenance import Origins
from backend.jobs.scoring.stored_claims import CLAIMS
from backend.measures import export_names
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.verdict_texts import UNDECIDED
from backend.version import VERSION
from db.queries import claim_queries, dataset_queries, pair_queries, suggestion_queries, tag_queries
from db.queries.dataset_queries import ProblemRow
from db.queries.pair_queries import PairRow

#: Pairs whose pictures are checked together, by this many threads.
_OPENED_AT_ONCE = 256
_WORKERS = 4
#: Why pairs are left out whose picture is gone, cannot be decoded, or is another one.
UNREADABLE = "picture cannot be read, or is not the one that was imported"
#: Number of these pairs that a report lists.
_MOST_SHOWN = 20


def export(
    store: Store,
    dataset_id: int,
    choice: ExportChoice,
    out: Path,
    format: str,
    facts: dict[str, Any],
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> ExportReport:
    """Write the remaining pairs and the dataset card. Pairs whose picture cannot be read, or is not
    the one that was imported, are left out and reported.

    `facts` are lines for the card (model, detector, …). Raises ExportError if nothing would stay,
    if the target exists, or if the number of pairs is not the number counted.
    """
    plan = checked_counts(store, dataset_id, choice, format)
    contents = EXPORT_FORMATS[format].contents_of(store, dataset_id, choice)
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        has_claims = claim_queries.count_claims(session, dataset_id).several > 0
        lists_of_steps = export_steps.lists_of(session, dataset_id)
    _check_images(store, out)
    added_lines = export_steps.card_lines(store, dataset_id)
    root = Path(dataset.root)
    tally, origins = Tally(), Origins(dataset, choice.name_people)
    stack = ExitStack()
    splits = stack.enter_context(splits_of(store, dataset_id, choice))
    unreadable = 0
    first: list[ProblemRow] = []

    def rows() -> Iterator[ExportRow]:
        nonlocal unreadable
        decisions = decided_pairs(store, dataset_id, choice)
        while batch := list(islice(decisions, _OPENED_AT_ONCE)):
            image_paths = [
                pair.image_path
                for pair, outcome, _ in batch
                if not outcome.left_out_because and (contents is None or pair.id in contents)
            ]
            images = _open_images(root, image_paths)
            with store.reading() as session:
                ids = [pair.id for pair, *_ in batch]
                own_tags = tag_queries.of_pairs(session, ids)
                added_lists = lists_of_steps.of_pairs(session, ids)
                proposals = suggestion_queries.accepted_texts(session, ids)
                added = export_steps.columns_of(session, ids)
            for pair, outcome, claims in batch:
                origins.count_pair(pair)
                if contents is not None and pair.id not in contents:
                    tally.add(pair, outcome)
                    continue
                image = images.get(pair.image_path, "")
                if not outcome.left_out_because and isinstance(image, str):
                    outcome = replace(outcome, left_out_because=UNREADABLE)
                    unreadable += 1
                    if len(first) < _MOST_SHOWN:
                        name, _ = split_proof(pair.image_path)
                        first.append(
                            ProblemRow(name, None, "unreadable image", image, pair.external_id)
                        )
                tally.add(pair, outcome)
                if not outcome.left_out_because and not isinstance(image, str):
                    lists = {CLAIMS: [claim.cells() for claim in claims]} if has_claims else {}
                    lists |= {name: by_id.get(pair.id, ()) for name, by_id in added_lists.items()}
                    proposal = (outcome.proposer, outcome.caption) if outcome.proposer else None
                    writer = origins.writer(pair, outcome, proposal or proposals.get(pair.id))
                    split = splits.add(pair)
                    tally.by_split[split or ""] += 1
                    row = replace(
                        _row(
                            pair, outcome, image, own_tags.get(pair.id, ()), lists, added[pair.id]
                        ),
                        writer=writer,
                        split=split,
                    )
                    if contents is not None:
                        content = contents[pair.id](origins.people.author)
                        row = replace(row, content=content)
                    yield row
            progress(tally.kept, plan.kept, "Writing")
        if tally.kept + unreadable != plan.kept:
            raise ExportError(
                f"{tally.kept + unreadable} pairs were read where {plan.kept} were counted: "
                "verdicts changed meanwhile. Nothing was kept; export again."
            )
        if not tally.kept:
            raise ExportError(
                f"None of the {unreadable} pictures can be exported. {first[0].message} Nothing "
                "was kept."
            )

    @cache
    def wrong_left() -> dict[str, str]:
        facts = {}
        undecided_count, called_wrong = tally.by_decision[UNDECIDED], tally.called_wrong
        if left := errors_left_in(store, dataset_id, choice, undecided_count):
            facts[ERRORS_LEFT] = f"{left.figure}. {left.basis}"
        if called_wrong:
            facts[CALLED_WRONG] = f"{called_wrong:,}"
        if sentences := texts_of(notices_of(store, dataset_id)):
            facts[TO_KNOW] = " ".join(sentences)
        return facts

    def lines() -> dict[str, str]:
        return {**facts, **added_lines, **origins.in_words(), **wrong_left()}

    def card() -> str:
        return dataset_card(
            name=dataset.name,
            created_at=datetime.now(UTC),
            version=VERSION,
            facts={
                **lines(), **choice_in_words(choice), **caveat_in_words(plan),
                **splits_in_words(tally.counts(splits)),
            },
            counts=tally.counts(splits),
        )  # fmt: skip

    def tell() -> export_steps.WrittenExport:
        return export_steps.WrittenExport(
            dataset, tally.counts(splits), lines(), choice_in_words(choice), tuple(added_lines),
            (ERRORS_LEFT, CALLED_WRONG, TO_KNOW), origins.judges(), origins.named_writers(),
        )  # fmt: skip

    with stack:
        pairs_written = write_dataset(
            rows(), out, format=format, card=card, overwrite=overwrite, source_root=root,
            descriptions=export_steps.descriptions_of(tell), copy_images=choice.copy_images,
        )  # fmt: skip
        counts = tally.counts(splits)
    progress(pairs_written, plan.kept, "Written")
    text = (out / "README.md").read_text(encoding="utf-8")
    return ExportReport(
        out.resolve(), format, counts, pairs_written, text, unreadable, tuple(first),
        export_folder.digest_of(out),
    )  # fmt: skip


def export_to_address(
    write: Callable[[Path], ExportReport], address: str, data_directory: Path, overwrite: bool
) -> ExportReport:
    """Let `write` make the export in the data folder, and copy it to the address, the card last: an
    address with a README.md is complete. Raises SettingsError if there is something already."""
    from backend.datasets.safe_files.locations import Location  # fsspec is slow to import

    place = Location(address)
    place.check_writable()
    if overwrite or not place.is_empty():
        raise SettingsError(
            f"An export replaces nothing at an address. Name an empty one, {place}/…"
        )
    with tempfile.TemporaryDirectory(prefix="export-", dir=data_directory) as folder:
        report = write(Path(folder) / "dataset")
        files = Location(report.out).files()
        for file in sorted(files, key=lambda file: file.name == "README.md"):
            place.put_file(file.name, Path(file.key))
    return replace(report, out=str(place))


def _open_images(root: Path, names: Sequence[str]) -> dict[str, ImageFile | str]:
    """The images by name; for those that cannot be exported, the reason."""

    def check(name: str) -> ImageFile | str:
        try:
            image = locate(root, name)
            check_imported(image)
        except (ImageError, UnsafePath) as problem:
            return str(problem)
        return image

    distinct = list(dict.fromkeys(names))
    with DaemonPool(_WORKERS) as pool:
        return dict(zip(distinct, pool.map(check, distinct), strict=True))


def _row(
    pair: PairRow,
    outcome: ExportDecision,
    image: ImageFile,
    own_tags: Sequence[str],
    lists: Mapping[str, Sequence[Any]],
    added: Mapping[str, Any],
) -> ExportRow:
    """`lists`: columns of parts of the caption, if any caption of the dataset has such parts;
    `added`: further columns, of features."""
    columns, writer = without_writer(pair.extra), writer_of(pair.extra)
    # Every export has the column `picture`.
    picture = added.get("picture")
    added = {name: value for name, value in added.items() if name != "picture"}
    columns = correct_json(columns, pair.caption, outcome.caption)
    columns = name_caption(columns, outcome.caption)
    ours = frozenset((*lists, *added))
    extra = {new_name(name, ours): value for name, value in columns.items()}
    # As text: loaders infer no type from lists that are empty in the first rows.
    extra |= {name: json.dumps(list(cells)) for name, cells in lists.items()} | dict(added)
    return ExportRow(
        id=pair.external_id,
        image_path=image,
        caption=outcome.caption,
        original_caption=pair.caption,
        caption_kind=outcome.kind,
        split=pair.split,
        verdict=pair.judgement,
        note=pair.note or None,
        picture=picture,
        numbers={name: pair.numbers[name] for name in export_names()},
        tags=outcome.tags,
        own_tags="; ".join(own_tags) or None,
        original_writer=writer.name if writer is not None else None,
        extra=extra,
    )


def _check_images(store: Store, out: Path) -> None:
    """Raise ExportError if the folder `out` contains images of any dataset in the store."""
    if not out.exists():
        return
    out = out.resolve()
    with store.reading() as session:
        for dataset in dataset_queries.list_datasets(session):
            root = Path(dataset.root).resolve()
            if root.is_relative_to(out):
                folder = ""
            elif out.is_relative_to(root):
                folder = out.relative_to(root).as_posix()
            else:
                continue
            if pair_queries.has_images_below(session, dataset.id, folder):
                raise ExportError(
                    f"{out} contains the images of the dataset '{dataset.name}'. Choose another "
                    "folder. Nothing was written."
                )
