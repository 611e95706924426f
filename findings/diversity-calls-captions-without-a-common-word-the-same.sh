#!/usr/bin/env bash
# The homogenization of captions, the mean ROUGE-L of each with each, says how much alike a captioner's are. One would expect 0 of diversity
# where they have no word in common. It is 1, as of captions that are all equal: a sum of 0 is taken for that. A single common word in
# the whole set makes it nearly 0. As its ROUGE reads ASCII only, any captions in Russian or Chinese are 1 too, whatever they say.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check rouge-score==0.1.2 evaluate==0.4.6 nltk==3.10.4 numpy==2.4.6
"$folder/env/bin/pip" install --quiet --disable-pip-version-check --no-deps diversity==0.3.1
cd "$folder"
env/bin/python - <<'PYTHON' 2>errors || { tail -5 errors; exit 1; }
import contextlib
import importlib.util
import io
import sys
import warnings
from importlib.metadata import distribution, version

messages = []
warnings.showwarning = lambda message, *_, **__: messages.append(str(message))
#: The measure's own file: the package as a whole also asks for torch, spaCy and OpenAI's client.
path = distribution("diversity").locate_file("diversity/homogenization.py")
spec = importlib.util.spec_from_file_location("homogenization", path)
measure = importlib.util.module_from_spec(spec)
spec.loader.exec_module(measure)
SETS = {
    "equal": ["two boats"] * 4,
    "nearly equal": ["a red dog runs", "a red dog sits", "a red dog sleeps", "a red dog eats"],
    "one word in common": ["two boats", "red bus", "grey cat", "green bus"],
    "none in common": ["two boats", "red bus", "grey cat", "green tree"],
    "in Russian": ["две лодки", "красный автобус", "серая кошка", "зелёный автобус"],
}
print({name: version(name) for name in ("diversity", "rouge-score")})
with contextlib.redirect_stdout(io.StringIO()) as said:
    found = {name: float(measure.homogenization_score(captions, verbose=False)) for name, captions in SETS.items()}
messages += said.getvalue().splitlines()
for name, score in found.items():
    print(f"{name}: homogenization {score:.3f}")
print("said meanwhile:", messages)
expected = {"equal": 1, "nearly equal": 0.75, "one word in common": 0.083, "none in common": 1, "in Russian": 1}
if found != expected or messages:
    sys.exit("This has changed: diversity gives captions without a common word another homogenization than equal ones.")
PYTHON
