"""Who wrote a caption that is not the source's any more."""

from backend.datasets.caption_writers import Writer
from db.authors import is_edit, is_reserved, person_of
from db.queries.pair_queries import PairRow


def new_writer(pair: PairRow, caption: str, suggestion: tuple[str, str] | None) -> Writer | None:
    """Who or what wrote a caption that is not the source's any more: the proposer of the suggestion
    that the verdict accepted (with its text), or the verdict's author; None: nobody knows, or
    whoever asks may not."""
    date = f"{pair.decided_at:%Y-%m-%d}" if pair.decided_at is not None else ""
    if suggestion is not None and suggestion[1] == caption:
        model, _, prompt = suggestion[0].partition(" · ")
        return Writer(model, "model", prompt, date)
    if not pair.decided_by or pair.corrected_caption != caption:
        return None
    if is_edit(pair.decided_by):
        return Writer(person_of(pair.decided_by), "person", date=date)
    return Writer(pair.decided_by, "" if is_reserved(pair.decided_by) else "person", date=date)
