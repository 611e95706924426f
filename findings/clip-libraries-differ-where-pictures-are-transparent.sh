#!/usr/bin/env bash
# Who scores pictures with the same CLIP weights in open_clip and in transformers would expect the same picture before the
# model. Where a picture is transparent, as clip art of the web is, transformers puts it on white, as a browser shows it;
# open_clip makes it black, or, of a palette, the colour that nobody sees. The scores of such pairs differ.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check open_clip_torch==3.3.0 transformers==5.24.0 pillow==12.3.0 torch==2.14.1 torchvision==0.29.1
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import sys
from importlib.metadata import version

import numpy as np
from open_clip.transform import image_transform
from PIL import Image
from transformers import CLIPImageProcessor

RED, BLUE = (255, 0, 0), (0, 0, 255)
LEFT = (0, 0, 32, 64)
#: Blue on the left; on the right transparent, above red.
with_alpha = Image.new("RGBA", (64, 64), (*RED, 0))
with_alpha.paste((*BLUE, 255), LEFT)
with_palette = Image.new("P", (64, 64), 0)
with_palette.putpalette([*RED, *BLUE])
with_palette.paste(1, LEFT)
with_palette.info["transparency"] = 0

processor = CLIPImageProcessor()
mean, std = np.array(processor.image_mean), np.array(processor.image_std)
transform = image_transform(224, is_train=False, mean=tuple(mean), std=tuple(std))


def on_the_right(values):
    return tuple(int(level) for level in np.round((values[:, 112, 200] * std + mean) * 255))


print({name: version(name) for name in ("open_clip_torch", "transformers", "pillow")})
seen = {}
for kind, picture in (("alpha", with_alpha), ("palette", with_palette)):
    of_transformers = processor(images=[picture], return_tensors="np")["pixel_values"][0]
    seen[kind] = on_the_right(transform(picture).numpy()), on_the_right(of_transformers)
    print(f"{kind}: open_clip sees {seen[kind][0]}, transformers {seen[kind][1]}")
white = (255, 255, 255)
if seen != {"alpha": ((0, 0, 0), white), "palette": (RED, white)}:
    sys.exit("This has changed: the libraries see other colours where a picture is transparent.")
PYTHON
