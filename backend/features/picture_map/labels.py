"""Words for the regions of the map: what captions there say more often than elsewhere."""

import math
from collections import Counter, defaultdict

import numpy as np

from backend.engine.correction.anchoring import content_words
from backend.engine.english.word_lists import ADJECTIVES, COLOURS
from backend.features.picture_map.views import MapView
from backend.store import Store
from db.queries import pair_queries

#: Captions read; regions of a side; labels; and captions that must have a word.
SAMPLE, SIDE, LABELS, FEWEST = 2000, 4, 8, 4

#: They tell less about a place than the things in it.
DESCRIBING = {*COLOURS, *ADJECTIVES}

Label = tuple[float, float, str]


def labels_of(store: Store, view: MapView) -> list[Label]:
    """(x, y, word) of the most telling words of regions, each word once."""
    places = np.linspace(0, len(view.pairs) - 1, min(SAMPLE, len(view.pairs))).astype(int)
    with store.reading() as session:
        rows = pair_queries.pairs_of(session, view.pairs[places].tolist())
    words = {
        row.id: {word.lower() for _, _, word in content_words(row.caption)} - DESCRIBING
        for row in rows
    }
    overall = Counter(word for each in words.values() for word in each)
    regions: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in places:
        column, row = (min(SIDE - 1, int(SIDE * at[place])) for at in (view.x, view.y))
        regions[column, row].append(int(place))
    candidates: list[tuple[float, Label]] = []
    for members in regions.values():
        inside = Counter(word for at in members for word in words.get(int(view.pairs[at]), ()))
        for word, count in inside.items():
            share = count / len(members)
            weight = share * math.log(share * len(words) / overall[word])
            if count >= FEWEST and weight > 0:
                at = [at for at in members if word in words.get(int(view.pairs[at]), ())]
                middle = float(np.median(view.x[at])), float(np.median(view.y[at]))
                candidates.append((weight, (*middle, word)))
    labels: list[Label] = []
    for _, (x, y, word) in sorted(candidates, reverse=True):
        is_free = all(
            word != other and math.dist((x, y), (across, up)) > 1 / SIDE
            for across, up, other in labels
        )
        if is_free and len(labels) < LABELS:
            labels.append((x, y, word))
    return labels
