"""Small files of the layouts of published benchmarks, with drawn pictures."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.checkpoints import drawn_pairs
from tests.datasets.folders import json_lines, write

#: The entries of each file.
ENTRIES = 12


def pictures(folder: Path, names: Callable[[int], str], count: int = ENTRIES) -> list[str]:
    """Drawn pictures under these names, and a true caption of each."""
    folder.mkdir(parents=True, exist_ok=True)
    captions = []
    for number, (image, text) in enumerate(drawn_pairs(count, seed=5)):
        image.save(folder / names(number))
        captions.append(text)
    return captions


def false(caption: str) -> str:
    """The caption with another first noun phrase's word: always wrong of a drawn scene."""
    first, *rest = caption.split()
    return " ".join([first, "purple", *rest[1:]])


def foil(base: Path) -> Path:
    captions = pictures(base / "images", "COCO_val2014_{:012d}.png".format)
    images = [{"id": n, "file_name": f"COCO_val2014_{n:012d}.png"} for n in range(len(captions))]
    annotations = []
    for n, text in enumerate(captions):
        same = {"id": 100 + n, "image_id": n}
        annotations += [
            {**same, "caption": text, "foil": False, "foil_id": 2 * n, "foil_word": "ORIG",
             "target_word": "ORIG"},
            {**same, "caption": false(text), "foil": True, "foil_id": 2 * n + 1,
             "foil_word": "purple", "target_word": "dog" if n % 2 else "cat"},
        ]  # fmt: skip
    whole = {"info": {}, "licenses": [], "images": images, "annotations": annotations}
    return write(base / "foilv1.0_test_2017.json", json.dumps(whole))


def sugarcrepe(base: Path) -> Path:
    captions = pictures(base / "images", "{:012d}.png".format)
    entries = {
        str(n): {"filename": f"{n:012d}.png", "caption": text, "negative_caption": false(text)}
        for n, text in enumerate(captions)
    }
    write(base / "files" / "swap_obj.json", json.dumps(entries))
    write(base / "files" / "add_att.json", json.dumps(entries))
    return base / "files"


def sugarcrepe_plus(base: Path) -> Path:
    captions = pictures(base / "images", "{:012d}.png".format)
    entries = [
        {"id": n, "filename": f"{n:012d}.png", "caption": text, "caption2": f"There is {text}",
         "negative_caption": false(text)}
        for n, text in enumerate(captions)
    ]  # fmt: skip
    return write(base / "replace_att.json", json.dumps(entries))


def winoground(base: Path) -> Path:
    captions = pictures(base / "images", lambda n: f"ex_{n // 2}_img_{n % 2}.png")
    entries = [
        {"id": n, "image_0": f"ex_{n}_img_0", "image_1": f"ex_{n}_img_1",
         "caption_0": captions[2 * n], "caption_1": captions[2 * n + 1], "tag": "Noun",
         "secondary_tag": "", "num_main_preds": 1, "collapsed_tag": "Object"}
        for n in range(len(captions) // 2)
    ]  # fmt: skip
    return write(base / "examples.jsonl", json_lines(entries))


def aro(base: Path) -> Path:
    captions = pictures(base / "images", "{}.png".format)
    entries = [
        {"image_id": n, "image_path": f"{n}.png", "bbox_x": 1, "bbox_y": 2, "bbox_w": 60,
         "bbox_h": 50, "relation_name": "on" if n % 2 else "behind", "true_caption": text,
         "false_caption": false(text)}
        for n, text in enumerate(captions)
    ]  # fmt: skip
    return write(base / "visual_genome_relation.json", json.dumps(entries))


def hat(base: Path) -> Path:
    captions = pictures(base / "images", "COCO_val2014_{:012d}.png".format)
    entries = []
    for n, text in enumerate(captions):
        is_wrong = n % 3 == 0
        caption = false(text) if is_wrong else text
        marks = [[word, is_wrong and index == 1] for index, word in enumerate(caption.split(" "))]
        entries.append(
            {"sample_id": f"s{n}", "caption": caption, "grounding": marks,
             "contains_hallucination": is_wrong, "references": [text], "is_gold": False,
             "image_path": f"COCO_val2014_{n:012d}.png", "is_machine_generated": bool(n % 2)}
        )  # fmt: skip
    return write(base / "hat-trainval.json", json.dumps(entries))


def nocaps_foil(base: Path) -> Path:
    captions = pictures(base / "images", "{}.png".format)
    entries = [
        {"image_path": f"{n}.png", "references": [], "baseline": text, "foil": false(text),
         "replacement": ["a", "b"], "domain": "in-domain"}
        for n, text in enumerate(captions)
    ]  # fmt: skip
    return write(base / "nocaps-val-foil.json", json.dumps(entries))


def mhaldetect(base: Path) -> Path:
    captions = pictures(base / "images", "COCO_val2014_{:012d}.png".format)
    entries = []
    for n, text in enumerate(captions):
        right = f"{text.rstrip('.')}."
        wrong = f"It shows {false(text).rstrip('.')}."
        opinion = "It is lovely."
        response = f"{right} {wrong} {opinion}"
        at = response.index("purple", len(right))
        spans = [(0, len(right), "ACCURATE"), (at, at + len("purple"), "INACCURATE"),
                 (response.index(opinion), len(response), "ANALYSIS")]  # fmt: skip
        entries.append(
            {"question": "Describe.", "response": response,
             "image": f"COCO_val2014_{n:012d}.png",
             "annotations": [{"start": a, "end": b, "text": response[a:b], "label": label}
                             for a, b, label in spans]}
        )  # fmt: skip
    return write(base / "val_raw.json", json.dumps(entries))


def detailverifybench(base: Path) -> Path:
    captions = pictures(base / "images" / "Nature", "test_{}.png".format)
    entries = [
        {"filename": f"test_{n}.png", "category": "Nature", "Modify": "Yes",
         "GT_description": text, "hallucination_labels": [],
         "description_tag": f"{text.rstrip('.')}. There is a <Hallucination>purple</Hallucination> "
                            "boat."}
        for n, text in enumerate(captions)
    ]  # fmt: skip
    return write(base / "test_gt_withtag.jsonl", json_lines(entries))


def seetrue(base: Path) -> Path:
    captions = pictures(base / "images", "{}.png".format)
    lines = ["image,text,label,original_dataset_id,dataset_source"]
    for n, text in enumerate(captions):
        caption = text if n % 2 else false(text)
        lines.append(f'{n}.png,"{caption}",{n % 2},{n},drawbench')
    return write(base / "SeeTRUE.csv", "\n".join(lines) + "\n")


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "foil": foil, "sugarcrepe": sugarcrepe, "sugarcrepe++": sugarcrepe_plus,
    "winoground": winoground, "aro": aro, "hat": hat, "nocaps-foil": nocaps_foil,
    "mhaldetect": mhaldetect, "detailverifybench": detailverifybench, "seetrue": seetrue,
}  # fmt: skip
