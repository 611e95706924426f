"""Give pictures the captions that stand beside those of other rows; and what was found, stored."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy.orm import Session

from backend.counts import count_of
from backend.features.rows.queries import CaptionState, count_moved, states_of
from backend.features.rows.report import Change, Finding, RowsReport
from backend.features.rows.search import Search, find_moved
from backend.features.rows.suggesting import remember_single_rows
from backend.jobs.notices import Sentence
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.version import VERSION
from db.authors import moved_author
from db.queries import hold_queries, run_queries, verdict_queries
from db.queries.run_queries import RunRow
from db.queries.undo_queries import AT_ONCE
from db.queries.verdict_queries import NewVerdict
from db.texts import is_blank

KIND = "rows"
#: Intervals of ids that a statement can name.
_INTERVALS = 200
#: Examples and ids that a report lists, findings that are stored, characters of a caption shown.
_EXAMPLES, _STORED, _SHOWN = 10, 1000, 120
#: A notice is given of findings with so many rows together, or this share of the pairs.
FEWEST_TO_NOTICE, SHARE_TO_NOTICE = 20, 0.05


def look(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> RowsReport:
    """Find captions of other rows, and remember what was found."""
    search = find_moved(store, engine, dataset_id, progress)
    if search.run is not None:
        remember_single_rows(store, engine, search.run, search)
    return _plan_and_remember(store, engine, dataset_id, search)


def mend(
    store: Store,
    engine: Engine,
    dataset_id: int,
    curator: str,
    progress: Progress = no_progress,
) -> RowsReport:
    """Find them, and give each picture its own caption, as corrections by a rule, in one step for
    `curator` to undo. Pictures with a verdict keep theirs."""
    search = find_moved(store, engine, dataset_id, progress)
    report = _plan_and_remember(store, engine, dataset_id, search)
    author, batch, moved_count = moved_author(curator), uuid.uuid4().hex, 0
    for start in range(0, len(search.moves), AT_ONCE):
        part = search.moves[start : start + AT_ONCE].tolist()
        states = store.read(states_of, sorted({pair for move in part for pair in move}))
        with store.writing() as session:
            held_ids = hold_queries.held_by_others(session, [to for to, _ in part], curator)
            verdicts = [
                _verdict(states[to], states[of])
                for to, of in part
                if to not in held_ids and _can_take(states.get(to), states.get(of))
            ]
            outcome = verdict_queries.add_all(session, verdicts, author=author, batch=batch)
        moved_count += len(outcome.written)
        progress(start + len(part), len(search.moves), "Moving captions")
    return replace(report, moved=moved_count, is_dry_run=False)


def _verdict(target: CaptionState, origin: CaptionState) -> NewVerdict:
    note = f"the caption of {origin.external_id}"
    return NewVerdict(target.pair_id, target.version, "correction", origin.own_text, note)


def _can_take(target: CaptionState | None, origin: CaptionState | None) -> bool:
    """Whether the picture has no verdict, and the caption is another one."""
    if target is None or origin is None or target.decision is not None:
        return False
    return not is_blank(origin.own_text) and origin.own_text != target.own_text


def _plan_and_remember(store: Store, engine: Engine, dataset_id: int, search: Search) -> RowsReport:
    report = plan(store, dataset_id, search)
    store.write(remember, engine, report, search.set_aside)
    return report


def plan(store: Store, dataset_id: int, search: Search) -> RowsReport:
    """What is found, what of it can be moved, and the first examples."""
    count, decided_count = 0, 0
    decided_names: list[str] = []
    examples: list[Change] = []
    for start in range(0, len(search.moves), AT_ONCE):
        part = search.moves[start : start + AT_ONCE].tolist()
        states = store.read(states_of, sorted({pair for move in part for pair in move}))
        for target, origin in ((states.get(to), states.get(of)) for to, of in part):
            if target is not None and target.decision is not None:
                decided_count += 1
                if len(decided_names) < _EXAMPLES:
                    decided_names.append(target.external_id)
            elif target is not None and origin is not None and _can_take(target, origin):
                count += 1
                if len(examples) < _EXAMPLES:
                    before, after = _excerpt(target.own_text), _excerpt(origin.own_text)
                    examples.append(Change(target.external_id, before, after, target.pair_id))
    return RowsReport(
        dataset_id, search.pairs, search.compared, tuple(search.reasons), tuple(search.findings),
        count, 0, decided_count, tuple(decided_names), search.open_rows, tuple(examples),
    )  # fmt: skip


def _excerpt(caption: str) -> str:
    return " ".join(caption[:_SHOWN].split())


def remember(
    session: Session, engine: Engine, report: RowsReport, set_aside: Sequence[tuple[int, int]]
) -> None:
    """Store what was found as a run: the latest is what is known of the dataset. `set_aside`: as
    of a `Search`."""
    run = run_queries.find_or_start_by(
        session,
        engine.scorer.info,
        kind=KIND,
        dataset_id=report.dataset_id,
        code_version=VERSION,
        parameters={
            "pairs": report.pairs,
            "compared": report.compared,
            "is_first_look": report.is_first_look,
            "moves": report.moves,
            "rows": sum(finding.rows for finding in report.findings),
            "number": len(report.findings),
            "findings": [asdict(finding) for finding in report.findings[:_STORED]],
            "reasons": list(report.reasons[:_STORED]),
            "set_aside": [list(ids) for ids in set_aside[:_INTERVALS]],
        },
    )
    run_queries.finish_run(session, run.id)


def sentences(store: Store, dataset_id: int) -> Sequence[Sentence]:
    """What the latest look found; nothing if that is little, or mended."""
    with store.reading() as session:
        run = _open_look(session, dataset_id)
    if run is None:
        return ()
    rows = int(run.parameters["rows"])
    findings = [Finding(**values) for values in run.parameters["findings"]]
    largest = max(findings, key=lambda finding: finding.rows)
    if largest.kind == "swapped":
        text = f"{count_of(rows, 'row')} carry each other's captions, two and two."
    else:
        others = int(run.parameters["number"]) - 1
        text = largest.what() + f" There are {count_of(others, 'more finding')}." * bool(others)
    if run.parameters.get("is_first_look"):
        compared, pairs = run.parameters["compared"], run.parameters["pairs"]
        text += f" Seen at a first look, at {compared:,} of {count_of(pairs, 'row')}."
        advice = (
            "Mend the source and import it again, or score the dataset and move the captions back."
        )
        return (Sentence(text, advice),)
    if largest.kind == "unordered":
        return (Sentence(text),)
    return (Sentence(text, "Move them back before you judge them one by one."),)


def latest_report(store: Store, dataset_id: int) -> RowsReport | None:
    """What the latest look found, without examples; None before the first."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, KIND)
        moved_count = count_moved(session, dataset_id)
    if run is None:
        return None
    values = run.parameters
    return RowsReport(
        dataset_id, values["pairs"], values.get("compared", values["pairs"]),
        tuple(values["reasons"]), tuple(Finding(**finding) for finding in values["findings"]),
        values["moves"], moved_count, is_dry_run=moved_count < values["moves"],
        is_first_look=values.get("is_first_look", False),
    )  # fmt: skip


def set_aside(session: Session, dataset_id: int) -> Sequence[tuple[int, int]]:
    """(first, last) ids of the pairs in findings of which a notice is given."""
    run = _open_look(session, dataset_id)
    return [(first, last) for first, last in run.parameters.get("set_aside", ())] if run else ()


def details(store: Store, dataset_id: int) -> dict[str, Any]:
    """What the latest look found, for programs; `looked` is False before the first."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, KIND)
        moved_count = count_moved(session, dataset_id)
    parameters = run.parameters if run is not None else {}
    return {
        "looked": run is not None,
        "is_first_look": parameters.get("is_first_look", False),
        "pairs": parameters.get("pairs", 0),
        "rows": parameters.get("rows", 0),
        "moves": parameters.get("moves", 0),
        "moved": moved_count,
        "findings": parameters.get("findings", []),
        "reasons": parameters.get("reasons", []),
    }


def _open_look(session: Session, dataset_id: int) -> RunRow | None:
    """The latest look, if it found enough for a notice that is not mended."""
    run = run_queries.latest_run(session, dataset_id, KIND)
    if run is None or not (rows := int(run.parameters["rows"])):
        return None
    moves = int(run.parameters["moves"])
    if moves and count_moved(session, dataset_id) >= moves:
        return None
    fewest = min(FEWEST_TO_NOTICE, SHARE_TO_NOTICE * int(run.parameters["pairs"]))
    return run if rows >= fewest else None
