#!/usr/bin/env bash
# COCO marks a box around a crowd by `iscrowd`: its measure then neither asks for a detection of it nor counts any within against a
# model. globox reads and writes COCO's files and has COCO's measures, and one would expect the same numbers of it. It drops the mark: the
# crowd is an object that was missed, the people found in it are wrong, and a file written again has only single objects.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check globox==2.9.0 pycocotools==2.0.11 numpy==2.4.6
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import contextlib
import io
import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

from globox import AnnotationSet, COCOEvaluator
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
ONE, CROWD = [10, 10, 100, 200], [200, 50, 400, 300]
WITHIN = [[210, 60, 60, 200], [300, 60, 60, 200]]


def compare(crowds, scored):
    boxes = [(ONE, 0), *((box, 1) for box in crowds)]
    truth = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": 640, "height": 480}],
        "categories": [{"id": 1, "name": "person"}],
        "annotations": [
            {"id": number, "image_id": 1, "category_id": 1, "bbox": box, "area": box[2] * box[3], "iscrowd": crowd, "segmentation": []}
            for number, (box, crowd) in enumerate(boxes, 1)
        ],
    }
    found = [{"image_id": 1, "category_id": 1, "bbox": box, "score": score} for box, score in scored]
    Path("truth.json").write_text(json.dumps(truth))
    Path("found.json").write_text(json.dumps(found))
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO("truth.json")
        measure = COCOeval(coco, coco.loadRes("found.json"), "bbox")
        measure.evaluate()
        measure.accumulate()
        measure.summarize()
    annotations = AnnotationSet.from_coco("truth.json")
    other = COCOEvaluator(ground_truths=annotations, predictions=annotations.from_results("found.json"))
    marks = [row["iscrowd"] for row in annotations.to_coco()["annotations"]]
    return [round(float(value), 2) for value in (measure.stats[0], measure.stats[8], other.ap(), other.ar_100())], marks


print({name: version(name) for name in ("globox", "pycocotools")})
without, _ = compare([], [(ONE, 0.9)])
with_crowd, marks = compare([CROWD], [(ONE, 0.9), (WITHIN[0], 0.95), (WITHIN[1], 0.8)])
for name, (precision, recall, other_precision, other_recall) in (("a person", without), ("a person and a crowd", with_crowd)):
    print(f"{name}: pycocotools AP {precision:.2f} AR {recall:.2f}, globox AP {other_precision:.2f} AR {other_recall:.2f}")
print("`iscrowd` as written again:", marks, "said meanwhile:", said)
if without != [1, 1, 1, 1] or with_crowd != [1, 1, 0.25, 0.5] or marks != [0, 0] or said:
    sys.exit("This has changed: globox leaves crowds out of its measures, or keeps their mark.")
PYTHON
