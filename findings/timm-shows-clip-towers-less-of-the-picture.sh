#!/usr/bin/env bash
# timm has the picture towers of CLIP and SigLIP, with the preprocessing to use for each. One would expect what the model was
# trained with, the whole picture or its largest square. For many of them it is a setting for classifiers, the middle .9 of each side:
# what lies at the edges is in no vector. Neighbours differ: of OpenAI's towers L/14 has 1.0, B/32 and B/16 .9; of LAION's B/16 1.0,
# B/32 .9. SigLIP's, which squeezes the whole picture into a square, is cut on all sides.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check \
    timm==1.0.31 open_clip_torch==3.3.0 torch==2.14.1 torchvision==0.29.1 pillow numpy
cd "$folder"
HF_HUB_OFFLINE=1 env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

import numpy as np
import timm.data
from open_clip import get_pretrained_cfg
from open_clip.transform import PreprocessCfg, image_transform_v2, merge_preprocess_dict
from PIL import Image
from timm.models import get_pretrained_cfg as timm_config

#: The same weights in timm and in open_clip.
TOWERS = {
    "vit_base_patch32_clip_224.openai": ("ViT-B-32", "openai"),
    "vit_large_patch14_clip_224.openai": ("ViT-L-14", "openai"),
    "vit_base_patch32_clip_224.laion2b": ("ViT-B-32", "laion2b_s34b_b79k"),
    "vit_base_patch16_clip_224.laion2b": ("ViT-B-16", "laion2b_s34b_b88k"),
    "vit_base_patch16_siglip_224.webli": ("ViT-B-16-SigLIP", "webli"),
    "vit_so400m_patch14_siglip_384.webli": ("ViT-SO400M-14-SigLIP-384", "webli"),
}
#: A ramp from left to right, and one from top to bottom.
WIDTH, HEIGHT = 640, 480
ramps = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
ramps[..., 0] = np.linspace(0, 255, WIDTH).round()
ramps[..., 1] = np.linspace(0, 255, HEIGHT).round()[:, None]
picture = Image.fromarray(ramps)


def share_seen(transform, mean, std):
    """Of the area: how much of both ramps is left."""
    levels = transform(picture).numpy() * np.array(std)[:, None, None] + np.array(mean)[:, None, None]
    return float(np.prod([np.ptp(levels[channel]) for channel in (0, 1)]))


seen = {}
for name, (architecture, tag) in TOWERS.items():
    settings = timm.data.resolve_data_config(pretrained_cfg=timm_config(name).to_dict())
    of_timm = share_seen(timm.data.create_transform(**settings), settings["mean"], settings["std"])
    published = get_pretrained_cfg(architecture, tag)
    chosen = {key: published[key] for key in ("mean", "std", "interpolation", "resize_mode") if published.get(key) is not None}
    chosen = PreprocessCfg(**merge_preprocess_dict({"size": settings["input_size"][-1]}, chosen))
    of_open_clip = share_seen(image_transform_v2(chosen, is_train=False), chosen.mean, chosen.std)
    seen[name] = round(of_open_clip, 2), round(of_timm, 2)
    print(f"{name}: open_clip sees {of_open_clip:.0%} of a picture of {WIDTH} x {HEIGHT}, timm {of_timm:.0%}")
print({name: version(name) for name in ("timm", "open_clip_torch", "torch", "pillow")})
cut = [name for name, (whole, part) in seen.items() if part < 0.85 * whole]
expected = [name for name in TOWERS if name not in ("vit_large_patch14_clip_224.openai", "vit_base_patch16_clip_224.laion2b")]
if cut != expected:
    sys.exit(f"This has changed: timm cuts the pictures of {cut}.")
PYTHON
