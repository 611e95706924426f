#!/usr/bin/env bash
# Captions are used as prompts for synthetic pictures, and dynamicprompts, which fills in variants such as {red|blue}, would be expected to
# leave a caption without them as it is; its description has comments on lines of their own. A number sign anywhere begins one: of
# "a bus with #42 on its front, at night" the first three words are left, without a word. A backslash before the sign does not help.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check dynamicprompts==0.31.0
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import logging
import sys
import warnings
from importlib.metadata import version

from dynamicprompts.generators import CombinatorialPromptGenerator, RandomPromptGenerator

said = []
warnings.showwarning = lambda message, *_, **__: said.append(str(message))
logging.getLogger().addHandler(type("Listener", (logging.Handler,), {"emit": lambda self, record: said.append(record.getMessage())})())
CAPTIONS = {
    "a bus with no. 42 on its front, at night": "a bus with no. 42 on its front, at night",
    "a bus with #42 on its front, at night": "a bus with ",
    r"a bus with \#42 on its front, at night": "a bus with \\",
}
print("dynamicprompts", version("dynamicprompts"))
prompts = {}
for caption in CAPTIONS:
    prompts[caption] = {prompt for way in (RandomPromptGenerator, CombinatorialPromptGenerator) for prompt in way().generate(caption, 1)}
    print(f"{caption!r}: {prompts[caption]}")
print("said meanwhile:", said)
if prompts != {caption: {prompt} for caption, prompt in CAPTIONS.items()} or said:
    sys.exit("This has changed: dynamicprompts keeps what stands behind a number sign.")
PYTHON
