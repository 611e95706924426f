"""Models that are asked about captions which they wrote themselves."""

import re

from backend.counts import count_of
from backend.datasets.caption_writers import COLUMNS
from backend.datasets.cells import trim
from backend.store import Store
from db.queries import queue_queries

#: Writers of a dataset that are compared, the most frequent ones.
_MOST_WRITERS = 1000
#: Parts of a model's name that say nothing of its family: size, precision, tuning.
_SIZE = re.compile(r"\d+(x\d+)?[bmk]|(int|fp|bf)?\d+(bit)?|a\d+b")
_TUNING = frozenset(
    ("instruct", "chat", "hf", "it", "base", "small", "large", "mini", "nano", "pro", "flash",
     "awq", "gptq", "gguf", "preview", "latest", "fp8", "int4", "int8")
)  # fmt: skip


def family_of(model: str) -> tuple[str, ...]:
    """What names of one family of models have in common: (), if the name says nothing.

    >>> family_of("Qwen/Qwen2.5-VL-7B-Instruct"), family_of("vqa:/models/qwen2.5-vl-3b (words)")
    (('qwen2.5', 'vl'), ('qwen2.5', 'vl'))
    """
    plain = re.sub(r"\(.*\)| · .*", "", model).rstrip("/ ").lower()
    parts = [part for part in re.split(r"[^a-z0-9.]+", re.split("[/:]", plain)[-1]) if part]
    return tuple(p for p in parts if not _SIZE.fullmatch(p) and p not in _TUNING)


def is_of_family(writer: str, model: str) -> bool:
    """Whether both are the same model or of one family, as far as their names tell.

    >>> is_of_family("blip", "Salesforce/blip-image-captioning-base"), is_of_family("Ada", "gpt-4o")
    (True, False)
    """
    shorter, longer = sorted((family_of(writer), family_of(model)), key=len)
    return bool(shorter) and longer[: len(shorter)] == shorter


def warning_of(store: Store, dataset_id: int, *models: str | None) -> str:
    """A warning if one of the models, which will judge captions or propose better ones, wrote some
    of them; "" if none did, or nobody says who wrote them."""
    writers = store.read(queue_queries.column_counts, dataset_id, COLUMNS[0], _MOST_WRITERS)
    for model in filter(None, models):
        captions = {name: n for name, n in writers.items() if is_of_family(name, model)}
        if captions:
            first = trim(next(iter(captions)))
            number = count_of(sum(captions.values()), "caption")
            return (
                f"'{first}' wrote {number} of this dataset, and "
                f"'{trim(model)}' is the same model or of its family: a model finds its own "
                "errors likelier than others' and repeats them. Choose another one for these."
            )
    return ""
