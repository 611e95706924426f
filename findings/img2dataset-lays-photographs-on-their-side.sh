#!/usr/bin/env bash
# img2dataset fetches the pictures of a list of addresses and captions and writes each anew, also where it resizes none. One would
# expect what a browser shows. A photograph that says by EXIF which side is up is written as it lies, without saying so any more: with
# its caption about what is above and what is left, it is on its side for good. A grey picture of 16 bits becomes white. Both have the
# status "success"; only the row's metadata remember the old EXIF. With `disable_all_reencoding` pictures stay as they are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check img2dataset==1.47.0 opencv-python-headless==4.14.0.94 pillow==12.3.0
cd "$folder"
cat > fetch.py <<'PYTHON'
import csv
import json
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import numpy as np
from img2dataset import download
from PIL import Image, ImageOps

ORIENTATION = 0x112


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *message):
        pass


def fetched(**options):
    """By name: the status that img2dataset wrote, the EXIF that it notes, and the picture."""
    folder = "-".join(["out", *options])
    download(
        url_list="list.csv", input_format="csv", caption_col="caption", output_folder=folder, processes_count=1,
        thread_count=1, resize_mode="no", output_format="files", **options,
    )  # fmt: skip
    rows = [(path, json.loads(path.read_text())) for path in sorted(Path(folder, "00000").glob("*.json"))]
    return {row["caption"]: (row["status"], row["exif"], Image.open(path.with_suffix(".jpg"))) for path, row in rows}


if __name__ == "__main__":
    web = Path("web")
    web.mkdir()
    # Stored on its side, with the note that it is to be turned: seen upright, the sky is above.
    upright = Image.new("RGB", (40, 60), "green")
    upright.paste("blue", (0, 0, 40, 30))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    upright.rotate(90, expand=True).save(web / "sky above a field.jpg", exif=exif)
    Image.fromarray(np.full((40, 60), 0x4000, np.uint16)).save(web / "dark grey.png")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(web)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open("list.csv", "w", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["url", "caption"])
        rows.writerows([f"http://127.0.0.1:{server.server_port}/{path.name.replace(' ', '%20')}", path.stem] for path in web.iterdir())
    with open("report", "w") as report:
        print("img2dataset", version("img2dataset"), "opencv", version("opencv-python-headless"), file=report)
        seen = {}
        for options in ({}, {"disable_all_reencoding": True}):
            for name, (status, noted, picture) in fetched(**options).items():
                seen[name, bool(options)] = ImageOps.exif_transpose(picture).size, picture.getextrema()
                print("as it came:" if options else "written anew:", name, status, *seen[name, bool(options)], noted, file=report)
    name, grey = "sky above a field", seen["dark grey", False][1]
    if [seen[name, is_kept][0] for is_kept in (False, True)] != [(60, 40), (40, 60)] or grey != (255, 255):
        sys.exit("This has changed: photographs stay upright, and grey of 16 bits stays grey.")
PYTHON
NO_ALBUMENTATIONS_UPDATE=1 env/bin/python fetch.py >log 2>&1 || { tail -n 3 log; exit 1; }
cat report
