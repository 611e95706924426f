"""How often is what `lint` finds a fault? On a mixed file: captions that people wrote, into some of
which each fault is put.

    python -m research.evaluation.lint_precision CAPTIONS.txt

reads one caption a line, puts each fault into one in a hundred of them, and prints for each rule
what it found of these, what else, and the share of the first. What it found without that anybody
put it there is printed, for a person to judge: files that people wrote have faults, too.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backend.features.lint.comparison import MANY_PICTURES, Comparison
from backend.features.lint.faults import faults_of

Spoil = Callable[[str, random.Random], str]


def _said_again(caption: str, numbers: random.Random) -> str:
    words = caption.rstrip(" .").split()
    start = numbers.randrange(max(1, len(words) - 3))
    part = words[start : start + numbers.choice((1, 3))]
    return " ".join([*words[:start], *part * 3, *words[start + len(part) :]])


def _cut(caption: str, numbers: random.Random) -> str:
    end = numbers.choice(("a", "the", "a large umb-", "a dog,"))
    return f"{caption.rstrip(' .')} next to {end}"


def _one_of(*texts: str) -> Spoil:
    return lambda caption, numbers: numbers.choice(texts).replace("CAPTION", caption)


#: What puts each fault into a caption.
SPOILS: dict[str, Spoil] = {
    "loop": _said_again,
    "refusal": _one_of(
        "I'm sorry, but I can't assist with that.", "I cannot identify people in images.",
        "As an AI language model, I am unable to view images.",
    ),
    "failed answer": _one_of(
        '{"error": {"message": "overloaded", "code": 529}}', "null", "Error: 502 Bad Gateway",
        "<think></think>",
    ),
    "reasoning": _one_of(
        "<think>What is it?</think>CAPTION", "Okay, the user wants a caption. CAPTION",
        "Let me look at the image. CAPTION",
    ),
    "answer": _one_of("B", "Yes, CAPTION", "The answer is B.", "3", "How many dogs are there?"),
    "cut ending": _cut,
    "placeholder": _one_of("USER: CAPTION", "CAPTION [NAME]", "<|im_start|>CAPTION", "CAPTION</s>"),
    "characters": _one_of("CAPTION in a cafÃ©", "Itâ€™s CAPTION", "CAPTION \ufffd"),
    "invisible": _one_of("\ufeffCAPTION", "CAPTION\u200b and more", "soft\u00adware, CAPTION"),
    "markup": _one_of("<b>CAPTION</b>", "CAPTION &amp; more", "CAPTION<br>"),
    "camera": _one_of("OLYMPUS DIGITAL CAMERA", "DSC_0123.JPG", "SONY DSC", "IMG_20230401_123456"),
    "page ending": _one_of("CAPTION #love #nature", "CAPTION | Etsy", "CAPTION IMG_0123.jpg"),
    "credit": _one_of("CAPTION (Photo: Jane Doe/AP)", "CAPTION | Credit: Jane Doe"),
    "weights": _one_of("CAPTION (blue sky:1.2)", "((CAPTION on grass:1.1))"),
    "glued": _one_of("A dog runs.The cat waits. CAPTION", "CAPTION #one#two#three"),
    "prompt": _one_of(
        "Here is a caption for the image: CAPTION", "Caption: CAPTION",
        "CAPTION I hope this helps!",
    ),
    "length": lambda caption, _: " and ".join(f"{caption} {number}" for number in range(30)),
    "language": _one_of(
        "Ein Hund liegt neben der Bank und schläft.", "Un perro corre por la playa con su dueño.",
    ),
    "same caption": _one_of("An image of some things."),
}  # fmt: skip


@dataclass
class RuleFindings:
    """Of one rule: captions with its fault, those that it found of them, and what else."""

    put: int = 0
    hits: int = 0
    others: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """If everything that nobody put there is right: the least that it can be."""
        return self.hits / max(1, self.hits + len(self.others))


def measure_rules(captions: Sequence[str], seed: int = 0) -> dict[str, RuleFindings]:
    """By rule. Each fault is put into one in a hundred captions, at least MANY_PICTURES."""
    numbers = random.Random(seed)
    each = max(MANY_PICTURES, len(captions) // 100)
    places = iter(numbers.sample(range(len(captions)), each * len(SPOILS)))
    fault_at = {next(places): name for name in SPOILS for _ in range(each)}
    mixture = [
        SPOILS[fault_at[index]](caption, numbers) if index in fault_at else caption
        for index, caption in enumerate(captions)
    ]
    comparison = Comparison()
    for index, caption in enumerate(mixture):
        comparison.learn(caption, str(index))
    results: dict[str, RuleFindings] = defaultdict(RuleFindings)
    for index, caption in enumerate(mixture):
        fault = fault_at.get(index)
        if fault is not None:
            results[fault].put += 1
        for name in (*faults_of(caption), *comparison.faults_of(caption, str(index))):
            if name == fault:
                results[name].hits += 1
            elif fault is None:  # what is spoilt may have other faults, too
                results[name].others.append(caption)
    return dict(results)


def main() -> None:
    captions = [line.strip() for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
    results = measure_rules([caption for caption in captions if caption])
    for name, rule in sorted(results.items()):
        print(
            f"{name:14} {rule.hits:5} of {rule.put:5} found, {len(rule.others):5} others, "
            f"precision {rule.precision:.3f} or more"
        )
    for name, rule in sorted(results.items()):
        for caption in rule.others[:50]:
            print(f"{name}: {caption[-150:]}")


if __name__ == "__main__":
    main()
