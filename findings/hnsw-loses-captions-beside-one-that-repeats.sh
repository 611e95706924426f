#!/usr/bin/env bash
# In captions from the web one text often stands for many pictures. One would expect an HNSW index to find the others as well as
# without it. Rows of equal vectors are linked to each other alone: a search that comes upon them ends there, and some of the captions
# around them have no link left, so that not even their own vector finds them, however wide the search.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check faiss-cpu==1.15.1 hnswlib==0.8.0 usearch==2.26.6 numpy==2.4.6
cd "$folder"
OMP_NUM_THREADS=1 env/bin/python - <<'PYTHON'
import sys
from importlib.metadata import version

import faiss
import hnswlib
import numpy as np
from usearch.index import Index

SIZE, ROWS = 64, 5000


def by_faiss(vectors, width=50):
    index = faiss.IndexHNSWFlat(SIZE, 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, width
    index.add(vectors)
    return index.search(vectors, 1)[1][:, 0]


def by_faiss_searching_all(vectors):
    return by_faiss(vectors, ROWS)


def by_hnswlib(vectors):
    index = hnswlib.Index("cosine", SIZE)
    index.init_index(ROWS, M=16, ef_construction=200, random_seed=1)
    index.set_ef(50)
    index.add_items(vectors, num_threads=1)
    return index.knn_query(vectors, 1, num_threads=1)[0][:, 0]


def by_usearch(vectors):
    index = Index(ndim=SIZE, metric="cos", dtype="f32", connectivity=16, expansion_add=200, expansion_search=50)
    index.add(np.arange(ROWS), vectors, threads=1)
    return index.search(vectors, 1, threads=1).keys.reshape(-1)


def lost(search, repeated):
    """The share of single captions whose own vector does not find them, where so many rows are one caption."""
    random = np.random.default_rng(0)
    vectors = random.standard_normal((ROWS, SIZE), dtype=np.float32)
    rows = random.permutation(ROWS)[:repeated]
    vectors[rows] = vectors[rows[:1]]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    singles = np.setdiff1d(np.arange(ROWS), rows)
    return float(np.mean(np.asarray(search(vectors))[singles] != singles))


print(*(f"{name} {version(name)}" for name in ("faiss-cpu", "hnswlib", "usearch", "numpy")))
shares = {}
for search in (by_faiss, by_faiss_searching_all, by_hnswlib, by_usearch):
    name = search.__name__.removeprefix("by_").replace("_", " ")
    shares[name] = [lost(search, repeated) for repeated in (1, 500, 1500)]
    print(f"{name}: captions lost where 1, 500 and 1,500 of 5,000 rows are one caption:", *(f"{share:.1%}" for share in shares[name]))
if any(alone > 0.001 or max(repeated) < 0.02 for alone, *repeated in shares.values()):
    sys.exit("This has changed: captions are found as well where another repeats.")
PYTHON
