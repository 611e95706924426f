"""Export: decide for each pair whether it stays, count, then write atomically."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
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
from backend.datasets.writing.dataset_writer import FORMATS, write_dataset
from backend.datasets.writing.json_writing import correct_json
from backend.engine.claims.editing import without_all
from backend.engine.constants.part import left_out
from backend.engine.statistics.stopping import remaining_errors
from backend.errors import ExportError, ImageError, SettingsError, UnsafePath
from backend.jobs import export_steps
from backend.jobs.errors_left import ErrorsLeft, errors_left_by, estimate_left
from backend.jobs.export_choice import ExportChoice, ExportDecision
from backend.jobs.export_steps import PairMark
from backend.jobs.new_splits import NewExportSplits, groups
from backend.jobs.notices import notices_of, texts_of
from backend.jobs.provenance import Origins
from backend.jobs.reports import ExportCounts, ExportReport
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.stored_claims import CLAIMS, KnownClaim, known_claims
from backend.jobs.shared_pictures import ExportSplits, export_splits
from backend.learning_texts import level_caveat, trained_on
from backend.measures import export_names
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.verdict_texts import UNDECIDED, is_wrong, word_of
from backend.version import VERSION
from db.decisions import ENRICHED, NOT_EXPORTED
from db.queries import (
    claim_queries,
    classifier_queries,
    dataset_queries,
    edit_queries,
    pair_queries,
    plot_queries,
    run_queries,
    suggestion_queries,
    tag_queries,
)
from db.queries.dataset_queries import ProblemRow
from db.queries.pair_queries import PairRow

#: Pairs whose enrichments are looked up together.
_AT_ONCE = 1000
#: Pairs whose pictures are checked together, by this many threads.
_OPENED_AT_ONCE, _WORKERS = 256, 4
#: Why pairs are left out whose picture is gone, cannot be decoded, or is another one.
UNREADABLE = "picture cannot be read, or is not the one that was imported"
#: Number of these pairs that a report lists.
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Enrichment:
    """A richer caption of a pair. `kind`: blend, visual or holistic; `accepted`: by a curator, else
    only suggested; `proposer`: of one that is only suggested."""

    caption: str
    kind: str
    accepted: bool
    proposer: str = ""


def decide_export(
    choice: ExportChoice,
    caption: str,
    decision: str | None,
    corrected_caption: str | None,
    p_error: float | None,
    specificity: float | None = None,
    mark: PairMark = PairMark(),  # noqa: B008  (frozen)
    enrichment: Enrichment | None = None,
    edit: str | None = None,
    claims: Sequence[KnownClaim] = (),
) -> ExportDecision:
    """Apply `choice` to one pair: the single rule behind counts, files and card.

    A verdict always overrides the threshold: a curator has looked, the detector only estimates.
    `mark`: what steps say of the pair; a verdict and the threshold take precedence. `enrichment`:
    the accepted or suggested one. `edit`: the text of a bulk edit in effect, which replaces the
    caption under every verdict but a correction. `claims`: of a caption that has several.

    >>> decide_export(ExportChoice(drop_above=0.9), "A dog", None, None, 0.95).left_out_because
    'chance of error above 0.9'
    >>> decide_export(ExportChoice(drop_above=0.9), "A dog", "correct", None, 0.95).left_out_because
    ''
    >>> decide_export(ExportChoice(), "A dog", "wrong", None, 0.95)  # a label leaves nothing out
    ExportDecision(caption='A dog', kind='human', tags=('wrong',), left_out_because='')
    """
    if not caption and not edit and decision != "correction":
        reason = _left_out("drop") if decision == "drop" else "no caption accepted yet"
        return ExportDecision(caption, left_out_because=reason)
    if edit is not None and decision != "correction":
        # Without enrichments: they are based on another text.
        plain = decide_export(choice, edit, decision, None, p_error, specificity, mark)
        text = _without_wrong(choice, caption, edit, decision, claims)
        if plain.left_out_because or text == edit:
            return replace(plain, kind="edited")
        return _decide_shortened(text)
    if decision == "correction" and edit is not None and corrected_caption == edit:
        return ExportDecision(edit, "edited")
    if decision == "correction":
        kind = enrichment.kind if enrichment is not None and enrichment.accepted else ""
        return ExportDecision(
            corrected_caption or caption, kind or ("corrected" if caption else "new")
        )
    text = _without_wrong(choice, caption, caption, decision, claims)
    if text != caption and not (decision is None and choice.decided_only):
        return _decide_shortened(text)
    generic = (
        choice.specificity_below is not None
        and specificity is not None
        and specificity < choice.specificity_below
    )
    if decision == "correct":
        return _decide_kept(choice, caption, generic, enrichment)
    if (decision == "drop" and choice.dropped == "tag") or (
        decision == "wrong" and choice.wrong != "leave out"
    ):
        return ExportDecision(caption, tags=("wrong",))
    if decision == "abstract" and choice.abstract != "leave out":
        return ExportDecision(caption, tags=("abstract",) if choice.abstract == "tag" else ())
    exclusions = (*NOT_EXPORTED, "wrong", *(("unsure",) if choice.unsure == "leave out" else ()))
    if decision is not None and decision in exclusions:
        return ExportDecision(caption, left_out_because=_left_out(decision))
    if decision is None and choice.decided_only:
        return ExportDecision(caption, left_out_because="not decided yet")
    if (
        decision is None
        and choice.drop_above is not None
        and p_error is not None
        and p_error > choice.drop_above
    ):
        return ExportDecision(
            caption, left_out_because=f"chance of error above {choice.drop_above:g}"
        )
    if decision is None and mark.left_out_because:
        return ExportDecision(caption, left_out_because=mark.left_out_because)
    if decision == "unsure":
        enrichment = None  # never enrich a caption that may be wrong
    outcome = _decide_kept(choice, caption, generic, enrichment)
    if decision is None and not outcome.left_out_because:
        return replace(outcome, tags=(*outcome.tags, *mark.tags))
    return outcome


def _without_wrong(
    choice: ExportChoice,
    caption: str,
    text: str,
    decision: str | None,
    claims: Sequence[KnownClaim],
) -> str:
    """The text that the caption has become, without the claims that are left out; "" if none that
    says anything would stay. Verdicts that are about all of the caption take precedence."""
    if decision not in (None, "wrong", "unsure"):
        return text
    limit = choice.drop_claims_above if decision is None else None
    leave_out = [
        claim
        for claim in claims
        if (claim.is_right is False and choice.wrong_claims == "leave out")
        or (
            claim.is_right is None
            and claim.says_something
            and limit is not None
            and (claim.numbers["p_error"] or 0.0) > limit
        )
    ]
    if not any(claim.says_something for claim in claims if claim not in leave_out) and leave_out:
        return ""
    return without_all(caption, [claim.claim for claim in leave_out], text)


def _decide_shortened(text: str) -> ExportDecision:
    if not text:
        return ExportDecision(text, left_out_because="all its claims are wrong, or look so")
    return ExportDecision(text, "shortened")


def _decide_kept(
    choice: ExportChoice, caption: str, generic: bool, enrichment: Enrichment | None
) -> ExportDecision:
    """The decision on a caption that was not judged wrong or abstract."""
    if choice.captions == "enriched" and enrichment is not None and not enrichment.accepted:
        return ExportDecision(enrichment.caption, enrichment.kind, proposer=enrichment.proposer)
    if generic and choice.generic == "leave out":
        return ExportDecision(
            caption, left_out_because=f"specificity below {choice.specificity_below:g}"
        )
    return ExportDecision(caption, tags=("generic",) if generic else ())


def _left_out(decision: str) -> str:
    """The reason of a pair that its verdict leaves out."""
    return f"decided: {word_of(decision)}"


#: The facts that say how many wrong captions an export still has.
ERRORS_LEFT, CALLED_WRONG = "Errors left", "Captions called wrong that stay"
TO_KNOW = "To be known"


def facts(store: Store, dataset_id: int) -> dict[str, Any]:
    """Lines for the card: the origin of the captions and the models that judged them."""
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        run = run_queries.latest_run(session, dataset_id, "score")
        classifier = classifier_queries.active(session, dataset_id)
    facts: dict[str, Any] = {"Source": dataset.name}
    if run is not None:
        facts["Model"] = f"{Path(run.model).name} ({run.scorer_kind}, revision {run.revision})"
        facts["Text read"] = str(run.parameters.get("text", "as written"))
        facts["Explorer"] = f"{run.explorer}, by {run.parameters.get('unit', 'word')}"
    if parts := left_out(constants_in(dataset.models)):
        facts["Constant parts, not judged"] = "; ".join(f"“{p.text}” {p.count}" for p in parts)
    if classifier is not None:
        basis = trained_on(classifier.basis)
        facts["Detector"] = f"{classifier.name} ({classifier.kind}), trained on {basis}"
    return facts


def errors_left_in(
    store: Store, dataset_id: int, choice: ExportChoice, undecided_count: int
) -> ErrorsLeft | None:
    """Wrong captions among the `undecided_count` pairs without a verdict that an export writes, by
    the verdicts on randomly chosen ones of the pairs that it would write without any; None if it
    chooses among undecided pairs only, which tells nothing about decided ones."""
    if undecided_count and any(each.leaves_out for _, each in export_steps.screenings(choice)):
        return None
    limits = (choice.drop_above, choice.drop_claims_above, choice.specificity_below)
    with store.reading() as session:
        if not undecided_count or (choice.only is None and not any(x is not None for x in limits)):
            return estimate_left(session, dataset_id, undecided_count)
        audit = plot_queries.random_audit(session, dataset_id)
    below, errors_found = 0, 0
    sample: list[bool] = []
    for pair, enrichment, edited_text, claims in _pairs(store, dataset_id, choice):
        undecided = decide_export(
            choice, pair.caption, None, None, pair.p_error, pair.numbers["specificity"],
            enrichment=enrichment, edit=edited_text, claims=claims,
        )  # fmt: skip
        if not undecided.left_out_because:
            below += 1
            errors_found += is_wrong(pair.judgement)
            sample += [audit[pair.id]] if pair.id in audit else []
    remaining = remaining_errors(
        None, below, len(sample), sum(sample), errors_found, undecided_count=undecided_count
    )
    return errors_left_by(remaining, undecided_count)


def count(store: Store, dataset_id: int, choice: ExportChoice) -> ExportCounts:
    """A preview of an export; writes nothing, and opens no picture."""
    tally = _Tally()
    with _splits(store, dataset_id, choice) as splits:
        for pair, outcome, _ in decided_pairs(store, dataset_id, choice):
            tally.add(pair, outcome)
            if not outcome.left_out_because:
                tally.by_split[splits.add(pair) or ""] += 1
        counts = tally.counts(splits)
    if choice.drop_above is None and choice.drop_claims_above is None:
        return counts
    active = store.read(classifier_queries.active, dataset_id)
    return replace(counts, level_note=level_caveat(active.report if active else {}))


@contextmanager
def _splits(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Iterator[ExportSplits | NewExportSplits]:
    """The splits of what is written: the source's, or new ones."""
    if (new := choice.new_splits) is None:
        with export_splits(store, dataset_id, choice.keep_pictures_together) as splits:
            yield splits
        return
    pairs = (pair for pair, _ in remaining(store, dataset_id, choice))
    yield NewExportSplits(new, groups(store, dataset_id, new.together), pairs)


def remaining(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Generator[tuple[PairRow, ExportDecision]]:
    """The pairs that an export would write if it can read their pictures, in import order, with
    their captions."""
    for pair, outcome, _ in decided_pairs(store, dataset_id, choice):
        if not outcome.left_out_because:
            yield pair, outcome


def decided_pairs(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Iterator[tuple[PairRow, ExportDecision, Sequence[KnownClaim]]]:
    """The requested pairs in import order, each with what an export does with it, and its claims,
    none if its caption is one claim."""
    mark_of = export_steps.marks_of(store, dataset_id, choice)
    for pair, enrichment, edited_text, claims in _pairs(store, dataset_id, choice):
        yield (
            pair,
            decide_export(
                choice, pair.caption, pair.decision, pair.corrected_caption, pair.p_error,
                pair.numbers["specificity"], mark_of(pair.id), enrichment, edited_text, claims,
            ),
            claims,
        )  # fmt: skip


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
    plan = _checked_counts(store, dataset_id, choice, format)
    contents = EXPORT_FORMATS[format].contents_of(store, dataset_id, choice)
    with store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id)
        has_claims = claim_queries.count_claims(session, dataset_id).several > 0
        lists_of_steps = export_steps.lists_of(session, dataset_id)
    _check_images(store, out)
    added_lines = export_steps.card_lines(store, dataset_id)
    root = Path(dataset.root)
    tally, origins = _Tally(), Origins(dataset, choice.name_people)
    stack = ExitStack()
    splits = stack.enter_context(_splits(store, dataset_id, choice))
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
                **lines(), **_choice_in_words(choice), **_caveat_in_words(plan),
                **_splits_in_words(tally.counts(splits)),
            },
            counts=tally.counts(splits),
        )  # fmt: skip

    def tell() -> export_steps.WrittenExport:
        return export_steps.WrittenExport(
            dataset, tally.counts(splits), lines(), _choice_in_words(choice), tuple(added_lines),
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


def _checked_counts(
    store: Store, dataset_id: int, choice: ExportChoice, format: str
) -> ExportCounts:
    """The preview of an export. Raises SettingsError or ExportError if there is none to write."""
    if format not in FORMATS:
        raise SettingsError(
            f"'{format}' is not an export format; use one of: {', '.join(FORMATS)}."
        )
    counts = count(store, dataset_id, choice)
    if not counts.total and choice.only is not None:
        raise ExportError(f"No pair of the dataset matches: {choice.only.words}.")
    if not counts.kept:
        raise ExportError(
            "With these choices, nothing would be exported. Raise the threshold, or keep more "
            "verdicts."
        )
    return counts


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


_COUNTERS = ("left_out", "by_decision", "by_split")
#: A chance of error above this: more likely wrong than right.
LIKELY_WRONG = 0.5
#: Kinds of captions that are no enrichment.
_NOT_ENRICHED = ("human", "corrected", "edited", "shortened", "new")


@dataclass
class _Tally:
    """Running counts; kept plus left out equals the total by construction."""

    kept: int = 0
    corrected: int = 0
    edited: int = 0
    tagged: int = 0
    enriched: int = 0
    shortened: int = 0
    called_wrong: int = 0
    likely_wrong: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    by_decision: Counter[str] = field(default_factory=Counter)
    by_split: Counter[str] = field(default_factory=Counter)

    def add(self, pair: PairRow, outcome: ExportDecision) -> None:
        if outcome.left_out_because:
            self.left_out[outcome.left_out_because] += 1
            return
        self.kept += 1
        self.by_decision[pair.judgement or UNDECIDED] += 1
        self.corrected += outcome.kind == "corrected"
        self.edited += outcome.kind == "edited"
        self.shortened += outcome.kind == "shortened"
        self.enriched += outcome.kind not in _NOT_ENRICHED
        self.tagged += bool(outcome.tags)
        self.called_wrong += "wrong" in outcome.tags
        self.likely_wrong += pair.judgement is None and (pair.p_error or 0.0) > LIKELY_WRONG

    def counts(self, splits: ExportSplits | NewExportSplits) -> ExportCounts:
        values: dict[str, Any] = dict(vars(self))
        values |= {name: dict(values[name]) for name in _COUNTERS}
        return ExportCounts(
            total=self.kept + self.left_out.total(), shared_pictures=splits.shared,
            moved=splits.moved, **values,
        )  # fmt: skip


def _pairs(
    store: Store, dataset_id: int, choice: ExportChoice
) -> Iterator[tuple[PairRow, Enrichment | None, str | None, Sequence[KnownClaim]]]:
    """The requested pairs, each with its accepted or suggested enrichment, its edited text, and its
    claims if it has several."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        pairs = (
            pair
            for pair in pair_queries.iterate_pairs(session, dataset_id)
            if choice.only is None or pair.id in choice.only.pair_ids
        )
        while batch := list(islice(pairs, _AT_ONCE)):
            enrichments = _enrichments(store, choice, batch, run.id if run else None)
            edited_texts = edit_queries.edited_texts(
                session, [p.id for p in batch if p.verdict_version]
            )
            claims = known_claims(session, batch)
            yield from (
                (p, enrichments.get(p.id), edited_texts.get(p.id), claims.get(p.id, ()))
                for p in batch
            )


def _enrichments(
    store: Store, choice: ExportChoice, pairs: Sequence[PairRow], run_id: int | None
) -> dict[int, Enrichment]:
    is_enriched = choice.captions == "enriched"
    pair_ids = [pair.id for pair in pairs if is_enriched and pair.decision in (None, "correct")]
    enriched_pairs = {pair.id: pair for pair in pairs if pair.judgement == ENRICHED}
    enrichments: dict[int, Enrichment] = {}
    if not pair_ids and not enriched_pairs:
        return enrichments
    with store.reading() as session:
        for pair_id, row in suggestion_queries.open_enrichments(session, pair_ids, run_id).items():
            enrichments[pair_id] = Enrichment(
                row.caption, _kind_of(row.provenance), False, row.proposer
            )
        origins = suggestion_queries.accepted_enrichments(session, list(enriched_pairs))
    for pair_id, pair in enriched_pairs.items():
        caption = pair.corrected_caption or pair.caption
        enrichments[pair_id] = Enrichment(caption, _kind_of(origins.get(pair_id)), True)
    return enrichments


def _kind_of(provenance: dict[str, Any] | None) -> str:
    """The kind of an enrichment; a generic name if the store does not record it."""
    return str((provenance or {}).get("boost") or ENRICHED)


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


def _claims_in_words(choice: ExportChoice) -> dict[str, str]:
    words = dict[str, str]()
    if choice.wrong_claims != "keep":
        words["Claims decided wrong"] = choice.wrong_claims
    if choice.drop_claims_above is not None:
        name = "Claims of undecided captions left out above a chance of error of"
        words[name] = f"{choice.drop_claims_above:g}"
    return words


def _caveat_in_words(counts: ExportCounts) -> dict[str, str]:
    return {"About this threshold": counts.level_note} if counts.level_note else {}


def _splits_in_words(counts: ExportCounts) -> dict[str, str]:
    """About pictures in several splits."""
    if counts.shared_pictures:
        number = f"{counts.shared_pictures:,}; what is tested on them was seen in training"
        return {"Pictures in several splits": number}
    if counts.moved:
        return {"Pairs moved so that each picture is in one split": f"{counts.moved:,}"}
    return {}


def _choice_in_words(choice: ExportChoice) -> dict[str, str]:
    threshold = "none" if choice.drop_above is None else f"{choice.drop_above:g}"
    only = {"Only these pairs of the dataset": choice.only.words} if choice.only else {}
    words_of_steps = dict[str, str]()
    for _, screening in export_steps.screenings(choice):
        words_of_steps |= screening.words
    return {
        **only,
        **words_of_steps,
        "Undecided pairs left out above a chance of error of": threshold,
        f"Pairs decided {word_of('abstract')}": choice.abstract,
        f"Pairs decided {word_of('drop')}": choice.dropped,
        f"Pairs decided {word_of('wrong')}": choice.wrong,
        f"Pairs decided {word_of('unsure')}": choice.unsure,
        **(
            {f"Generic captions (specificity below {choice.specificity_below:g})": choice.generic}
            if choice.specificity_below is not None
            else {}
        ),
        **_claims_in_words(choice),
        **(
            {"Pairs of one picture": "kept in one split: test, else validation, another, train"}
            if choice.keep_pictures_together
            else {}
        ),
        **({"Splits": choice.new_splits.in_words()} if choice.new_splits else {}),
        "Only decided pairs": "yes" if choice.decided_only else "no",
        **(
            {"Corrections that no person has confirmed": "compared too"}
            if choice.unconfirmed
            else {}
        ),
        "Captions": (
            "as decided, but with suggested enrichments, which have not been reviewed, where no "
            "verdict says otherwise (`caption_kind`)"
            if choice.captions == "enriched"
            else "as decided"
        ),
    }
