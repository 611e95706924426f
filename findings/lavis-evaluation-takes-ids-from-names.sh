#!/usr/bin/env bash
# LAVIS trains captions by the `image_id` of their annotation, and one would expect its evaluation to know pictures by it as well.
# COCOCapEvalDataset takes what stands behind the last "_" of the file's name: house_1.jpg and dog_1.jpg are one picture, of which the
# first caption is kept, and the others have no reference under their id. Nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check torch==2.14.1 torchvision==0.29.1 timm==0.4.12 decord==0.6.0 \
    webdataset==1.0.2 pycocotools==2.0.10 pycocoevalcap==1.2 iopath==0.1.10 omegaconf==2.3.0 opencv-python-headless==4.5.5.64 \
    pandas==2.3.3 numpy==1.26.4 pillow==12.3.0 tqdm
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --no-deps salesforce-lavis==1.0.2
cd "$folder"
env/bin/python -W ignore - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import importlib.util
import json
import sys
import types
from importlib.metadata import version
from pathlib import Path

# The packages' own beginnings load every model of the library, with libraries of 2022; the modules below do without.
home = Path(importlib.util.find_spec("lavis").origin).parent
for name in ("lavis", "lavis.tasks", "lavis.datasets.datasets"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(home.joinpath(*name.split(".")[1:]))]
from lavis.common.registry import registry

registry.register("MAX_INT", sys.maxsize)
registry.register_path("result_dir", ".")
from lavis.datasets.datasets.caption_datasets import CaptionEvalDataset
from lavis.datasets.datasets.coco_caption_datasets import COCOCapEvalDataset
from lavis.tasks.captioning import CaptionTask
from PIL import Image

IDS = {"house_1.jpg": 11, "dog_1.jpg": 12, "dog_2.jpg": 13}
for name in IDS:
    Image.new("RGB", (8, 8)).save(name)
Path("annotations.json").write_text(json.dumps([{"image": name, "image_id": key, "caption": name} for name, key in IDS.items()]))


class Captioner:
    def generate(self, samples, **_):
        return [f"caption of {list(IDS)[int(number)]}" for number in samples["instance_id"]]


def results(kind):
    dataset = kind(lambda picture: 0, None, ".", ["annotations.json"])
    task = CaptionTask(num_beams=1, max_len=20, min_len=1, evaluate=True, report_metric=False)
    captions = task.valid_step(Captioner(), dataset.collater([dataset[number] for number in range(len(dataset))]))
    task.after_evaluation(captions, kind.__name__, 0)
    return {row["image_id"]: row["caption"] for row in json.loads(Path(f"{kind.__name__}_epoch0.json").read_text())}


seen = {kind.__name__: results(kind) for kind in (CaptionEvalDataset, COCOCapEvalDataset)}
print({name: version(name) for name in ("salesforce-lavis", "torch")})
print("image_id:", IDS)
for name, captions in seen.items():
    print(f"{name}:", captions)
if seen["CaptionEvalDataset"] != {key: f"caption of {name}" for name, key in IDS.items()} or seen["COCOCapEvalDataset"] != {
    1: "caption of house_1.jpg",
    2: "caption of dog_2.jpg",
}:
    sys.exit("This has changed: LAVIS evaluates captions by the id of the annotation.")
PYTHON
