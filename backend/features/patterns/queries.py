"""How much people have judged."""

from sqlalchemy.orm import Session

from db.decisions import RIGHT_OR_WRONG, is_wrong
from db.queries.blind_review import by_a_person, verdict_seen
from db.queries.pair_queries import count_by_judgement
from db.queries.statements import run


def judged_by_people(session: Session, dataset_id: int) -> tuple[int, int]:
    """How many captions people, not rules, have judged right or wrong, and how many of these are
    wrong."""
    by_people = by_a_person(verdict_seen(session, dataset_id))
    query = count_by_judgement(session, dataset_id).where(by_people)
    rows = run(session, query, dataset_id=dataset_id)
    by_decision = {name: number for name, number in rows if name in RIGHT_OR_WRONG}
    wrong = sum(number for name, number in by_decision.items() if is_wrong(name))
    return sum(by_decision.values()), wrong
