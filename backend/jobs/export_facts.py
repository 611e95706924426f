"""What the card of an export says of its captions, the models that judged them, and the choices."""

from pathlib import Path
from typing import Any

from backend.engine.constants.part import left_out
from backend.jobs import export_steps
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_reports import ExportCounts
from backend.jobs.scoring.dataset_constants import constants_in
from backend.learning_texts import trained_on
from backend.store import Store
from backend.verdict_texts import word_of
from db.queries import classifier_queries, dataset_queries, run_queries

#: The facts that say how many wrong captions an export still has.
ERRORS_LEFT = "Errors left"
CALLED_WRONG = "Captions called wrong that stay"
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


def _claims_in_words(choice: ExportChoice) -> dict[str, str]:
    words = dict[str, str]()
    if choice.wrong_claims != "keep":
        words["Claims decided wrong"] = choice.wrong_claims
    if choice.drop_claims_above is not None:
        name = "Claims of undecided captions left out above a chance of error of"
        words[name] = f"{choice.drop_claims_above:g}"
    return words


def caveat_in_words(counts: ExportCounts) -> dict[str, str]:
    return {"About this threshold": counts.level_note} if counts.level_note else {}


def splits_in_words(counts: ExportCounts) -> dict[str, str]:
    """About pictures in several splits."""
    if counts.shared_pictures:
        number = f"{counts.shared_pictures:,}; what is tested on them was seen in training"
        return {"Pictures in several splits": number}
    if counts.moved:
        return {"Pairs moved so that each picture is in one split": f"{counts.moved:,}"}
    return {}


def choice_in_words(choice: ExportChoice) -> dict[str, str]:
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
