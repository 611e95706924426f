#!/usr/bin/env bash
# Who corrects captions and writes the shards again under their names would expect the next training to read the new captions.
# Readers that copy shards into a folder of their own look at the name alone: webdataset (`cache_dir`) and MosaicML's
# streaming (`local`; the index, and so the hashes that it checks, are copies too) go on with the captions from before,
# without a word. LitData (`cache_dir`) sees that the shards are others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check webdataset==1.0.2 litdata==0.2.76 mosaicml-streaming==0.13.0 torch==2.14.1 torchvision==0.29.1
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import os
import shutil
import sys
import threading
import warnings
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

warnings.simplefilter("ignore")
import streaming
import webdataset
from litdata import StreamingDataset
from litdata.streaming import Cache
from streaming.base.util import clean_stale_shared_memory

BEFORE, AFTER = ["a red dog", "a blue car"], ["a brown dog", "a blue car"]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory="."))
threading.Thread(target=server.serve_forever, daemon=True).start()


def write(captions):
    for name in ("tars", "mds", "lit"):
        shutil.rmtree(name, ignore_errors=True)
        os.makedirs(name)
    with webdataset.TarWriter("tars/00000.tar") as tar:
        for row, caption in enumerate(captions):
            tar.write({"__key__": str(row), "txt": caption})
    with streaming.MDSWriter(out="mds", columns={"caption": "str"}, hashes=["sha1"]) as shards:
        for caption in captions:
            shards.write({"caption": caption})
    cache = Cache("lit", chunk_size=2)
    for row, caption in enumerate(captions):
        cache[row] = caption
    cache.done()
    cache.merge()


def read_tars():
    os.makedirs("tars-here", exist_ok=True)
    url = f"http://127.0.0.1:{server.server_port}/tars/00000.tar"
    return [sample["txt"].decode() for sample in webdataset.WebDataset(url, cache_dir="tars-here", shardshuffle=False)]


def read_mds():
    clean_stale_shared_memory()
    rows = streaming.StreamingDataset(
        remote=os.path.abspath("mds"), local="mds-here", batch_size=1, shuffle=False, validate_hash="sha1"
    )
    return [rows[row]["caption"] for row in range(len(rows))]


def read_lit():
    return list(StreamingDataset(f"local:{os.path.abspath('lit')}", cache_dir="lit-here"))


readers = {"webdataset": read_tars, "mosaicml-streaming": read_mds, "litdata": read_lit}
write(BEFORE)
first = {name: read() for name, read in readers.items()}
write(AFTER)
second = {name: read() for name, read in readers.items()}
print({name: version(name) for name in readers})
for name, captions in second.items():
    print(f"{name}: before the correction {first[name]}, afterwards {captions}")
server.shutdown()
if any(captions != BEFORE for captions in first.values()):
    sys.exit("This has changed: the readers do not read what was written.")
if [name for name, captions in second.items() if captions == AFTER] != ["litdata"]:
    sys.exit("This has changed: other readers see that the shards were written again.")
PYTHON
