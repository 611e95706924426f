"""Captions in languages that the model does not read: looked for while a dataset is scored, tagged,
and said of the dataset."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from backend.engine.languages.foreign import foreign_language
from backend.engine.presets import languages_of
from backend.jobs.notices import Notice, Sentence

if TYPE_CHECKING:
    from backend.loaded_models import Engine
    from backend.progress import Progress
    from backend.store import Store

#: What the tags of such captions begin with, before the name of the language.
PREFIX = "not read: "


def look(store: "Store", engine: "Engine", dataset_id: int, progress: "Progress") -> None:
    """Tag the pairs whose captions are in a language that the engine's scorer does not read, and
    take these tags from all others."""
    from backend.jobs.batched_reads import read_in_batches
    from backend.jobs.tagging import tag_exactly
    from db.queries import pair_queries, tag_queries

    read = languages_of(engine.scorer.info.model)
    before = store.read(tag_queries.counts, dataset_id)
    ids = defaultdict[str, list[int]](
        list, {name: [] for name in before if name.startswith(PREFIX)}
    )
    if read:
        for pair in read_in_batches(store, pair_queries.pairs_after, dataset_id):
            if language := foreign_language(pair.caption, read):
                ids[PREFIX + language].append(pair.id)
    for name, of_language in ids.items():
        tag_exactly(store, dataset_id, name, of_language, engine.settings.author)


def sentences(store: "Store", dataset_id: int) -> Sequence[Sentence]:
    """How many captions are in which language, if the model of the scores does not read it."""
    from db.queries import pair_queries, run_queries, tag_queries

    counts = store.read(tag_queries.counts, dataset_id)
    tags = {name: number for name, number in counts.items() if name.startswith(PREFIX)}
    run = store.read(run_queries.latest_run, dataset_id, "score") if tags else None
    if run is None or not languages_of(run.model):
        return ()
    total = store.read(pair_queries.count_captions, dataset_id)
    return tuple(_sentence(number, total, name) for name, number in tags.items())


def _sentence(number: int, total: int, tag: str) -> Sentence:
    seem, chances, have = (
        ("seems", "its chance of error says", "It has")
        if number == 1
        else ("seem", "their chances of error say", "They have")
    )
    return Sentence(
        f"{number:,} of {total:,} captions {seem} to be in {tag.removeprefix(PREFIX)}, which the "
        f"model does not read: {chances} nothing.",
        f"{have} the tag “{tag}”; the model of the preset “multilingual” reads many languages.",
    )


NOTICE = Notice(sentences, look=look)
